/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_STORES_H
#define HL_TESTS_STORES_H

#include "profile/profile.h"
#include "store/batch.h"
#include "store/reading.h"
#include "store/store.h"

/* Builds small stores by hand. Each function fails the test on an error. */

/* Noon of 2024-02-28, UTC. */
#define STORES_NOON UINT64_C(1709121600000000000)
#define STORES_S    UINT64_C(1000000000)

/* An empty directory of this test's own; removed at the end of the process. */
const char *stores_dir(void);

struct hl_store *stores_open(const char *path);
/* The header of a window of ten seconds of cpu-clock at 99 Hz on two CPUs. */
struct hl_profile_meta stores_meta(uint64_t start_ns);
/* Samples that depend on @seed only: some stacks are the same for all seeds. */
struct hl_batch *stores_batch(unsigned int seed);
/* How many samples and which weight stores_batch() makes. */
uint64_t stores_samples(unsigned int seed);
/* Opens, writes @n windows of ten seconds from @start_ns on with seeds from @seed on, closes. */
void stores_fill(const char *path, uint64_t start_ns, unsigned int n, unsigned int seed);

/* Reads a range; NULL if there is nothing, with the reason in @err. */
struct hl_reading *stores_read(const char *path, uint64_t since_ns, uint64_t until_ns, struct hl_err *err);
/* Whether one of the notes holds @text. */
bool stores_has_note(const struct hl_reading *reading, const char *text);
uint64_t stores_total(const struct hl_reading *reading);
/* Whether two finished profiles are the same in all that is shown. */
bool stores_same(const struct hl_profile *a, const struct hl_profile *b);
/*
 * Reads a range of 2024-02-28, in seconds from noon on, as the day is and in a copy that @change, of SQL, was made
 * in: the same must come out.
 */
void stores_check_range(uint64_t since_s, uint64_t until_s, const char *change);

#endif
