/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_IRQS_H
#define HL_SYMD_IRQS_H

#include <stdbool.h>
#include <stddef.h>

struct hl_decoder;
struct hl_symd_query;

/*
 * True for the name of a function in which a paravirtual kernel enables interrupts, by a store or a hypercall
 * instead of sti: PREFIX_irq_enable and, up to 5.x, PREFIX_restore_fl, with the thunks that save registers
 * around them.
 */
bool hl_symd_enables_irqs(const char *name, size_t len);

/*
 * A software clock's interrupt that was due while interrupts were off comes when they are on again: behind
 * popf, or behind sti, or, since sti holds interrupts off for one instruction more, behind that one. @decoder is of
 * 64-bit code; NULL: the first two are known.
 */
bool hl_symd_irqs_were_off(const struct hl_symd_query *query, struct hl_decoder *decoder);

#endif
