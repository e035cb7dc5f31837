/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_KALLSYMS_H
#define HL_SYMBOL_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct hl_err;
struct hl_kallsyms;

/*
 * The kernel's functions, from a file of the form of /proc/kallsyms: `ADDRESS TYPE NAME[\t[MODULE]]`.
 * Padding (__pfx_) and data are left out.
 */

/*
 * Reads all of @fd. -EACCES if every address is zero (kptr_restrict, or no CAP_SYSLOG), -EBADMSG if there
 * are no functions in it.
 */
int hl_kallsyms_read(int fd, struct hl_kallsyms **ret, struct hl_err *err);
void hl_kallsyms_free(struct hl_kallsyms *kallsyms);
size_t hl_kallsyms_count(const struct hl_kallsyms *kallsyms);

struct hl_kernel_symbol {
	uint64_t start, size; /* running addresses; the size reaches to the next symbol; 0: unknown */
	const char *name;     /* raw, owned by the table */
	const char *module;   /* "" for the kernel itself; "bpf" for BPF programs */
};

/* The function that covers running address @address; -ENOENT if none does. */
int hl_kallsyms_find(const struct hl_kallsyms *kallsyms, uint64_t address, struct hl_kernel_symbol *ret);

/*
 * The address that vmlinux gives what runs at @address, for the kernel's own text: _text is linked at
 * 0xffffffff81000000 on x86-64 and moved by KASLR. Other addresses (modules, BPF programs) stay.
 */
uint64_t hl_kallsyms_link_address(const struct hl_kallsyms *kallsyms, uint64_t address);

#endif
