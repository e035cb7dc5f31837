// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter tests/cfiwriter */
/* A server in hostile hands: what the client takes from its replies. */
#include "symd/client.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "cfiwriter.h"
#include "elfwriter.h"
#include "harness.h"
#include "sample/unwind_table.h"
#include "symd/server.h"
#include "symd/transport.h"

/* The real server, whose replies are changed on their way. */
struct liar {
	struct hl_symd_server *server;
	size_t at; /* byte of the reply's payload, or behind the payload, of the reply */
	uint8_t flip;
	long cut; /* bytes that are missing from the payload, and are announced as missing if honest */
	bool honest;
};

static int liar_call(void *ctx, const struct hl_symd_request *request, const void *payload, int fd,
		     struct hl_symd_reply *ret, struct hl_str *ret_payload, struct hl_err *err)
{
	const struct liar *liar = ctx;

	hl_symd_server_handle(liar->server, request, payload, request->length, fd, ret, ret_payload);
	if (liar->at < ret_payload->len)
		ret_payload->data[liar->at] = (char)(ret_payload->data[liar->at] ^ liar->flip);
	else if (liar->at - ret_payload->len < sizeof(*ret))
		((uint8_t *)ret)[liar->at - ret_payload->len] ^= liar->flip;
	if ((size_t)liar->cut <= ret_payload->len)
		ret_payload->len -= (size_t)liar->cut;
	if (liar->honest)
		ret->length = ret_payload->len;
	return 0;
}

static struct hl_symd *new_lying_symd(struct liar *liar)
{
	struct hl_symd_transport transport = { .call = liar_call, .ctx = liar };

	*liar = (struct liar){ .server = hl_symd_server_new(), .at = SIZE_MAX };
	CHECK(liar->server);
	return hl_symd_new_over(transport, NULL);
}

static int write_program(void)
{
	struct elfwriter w;
	struct cfiwriter f;
	unsigned int text;
	int fd;

	cw_init(&f, 0x405000, false);
	cw_fde(&f, cw_usual_cie(&f), 0x401000, 0x20, NULL, 0);
	ew_init(&w, true);
	text = ew_code(&w, ".text", 0x1000, 0x401000, 0x1000);
	(void)ew_symbol(&w, EW_SYMTAB, "name", STB_GLOBAL, STT_FUNC, text, 0x401000, 0x20);
	ew_put(&w, 0x3100, "a.debug\0\4\3\2\1", 12);
	(void)ew_section(&w, ".gnu_debuglink", SHT_PROGBITS, 0, 0, 0x3100, 12);
	cw_put_section(&f, &w, 0x400000);
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	return fd;
}

static void use_answers(const struct hl_symd_answers *answers)
{
	size_t i, k, sum = 0;

	for (i = 0; i < answers->n; i++) {
		const struct hl_symd_answer *a = &answers->items[i];
		const uint32_t at[] = { a->name, a->text, a->module };
		const uint32_t len[] = { a->name_len, a->text_len, a->module_len };

		for (k = 0; k < 3; k++)
			CHECK((uint64_t)at[k] + len[k] <= answers->strings_len);
		for (k = 0; k < a->name_len; k++)
			sum += (uint8_t)answers->strings[a->name + k];
		CHECK_INT(a->n_inlined, 0);
		CHECK(a->insn_len <= 15);
	}
	CHECK(sum < 1u << 30);
}

HL_TEST(every_bit_of_an_answer)
{
	_cleanup_(hl_symd_answers_done) struct hl_symd_answers answers = { 0 };
	const struct hl_symd_query queries[2] = { { .where = 0x1000, .flags = HL_SYMD_WANT_TEXT },
						  { .where = 0x1010 } };
	size_t whole = 2 * sizeof(struct hl_symd_answer) + 7 + sizeof(struct hl_symd_reply);
	int refused = 0, bit, fd = write_program(), r;
	struct hl_symd_file file;
	struct liar liar;
	struct hl_symd *symd = new_lying_symd(&liar);
	struct hl_err err;

	CHECK_INT(hl_symd_add_file(symd, 0, fd, &file, NULL), 0);
	CHECK_INT(hl_symd_resolve(symd, queries, 2, false, &answers, NULL), 0);
	CHECK_INT(answers.strings_len, 7); /* "name", "nop" */
	for (liar.at = 0; liar.at < whole; liar.at++) {
		for (bit = 0; bit < 8; bit++) {
			liar.flip = (uint8_t)(1 << bit);
			err.text[0] = '\0';
			r = hl_symd_resolve(symd, queries, 2, false, &answers, &err);
			refused += r < 0;
			CHECK(r == 0 ? answers.n == 2 : answers.n == 0 && err.text[0]);
			use_answers(&answers);
		}
	}
	CHECK(refused > 500);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
	close(fd);
}

