/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_PROFILES_H
#define HL_TESTS_PROFILES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/* Builds profiles by hand, and looks at what the writers make of them. Each fails the test on an error. */

/* A frame of @kind (enum hl_frame_kind) without an address. */
uint32_t profiles_named(struct hl_profile *p, int kind, const char *name);
/* A function of /usr/sbin/app, or of vmlinux if @kind is HL_FRAME_KERNEL. */
uint32_t profiles_function(struct hl_profile *p, int kind, uint64_t address, const char *name);
/* A leaf of class @insn_class (enum hl_insn_class); of vmlinux if @address is in the upper half. */
uint32_t profiles_insn(struct hl_profile *p, uint64_t address, uint64_t offset, int insn_class,
		       const char *text);
/* @count samples of 10 ms each. */
void profiles_add(struct hl_profile *p, const uint32_t *frames, size_t n, uint64_t count);

/* What @format makes of @p, NUL-terminated; the caller frees it. */
char *profiles_render(const struct hl_profile *p, const char *format, size_t *ret_len);
/* @text is valid UTF-8 without control characters but newlines, and without what XML forbids. */
void profiles_check_clean(const char *text, size_t len);
/* @text is a document for expat, with only the elements and attributes of a drawing that cannot act. */
void profiles_check_svg(const char *text, size_t len);

#endif
