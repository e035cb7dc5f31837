// SPDX-License-Identifier: BSD-2-Clause
/* needs: all tests/stores tests/shell */
#include "command/command.h"

#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "store/owner.h"
#include "stores.h"

/* `hotleaf report --sort`: one table by what samples have in common. */

static char store[80], said[1 << 16];

static uint32_t frame_of(struct hl_batch *batch, struct hl_frame frame, const char *module)
{
	uint32_t index;

	frame.name_len = strlen(frame.name);
	frame.module = module;
	frame.module_len = strlen(module);
	CHECK_INT(hl_profile_frame(hl_batch_profile(batch), &frame, &index), 0);
	return index;
}

static uint32_t function_of(struct hl_batch *batch, struct hl_id id, uint64_t address, const char *name)
{
	return frame_of(
		batch,
		(struct hl_frame){ .kind = HL_FRAME_USER, .binary = id, .address = address, .name = name },
		"/usr/bin/app");
}

static uint32_t insn_of(struct hl_batch *batch, struct hl_id id, uint64_t address, const char *text)
{
	return frame_of(batch,
			(struct hl_frame){ .kind = HL_FRAME_INSN,
					   .insn_class = text[0] == 'l' ? 6 : 1,
					   .binary = id,
					   .address = address,
					   .offset = address & 0xff,
					   .name = text },
			"/usr/bin/app");
}

/*
 * main → work → work → lock: 60 samples of service web, 20 of batch; main → work: 30 of web, by another
 * instruction; main: 5 of batch; a kernel thread: 7.
 */
static void fill(struct hl_batch *b)
{
	static const struct hl_segment segment = { 0x1000, 0, 0x1000 };
	static const uint8_t build_id[] = { 0xab, 0x01 };
	const struct hl_id id = { 7, 9 };
	const struct hl_binary binary = { id, build_id, sizeof(build_id), &segment, 1, 0 };
	const struct hl_owner web = {
		.process = "app", .thread = "t1", .service = "web", .exe = "/usr/bin/app"
	};
	const struct hl_owner batch = { .process = "app", .thread = "t2", .service = "batch", .exe = "/x" };
	const struct hl_owner kthread = { .kind = HL_OWNER_KTHREAD,
					  .process = "kworker",
					  .thread = "kworker" };
	uint32_t main_ = function_of(b, id, 0x1100, "main"), work = function_of(b, id, 0x1200, "work");
	uint32_t lock = insn_of(b, id, 0x1210, "lock cmpxchg %rcx,(%rdi)"),
		 load = insn_of(b, id, 0x1220, "mov (%rdi),%rax");
	uint32_t own = insn_of(b, id, 0x1104, "mov (%rsi),%rax");
	uint32_t kernel = frame_of(
		b, (struct hl_frame){ .kind = HL_FRAME_KERNEL, .address = 0x100, .name = "worker_thread" },
		"vmlinux");

	CHECK_INT(hl_batch_add(b, &web, (uint32_t[]){ main_, work, work, lock }, 4, 60, 60), 0);
	CHECK_INT(hl_batch_add(b, &web, (uint32_t[]){ main_, work, load }, 3, 30, 30), 0);
	CHECK_INT(hl_batch_add(b, &batch, (uint32_t[]){ main_, work, work, lock }, 4, 20, 20), 0);
	CHECK_INT(hl_batch_add(b, &batch, (uint32_t[]){ main_, own }, 2, 5, 5), 0);
	CHECK_INT(hl_batch_add(b, &kthread, &kernel, 1, 7, 7), 0);
	CHECK_INT(hl_profile_add_binary(hl_batch_profile(b), &binary), 0);
}

static void prepare(void)
{
	struct hl_profile_meta meta = stores_meta(STORES_NOON);
	struct hl_batch *batch = hl_batch_new();
	struct hl_store *to;
	struct hl_err err;

	(void)snprintf(store, sizeof(store), "%s/store", stores_dir());
	CHECK(batch);
	fill(batch);
	to = stores_open(store);
	if (hl_store_write(to, &meta, batch, &err))
		FAIL("%s", err.text);
	hl_batch_free(batch);
	hl_store_close(to);
}

