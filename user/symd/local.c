// SPDX-License-Identifier: BSD-2-Clause
#include "symd/transport.h"

#include <errno.h>

#include "base/err.h"
#include "symd/server.h"

static int local_call(void *ctx, const struct hl_symd_request *request, const void *payload, int fd,
		      struct hl_symd_reply *ret, struct hl_str *ret_payload, struct hl_err *err)
{
	hl_symd_server_handle(ctx, request, payload, request->length, fd, ret, ret_payload);
	return 0;
}

static void local_free(void *ctx)
{
	hl_symd_server_free(ctx);
}

int hl_symd_transport_local(struct hl_symd_transport *ret, struct hl_err *err)
{
	struct hl_symd_server *server = hl_symd_server_new();

	if (!server)
		return hl_err_errno(err, -ENOMEM, "cannot start symd");
	*ret = (struct hl_symd_transport){ .call = local_call, .free = local_free, .ctx = server };
	return 0;
}
