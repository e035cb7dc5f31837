/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_PROBE_INTERNAL_H
#define HL_CAPTURE_PROBE_INTERNAL_H

#include <stdbool.h>

#include "capture/probe.h"

/* Sets state and value; a remedy, if there is one, by hl_finding_remedy(). */
void hl_finding_set(struct hl_finding *f, enum hl_probe_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void hl_finding_remedy(struct hl_finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* True if this process has the capability, by its number in linux/capability.h, or one that includes it. */
bool hl_probe_has_cap(const struct hl_probe_roots *roots, unsigned int cap);

/* probe_kernel.c: questions that only the kernel's reaction answers. */
void hl_probe_btf(const struct hl_probe_roots *roots, struct hl_finding *f);
void hl_probe_mappings(const struct hl_probe_roots *roots, struct hl_finding *f);
void hl_probe_event(const struct hl_probe_roots *roots, struct hl_finding *f);
void hl_probe_program(const struct hl_probe_roots *roots, struct hl_finding *f);
/* Loads and starts the real capture for a moment: says whether it works, and how it walks stacks. */
void hl_probe_capture(const struct hl_probe_roots *roots, struct hl_finding *f);
void hl_probe_lockdown(const struct hl_probe_roots *roots, struct hl_finding *f);

#endif
