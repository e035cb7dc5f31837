/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_IRQS_H
#define HL_SYMD_IRQS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True for the name of a function in which a paravirtual kernel enables interrupts, by a store or a hypercall
 * instead of sti: PREFIX_irq_enable and, up to 5.x, PREFIX_restore_fl, with the thunks that save registers
 * around them.
 */
bool hl_symd_enables_irqs(const char *name, size_t len);

#endif