/* Its tables, or with status 2 what it complains of; @sort may be NULL. */
static void report(const char *sort, const char *by, int want_status, const char *output)
{
	char out[96], *argv[] = { "hotleaf", "report",
				  "--store", store,
				  "--since", "2024-02-28T12:00:00Z",
				  "--until", "2024-02-28T13:00:00Z",
				  "--by",    (char *)by,
				  "-o",      out,
				  "--sort",  (char *)sort,
				  NULL };
	int status, saved = dup(STDERR_FILENO);
	char path[96];
	FILE *f;

	(void)snprintf(out, sizeof(out), "%s/%s", stores_dir(), output);
	if (!sort)
		argv[12] = NULL;
	(void)snprintf(path, sizeof(path), "%s/said", stores_dir());
	CHECK(freopen(path, "w", stderr));
	status = hl_cli_run(hl_commands, sort ? 14 : 12, argv);
	CHECK(fflush(stderr) == 0 && dup2(saved, STDERR_FILENO) >= 0 && close(saved) == 0);
	f = fopen(status ? path : out, "r");
	CHECK(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = 0;
	(void)fclose(f);
	if (status != want_status)
		FAIL("status %d: %s", status, said);
}

static void check_table(const char *sort, const char *want)
{
	const char *table;

	report(sort, "service", 0, "out.txt");
	table = strstr(said, "\nsamples by ");
	if (!table || strcmp(table + 1, want) != 0)
		FAIL("--sort %s gives: %s", sort, table ? table : said);
}

HL_TEST(a_row_for_what_samples_have_in_common)
{
	prepare();
	check_table("service,symbol", "samples by service, function, 5 of 5\n\n"
				      "self     %  total     %  service           function\n"
				      "  90  73.8     90  73.8  web               work\n"
				      "  20  16.4     20  16.4  batch             work\n"
				      "   7   5.7      7   5.7  [kernel threads]  worker_thread_[k]\n"
				      "   5   4.1     25  20.5  batch             main\n"
				      "   0   0.0     90  73.8  web               main\n");
}

HL_TEST(recursion_counts_once_and_total_orders)
{
	prepare();
	check_table("total,function", "samples by function, 3 of 3\n\n"
				      "self     %  total     %  function\n"
				      "   5   4.1    115  94.3  main\n"
				      " 110  90.2    110  90.2  work\n"
				      "   7   5.7      7   5.7  worker_thread_[k]\n");
	report("total", "service", 0, "out.txt");
	CHECK(!strstr(said, "samples by"));
	CHECK(strstr(said, "top instructions"));
	CHECK(strstr(said, "main\n") < strstr(said, "work\n"));
	report("self", "service", 0, "out.txt");
	CHECK(strstr(said, "main\n") > strstr(said, "work\n"));
}

HL_TEST(instructions_and_who_called)
{
	prepare();
	check_table("mnemonic,class,caller,buildid,dso",
		    "samples by mnemonic, class, caller, buildid, module, 4 of 4\n\n"
		    "samples     %  mnemonic      class   caller  buildid  module\n"
		    "     80  65.6  lock cmpxchg  locked  work    ab01     app\n"
		    "     30  24.6  mov           load    main    ab01     app\n"
		    "      7   5.7  [none]        [none]  [none]  [none]   vmlinux\n"
		    "      5   4.1  mov           load    [none]  ab01     app\n");
	check_table("comm,insn,thread", "samples by thread, insn, 5 of 5\n\n"
					"samples     %  thread   insn\n"
					"     60  49.2  t1       lock cmpxchg %rcx,(%rdi)\n"
					"     30  24.6  t1       mov (%rdi),%rax\n"
					"     20  16.4  t2       lock cmpxchg %rcx,(%rdi)\n"
					"      7   5.7  kworker  [none]\n"
					"      5   4.1  t2       mov (%rsi),%rax\n");
}

/* What a decoder of its own makes of it: whose samples they are is in labels, whatever --sort asks for. */
HL_TEST(labels_of_pprof)
{
	char command[200];
	FILE *f;

	prepare();
	report(NULL, "container", 0, "out.pb.gz");
	(void)snprintf(command, sizeof(command), "tests/pprof %s/out.pb.gz", stores_dir());
	f = popen(command, "r");
	CHECK(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = 0;
	CHECK_INT(pclose(f), 0);
	CHECK(strstr(said, "\nmain@1:1100;work@1:1220 | service=web exe=/usr/bin/app process=app thread=t1 "
			   "insn=mov (%rdi),%rax class=load offset=32bytes 30/30\n"));
	CHECK(strstr(said, " | process=kworker thread=kworker 7/7\n"));
}

HL_TEST(refusals_name_what_there_is)
{
	prepare();
	report("service,colour", "service", 2, "out.txt");
	CHECK(strstr(said,
		     "\"colour\" of option \"--sort\" is unknown; there are: self, total, service, host, "));
	CHECK(strstr(said, ", event, module, buildid, function, caller, insn, mnemonic, class"));
	report("symbol", "service", 2, "out.svg");
	CHECK(strstr(said, "-f txt"));
	CHECK(access(store, F_OK) == 0);
}
