/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_DW_H
#define HL_TESTS_DW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hotleaf/unwind.h>

/* The call frame information of a file as elfutils' libdw reads it. What goes wrong ends the test. */
struct dw;

struct dw *dw_open(int fd);
void dw_close(struct dw *dw);

/* The starts of all FDEs, ascending, from the table in .eh_frame_hdr; valid as long as @dw. */
const uint64_t *dw_starts(const struct dw *dw, size_t *ret_n);

/*
 * The row that holds at @address, up to @ret_end, as a rule. HL_CFA_RBX is not used: that CFA is
 * HL_CFA_REG. @with_rbx: as in files with such a function, the rule says where rbx is. False: no FDE covers @address.
 */
bool dw_row_at(const struct dw *dw, uint64_t address, bool with_rbx, uint64_t *ret_end,
	       struct hl_unwind_rule *ret);

#endif
