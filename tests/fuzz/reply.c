// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/fuzzing */
/* A server in hostile hands: an input is its reply, and the client's caller reads all that it is given. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fuzzing.h"
#include "symd/client.h"
#include "symd/transport.h"

enum { QUERIES = 4 };

struct input {
	const uint8_t *data;
	size_t size;
};

static int call(void *ctx, const struct hl_symd_request *request, const void *payload, int fd,
		struct hl_symd_reply *ret, struct hl_str *ret_payload, struct hl_err *err)
{
	const struct input *input = ctx;

	hl_str_clear(ret_payload);
	hl_str_add(ret_payload, input->data, input->size);
	*ret = (struct hl_symd_reply){ .count = request->count ? request->count : 1,
				       .length = ret_payload->len };
	return 0;
}

/* Reads @len bytes at @offset; nothing may stand at @bytes if there are none. */
static uint64_t sum_of(const char *bytes, size_t offset, size_t len)
{
	uint64_t sum = 0;

	for (size_t i = offset; i < offset + len; i++)
		sum += (uint8_t)bytes[i];
	return sum;
}

static uint64_t read_answers(const struct hl_symd_answers *answers)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < answers->n; i++) {
		const struct hl_symd_answer *a = &answers->items[i];

		sum += sum_of(answers->strings, a->name, a->name_len);
		sum += sum_of(answers->strings, a->text, a->text_len);
		sum += sum_of(answers->strings, a->module, a->module_len);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct hl_symd *symd =
		hl_symd_new_over((struct hl_symd_transport){ .call = call, .ctx = &input }, NULL);
	struct hl_symd_query queries[QUERIES] = { { .where = 0 } };
	struct hl_symd_answers answers = { 0 };
	struct hl_symd_file file;
	uint64_t sum = 0;
	uint8_t *table;
	size_t len;

	MUST(symd);
	/* In short, and in full. */
	for (int turn = 0; turn < 2; turn++) {
		if (hl_symd_resolve(symd, queries, QUERIES, 0, &answers, NULL) == 0)
			sum += read_answers(&answers);
		queries[0].flags = HL_SYMD_WANT_TEXT;
	}
	if (hl_symd_add_file(symd, 1, -1, &file, NULL) == 0)
		MUST(file.build_id_len <= sizeof(file.build_id) && !strchr(file.debuglink, '/'));
	if (hl_symd_unwind(symd, 1, -1, &table, &len, NULL) == 0) {
		sum += sum_of((const char *)table, 0, len);
		free(table);
	}
	MUST(sum < UINT32_MAX); /* and so that it is read */
	hl_symd_answers_done(&answers);
	hl_symd_free(symd);
	return 0;
}
