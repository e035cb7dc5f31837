// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd tests/elfwriter */
/* A server that dies, hangs or lies: its client goes on, and everyone else's files with it. */
#include "symd/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/spawn.h"
#include "base/str.h"
#include "elfwriter.h"
#include "harness.h"
#include "symd/client.h"
#include "symd/sandbox.h"
#include "symd/server.h"
#include "symd/wire.h"

/* What the child does when it is given a file of FAULT_SIZE + its number bytes. */
enum fault {
	FAULT_CRASH,      /* SIGSEGV */
	FAULT_HANG,       /* no answer */
	FAULT_LENGTH,     /* announces more than the buffer holds */
	FAULT_HUGE,       /* asks for a buffer of an exabyte */
	FAULT_SHORT,      /* half a message */
	FAULT_DESCRIPTOR, /* passes an unsealed memfd */
	FAULT_CLOSE,      /* ends */
	FAULT_HELLO,      /* a message of another kind */
	N_CALL_FAULTS,
	FAULT_STATUS = N_CALL_FAULTS, /* a status above zero */
	FAULT_CUT,                    /* less payload than announced */
	FAULT_NAME,                   /* a debuglink that is a path */
	FAULT_IN_ANSWERS,             /* it crashes only when it is asked about the file */
	FAULT_IDLE,                   /* it crashes after the answer */
	N_FAULTS
};
enum { FAULT_SIZE = 100000, TIMEOUT_MS = 2000, BAD = 2 };

struct faulty {
	struct hl_symd_server *server;
	bool crash_on_bad;
};

static void send_raw(const void *bytes, size_t len, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = { (void *)bytes, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS,
						   .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	(void)!sendmsg(HL_SPAWN_FD, &message, 0);
}

static void crash(void)
{
	volatile int *volatile nowhere = NULL;

	*nowhere = 1;
}

/* A fault that comes instead of an answer. */
static void fail_outright(enum fault fault, int fd)
{
	static const struct hl_wire_reply huge = { .kind = HL_WIRE_GROW, .reply = { .length = 1ull << 60 } };
	static const struct hl_wire_reply hello = { .kind = HL_WIRE_HELLO };

	switch (fault) {
	case FAULT_CRASH:
		crash();
		break;
	case FAULT_HANG:
		for (volatile int i = 0;; i++)
			;
	case FAULT_HUGE:
		send_raw(&huge, sizeof(huge), -1);
		break;
	case FAULT_SHORT:
		send_raw(&huge, sizeof(huge) / 2, -1);
		break;
	case FAULT_DESCRIPTOR:
		send_raw(&hello, sizeof(hello), fd);
		break;
	case FAULT_HELLO:
		send_raw(&hello, sizeof(hello), -1);
		break;
	case FAULT_CLOSE:
		_exit(0);
	default:
		break;
	}
}

static bool asks_about_bad(const struct hl_symd_request *request, const char *payload)
{
	struct hl_symd_brief_query query;

	for (uint32_t i = 0; request->type == HL_SYMD_RESOLVE && i < request->count; i++) {
		memcpy(&query, payload + i * hl_symd_query_size(request), sizeof(query));
		if (query.place == HL_SYMD_FILE && query.file == BAD)
			return true;
	}
	return false;
}

/* Code bytes that this server does not survive. */
static bool asks_about_poison(const struct hl_symd_request *request, const struct hl_symd_query *queries)
{
	if (request->type != HL_SYMD_RESOLVE || request->flags & HL_SYMD_BRIEF)
		return false;
	for (uint32_t i = 0; i < request->count; i++)
		if (queries[i].code_len == 4 && memcmp(queries[i].code, "\xde\xad\xde\xad", 4) == 0)
			return true;
	return false;
}

static void handle(void *ctx, const struct hl_symd_request *request, const void *payload, size_t len, int fd,
		   struct hl_symd_reply *ret, struct hl_str *ret_payload)
{
	struct faulty *faulty = ctx;
	enum fault fault = N_FAULTS;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= FAULT_SIZE && st.st_size < FAULT_SIZE + N_FAULTS)
		fault = (enum fault)(st.st_size - FAULT_SIZE);
	fail_outright(fault, fd);
	if (asks_about_poison(request, payload) || (faulty->crash_on_bad && asks_about_bad(request, payload)))
		crash();
	hl_symd_server_handle(faulty->server, request, payload, len, fd, ret, ret_payload);
	faulty->crash_on_bad |= fault == FAULT_IN_ANSWERS;
	ret->status = fault == FAULT_STATUS ? 5 : ret->status;
	ret->length += fault == FAULT_LENGTH ? 1u << 30 : fault == FAULT_CUT ? 1 : 0;
	if (fault == FAULT_NAME)
		((struct hl_symd_file *)ret_payload->data)->debuglink[0] = '/';
	if (fault == FAULT_IDLE) {
		struct hl_wire_reply reply = { .kind = HL_WIRE_REPLY, .reply = *ret };

		/* The payload has not been copied: the answer is an error. */
		reply.reply.length = 0;
		reply.reply.status = -ENOEXEC;
		strcpy(reply.reply.error, "no");
		send_raw(&reply, sizeof(reply), -1);
		crash();
	}
}

