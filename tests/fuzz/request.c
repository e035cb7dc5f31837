// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/fuzzing */
/* Requests: a server answers any, since samples hold what hostile programs ran. */
#include <string.h>

#include "base/str.h"
#include "fuzzing.h"
#include "symd/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hl_symd_server *server = hl_symd_server_new();
	struct hl_symd_request request = { 0 };
	struct hl_str payload = { 0 };
	struct hl_symd_reply reply;

	MUST(server);
	while (size > sizeof(request)) {
		size_t len;

		memcpy(&request, data, sizeof(request));
		data += sizeof(request);
		size -= sizeof(request);
		len = request.length < size ? request.length : size;
		hl_symd_server_handle(server, &request, data, len, -1, &reply, &payload);
		MUST(reply.status <= 0 && reply.length == payload.len);
		data += len;
		size -= len;
	}
	hl_str_done(&payload);
	hl_symd_server_free(server);
	return 0;
}
