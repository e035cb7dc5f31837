// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/fuzzing */
/* A running file, which is its own debug file too: all that symd does with it. */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "fuzzing.h"
#include "sample/unwind_table.h"
#include "symd/server.h"

enum { FILE_NUMBER = 1, QUERIES = 64 };

static int ask(struct hl_symd_server *server, uint32_t type, int fd, const void *payload, size_t len,
	       uint32_t count, struct hl_str *ret)
{
	struct hl_symd_request request = { .type = type, .file = FILE_NUMBER, .length = len, .count = count };
	struct hl_symd_reply reply;

	hl_symd_server_handle(server, &request, payload, len, fd, &reply, ret);
	MUST(reply.status <= 0 && reply.length == ret->len);
	MUST(!reply.status == !reply.error[0]);
	return reply.status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hl_symd_server *server = hl_symd_server_new();
	struct hl_symd_query queries[QUERIES];
	struct hl_str payload = { 0 };
	int fd = fuzz_file(data, size), i;

	MUST(server);
	memset(queries, 0, sizeof(queries));
	for (i = 0; i < QUERIES; i++)
		queries[i] = (struct hl_symd_query){ .where = size * (uint64_t)i / QUERIES + (uint64_t)i,
						     .file = FILE_NUMBER,
						     .place = HL_SYMD_FILE,
						     .flags = HL_SYMD_WANT_TEXT };
	if (ask(server, HL_SYMD_ADD_FILE, fd, NULL, 0, 0, &payload) == 0) {
		MUST(ask(server, HL_SYMD_RESOLVE, -1, queries, sizeof(queries), QUERIES, &payload) == 0);
		(void)ask(server, HL_SYMD_ADD_DEBUG, fd, NULL, 0, 0, &payload);
		MUST(ask(server, HL_SYMD_RESOLVE, -1, queries, sizeof(queries), QUERIES, &payload) == 0);
	}
	/* What is compiled from it is accepted, or it is refused. */
	if (ask(server, HL_SYMD_UNWIND, fd, NULL, 0, 0, &payload) == 0)
		MUST(hl_unwind_check(payload.data, payload.len, NULL) == 0);
	hl_str_done(&payload);
	hl_symd_server_free(server);
	(void)close(fd);
	return 0;
}
