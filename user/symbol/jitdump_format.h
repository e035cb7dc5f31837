/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_JITDUMP_FORMAT_H
#define HL_SYMBOL_JITDUMP_FORMAT_H

/* The kernel's tools/perf/Documentation/jitdump-specification.txt; private to this folder. */

enum {
	HL_JIT_MAGIC = 0x4a695444,
	HL_JIT_ARCH_TIMESTAMP = 1,
	HL_JIT_HEADER_SIZE = 40,
	HL_JIT_PREFIX_SIZE = 16
};
enum { HL_JIT_CODE_LOAD = 0, HL_JIT_CODE_MOVE = 1, HL_JIT_DEBUG_INFO = 2, HL_JIT_CODE_CLOSE = 3 };

/* Behind the prefix of a LOAD: pid, tid, vma, address, size, index, name; of a MOVE two addresses. */
enum {
	HL_JIT_LOAD_SIZE = HL_JIT_PREFIX_SIZE + 2 * 4 + 4 * 8,
	HL_JIT_MOVE_SIZE = HL_JIT_PREFIX_SIZE + 2 * 4 + 5 * 8
};

#endif
