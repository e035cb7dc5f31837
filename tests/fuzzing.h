/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_FUZZING_H
#define HL_TESTS_FUZZING_H

/* What fuzzers share. A fuzzer asserts what must hold for any input; a sanitizer sees to the rest. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                               \
	do {                                                                                          \
		if (!(condition)) {                                                                   \
			(void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                      \
		}                                                                                     \
	} while (0)

/* Called by libFuzzer for each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file that holds @size bytes at @data; to be closed by the caller. */
int fuzz_file(const uint8_t *data, size_t size);

#endif