/* Queries without text go and come in short. */
HL_TEST(every_bit_of_a_brief_answer)
{
	_cleanup_(hl_symd_answers_done) struct hl_symd_answers answers = { 0 };
	const struct hl_symd_query queries[2] = { { .where = 0x1000 }, { .where = 0x1800 } };
	size_t whole = 2 * sizeof(struct hl_symd_brief) + 4 + sizeof(struct hl_symd_reply);
	int refused = 0, fd = write_program(), r;
	struct hl_symd_file file;
	struct liar liar;
	struct hl_symd *symd = new_lying_symd(&liar);

	CHECK_INT(hl_symd_add_file(symd, 0, fd, &file, NULL), 0);
	CHECK_INT(hl_symd_resolve(symd, queries, 2, 0, &answers, NULL), 0);
	CHECK_INT(answers.strings_len, 4); /* "name" */
	CHECK_INT(answers.items[0].size, 0x20);
	CHECK_INT(answers.items[1].address, 0x401800);
	for (liar.at = 0; liar.at < whole; liar.at++) {
		for (int bit = 0; bit < 8; bit++) {
			liar.flip = (uint8_t)(1 << bit);
			r = hl_symd_resolve(symd, queries, 2, 0, &answers, NULL);
			refused += r < 0;
			CHECK(r == 0 ? answers.n == 2 : answers.n == 0);
			use_answers(&answers);
		}
	}
	CHECK(refused > 300);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
	close(fd);
}

HL_TEST(every_bit_of_a_file)
{
	int bit, fd = write_program();
	struct hl_symd_file file;
	struct liar liar;
	struct hl_symd *symd = new_lying_symd(&liar);
	size_t whole = sizeof(file) + sizeof(struct hl_symd_reply);

	for (liar.at = 0; liar.at < whole; liar.at++) {
		for (bit = 0; bit < 8; bit++) {
			liar.flip = (uint8_t)(1 << bit);
			if (hl_symd_add_file(symd, 0, fd, &file, NULL) < 0)
				continue;
			CHECK(file.build_id_len <= sizeof(file.build_id));
			CHECK(memchr(file.debuglink, 0, sizeof(file.debuglink)));
			CHECK(!strchr(file.debuglink, '/'));
			CHECK(file.has_symtab <= 1);
		}
	}
	/* 'a' ^ 0x4e is '/': the name becomes a path. */
	liar.at = offsetof(struct hl_symd_file, debuglink);
	liar.flip = 'a' ^ '/';
	CHECK_INT(hl_symd_add_file(symd, 0, fd, &file, NULL), -EPROTO);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
	close(fd);
}

HL_TEST(every_bit_of_a_table)
{
	int bit, fd = write_program(), refused = 0, r;
	struct liar liar;
	struct hl_symd *symd = new_lying_symd(&liar);
	struct hl_err err;
	uint8_t *table;
	size_t len, whole;

	CHECK_INT(hl_symd_unwind(symd, 0, fd, &table, &whole, NULL), 0);
	free(table);
	for (liar.at = 0; liar.at < whole + sizeof(struct hl_symd_reply); liar.at++) {
		for (bit = 0; bit < 8; bit++) {
			liar.flip = (uint8_t)(1 << bit);
			err.text[0] = '\0';
			r = hl_symd_unwind(symd, 0, fd, &table, &len, &err);
			refused += r < 0;
			CHECK(r == 0 ? len == whole : err.text[0] != '\0');
			if (r == 0)
				CHECK_INT(hl_unwind_check(table, len, NULL), 0);
			if (r == 0)
				free(table);
		}
	}
	CHECK(refused > (int)whole * 8 / 2);
	/* Shorter than announced, and shorter as announced. */
	liar = (struct liar){ .server = liar.server, .at = SIZE_MAX, .cut = 4 };
	CHECK_INT(hl_symd_unwind(symd, 0, fd, &table, &len, &err), -EPROTO);
	liar.honest = true;
	CHECK_INT(hl_symd_unwind(symd, 0, fd, &table, &len, &err), -EPROTO);
	liar.cut = (long)whole;
	CHECK_INT(hl_symd_unwind(symd, 0, fd, &table, &len, &err), -EPROTO);
	CHECK(strstr(err.text, "symd's answer for the kernel: 0 bytes are no unwind table of version "));
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
	close(fd);
}

