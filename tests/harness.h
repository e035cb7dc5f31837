/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_HARNESS_H
#define HL_TESTS_HARNESS_H

/*
 * A small TAP harness. A test is HL_TEST(name) { … }; it registers itself through an ELF section, runs in a
 * process of its own under a time limit, and fails by a CHECK that does not hold, by a signal, or by any
 * exit status but 0. Status 4 is a skip, always with its reason.
 *
 *   -l list   -x NAME exclude   -1 run in this process (for a debugger)   NAME… run only these
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct hl_test {
	const char *name;
	void (*run)(void);
	unsigned int timeout; /* seconds; 0: 60 */
} __attribute__((aligned(32)));

/* The formatter would put one word a line. */
/* clang-format off */
#define HL_TEST_TIMEOUT(test_name, seconds)                                                               \
	static void test_##test_name(void);                                                               \
	__attribute__((used, section("hl_tests"), aligned(32))) static const struct hl_test               \
		test_row_##test_name = { #test_name, test_##test_name, (seconds) };                       \
	static void test_##test_name(void)
/* clang-format on */
#define HL_TEST(test_name) HL_TEST_TIMEOUT(test_name, 0)

/* Ends the test as failed, with a message in printf's form. */
_Noreturn void hl_test_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Ends the test as skipped, with the reason. */
_Noreturn void hl_test_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A line of commentary in the TAP output. */
void hl_test_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * What the program does instead of testing when its first argument is a word: symd's client starts it anew as
 * its child. A test program may define it; it does not return if the word is known.
 */
__attribute__((weak)) void hl_test_instead(const char *word, char **arguments);

#define FAIL(...) hl_test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...) hl_test_skip(__VA_ARGS__)
#define NOTE(...) hl_test_note(__VA_ARGS__)

#define CHECK(cond)                                       \
	do {                                              \
		if (!(cond))                              \
			FAIL("does not hold: %s", #cond); \
	} while (0)

#define CHECK_INT(got, want)                                                                          \
	do {                                                                                          \
		long long got_ = (long long)(got), want_ = (long long)(want);                         \
		if (got_ != want_)                                                                    \
			FAIL("%s is %lld (0x%llx), should be %lld (0x%llx)", #got, got_, got_, want_, \
			     want_);                                                                  \
	} while (0)

#define CHECK_STR(got, want)                                                                         \
	do {                                                                                         \
		const char *got_ = (got), *want_ = (want);                                           \
		if (!got_ || strcmp(got_, want_) != 0)                                               \
			FAIL("%s is \"%s\", should be \"%s\"", #got, got_ ? got_ : "(null)", want_); \
	} while (0)

/*
 * The bounds within which a binomial count of @n trials at probability @p lies but for once in 10⁷ runs
 * (normal approximation with 5.5 standard deviations, plus three for small counts).
 */
void hl_binomial_bounds(uint64_t n, double p, uint64_t *ret_low, uint64_t *ret_high);

#endif
