// SPDX-License-Identifier: BSD-2-Clause
/*
 * jit SECONDS NAME WORD…: makes two functions at an address that is the same in every process, one of which
 * calls the other, and runs them. It calls them "NAME outer" and "NAME inner" in a perf map (word "map") or
 * in a jitdump in the working directory ("dump"). More words:
 *
 *   dual     the code lies in a memfd that is mapped twice, executable here, writable there
 *   file     the code lies in a memfd, private and writable
 *   rewrite  after half of the time the inner function is another one at the same address
 *   late     the names come after half of the time, a torn line first
 *   lines    the dump tells source lines of the outer function
 *   remove   what was written is removed in the end
 *   orphan   a second thread runs the code; the first one has ended
 */
#include "work.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE  ((char *)0x123400000000)
#define INNER 0x200
enum { SIZE = 0x1000 };

static double start, end;
static const char *name;
static char path[128];
static char *writable = CODE;
static int words_argc;
static char **words_argv;

static bool word(const char *wanted)
{
	for (int i = 3; i < words_argc; i++)
		if (strcmp(words_argv[i], wanted) == 0)
			return true;
	return false;
}

/* push %rbp; mov %rsp,%rbp; call INNER; pop %rbp; ret */
static const unsigned char outer[] = "\x55\x48\x89\xe5\xe8\xf7\x01\0\0\x5d\xc3";
/* push %rbp; mov %rsp,%rbp; mov $100000,%ecx; again: imul %rax,%rax; dec %ecx; jne again; pop %rbp; ret */
static const unsigned char imul[] =
	"\x55\x48\x89\xe5\xb9\xa0\x86\x01\0\x48\x0f\xaf\xc0\xff\xc9\x75\xf8\x5d\xc3";
/* The same, but the second half of the loop: loop again; xchg %ax,%ax */
static const unsigned char loop[] =
	"\x55\x48\x89\xe5\xb9\xa0\x86\x01\0\x48\x0f\xaf\xc0\xe2\xfa\x66\x90\x5d\xc3";

static bool make_code(void)
{
	int shared = word("dual") ? MAP_SHARED : MAP_PRIVATE, protection = PROT_READ | PROT_EXEC;
	int fd = word("dual") || word("file") ? memfd_create("doublemapper", MFD_CLOEXEC) : -1;

	if (fd >= 0 && ftruncate(fd, SIZE))
		return false;
	if (!word("dual"))
		protection |= PROT_WRITE;
	if (mmap(CODE, SIZE, protection, shared | MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_ANONYMOUS : 0), fd,
		 0) != CODE)
		return false;
	if (word("dual"))
		writable = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (writable == MAP_FAILED)
		return false;
	memcpy(writable, outer, sizeof(outer));
	memcpy(writable + INNER, imul, sizeof(imul));
	return true;
}

static bool write_map(void)
{
	FILE *f;

	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "a");
	if (!f)
		return false;
	(void)fprintf(f, "%lx %zx %s outer\n%lx %zx %s in", (long)CODE, sizeof(outer), name,
		      (long)CODE + INNER, sizeof(imul), name);
	(void)fflush(f);
	if (word("late"))
		(void)usleep(100000);
	(void)fprintf(f, "ner\n");
	return fclose(f) == 0;
}

static void write_load(FILE *f, uint64_t address, uint64_t size, const char *part)
{
	char full[128];
	int len = snprintf(full, sizeof(full), "%s %s", name, part) + 1;
	uint32_t prefix[2] = { 0, (uint32_t)(56 + len + (int)size) }, ids[2] = { (uint32_t)getpid(), 1 };
	uint64_t body[4] = { address, address, size, 1 }, time = (uint64_t)(now() * 1e9);

	(void)fwrite(prefix, sizeof(prefix), 1, f);
	(void)fwrite(&time, sizeof(time), 1, f);
	(void)fwrite(ids, sizeof(ids), 1, f);
	(void)fwrite(body, sizeof(body), 1, f);
	(void)fwrite(full, (size_t)len, 1, f);
	(void)fwrite((char *)address, size, 1, f);
}

/* Line 77 of outer.x is where the outer function, which comes next, calls. */
static void write_lines(FILE *f)
{
	uint32_t prefix[2] = { 2, 32 + 2 * 24 }, line[4] = { 70, 0, 77, 0 };
	uint64_t time = (uint64_t)(now() * 1e9), body[2] = { (uint64_t)CODE, 2 };
	uint64_t places[2] = { (uint64_t)CODE, (uint64_t)CODE + 4 };

	(void)fwrite(prefix, sizeof(prefix), 1, f);
	(void)fwrite(&time, sizeof(time), 1, f);
	(void)fwrite(body, sizeof(body), 1, f);
	for (int i = 0; i < 2; i++) {
		(void)fwrite(&places[i], 8, 1, f);
		(void)fwrite(&line[2 * i], 8, 1, f);
		(void)fwrite("outer.x", 8, 1, f);
	}
}

static bool write_dump(void)
{
	uint32_t header[6] = { 0x4a695444, 1, 40, EM_X86_64, 0, (uint32_t)getpid() };
	uint64_t times[2] = { (uint64_t)(now() * 1e9), 0 };
	FILE *f;

	(void)snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	f = fopen(path, "w+");
	if (!f || mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		return false;
	(void)fwrite(header, sizeof(header), 1, f);
	(void)fwrite(times, sizeof(times), 1, f);
	if (word("lines"))
		write_lines(f);
	write_load(f, (uint64_t)CODE, sizeof(outer), "outer");
	write_load(f, (uint64_t)CODE + INNER, sizeof(imul), "inner");
	return fclose(f) == 0;
}

static bool write_names(void)
{
	return (!word("map") || write_map()) && (!word("dump") || write_dump());
}

OWN_FRAME static void call_made_code(void)
{
	((void (*)(void))CODE)();
	AFTER_CALL();
}

OWN_FRAME static void *run(void *unused)
{
	double half = start + (end - start) / 2;
	bool named = false, rewritten = false;

	while (now() < end) {
		if (!named && (!word("late") || now() > half)) {
			if (!write_names())
				_exit(1);
			named = true;
		}
		if (!rewritten && word("rewrite") && now() > half) {
			memcpy(writable + INNER, loop, sizeof(loop));
			rewritten = true;
		}
		for (int i = 0; i < 20; i++)
			call_made_code();
	}
	if (word("remove"))
		(void)unlink(path);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 2;
	words_argc = argc;
	words_argv = argv;
	name = argv[2];
	start = now();
	end = end_of(argc, argv);
	if (!make_code())
		return 1;
	if (!word("orphan")) {
		(void)run(NULL);
		return 0;
	}
	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	pthread_exit(NULL);
}
