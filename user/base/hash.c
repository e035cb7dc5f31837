// SPDX-License-Identifier: BSD-2-Clause
#include "base/hash.h"

#include <string.h>

static uint64_t load64(const unsigned char *b)
{
	uint64_t v;

	memcpy(&v, b, sizeof(v)); /* every machine we run on is little-endian, as SipHash wants it */
	return v;
}

static uint64_t load_tail(const unsigned char *b, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, b, n);
	return v;
}

static uint64_t rotl(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static void sip_rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

struct hl_id hl_id_of(const void *bytes, size_t len)
{
	/* The key is the one of the paper's test vectors: bytes 0 to 15. */
	const uint64_t k0 = 0x0706050403020100, k1 = 0x0f0e0d0c0b0a0908;
	uint64_t v[4] = { 0x736f6d6570736575 ^ k0, 0x646f72616e646f6d ^ k1 ^ 0xee, 0x6c7967656e657261 ^ k0,
			  0x7465646279746573 ^ k1 };
	const unsigned char *b = bytes;
	size_t i, whole = len & ~(size_t)7;
	struct hl_id id;
	uint64_t m;

	for (i = 0; i < whole; i += 8) {
		m = load64(b + i);
		v[3] ^= m;
		sip_rounds(v, 2);
		v[0] ^= m;
	}
	m = load_tail(b + whole, len - whole) | (uint64_t)len << 56;
	v[3] ^= m;
	sip_rounds(v, 2);
	v[0] ^= m;
	v[2] ^= 0xee;
	sip_rounds(v, 4);
	id.lo = v[0] ^ v[1] ^ v[2] ^ v[3];
	v[1] ^= 0xdd;
	sip_rounds(v, 4);
	id.hi = v[0] ^ v[1] ^ v[2] ^ v[3];
	return id;
}

uint64_t hl_hash(const void *bytes, size_t len, uint64_t seed)
{
	const uint64_t k = 0x9e3779b97f4a7c15; /* 2⁶⁴ / golden ratio */
	const unsigned char *b = bytes;
	uint64_t h = seed ^ (len * k);

	for (; len >= 8; len -= 8, b += 8)
		h = rotl((h ^ load64(b)) * k, 29);
	if (len)
		h = rotl((h ^ load_tail(b, len)) * k, 29);
	h ^= h >> 32;
	h *= k;
	return h ^ h >> 29;
}
