// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "elfwriter.h"
#include "harness.h"
#include "symd/client.h"
#include "symd/server.h"
#include "symd/transport.h"

enum { OFFSET = 0x1000, TEXT = 0x401000, SIZE = 0x1000 };

/* A server in this process, whose replies are changed on their way where a test wants that. */
struct liar {
	struct hl_symd_server *server;
	size_t at; /* byte of the reply's payload */
	uint8_t flip;
	size_t cut; /* bytes missing from the end */
};

static int liar_call(void *ctx, const struct hl_symd_request *request, const void *payload, int fd,
		     struct hl_symd_reply *ret, struct hl_str *ret_payload, struct hl_err *err)
{
	const struct liar *liar = ctx;

	hl_symd_server_handle(liar->server, request, payload, request->length, fd, ret, ret_payload);
	if (request->type != HL_SYMD_LIST || !ret_payload->len)
		return 0;
	if (liar->at < ret_payload->len)
		ret_payload->data[liar->at] = (char)(ret_payload->data[liar->at] ^ liar->flip);
	ret_payload->len -= liar->cut < ret_payload->len ? liar->cut : ret_payload->len;
	ret->length = ret_payload->len;
	return 0;
}

static struct hl_symd *new_symd(struct liar *liar)
{
	*liar = (struct liar){ .server = hl_symd_server_new(), .at = SIZE_MAX };
	CHECK(liar->server);
	return hl_symd_new_over((struct hl_symd_transport){ .call = liar_call, .ctx = liar }, NULL);
}

/* File 1: @code is function `f` at TEXT, of @size bytes; `callee` stands behind it, at TEXT + 0x800. */
static void add_file(struct hl_symd *symd, const void *code, size_t len, uint64_t size)
{
	struct hl_symd_file file;
	struct hl_err err = { "" };
	struct elfwriter w;
	unsigned int text;
	int fd;

	ew_init(&w, true);
	text = ew_code(&w, ".text", OFFSET, TEXT, SIZE);
	ew_put(&w, OFFSET, code, len);
	(void)ew_symbol(&w, EW_SYMTAB, "f", STB_GLOBAL, STT_FUNC, text, TEXT, size);
	(void)ew_symbol(&w, EW_SYMTAB, "callee", STB_GLOBAL, STT_FUNC, text, TEXT + 0x800, 0x20);
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	if (hl_symd_add_file(symd, 1, fd, &file, &err))
		FAIL("%s", err.text);
	CHECK_INT(file.n_segments, 1);
	CHECK_INT(file.segments[0].address, TEXT);
	CHECK_INT(file.segments[0].offset, OFFSET);
	CHECK_INT(file.segments[0].size, SIZE);
	close(fd);
}

/* "ADDRESS TEXT[ !]; …" of the function at file offset OFFSET + @at; "!" for an instruction that overlaps. */
static const char *list(struct hl_symd *symd, uint64_t at, const uint64_t *sampled, uint32_t n)
{
	static struct hl_symd_listing l;
	static struct hl_str text;
	struct hl_symd_list_query q = { .where = OFFSET + at, .file = 1, .n_sampled = n };
	struct hl_err err = { "" };

	if (hl_symd_list_function(symd, &q, sampled, NULL, 0, &l, &err))
		FAIL("%s", err.text);
	CHECK_INT(l.head.function - TEXT, l.head.where - OFFSET);
	hl_str_clear(&text);
	hl_str_addf(&text, "%.*s%s", (int)l.head.name_len, l.strings + l.head.name,
		    l.head.flags & HL_SYMD_LIST_CUT ? " (cut)" : "");
	for (uint32_t i = 0; i < l.head.n_rows; i++)
		hl_str_addf(&text, "; %llx %.*s%s", (unsigned long long)(l.rows[i].address - TEXT),
			    (int)l.rows[i].text_len, l.strings + l.rows[i].text,
			    l.rows[i].flags & HL_SYMD_ROW_OVERLAPS ? " !" : "");
	hl_symd_listing_done(&l);
	return text.data;
}

HL_TEST(a_whole_function)
{
	/* call callee; jne f; lea callee(%rip),%rax; mov 0x10(%rip),%eax; ret */
	static const char code[] = "\xe8\xfb\x07\0\0"
				   "\x75\xf9"
				   "\x48\x8d\x05\xf2\x07\0\0"
				   "\x8b\x05\x10\0\0\0"
				   "\xc3";
	struct liar liar;
	struct hl_symd *symd = new_symd(&liar);

	add_file(symd, code, sizeof(code) - 1, 21);
	CHECK_STR(list(symd, 7, NULL, 0),
		  "f; 0 call 401800 <callee>; 5 jne 401000 <f>; 7 lea 0x7f2(%rip),%rax # 401800 <callee>; "
		  "e mov 0x10(%rip),%eax # 401024; 14 ret");
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
}

