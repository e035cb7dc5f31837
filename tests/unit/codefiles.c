// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/shell */
#include "process/codefiles.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"

/* A /proc of one process, 123, which is number 7 in its namespace and started 5 s after boot. */

enum { START_TICKS = 500 };

static char dir[64];
static int proc_fd;
static struct hl_code_files *files;
static struct hl_window window;
static struct hl_process_key key = { .start_time = START_TICKS * UINT64_C(10000000) + 123, .tgid = 123 };

static const char *in_dir(const char *name)
{
	static char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make_dir(const char *name)
{
	CHECK_INT(mkdir(in_dir(name), 0700), 0);
}

static void put(const char *name, const char *text)
{
	int fd = open(in_dir(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* What a thread's folder holds, with a root of its own in it. */
static void make_view(const char *folder)
{
	static char name[64], text[256];

	(void)snprintf(text, sizeof(text),
		       "Name:\tx\nUid:\t%u\t1\t2\t3\nNStgid:\t123\t9\t7\nNSpid:\t124\t10\t8\n",
		       (unsigned int)getuid());
	(void)snprintf(name, sizeof(name), "%s/status", folder);
	put(name, text);
	(void)snprintf(name, sizeof(name), "%s/root", folder);
	make_dir(name);
	(void)snprintf(name, sizeof(name), "%s/root/tmp", folder);
	make_dir(name);
}

static void begin(void)
{
	char stat[200];

	strcpy(dir, "/tmp/hotleaf-code-XXXXXX");
	CHECK(mkdtemp(dir));
	make_dir("123");
	make_dir("123/map_files");
	(void)snprintf(stat, sizeof(stat),
		       "123 (a ) b (c) S 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 %u 1 1 1", START_TICKS);
	put("123/stat", stat);
	proc_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(proc_fd >= 0);
	files = hl_code_files_new(proc_fd, NULL);
	CHECK(files);
}

static void end(void)
{
	hl_code_files_free(files);
	hl_window_done(&window);
	close(proc_fd);
	must("rm -r %s", dir);
}

/* A sample at @frame, called from @caller; then what a drain does. */
static void sample(uint64_t frame, uint64_t caller)
{
	static uint64_t id = 1;
	size_t known = window.n_samples;
	struct hl_stack_head head = { .n = 1 };
	struct hl_count_key count_key = { .process = key, .ip = frame, .user_stack = id };
	struct hl_count count = { .samples = 1 };

	CHECK(hl_window_add_stack(&window, id, &head, &caller));
	hl_window_add_sample(&window, &count_key, &count);
	id += 2;
	hl_code_files_look(files, &window, known);
}

static int fd_of(enum hl_code_file_kind kind)
{
	uint32_t number = hl_code_files_number(files, &key);

	return number ? hl_code_files_get(files, number)->fds[kind] : -1;
}

static const uint64_t in_file = UINT64_C(3) << HL_FRAME_FILE_SHIFT, made = HL_FRAME_RAW | 0x1000;

HL_TEST(a_map_is_opened_at_the_first_sight_of_made_code)
{
	char text[8] = "";

	begin();
	make_view("123");
	put("123/root/tmp/perf-7.map", "names");
	put("123/root/tmp/perf-123.map", "decoy");
	put("123/root/tmp/perf-8.map", "decoy");
	put("123/maps", "");
	sample(in_file, in_file);
	sample(UINT64_C(0xffffffff81000000), in_file);
	CHECK_INT(fd_of(HL_CODE_PERF_MAP), -1);
	sample(in_file, made);
	CHECK_INT(pread(fd_of(HL_CODE_PERF_MAP), text, 7, 0), 5);
	CHECK_STR(text, "names");
	CHECK_INT(fd_of(HL_CODE_JITDUMP), -1);
	end();
}

HL_TEST(what_comes_later_is_found_later)
{
	begin();
	make_view("123");
	put("123/maps", "");
	sample(made, in_file);
	CHECK_INT(hl_code_files_number(files, &key), 0);
	put("123/root/tmp/perf-7.map", "names");
	for (int i = 0; i < 4; i++)
		hl_code_files_look(files, &window, window.n_samples);
	CHECK(fd_of(HL_CODE_PERF_MAP) >= 0);
	end();
}

HL_TEST(another_process_of_the_same_number)
{
	begin();
	make_view("123");
	put("123/root/tmp/perf-7.map", "names");
	put("123/maps", "");
	key.start_time += UINT64_C(10000000);
	sample(made, in_file);
	CHECK_INT(hl_code_files_number(files, &key), 0);
	end();
}

/* Then the process has no root, and no maps: its threads do. */
HL_TEST(the_first_thread_has_ended)
{
	begin();
	put("123/maps", "");
	make_dir("123/task");
	make_dir("123/task/123");
	make_dir("123/task/124");
	make_view("123/task/124");
	put("123/task/124/root/tmp/perf-7.map", "names");
	put("123/task/124/root/tmp/jit-7.dump", "dump");
	put("123/task/124/maps", "1000-2000 r-xp 00000000 00:01 5     /tmp/jit-7.dump\n");
	sample(made, in_file);
	CHECK(fd_of(HL_CODE_PERF_MAP) >= 0);
	CHECK(fd_of(HL_CODE_JITDUMP) >= 0);
	end();
}

HL_TEST(a_jitdump_is_the_one_that_is_mapped)
{
	static const char *const wrong[] = {
		"1000-2000 r--p 00000000 00:01 5     /x/jit-7.dump\n", /* not executable */
		"1000-2000 r-xp 00000000 00:01 5     /x/jit-.dump\n",
		"1000-2000 r-xp 00000000 00:01 5     /x/jit-7.dumps\n",
		"1000-2000 r-xp 00000000 00:01 5     /x/ajit-7.dump\n",
		"1000-2000 r-xp 00000000 00:01 5     jit-7.dump\n",
	};
	char text[8] = "";

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]) + 2; i++) {
		bool right = i >= sizeof(wrong) / sizeof(wrong[0]);

		begin();
		make_view("123");
		put("dump", "mapped");
		put("123/root/jit-7.dump", "decoy");
		CHECK_INT(symlinkat("../../dump", proc_fd, "123/map_files/1000-2000"), 0);
		put("123/maps", i == 5  ? "1000-2000 r-xp 00000000 00:01 5     /jit-7.dump\n"
				: right ? "1000-2000 r-xp 00000000 00:01 5     /x/jit-99.dump (deleted)\n"
					: wrong[i]);
		sample(made, in_file);
		if (right) {
			CHECK_INT(pread(fd_of(HL_CODE_JITDUMP), text, 7, 0), 6);
			CHECK_STR(text, "mapped");
		} else {
			CHECK_INT(fd_of(HL_CODE_JITDUMP), -1);
		}
		end();
	}
}

/* What is there and is not opened is counted, once a file; what is not there is not. */
HL_TEST(files_that_are_refused)
{
	begin();
	make_view("123");
	put("123/maps", "");
	CHECK_INT(mkfifoat(proc_fd, "123/root/tmp/perf-7.map", 0600), 0);
	for (int i = 0; i < 4; i++)
		sample(made, in_file);
	CHECK_INT(hl_code_files_number(files, &key), 0);
	CHECK_INT(hl_code_files_refused(files), 1);
	CHECK_INT(unlinkat(proc_fd, "123/root/tmp/perf-7.map", 0), 0);
	put("123/root/tmp/perf-7.map", "names");
	for (int i = 0; i < 8; i++)
		sample(made, in_file);
	CHECK(fd_of(HL_CODE_PERF_MAP) >= 0);
	CHECK_INT(hl_code_files_refused(files), 0);
	end();
}

HL_TEST(more_processes_than_are_noted)
{
	enum { NOTED = 2048 };

	begin();
	for (uint32_t i = 0; i < NOTED; i++) {
		key.tgid = 1000 + i;
		sample(made, in_file);
	}
	CHECK_INT(hl_code_files_dropped(files), 0);
	for (uint32_t i = 0; i < 3; i++) {
		key.tgid = 1000 + NOTED + i / 2;
		sample(made, in_file);
	}
	CHECK_INT(hl_code_files_dropped(files), 3);
	key.tgid = 123;
	end();
}