HL_TEST(cut_replies)
{
	_cleanup_(hl_symd_answers_done) struct hl_symd_answers answers = { 0 };
	const struct hl_symd_query query = { .where = 0x1000, .flags = HL_SYMD_WANT_TEXT };
	int fd = write_program(), turn;
	struct hl_symd_file file;
	struct liar liar;
	struct hl_symd *symd = new_lying_symd(&liar);

	CHECK_INT(hl_symd_add_file(symd, 0, fd, &file, NULL), 0);
	for (turn = 0; turn < 2; turn++) {
		liar.honest = turn;
		for (liar.cut = 1; liar.cut <= (long)sizeof(struct hl_symd_answer) + 7; liar.cut++) {
			CHECK_INT(hl_symd_resolve(symd, &query, 1, false, &answers, NULL), -EPROTO);
			CHECK_INT(answers.n, 0);
		}
		for (liar.cut = 1; liar.cut <= (long)sizeof(file); liar.cut++)
			CHECK_INT(hl_symd_add_file(symd, 0, fd, &file, NULL), -EPROTO);
	}
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
	close(fd);
}

HL_TEST(requests_that_lie_are_refused_by_the_server)
{
	_cleanup_str_ struct hl_str payload = { 0 };
	struct hl_symd_server *server = hl_symd_server_new();
	struct hl_symd_query query = { .place = 9,
				       .file = UINT32_MAX,
				       .code_len = UINT32_MAX,
				       .before_len = UINT32_MAX,
				       .flags = UINT16_MAX };
	struct hl_symd_request request = { .type = HL_SYMD_RESOLVE, .count = 2 };
	struct hl_symd_reply reply;

	CHECK(server);
	hl_symd_server_handle(server, &request, &query, sizeof(query), -1, &reply, &payload);
	CHECK_INT(reply.status, -EINVAL);
	CHECK_INT(payload.len, 0);
	request.count = HL_SYMD_QUERIES_MAX + 1;
	hl_symd_server_handle(server, &request, &query, sizeof(query), -1, &reply, &payload);
	CHECK_INT(reply.status, -EINVAL);
	request.count = 1;
	hl_symd_server_handle(server, &request, &query, sizeof(query), -1, &reply, &payload);
	CHECK_INT(reply.status, 0);
	request = (struct hl_symd_request){ .type = HL_SYMD_RESOLVE, .count = 3, .flags = UINT32_MAX };
	hl_symd_server_handle(server, &request, &query, sizeof(query), -1, &reply, &payload);
	CHECK_INT(reply.status, 0);
	CHECK_INT(payload.len, 3 * sizeof(struct hl_symd_brief));
	request = (struct hl_symd_request){ .type = HL_SYMD_ADD_FILE, .file = UINT32_MAX };
	hl_symd_server_handle(server, &request, NULL, 0, -1, &reply, &payload);
	CHECK(reply.status < 0 && reply.error[0]);
	request.type = 77;
	hl_symd_server_handle(server, &request, NULL, 0, -1, &reply, &payload);
	CHECK_INT(reply.status, -EOPNOTSUPP);
	hl_symd_server_free(server);
}

/* A debug file of the right build, with its symbols or cut off before them. */
static int write_build(bool has_symbols)
{
	struct elfwriter w;
	unsigned int text;
	int fd;

	ew_init(&w, true);
	text = ew_code(&w, ".text", 0x1000, 0x401000, 0x1000);
	if (has_symbols)
		(void)ew_symbol(&w, EW_SYMTAB, "name", STB_GLOBAL, STT_FUNC, text, 0x401000, 0x20);
	ew_segment(&w, PT_NOTE, PF_R, 0x3000, 0x3000, ew_build_id(&w, 0x3000, "0123456789", 10));
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	return fd;
}

HL_TEST(a_debug_file_without_symbols_stands_in_no_ones_way)
{
	struct liar liar;
	struct hl_symd *symd = new_lying_symd(&liar);
	int bare = write_build(false), full = write_build(true);
	struct hl_symd_file file;
	struct hl_err err;

	CHECK(symd);
	CHECK_INT(hl_symd_add_file(symd, 1, bare, &file, NULL), 0);
	CHECK_INT(hl_symd_add_debug(symd, 1, bare, &err), -ENOEXEC);
	/* Who reads it knows the program by its name, not by a number. */
	CHECK_STR(err.text, "it has no symbols");
	CHECK_INT(hl_symd_add_debug(symd, 1, full, NULL), 0);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
	close(bare);
	close(full);
}