/* A sampled instruction begins where it was sampled, whatever stands in front of it. */
HL_TEST(sampled_places_begin_instructions)
{
	/* je behind the prefix; lock cmpxchg %edx,(%rdi); jmp over data; data; imul %rdi,%rdi; ret */
	static const char code[] = "\x74\x01"
				   "\xf0\x0f\xb1\x17"
				   "\xeb\x01"
				   "\xb8"
				   "\x48\x0f\xaf\xff"
				   "\xc3";
	const uint64_t sampled[] = { OFFSET + 3, OFFSET + 9 };
	struct liar liar;
	struct hl_symd *symd = new_symd(&liar);

	add_file(symd, code, sizeof(code) - 1, 14);
	CHECK_STR(list(symd, 0, NULL, 0),
		  "f; 0 je 401003 <f+0x3>; 2 lock cmpxchg %edx,(%rdi); 6 jmp 401009 <f+0x9>; "
		  "8 mov $0xffaf0f48,%eax; d ret");
	CHECK_STR(list(symd, 0, sampled, 2),
		  "f; 0 je 401003 <f+0x3>; 2 lock cmpxchg %edx,(%rdi) !; 3 cmpxchg %edx,(%rdi); "
		  "6 jmp 401009 <f+0x9>; 8 mov $0xffaf0f48,%eax !; 9 imul %rdi,%rdi; d ret");
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
}

HL_TEST(what_no_decoder_knows_is_bytes)
{
	struct liar liar;
	struct hl_symd *symd = new_symd(&liar);

	add_file(symd, "\x90\x06\x07\xc3", 4, 4);
	CHECK(strstr(list(symd, 0, NULL, 0), "; 1 .byte 0x06 (undecoded); 2 .byte 0x07 (undecoded); 3 ret"));
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
}

HL_TEST(longer_than_its_bytes_is_said)
{
	struct liar liar;
	struct hl_symd *symd = new_symd(&liar);
	struct hl_symd_listing l = { 0 };
	struct hl_symd_list_query q = { .where = OFFSET + 0x7ff, .file = 1 };
	struct hl_err err = { "" };

	/* A symbol may claim more than its segment has. */
	add_file(symd, "\x90\xc3", 2, SIZE);
	CHECK_INT(hl_symd_list_function(symd, &q, NULL, NULL, 0, &l, &err), 0);
	CHECK(l.head.n_rows > 100 && l.head.n_rows <= SIZE);
	hl_symd_listing_done(&l);
	q.where = 0x9000;
	CHECK_INT(hl_symd_list_function(symd, &q, NULL, NULL, 0, &l, &err), -ENOENT);
	CHECK(strstr(err.text, "no function is known at 0x9000"));
	q.file = 77;
	CHECK_INT(hl_symd_list_function(symd, &q, NULL, NULL, 0, &l, &err), -ENOENT);
	q.place = HL_SYMD_KERNEL;
	CHECK_INT(hl_symd_list_function(symd, &q, NULL, NULL, 0, &l, &err), -ENOENT);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
}

/* Code of no file, by bytes that come with the request. */
HL_TEST(given_bytes)
{
	static const uint8_t code[] = { 0x48, 0x0f, 0xaf, 0xff, 0x75, 0xfa, 0xc3 };
	struct hl_symd_list_query q = { .where = 0x7f0000001004,
					.bytes_at = 0x7f0000001000,
					.n_bytes = sizeof(code),
					.place = HL_SYMD_RAW };
	struct hl_symd_listing l = { 0 };
	struct hl_err err = { "" };
	struct liar liar;
	struct hl_symd *symd = new_symd(&liar);

	if (hl_symd_list_function(symd, &q, NULL, code, 0, &l, &err))
		FAIL("%s", err.text);
	CHECK_INT(l.head.n_rows, 3);
	CHECK_INT(l.rows[0].address, 0x7f0000001000);
	CHECK_INT(l.rows[1].target, 0x7f0000001000);
	CHECK(memcmp(l.strings + l.rows[0].text, "imul %rdi,%rdi", l.rows[0].text_len) == 0);
	CHECK(memcmp(l.rows[0].bytes, code, 4) == 0 && l.rows[0].length == 4);
	hl_symd_listing_done(&l);
	/* The bytes are somewhere else. */
	q.where = 0x7f0000002000;
	CHECK(hl_symd_list_function(symd, &q, NULL, code, 0, &l, &err) < 0);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
}