void hl_test_instead(const char *word, char **arguments)
{
	struct hl_wire_reply hello = { .kind = HL_WIRE_HELLO, .version = HL_SYMD_VERSION + 1 };
	struct faulty faulty = { 0 };

	if (strcmp(word, "faulty") == 0) {
		faulty.server = hl_symd_server_new();
		hl_symd_child_serve(handle, &faulty, 0);
	}
	if (strcmp(word, "newer") == 0)
		send_raw(&hello, sizeof(hello), -1);
	if (strcmp(word, "newer") == 0 || strcmp(word, "absent") == 0)
		_exit(0);
}

/* A program with the function "name" at 0x401000, padded to @size bytes. */
static int write_program(size_t size)
{
	struct elfwriter w;
	unsigned int text;
	int fd;

	ew_init(&w, true);
	text = ew_code(&w, ".text", 0x1000, 0x401000, 0x1000);
	(void)ew_symbol(&w, EW_SYMTAB, "name", STB_GLOBAL, STT_FUNC, text, 0x401000, 0x20);
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	if (size)
		CHECK_INT(ftruncate(fd, (off_t)size), 0);
	ew_done(&w);
	return fd;
}

static int write_bad(enum fault fault)
{
	return write_program((size_t)FAULT_SIZE + fault);
}

static struct hl_symd *new_faulty(void)
{
	const struct hl_symd_options options = { .command = "faulty", .timeout_ms = TIMEOUT_MS };
	struct hl_err err = { "" };
	struct hl_symd *symd = hl_symd_new_with(&options, &err);

	if (!symd)
		FAIL("%s", err.text);
	return symd;
}

static int add(struct hl_symd *symd, uint32_t number, int fd)
{
	struct hl_err err = { "" };
	struct hl_symd_file file;
	int r = hl_symd_add_file(symd, number, fd, &file, &err);

	CHECK((r < 0) == (err.text[0] != '\0'));
	return r;
}

static void add_good(struct hl_symd *symd, uint32_t number)
{
	int fd = write_program(0);

	CHECK_INT(add(symd, number, fd), 0);
	close(fd);
}

static const char *name_in(struct hl_symd *symd, uint32_t file)
{
	const struct hl_symd_query q = { .where = 0x1004, .file = file };
	struct hl_symd_answers answers = { 0 };
	static char name[32];

	CHECK_INT(hl_symd_resolve(symd, &q, 1, false, &answers, NULL), 0);
	(void)snprintf(name, sizeof(name), "%.*s", (int)answers.items[0].name_len,
		       answers.strings + answers.items[0].name);
	hl_symd_answers_done(&answers);
	return name;
}

static struct hl_symd_stats stats_of(const struct hl_symd *symd)
{
	struct hl_symd_stats stats;

