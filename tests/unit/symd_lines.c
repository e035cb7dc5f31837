// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter tests/symdchild tests/shell */
/* Inlined functions and lines through the messages of symd. */
#include "symd/client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "elfwriter.h"
#include "harness.h"
#include "shell.h"
#include "symd/server.h"
#include "symd/transport.h"

enum { FILE_NUMBER = 5, MAX_PROBES = 0x200 };
enum { BOTH = HL_SYMD_WANT_INLINES | HL_SYMD_WANT_LINES };

static const struct hl_symd_lines_limits limits = { .memory = 64 << 20, .time_ms = 20000 };
static char dir[] = "/tmp/hotleaf-lines-XXXXXX";

/* Compiles tests/workload/inlined.c; its descriptor. */
static int build(const char *flags)
{
	char path[128];
	int fd;

	CHECK(mkdtemp(dir));
	must("cp tests/workload/inlined.c %s && cd %s && gcc -O2 -g %s -c inlined.c && gcc inlined.o -o "
	     "program",
	     dir, dir, flags);
	(void)snprintf(path, sizeof(path), "%s/program", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	must("rm -r %s", dir);
	return fd;
}

static struct hl_symd *new_symd(bool local)
{
	struct hl_symd_transport transport;
	struct hl_err err = { "" };
	struct hl_symd *symd = NULL;

	if (!local)
		symd = hl_symd_new(&err);
	else if (!hl_symd_transport_local(&transport, &err))
		symd = hl_symd_new_over(transport, &err);
	if (!symd)
		FAIL("%s", err.text);
	return symd;
}

static struct hl_symd_file add(struct hl_symd *symd, int fd)
{
	struct hl_symd_file file;
	struct hl_err err = { "" };

	if (hl_symd_add_file(symd, FILE_NUMBER, fd, &file, &err) < 0)
		FAIL("%s", err.text);
	return file;
}

static struct hl_symd_lines add_lines(struct hl_symd *symd, int fd, uint8_t **ret_table)
{
	struct hl_symd_lines lines;
	struct hl_err err = { "" };

	if (hl_symd_lines(symd, FILE_NUMBER, fd, &limits, &lines, ret_table, &err) < 0)
		FAIL("%s", err.text);
	CHECK_INT(lines.damaged_units + lines.deep_functions + lines.missing_dwo, 0);
	CHECK(lines.n_ranges > 10 && lines.n_locations > 5 && lines.length > 200);
	return lines;
}

static bool is(const struct hl_symd_answers *answers, uint32_t at, uint32_t len, const char *text)
{
	return len == strlen(text) && memcmp(answers->strings + at, text, len) == 0;
}

static bool ends(const struct hl_symd_answers *answers, uint32_t at, uint32_t len, const char *text)
{
	return len >= strlen(text) &&
	       is(answers, at + len - (uint32_t)strlen(text), (uint32_t)strlen(text), text);
}

/* Asks about each of the first bytes of .text, whose names are thus all of one small program. */
static void ask(struct hl_symd *symd, const struct hl_symd_file *file, uint32_t flags,
		struct hl_symd_answers *ret)
{
	static struct hl_symd_query queries[MAX_PROBES];
	struct hl_err err = { "" };

	for (uint32_t i = 0; i < MAX_PROBES; i++)
		queries[i] = (struct hl_symd_query){ .where = file->segments[0].offset + 0x40 + i,
						     .file = FILE_NUMBER };
	if (hl_symd_resolve(symd, queries, MAX_PROBES, flags, ret, &err) < 0)
		FAIL("%s", err.text);
	CHECK_INT(ret->n, MAX_PROBES);
}

/* Answers in outer() with the two functions that were inlined there, called where the source calls them. */
static unsigned int count_chains(const struct hl_symd_answers *answers, bool lines)
{
	unsigned int n = 0;

	for (size_t i = 0; i < answers->n; i++) {
		const struct hl_symd_answer *a = &answers->items[i];
		const struct hl_symd_inlined *inlined = &answers->inlined[a->first_inlined];

		if (a->n_inlined != 2 || !is(answers, a->name, a->name_len, "outer") ||
		    !is(answers, inlined[0].name, inlined[0].name_len, "inner") ||
		    !is(answers, inlined[1].name, inlined[1].name_len, "middle"))
			continue;
		if (!lines) {
			CHECK(a->line == 0 && a->file_len == 0 && inlined[0].line == 0);
			n++;
		} else if ((a->line == 9 || a->line == 10) && inlined[0].line == 16 &&
			   inlined[1].line == 21 && ends(answers, a->file, a->file_len, "/inlined.c") &&
			   ends(answers, inlined[0].file, inlined[0].file_len, "/inlined.c")) {
			n++;
		}
	}
	return n;
}

static void check_answers(bool local)
{
	struct hl_symd *symd = new_symd(local);
	struct hl_symd_answers answers = { 0 };
	int fd = build("");
	struct hl_symd_file file = add(symd, fd);

	ask(symd, &file, BOTH, &answers);
	CHECK_INT(answers.n_inlined, 0);
	(void)add_lines(symd, fd, NULL);
	ask(symd, &file, 0, &answers);
	CHECK_INT(answers.n_inlined, 0);
	ask(symd, &file, BOTH, &answers);
	CHECK(count_chains(&answers, true) > 20);
	ask(symd, &file, HL_SYMD_WANT_INLINES, &answers);
	CHECK(count_chains(&answers, false) > 20);
	ask(symd, &file, HL_SYMD_WANT_LINES, &answers);
	CHECK_INT(answers.n_inlined, 0);
	/* Known again, the file is another one. */
	file = add(symd, fd);
	ask(symd, &file, BOTH, &answers);
	CHECK_INT(answers.n_inlined, 0);
	hl_symd_answers_done(&answers);
	hl_symd_free(symd);
	close(fd);
}

HL_TEST(chains_and_lines)
{
	check_answers(false);
}

HL_TEST(chains_and_lines_locally)
{
	check_answers(true);
}

HL_TEST(a_new_server_has_them_again)
{
	struct hl_symd *symd = new_symd(false);
	struct hl_symd_answers answers = { 0 };
	int fd = build(""), pid = 0;
	struct hl_symd_file file = add(symd, fd);
	struct hl_symd_stats stats;
	FILE *children;

	(void)add_lines(symd, fd, NULL);
	children = fopen("/proc/thread-self/children", "r");
	CHECK(children && fscanf(children, "%d", &pid) == 1 && pid > 1);
	(void)fclose(children);
	CHECK_INT(kill(pid, SIGKILL), 0);
	ask(symd, &file, BOTH, &answers);
	CHECK(count_chains(&answers, true) > 20);
	hl_symd_stats(symd, &stats);
	CHECK_INT(stats.starts, 2);
	hl_symd_answers_done(&answers);
	hl_symd_free(symd);
	close(fd);
}

HL_TEST(a_table_is_as_good_as_its_file)
{
	struct hl_symd *symd = new_symd(false), *other = new_symd(false);
	struct hl_symd_answers answers = { 0 };
	int fd = build(""), kept;
	struct hl_symd_file file = add(symd, fd);
	struct hl_symd_lines lines, again;
	uint8_t *table;

	lines = add_lines(symd, fd, &table);
	(void)add(other, fd);
	kept = ew_file(table, lines.length);
	CHECK_INT(hl_symd_add_lines(other, FILE_NUMBER, kept, &again, NULL), 0);
	CHECK(memcmp(&lines, &again, sizeof(lines)) == 0);
	ask(other, &file, BOTH, &answers);
	CHECK(count_chains(&answers, true) > 20);
	CHECK_INT(ftruncate(kept, (off_t)lines.length - 1), 0);
	CHECK_INT(hl_symd_add_lines(other, FILE_NUMBER, kept, &again, NULL), -EBADMSG);
	close(kept);
	free(table);
	hl_symd_answers_done(&answers);
	hl_symd_free(symd);
	hl_symd_free(other);
	close(fd);
}

HL_TEST(over_a_limit_names_stay)
{
	const struct hl_symd_lines_limits no_time = { 64 << 20, 0, 0 }, no_memory = { 100, 20000, 0 };
	struct hl_symd *symd = new_symd(true);
	struct hl_symd_answers answers = { 0 };
	struct hl_err err = { "" };
	int fd = build("");
	struct hl_symd_file file = add(symd, fd);
	struct hl_symd_lines lines;

	CHECK_INT(hl_symd_lines(symd, FILE_NUMBER, fd, &no_memory, &lines, NULL, &err), -E2BIG);
	CHECK(strstr(err.text, "is longer than 100 bytes"));
	/* The deadline is asked for after some work only: so little may be done before it. */
	if (hl_symd_lines(symd, FILE_NUMBER, fd, &no_time, &lines, NULL, &err) < 0)
		CHECK(strstr(err.text, "too long"));
	CHECK_INT(hl_symd_lines(symd, 77, fd, &limits, &lines, NULL, NULL), -ENOENT);
	ask(symd, &file, 0, &answers);
	CHECK(answers.items[0].name_len > 0 || answers.items[MAX_PROBES / 2].name_len > 0);
	hl_symd_answers_done(&answers);
	hl_symd_free(symd);
	close(fd);
}

HL_TEST(what_is_wanted_besides)
{
	struct hl_symd *symd = new_symd(false);
	struct hl_symd_wants wants = { .items = NULL };
	struct hl_symd_lines lines;
	int fd = build("-gsplit-dwarf");
	const struct hl_symd_wanted *w;

	(void)add(symd, fd);
	CHECK_INT(hl_symd_find_wanted(symd, FILE_NUMBER, &limits, &wants, NULL), 0);
	CHECK_INT(wants.head.n, 1);
	w = wants.items;
	CHECK(!w->is_alt && w->id_len == 8);
	CHECK(w->name_len == 11 && memcmp(wants.strings + w->name, "inlined.dwo", 11) == 0);
	CHECK(w->directory_len == strlen(dir) && memcmp(wants.strings + w->directory, dir, strlen(dir)) == 0);
	CHECK_INT(hl_symd_lines(symd, FILE_NUMBER, fd, &limits, &lines, NULL, NULL), 0);
	CHECK_INT(lines.missing_dwo, 1);
	/* It names no alternate file, so none is its own. */
	CHECK_INT(hl_symd_add_wanted(symd, FILE_NUMBER, true, fd, NULL), -ESTALE);
	hl_symd_wants_done(&wants);
	hl_symd_free(symd);
	close(fd);
}

/* The real server, of whose replies one bit is changed. */
struct liar {
	struct hl_symd_server *server;
	size_t at;
	uint8_t flip;
};

static int liar_call(void *ctx, const struct hl_symd_request *request, const void *payload, int fd,
		     struct hl_symd_reply *ret, struct hl_str *ret_payload, struct hl_err *err)
{
	const struct liar *liar = ctx;

	hl_symd_server_handle(liar->server, request, payload, request->length, fd, ret, ret_payload);
	if (liar->at < ret_payload->len)
		ret_payload->data[liar->at] = (char)(ret_payload->data[liar->at] ^ liar->flip);
	return 0;
}

static void use(const struct hl_symd_answers *answers)
{
	for (size_t i = 0; i < answers->n; i++) {
		const struct hl_symd_answer *a = &answers->items[i];

		CHECK((uint64_t)a->file + a->file_len <= answers->strings_len);
		CHECK((uint64_t)a->first_inlined + a->n_inlined <= answers->n_inlined);
		CHECK(a->n_inlined <= HL_SYMD_INLINED_MAX);
	}
	for (size_t i = 0; i < answers->n_inlined; i++) {
		const struct hl_symd_inlined *inlined = &answers->inlined[i];

		CHECK((uint64_t)inlined->name + inlined->name_len <= answers->strings_len);
		CHECK((uint64_t)inlined->file + inlined->file_len <= answers->strings_len);
	}
}

HL_TEST(every_bit_of_answers_and_lists)
{
	struct liar liar = { .server = hl_symd_server_new(), .at = SIZE_MAX };
	struct hl_symd_transport transport = { .call = liar_call, .ctx = &liar };
	struct hl_symd *symd = hl_symd_new_over(transport, NULL);
	struct hl_symd_answers answers = { 0 }, chain = { 0 };
	struct hl_symd_wants wants = { .items = NULL };
	struct hl_symd_query queries[2];
	int fd = build("-gsplit-dwarf"), plain;
	unsigned int refused = 0;
	struct hl_symd_file file;
	size_t whole;

	(void)add(symd, fd);
	for (liar.at = 0; liar.at < sizeof(struct hl_symd_wanted_list) + sizeof(struct hl_symd_wanted) + 11;
	     liar.at++)
		for (int bit = 0; bit < 8; bit++) {
			liar.flip = (uint8_t)(1 << bit);
			if (hl_symd_find_wanted(symd, FILE_NUMBER, &limits, &wants, NULL) < 0) {
				refused++;
				continue;
			}
			CHECK(wants.head.n <= HL_SYMD_WANTED_MAX);
			for (uint32_t i = 0; i < wants.head.n; i++)
				CHECK(wants.items[i].id_len <= sizeof(wants.items[i].id));
		}
	CHECK(refused > 100);
	hl_symd_wants_done(&wants);
	close(fd);
	(void)strcpy(dir, "/tmp/hotleaf-lines-XXXXXX");
	plain = build("");
	liar.at = SIZE_MAX;
	file = add(symd, plain);
	(void)add_lines(symd, plain, NULL);
	ask(symd, &file, BOTH, &chain);
	for (uint32_t i = 0; i < MAX_PROBES && chain.items[i].n_inlined != 2; i++)
		queries[0].where = file.segments[0].offset + 0x40 + i + 1;
	for (int i = 0; i < 2; i++)
		queries[i] = (struct hl_symd_query){ .where = queries[0].where, .file = FILE_NUMBER };
	CHECK_INT(hl_symd_resolve(symd, queries, 2, BOTH, &answers, NULL), 0);
	CHECK_INT(answers.n_inlined, 4);
	whole = 2 * sizeof(struct hl_symd_answer) + 4 * sizeof(struct hl_symd_inlined) + answers.strings_len;
	refused = 0;
	for (liar.at = 0; liar.at < whole; liar.at++)
		for (int bit = 0; bit < 8; bit++) {
			liar.flip = (uint8_t)(1 << bit);
			if (hl_symd_resolve(symd, queries, 2, BOTH, &answers, NULL) < 0) {
				refused++;
				CHECK_INT(answers.n + answers.n_inlined, 0);
			}
			use(&answers);
		}
	CHECK(refused > 500);
	hl_symd_answers_done(&answers);
	hl_symd_answers_done(&chain);
	hl_symd_free(symd);
	hl_symd_server_free(liar.server);
	close(plain);
}