HL_TEST(requests_are_checked)
{
	const uint64_t falling[] = { OFFSET + 2, OFFSET + 1 };
	struct hl_symd_list_query q = { .where = OFFSET, .file = 1, .n_sampled = 2 };
	struct hl_symd_request request = { .type = HL_SYMD_LIST };
	struct hl_symd_listing l = { 0 };
	struct hl_symd_reply reply;
	struct hl_str payload = { 0 };
	struct hl_err err = { "" };
	struct liar liar;
	struct hl_symd *symd = new_symd(&liar);

	add_file(symd, "\x90\xc3", 2, 2);
	CHECK_INT(hl_symd_list_function(symd, &q, falling, NULL, 0, &l, &err), -EINVAL);
	q.n_sampled = UINT32_MAX;
	hl_symd_server_handle(liar.server, &request, &q, sizeof(q), -1, &reply, &payload);
	CHECK_INT(reply.status, -EINVAL);
	q.n_sampled = 0;
	q.n_bytes = UINT32_MAX;
	hl_symd_server_handle(liar.server, &request, &q, sizeof(q), -1, &reply, &payload);
	CHECK_INT(reply.status, -EINVAL);
	hl_symd_server_handle(liar.server, &request, &q, 7, -1, &reply, &payload);
	CHECK_INT(reply.status, -EINVAL);
	hl_str_done(&payload);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
}

/* Whatever the reply says, the client reads inside it; a listing that it takes is in order. */
HL_TEST(replies_are_checked)
{
	struct hl_symd_list_query q = { .where = OFFSET, .file = 1 };
	struct hl_symd_listing l = { 0 };
	struct hl_err err = { "" };
	struct liar liar;
	struct hl_symd *symd = new_symd(&liar);
	size_t whole = sizeof(l.head) + 2 * sizeof(*l.rows), taken = 0;

	add_file(symd, "\x90\xc3", 2, 2);
	for (size_t at = 0; at < whole * 8; at++) {
		liar.at = at / 8;
		liar.flip = (uint8_t)(1u << at % 8);
		if (hl_symd_list_function(symd, &q, NULL, NULL, 0, &l, &err))
			continue;
		taken++;
		for (uint32_t i = 0; i < l.head.n_rows; i++) {
			CHECK(l.rows[i].text + (size_t)l.rows[i].text_len <= l.strings_len);
			CHECK(!i || l.rows[i].address > l.rows[i - 1].address);
			CHECK(l.rows[i].address - l.head.function < l.head.size);
		}
		hl_symd_listing_done(&l);
	}
	CHECK(taken > 0 && taken < whole * 8);
	liar.at = SIZE_MAX;
	for (liar.cut = 1; liar.cut < whole; liar.cut++)
		CHECK_INT(hl_symd_list_function(symd, &q, NULL, NULL, 0, &l, &err), -EPROTO);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
}

/* The sampled bytes against the file's. */
HL_TEST(bytes_that_differ_are_flagged)
{
	struct hl_symd_query q = { .where = OFFSET, .file = 1, .flags = HL_SYMD_WANT_TEXT, .code_len = 16 };
	struct hl_symd_answers answers = { 0 };
	struct liar liar;
	struct hl_symd *symd = new_symd(&liar);

	add_file(symd, "\x48\x0f\xaf\xff\xc3", 5, 5);
	memcpy(q.code, "\x48\x0f\xaf\xff\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc", 16);
	/* What stands behind the instruction does not matter. */
	CHECK_INT(hl_symd_resolve(symd, &q, 1, false, &answers, NULL), 0);
	CHECK(!(answers.items[0].flags & HL_SYMD_DIFFERS));
	q.code[0] = 0x49;
	CHECK_INT(hl_symd_resolve(symd, &q, 1, false, &answers, NULL), 0);
	CHECK(answers.items[0].flags & HL_SYMD_DIFFERS);
	/* Without the one or the other there is nothing to compare. */
	q.where = 0x99000;
	CHECK_INT(hl_symd_resolve(symd, &q, 1, false, &answers, NULL), 0);
	CHECK(!(answers.items[0].flags & HL_SYMD_DIFFERS));
	q.where = OFFSET;
	q.code_len = 0;
	CHECK_INT(hl_symd_resolve(symd, &q, 1, false, &answers, NULL), 0);
	CHECK(!(answers.items[0].flags & HL_SYMD_DIFFERS));
	q.place = HL_SYMD_KERNEL;
	q.code_len = 16;
	CHECK_INT(hl_symd_resolve(symd, &q, 1, false, &answers, NULL), 0);
	CHECK(!(answers.items[0].flags & HL_SYMD_DIFFERS));
	hl_symd_answers_done(&answers);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
}
