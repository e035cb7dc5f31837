// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture elf insn unwind */
/*
 * walk: what one frame costs, all caches hot: our walk by unwind tables, and by frame pointers as in code without
 * tables, beside the kernel's bpf_get_stack(), which has frame pointers only. On a stack of this program, which
 * has both, at the same depths in the same run. Each line is the best of many test runs of a thousand walks. Needs
 * root.
 */
#include "capture/internal.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/hotleaf.skel.h"
#include "capture/event.h"
#include "elf/elf.h"
#include "tests/bench/walk.skel.h"
#include "unwind/unwind.h"

enum { RUNS = 500 };

static struct walk_bpf *skel;
static struct hl_err err;
static uint32_t own_id; /* of this program's file */

_Noreturn static void die(const char *what)
{
	(void)fprintf(stderr, "walk: %s\n", what);
	exit(1);
}

static void load_table(struct hl_capture *capture, uint32_t id, const char *path)
{
	struct hl_unwind_result result;
	struct hl_elf *elf = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || hl_elf_open(fd, path, &elf, &err) || hl_unwind_compile(elf, &result, &err) ||
	    hl_capture_load_table(capture, id, result.bytes, &err))
		die(fd < 0 ? path : err.text);
	free(result.bytes);
	hl_elf_free(elf);
	(void)close(fd);
}

static void on_listed(void *ctx, const struct hl_file_event *e)
{
	const char *paths[2] = { "/proc/self/exe", NULL };
	struct stat st;
	Dl_info info;

	if (dladdr((void *)(uintptr_t)getppid, &info))
		paths[1] = info.dli_fname;
	for (int i = 0; i < 2; i++) {
		if (paths[i] && stat(paths[i], &st) == 0 && st.st_ino == e->key.inode &&
		    (uint64_t)st.st_size == e->key.size) {
			load_table(ctx, e->id, paths[i]);
			if (i == 0)
				own_id = e->id;
		}
	}
}

/* The programs under test see the tables that hotleaf's own code has loaded. */
static void share_maps(struct hl_capture *capture)
{
	struct bpf_map *map, *other;

	skel = walk_bpf__open();
	if (!skel)
		die("cannot open the programs");
	bpf_object__for_each_map(map, skel->obj)
	{
		other = bpf_object__find_map_by_name(capture->skel->obj, bpf_map__name(map));
		if (!other || bpf_map__is_internal(map) || strcmp(bpf_map__name(map), "scratches") == 0)
			continue;
		if (bpf_map__reuse_fd(map, bpf_map__fd(other)))
			die("cannot share a map");
	}
	skel->rodata->stack_seed = capture->skel->rodata->stack_seed; /* file ids depend on it */
	skel->rodata->max_user_frames = capture->skel->rodata->max_user_frames;
	if (walk_bpf__load(skel))
		die("the programs do not load");
}

/* ns of a thousand walks, the best of all runs. */
static uint64_t run(struct bpf_program *program)
{
	uint64_t args[2] = { 0, 0 }, best = UINT64_MAX;
	union bpf_attr attr;
	long result;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)bpf_program__fd(program);
	attr.test.ctx_in = (uint64_t)(uintptr_t)args;
	attr.test.ctx_size_in = sizeof(args);
	for (int i = 0; i < RUNS; i++) {
		/* Inline: libc's wrapper keeps no frame pointer. */
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "0"((long)SYS_bpf), "D"((long)BPF_PROG_TEST_RUN), "S"(&attr),
				   "d"(sizeof(attr))
				 : "rcx", "r11", "memory");
		if (result || (int)attr.test.retval <= 0)
			die("a test run failed");
		if (skel->bss->elapsed_ns < best)
			best = skel->bss->elapsed_ns;
	}
	return best;
}

struct result {
	double ns;
	uint32_t frames;
};

void run_deep(struct bpf_program *program, int depth, struct result *ret);

__attribute__((noinline)) void run_deep(struct bpf_program *program, int depth, struct result *ret)
{
	if (depth > 0) {
		run_deep(program, depth - 1, ret);
		__asm__ volatile("" ::: "memory"); /* the call above is no jump */
		return;
	}
	ret->ns = (double)run(program) / 1000;
	ret->frames = skel->bss->frames;
}

/*
 * The same with another frame pointer to begin with: zero, as a program has that keeps frame pointers
 * throughout. The kernel's walk follows it, and ends by the fault at address zero, which under a hypervisor may
 * be dear. A frame pointer that is no user address ends it without: no program has that, but it shows what the
 * frames alone cost.
 */
void run_from_start(struct bpf_program *program, int depth, struct result *ret);
long first_frame_pointer;
__asm__(".text\n"
	"run_from_start:\n"
	"	push %rbp\n"
	"	mov first_frame_pointer(%rip), %rbp\n"
	"	call run_deep\n"
	"	pop %rbp\n"
	"	ret\n");

typedef void (*run_fn)(struct bpf_program *program, int depth, struct result *ret);

/* The walk of a stack of @frames frames: as deep as it takes to have them. */
static struct result measure(struct bpf_program *program, run_fn run_at, uint32_t frames)
{
	struct result now, best;

	run_at(program, 0, &now);
	if (now.frames > frames)
		die("the stack of this program is too deep for the first line");
	run_at(program, (int)(frames - now.frames), &best);
	if (best.frames != frames)
		die("a walk did not have the frames that it should have");
	return best;
}

/* The same of ours, which says whether it has reached the start. */
static struct result measure_whole(struct bpf_program *program, run_fn run_at, uint32_t frames)
{
	struct result result;

	/* The tables have changed, which only hotleaf's own programs were told. */
	skel->bss->files_generation++;
	result = measure(program, run_at, frames);

	if (skel->bss->end != HL_WALK_COMPLETE)
		die("our walk did not reach the start");
	return result;
}

static void print(struct result result)
{
	printf("  %8.1f (%7.0f)", result.ns / result.frames, result.ns);
}

int main(void)
{
	static const uint32_t depths[] = { 11, 31, 101 };
	struct hl_event_choice event;
	struct hl_capture_options options = { .event = &event, .frequency = 99, .max_depth = 255 };
	struct hl_capture *capture;
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	(void)sched_setaffinity(0, sizeof(first), &first);
	if (hl_event_choose("cpu-clock", 99, &event, &err) || hl_capture_new(&options, &capture, &err))
		die(err.text);
	if (hl_capture_list_files(capture, on_listed, capture))
		die("cannot list the files in use");
	share_maps(capture);
	printf("ns a frame (a walk), hot:\nframes  %18s  %18s  %18s  %18s\n", "tables", "frame pointers",
	       "bpf_get_stack", "without last fault");
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		printf("%6u", depths[i]);
		hl_capture_settle_file(capture, own_id, HL_TABLE_NONE);
		load_table(capture, own_id, "/proc/self/exe");
		print(measure_whole(skel->progs.walk_ours, run_deep, depths[i]));
		hl_capture_settle_file(capture, own_id, HL_TABLE_NONE);
		first_frame_pointer = 0;
		print(measure_whole(skel->progs.walk_ours, run_from_start, depths[i]));
		print(measure(skel->progs.walk_kernel, run_from_start, depths[i]));
		first_frame_pointer = -1;
		print(measure(skel->progs.walk_kernel, run_from_start, depths[i]));
		printf("\n");
	}
	walk_bpf__destroy(skel);
	hl_capture_free(capture);
	return 0;
}
