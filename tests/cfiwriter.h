/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_CFIWRITER_H
#define HL_TESTS_CFIWRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elfwriter;

/* Writes call frame information for tests, entry by entry. Where there is no room a test dies. */

enum { CW_ROOM = 64 * 1024, CW_EH_ENCODING = 0x1b /* 32-bit distances from the field */ };

struct cfiwriter {
	uint64_t address; /* of the first byte */
	bool is_debug;    /* .debug_frame */
	size_t len, entry, n_fdes;
	struct {
		uint64_t start;
		size_t at;
	} fdes[256];
	uint8_t bytes[CW_ROOM];
};

void cw_init(struct cfiwriter *w, uint64_t address, bool is_debug);
void cw_bytes(struct cfiwriter *w, const void *bytes, size_t len);
void cw_number(struct cfiwriter *w, uint64_t value, size_t size); /* little-endian */

/* Between these two stands the body of an entry, of any kind. cw_end() pads it and fills the length in. */
size_t cw_begin(struct cfiwriter *w);
void cw_end(struct cfiwriter *w);

/* What compilers write for x86-64: "zR", and at first CFA = rsp + 8. Returns where it stands. */
size_t cw_usual_cie(struct cfiwriter *w);
/* A CIE with this augmentation, its data, and these instructions. */
size_t cw_cie(struct cfiwriter *w, const char *augmentation, const void *data, size_t data_len,
	      const void *program, size_t len);
/* An FDE of a CIE of such an encoding and with 'z' (.debug_frame: with absolute addresses, without). */
void cw_fde(struct cfiwriter *w, size_t cie, uint64_t start, uint64_t size, const void *program, size_t len);

/* Puts it at its address, taken as offset - @distance, as section, or as segment with a header in front. */
void cw_put_section(const struct cfiwriter *w, struct elfwriter *elf, uint64_t distance);
void cw_put_segment(const struct cfiwriter *w, struct elfwriter *elf, uint64_t distance);

#endif
