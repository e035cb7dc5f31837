// SPDX-License-Identifier: BSD-2-Clause
/* needs: base */
#include "base/hash.h"

#include "harness.h"

/* Vectors of the SipHash-128 reference: message 00 01 02 … of the given length. */
HL_TEST(siphash_128_gives_the_published_vectors)
{
	unsigned char message[16];
	struct hl_id id;

	for (int i = 0; i < 16; i++)
		message[i] = (unsigned char)i;
	id = hl_id_of(message, 0);
	CHECK(id.lo == 0xe6a825ba047f81a3 && id.hi == 0x930255c71472f66d);
	id = hl_id_of(message, 1);
	CHECK(id.lo == 0x44af996bd8c187da && id.hi == 0x45fc229b11597634);
}

HL_TEST(hash_depends_on_every_byte_and_on_the_length)
{
	unsigned char a[24] = { 0 }, b[24] = { 0 };

	for (size_t i = 0; i < sizeof(a); i++) {
		b[i] = 1;
		CHECK(hl_hash(a, sizeof(a), 0) != hl_hash(b, sizeof(b), 0));
		b[i] = 0;
	}
	CHECK(hl_hash(a, 7, 0) != hl_hash(a, 8, 0));
	CHECK(hl_hash(a, 8, 0) != hl_hash(a, 8, 1));
}
