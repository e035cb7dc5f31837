/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_HASH_H
#define HL_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A content-addressed id: equal content gives an equal id on every host. */
struct hl_id {
	uint64_t lo, hi;
};

static inline bool hl_id_equal(struct hl_id a, struct hl_id b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

/*
 * SipHash-2-4 with 128-bit output under a fixed, public key (Aumasson and Bernstein, "SipHash: a fast
 * short-input PRF", 2012). It names small records; whole files are named by a cryptographic hash, whose
 * result such a record contains.
 */
struct hl_id hl_id_of(const void *bytes, size_t len);

/* A fast 64-bit hash for in-memory tables. Not stable over versions: never stored. */
uint64_t hl_hash(const void *bytes, size_t len, uint64_t seed);

/* A bijection of 64-bit words (the finaliser of SplitMix64): as hashes, equal ones are equal keys. */
static inline uint64_t hl_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

#endif
