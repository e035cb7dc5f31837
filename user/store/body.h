/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_BODY_H
#define HL_STORE_BODY_H

#include <stddef.h>
#include <stdint.h>

struct hl_frame;

/* The machine code of a function that was hot, kept since its file, or its process, may be gone when it is read. */

/* Where it was read. Values reach disk: never renumbered. */
enum hl_body_source {
	HL_BODY_NONE = 0, /* it could not be */
	HL_BODY_FILE = 1,
	HL_BODY_MEMORY = 2, /* of the process */
	HL_BODY_KERNEL = 3,
	HL_BODY_SOURCES
};

/* Functions with more bytes are not kept. */
enum { HL_BODY_MAX = 256 << 10 };

/* All is borrowed. */
struct hl_body {
	uint8_t source;    /* enum hl_body_source */
	uint8_t bits;      /* 64, or 32: how it is decoded */
	uint64_t address;  /* of its first byte, as the frames of its instructions have it */
	uint64_t size;     /* 0: not known */
	const void *bytes; /* `size` of them; NULL: none, as @why says */
	const void *build_id;
	size_t build_id_len; /* 0: none */
	const char *why;     /* "" where there are bytes */
};

/* Given a function, of which kind, binary, address, name and module are set, and a body of it. 0 or -errno. */
typedef int (*hl_body_fn)(void *ctx, const struct hl_frame *function, const struct hl_body *body);

/* What there is of them. */
struct hl_body_sum {
	uint64_t kept, bytes; /* of functions, and of different ones the bytes */
	uint64_t without;     /* functions of which there is none */
	uint64_t damaged;     /* rows that are not what was written: left out */
	unsigned int days;    /* that were looked at */
	unsigned int old;     /* of these, written by a hotleaf that kept none */
};

#endif
