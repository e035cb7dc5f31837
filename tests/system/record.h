/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_SYSTEM_RECORD_H
#define HL_TESTS_SYSTEM_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Helps tests that run the real program on real workloads. What fails here fails the test. */

/* A folded output: lines "root;frame;…;leaf count". */
struct folded {
	struct folded_line {
		char *stack;
		uint64_t count;
	} * lines;
	size_t n;
	uint64_t total;
};

/* An empty directory of this test's own; its path ends in a slash. */
const char *test_dir(void);

/* Path of the program under test. */
const char *hotleaf(void);
/* Starts a command in the background, by the shell's exec. It does not outlive the test. */
pid_t start(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Ends and reaps it. */
void stop(pid_t pid);

/* A workload of tests/workload, as built beside the program under test. Static. */
const char *workload(const char *name);
/*
 * Builds tests/workload/SOURCE as NAME in the test's directory, with frame pointers and @flags; its path,
 * static. It is found by its own directory's libraries.
 */
const char *build_workload(const char *name, const char *source, const char *flags);

/*
 * Runs `hotleaf record OPTIONS` with a folded output, out.folded, and reads that; the header is in out.txt.
 * Both lie in the test's directory. Runs before other work of the host. Needs root: skips otherwise.
 */
struct folded record(const char *options, ...) __attribute__((format(printf, 1, 2)));
/* The same in the background, to be followed by one of the next two. */
pid_t start_recording(const char *options, ...) __attribute__((format(printf, 1, 2)));
/* Waits for its end. */
struct folded finish_recording(pid_t pid);
/* Ends it now: what is to be recorded may take longer than any time set before. */
struct folded end_recording(pid_t pid);
struct folded read_folded(const char *path);
void folded_done(struct folded *folded);

/* What the header of the last recording says became of its samples. */
struct account {
	uint64_t shown, expected, seen, idle, filtered;
	uint64_t lost;                /* under any name */
	uint64_t textless, undecoded; /* leaves without text, and with bytes for text */
	uint64_t stackless;           /* shown without callers, as the stack map had no room */
};
struct account read_account(void);
/* Fails unless each sample that was seen is shown, or is accounted for. */
void check_account(const struct folded *folded);

/* Samples of the lines that match the extended regular expression. */
uint64_t sum_of(const struct folded *folded, const char *regex);
/* Prints the lines that match as notes, at most @most. */
void note_lines(const struct folded *folded, const char *regex, size_t most);

/* Fails unless @part of @whole samples is a likely outcome of probability @p; see hl_binomial_bounds(). */
void check_share(const char *what, uint64_t part, uint64_t whole, double p);
/* Fails unless at least the share @least of @whole is @part, sampling error apart. */
void check_at_least(const char *what, uint64_t part, uint64_t whole, double least);

#endif