	hl_symd_stats(symd, &stats);
	return stats;
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

HL_TEST(failing_twice_on_a_file_denies_it)
{
	for (int fault = 0; fault < N_CALL_FAULTS; fault++) {
		struct hl_symd *symd = new_faulty();
		int fd = write_bad((enum fault)fault), want;
		struct hl_symd_stats stats;

		add_good(symd, 1);
		want = add(symd, BAD, fd);
		stats = stats_of(symd);
		NOTE("fault %d: status %d, %llu failures, %llu starts", fault, want,
		     (unsigned long long)stats.failures, (unsigned long long)stats.starts);
		CHECK_INT(want, -ENOTRECOVERABLE);
		CHECK_INT(stats.failures, 2);
		CHECK_INT(stats.denied, 1);
		CHECK_STR(name_in(symd, 1), "name");
		CHECK_STR(name_in(symd, BAD), "");
		/* By another number too, and for another purpose. */
		CHECK_INT(add(symd, 3, fd), -ENOTRECOVERABLE);
		CHECK_INT(hl_symd_unwind(symd, 4, fd, NULL, NULL, NULL), -ENOTRECOVERABLE);
		CHECK_INT(stats_of(symd).failures, 2);
		CHECK_INT(stats_of(symd).starts, 3);
		add_good(symd, BAD);
		CHECK_STR(name_in(symd, BAD), "name");
		close(fd);
		hl_symd_free(symd);
	}
}

HL_TEST(damaged_answers_count_too)
{
	for (int fault = FAULT_STATUS; fault <= FAULT_NAME; fault++) {
		struct hl_symd *symd = new_faulty();
		int fd = write_bad((enum fault)fault);

		add_good(symd, 1);
		CHECK_INT(add(symd, BAD, fd), -EPROTO);
		CHECK_INT(stats_of(symd).failures, 1);
		CHECK_STR(name_in(symd, 1), "name");
		CHECK_INT(add(symd, BAD, fd), -EPROTO);
		CHECK_INT(add(symd, BAD, fd), -ENOTRECOVERABLE);
		CHECK_INT(stats_of(symd).denied, 1);
		CHECK_STR(name_in(symd, 1), "name");
		close(fd);
		hl_symd_free(symd);
	}
}

HL_TEST(a_crash_in_answers_is_told_from_the_others)
{
	enum { N = 300 };
	struct hl_symd_query queries[N] = { { 0 } };
	struct hl_symd_answers answers = { 0 };
	struct hl_symd *symd = new_faulty();
	int fd = write_bad(FAULT_IN_ANSWERS);
	struct hl_symd_stats stats;

	add_good(symd, 0);
	add_good(symd, 1);
	CHECK_INT(add(symd, BAD, fd), 0);
	for (uint32_t i = 0; i < N; i++) {
		queries[i] = (struct hl_symd_query){ .where = 0x1000 + i % 16, .file = i % 3 };
		if (i % 7 == 0)
			queries[i] = (struct hl_symd_query){
				.where = 0x7f0000000000 + i,
				.place = HL_SYMD_RAW,
				.flags = HL_SYMD_WANT_TEXT,
				.code = { 0x90 },
				.code_len = 1,
			};
	}
	/* A query that kills whatever server it is asked of. */
	memcpy(queries[7 * 20].code, "\xde\xad\xde\xad", 4);
	queries[7 * 20].code_len = 4;
	CHECK_INT(hl_symd_resolve(symd, queries, N, false, &answers, NULL), 0);
	CHECK_INT(answers.n, N);
	for (uint32_t i = 0; i < N; i++) {
		const struct hl_symd_answer *a = &answers.items[i];
		const char *want_name = i % 7 == 0 || i % 3 == BAD ? "" : "name";
		const char *want_text = i % 7 == 0 && i != 7 * 20 ? "nop" : "";

		CHECK_INT(a->name_len, strlen(want_name));
		CHECK(memcmp(answers.strings + a->name, want_name, a->name_len) == 0);
		CHECK_INT(a->text_len, strlen(want_text));
		CHECK(memcmp(answers.strings + a->text, want_text, a->text_len) == 0);
		CHECK_INT(a->address, want_name[0] ? 0x401000 + i % 16 : queries[i].where);
	}
	stats = stats_of(symd);
	CHECK_INT(stats.denied, 1);
	CHECK_INT(stats.unanswered, 1);
	NOTE("%llu servers died for %d queries", (unsigned long long)stats.failures, N);
	CHECK(stats.failures < 40);
	CHECK_STR(name_in(symd, 1), "name");
	hl_symd_answers_done(&answers);
	close(fd);
	hl_symd_free(symd);
}

HL_TEST(a_crash_between_requests_is_nobodys)
{
	struct hl_symd *symd = new_faulty();
	int fd = write_bad(FAULT_IDLE);

	add_good(symd, 1);
	CHECK_INT(add(symd, BAD, fd), -ENOEXEC);
	CHECK_STR(name_in(symd, 1), "name");
	CHECK_INT(stats_of(symd).failures, 1);
	CHECK_INT(stats_of(symd).denied, 0);
	close(fd);
	hl_symd_free(symd);
}

HL_TEST(a_rewritten_file_has_another_chance)
{
	struct hl_symd *symd = new_faulty();
	int fd = write_bad(FAULT_CRASH);

	CHECK_INT(add(symd, BAD, fd), -ENOTRECOVERABLE);
	CHECK_INT(ftruncate(fd, FAULT_SIZE / 2), 0);
	CHECK_INT(add(symd, BAD, fd), 0);
	CHECK_STR(name_in(symd, BAD), "name");
	close(fd);
	hl_symd_free(symd);
}

HL_TEST(the_kernel_and_made_code_come_back)
{
	static const char kallsyms[] = "ffffffff92000000 T _text\nffffffff92000100 T do_one\n";
	static const char perf_map[] = "7f0000001000 10 made\n";
	const struct hl_symd_query queries[] = {
		{ .where = 0xffffffff92000110, .place = HL_SYMD_KERNEL },
		{ .where = 0x7f0000001004, .place = HL_SYMD_RAW, .file = BAD },
		{ .where = 0x7f0000001004, .place = HL_SYMD_RAW, .file = 1 },
	};
	const struct hl_symd_map map = { .kind = HL_SYMD_PERF_MAP };
	struct hl_symd_answers answers = { 0 };
	struct hl_symd_map_counts counts;
	struct hl_symd *symd = new_faulty();
	int bad = write_bad(FAULT_CRASH), names = ew_file(kallsyms, strlen(kallsyms)),
	    code = ew_file(perf_map, strlen(perf_map));

	CHECK_INT(lseek(names, 0, SEEK_SET), 0);
	CHECK_INT(hl_symd_add_kallsyms(symd, names, NULL), 0);
	for (int i = 0; i < 3; i++)
		CHECK_INT(hl_symd_add_map(symd, BAD, code, &map, &counts, NULL), 0);
	close(names);
	close(code);
	/* A file has the same number as the process, and nothing to do with it. */
	CHECK_INT(add(symd, BAD, bad), -ENOTRECOVERABLE);
	CHECK_INT(hl_symd_resolve(symd, queries, 3, false, &answers, NULL), 0);
	CHECK_INT(answers.items[0].name_len, strlen("do_one"));
	CHECK_INT(answers.items[1].name_len, strlen("made"));
	CHECK_INT(answers.items[2].name_len, 0);
	CHECK_INT(stats_of(symd).denied, 1);
	hl_symd_answers_done(&answers);
	close(bad);
	hl_symd_free(symd);
}

HL_TEST(restarts_leak_nothing)
{
	enum { FILES = 50 };
	unsigned int before = count_fds();
	struct hl_symd *symd = new_faulty();

	add_good(symd, 1);
	for (uint32_t i = 0; i < FILES; i++) {
		int fd = write_bad(FAULT_CRASH);

		CHECK_INT(add(symd, BAD + i, fd), -ENOTRECOVERABLE);
		close(fd);
	}
	CHECK_INT(stats_of(symd).failures, 2 * FILES);
	CHECK_STR(name_in(symd, 1), "name");
	CHECK(stats_of(symd).cpu_ns > 0);
	hl_symd_free(symd);
	CHECK_INT(count_fds(), before);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

HL_TEST(a_server_that_does_not_greet_is_said)
{
	struct hl_symd_options options = { .command = "newer", .timeout_ms = TIMEOUT_MS };
	struct hl_err err = { "" };

	CHECK(!hl_symd_new_with(&options, &err));
	CHECK_STR(err.text, "cannot start symd: it speaks version 4, not 3");
	options.command = "absent";
	CHECK(!hl_symd_new_with(&options, &err));
	CHECK_STR(err.text, "cannot start symd: it ended");
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* It would not notice by itself: it is in an endless loop. */
HL_TEST(the_child_dies_with_its_parent)
{
	pid_t parent, orphan;
	int status;

	CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	parent = fork();
	if (parent == 0) {
		const struct hl_symd_options options = { .command = "faulty", .timeout_ms = 60000 };
		struct hl_symd *symd = hl_symd_new_with(&options, NULL);

		(void)alarm(1);
		(void)add(symd, BAD, write_bad(FAULT_HANG));
		_exit(1);
	}
	CHECK_INT(waitpid(parent, &status, 0), parent);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	orphan = waitpid(-1, &status, 0);
	CHECK(orphan > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
