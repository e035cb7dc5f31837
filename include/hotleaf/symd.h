/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOTLEAF_SYMD_H
#define HOTLEAF_SYMD_H

/*
 * The messages between hotleaf and symd, which parses all foreign bytes: ELF files, symbol tables and code.
 *
 * A request is one hl_symd_request, with descriptors beside it where the type says so, and a payload. A
 * reply is one hl_symd_reply and a payload. Payloads are arrays of the structs below; strings stand behind
 * the array and are named by offset from the payload's start and length. A client trusts no offset, length
 * or count of a reply before it has checked it.
 */

#include <linux/types.h>

#define HL_SYMD_VERSION 3

enum hl_symd_type {
	/*
	 * File `file` becomes known. Descriptor 0: the running ELF file. Reply payload: one hl_symd_file, and
	 * with HL_SYMD_WANT_TABLE the table of its functions behind it. Payload of the request: none.
	 */
	HL_SYMD_ADD_FILE = 1,
	/*
	 * Descriptor 0: a separate debug file of `file`; refused unless it belongs to the same build. Reply
	 * payload with HL_SYMD_WANT_TABLE: the table of functions of both.
	 */
	HL_SYMD_ADD_DEBUG = 2,
	/* Descriptor 0: /proc/kallsyms. Replaces what was known of the kernel. */
	HL_SYMD_ADD_KALLSYMS = 3,
	/*
	 * Payload: `count` hl_symd_query. Reply payload: as many hl_symd_answer, in order, the hl_symd_inlined of
	 * all, then strings. With HL_SYMD_BRIEF: hl_symd_brief_query, and hl_symd_brief, then strings.
	 */
	HL_SYMD_RESOLVE = 4,
	/* Forgets `file`. */
	HL_SYMD_DROP_FILE = 5,
	/*
	 * Descriptor 0: the running ELF file, which need not be known. Reply payload: its unwind table, as
	 * unwind.h has it. Status -ENODATA: it has none.
	 */
	HL_SYMD_UNWIND = 6,
	/*
	 * All instructions of a function. Payload: one hl_symd_list_query, its sampled places, its bytes. Reply
	 * payload: one hl_symd_list, its hl_symd_row, then strings. -ENOENT: no function is known there;
	 * -ENODATA: its bytes are not there.
	 */
	HL_SYMD_LIST = 7,
	/*
	 * Descriptor 0: a file in which process `file`, a number of the client's from 1 on, tells the names of
	 * code that it made. Payload: one hl_symd_map. To be sent again when the file has grown: what was
	 * read is not read again. Reply payload: one hl_symd_map_counts. -EFBIG: there is no memory for more.
	 */
	HL_SYMD_ADD_MAP = 8,
	/* Descriptor 0: the file into which dwz moved what is common to `file` and others. -ESTALE: another one. */
	HL_SYMD_ADD_ALT = 9,
	/*
	 * From now on RESOLVE knows inlined functions and lines of `file`, once they are read: in this request.
	 * Descriptor 0: the running ELF file again. Payload: one hl_symd_lines_limits. Reply payload: one
	 * hl_symd_lines, and with HL_SYMD_WANT_TABLE the table behind it. -ENODATA: it has no debug information;
	 * -ETIME, -E2BIG: over a limit.
	 */
	HL_SYMD_LINES = 10,
	/* Descriptor 0: a .dwo file of `file`, for the LINES that follows. Another's does no harm. */
	HL_SYMD_ADD_DWO = 11,
	/*
	 * The files that LINES would need besides. Payload as of LINES. Reply payload: one hl_symd_wanted_list, its
	 * hl_symd_wanted, then strings.
	 */
	HL_SYMD_WANTED = 12,
	/* As LINES, from the table that a LINES returned. Descriptor 0: a regular file of it. -EBADMSG: damaged. */
	HL_SYMD_ADD_LINES = 13,
	/*
	 * Descriptor 0: a file, which need not be known; without one, the running file and the debug file of
	 * `file`. Reply payload: HL_SYMD_CONTENT_ID bytes that name all that is in them, the first half of a
	 * SHA-256. -E2BIG: more than 1 GiB in all.
	 */
	HL_SYMD_CONTENT = 14,
	/*
	 * As ADD_FILE, but nothing of the file is read until something is asked for that needs it: what its
	 * names are an ADD_NAMES tells. With HL_SYMD_OF_DEBUG it is the debug file of `file`. No reply payload.
	 */
	HL_SYMD_ADD_UNREAD = 15,
	/*
	 * What an ADD_FILE, or an ADD_DEBUG, of `file` returned before. Descriptor 0: a regular file that has it,
	 * an hl_symd_file and a table, and that nobody changes. Payload: one hl_symd_extent, where it stands. Reply
	 * payload: the hl_symd_file. -EBADMSG: damaged.
	 */
	HL_SYMD_ADD_NAMES = 16,
	/*
	 * Descriptor 0: the jitdump of process `file`. Payload: one hl_symd_code. Reply payload: the bytes of that code
	 * as they were told last. -ENODATA: they were not.
	 */
	HL_SYMD_CODE = 17,
};

#define HL_SYMD_CONTENT_ID 16

/* The number of the kernel's own file with debug information, for which LINES serves kernel addresses. */
#define HL_SYMD_KERNEL_FILE 0

struct hl_symd_request {
	__u32 type;   /* enum hl_symd_type */
	__u32 file;   /* the client's number of the file */
	__u32 count;  /* elements in the payload */
	__u32 flags;  /* HL_SYMD_INTEL */
	__u64 length; /* bytes of payload */
};

#define HL_SYMD_INTEL        1u      /* RESOLVE, LIST: Intel syntax instead of AT&T */
#define HL_SYMD_WANT_INLINES 0x100u  /* RESOLVE: inlined functions */
#define HL_SYMD_WANT_LINES   0x200u  /* RESOLVE: file and line */
#define HL_SYMD_WANT_TABLE   0x400u  /* ADD_FILE, ADD_DEBUG, LINES: return the table, to be kept */
#define HL_SYMD_OF_DEBUG     0x800u  /* ADD_UNREAD */
#define HL_SYMD_BRIEF        0x1000u /* RESOLVE: functions only, which is what callers are asked for */

struct hl_symd_reply {
	__s32 status; /* 0 or a negative errno; then `error` says what, in one sentence */
	__u32 count;
	__u64 length;
	char error[240];
};

struct hl_symd_segment {
	__u64 address, offset, size; /* ELF address, place in the file, bytes in memory */
	__u64 file_size;             /* bytes in the file */
};

#define HL_SYMD_SEGMENTS_MAX 32

struct hl_symd_file {
	__u8 binary_id[16];  /* first half of the SHA-256 over executable segments and build-id */
	__u8 build_id[64];   /* as the file declares it */
	__u32 build_id_len;  /* 0: none */
	__u32 debuglink_crc; /* of the separate debug file */
	char debuglink[256]; /* its base name, "" if none; never a path */
	__u32 machine;       /* e_machine */
	__u32 n_segments;    /* executable PT_LOADs, of which the first are in `segments` */
	__u32 n_symbols;     /* in the merged table */
	__u32 has_symtab;    /* the file itself has .symtab, so a debug file is not needed for names */
	__u32 refused;       /* HL_SYMD_REFUSED_: names that are there and could not be used */
	__u32 reserved;
	struct hl_symd_segment segments[HL_SYMD_SEGMENTS_MAX];
};

#define HL_SYMD_REFUSED_DEBUGDATA 1u /* .gnu_debugdata, damaged or too large */
#define HL_SYMD_REFUSED_FAR       2u /* functions more than 4 GiB behind the first */

struct hl_symd_extent {
	__u64 offset; /* a multiple of 8 */
	__u64 length;
};

enum hl_symd_map_kind {
	HL_SYMD_PERF_MAP = 0,
	HL_SYMD_JITDUMP = 1, /* where both know an address, this one counts */
	HL_SYMD_MAP_KINDS = 2,
};

struct hl_symd_map {
	__u64 until_ns; /* CLOCK_MONOTONIC: of a jitdump, code made later is left for the next time; 0: all */
	__u32 kind;     /* enum hl_symd_map_kind */
	__u32 reserved;
};

struct hl_symd_code {
	__u64 start; /* an address of the process, at which code begins */
	__u64 size;
	__u64 until_ns; /* as in hl_symd_map */
};

/* Of all that was read of this file. */
struct hl_symd_map_counts {
	__u64 told;    /* ranges with a name */
	__u64 damaged; /* records that make no sense */
	__u64 dropped; /* records for which there was no room */
	__u64 left;    /* bytes that this read left: no whole record, or too many for one go */
};

enum hl_symd_place {
	HL_SYMD_FILE = 0,   /* `where` is an offset into `file` */
	HL_SYMD_KERNEL = 1, /* `where` is a kernel address of this boot */
	HL_SYMD_RAW = 2,    /* `where` is an address of process `file` that is in no file; 0: of any */
};

#define HL_SYMD_WANT_TEXT      1u  /* the sampled instruction: decode `code` */
#define HL_SYMD_CODE_32        2u  /* 32-bit code */
#define HL_SYMD_SW_CLOCK       4u  /* the event is a software clock: look for "interrupts were off" */
#define HL_SYMD_WANT_REFERENCE 8u  /* with text: ` # ADDRESS <SYMBOL>` behind RIP-relative operands */
#define HL_SYMD_LIVING         16u /* the code of the file may change: the instruction is what `code` is */

struct hl_symd_query {
	__u64 where;
	__u32 file;
	__u16 place; /* enum hl_symd_place */
	__u16 flags; /* HL_SYMD_WANT_TEXT, … */
	__u8 code[16];
	__u8 before[8]; /* the bytes in front of `where`, nearest last; kernel code only */
	__u32 code_len;
	__u32 before_len; /* 0 or 8 */
};

#define HL_SYMD_NAMED     1u  /* `name` is a symbol's */
#define HL_SYMD_UNDECODED 2u  /* no decoder knows the bytes */
#define HL_SYMD_NO_BYTES  4u  /* neither the sample nor the file gave code bytes */
#define HL_SYMD_IRQS_OFF  8u  /* the sample was delayed to where interrupts are enabled again */
#define HL_SYMD_UNMAPPED  16u /* no executable segment covers the offset: `address` is the offset */
#define HL_SYMD_MODULE    32u /* kernel: `module` names a module or "bpf" */
#define HL_SYMD_DIFFERS   64u /* the file holds other bytes there than were sampled */

struct hl_symd_answer {
	__u64 address;  /* ELF address; kernel: link-time address of vmlinux, or the running one in modules */
	__u64 function; /* start of the function that covers it; = address where none is known */
	__u64 size;     /* of the function; 0: unknown */
	__u64 target;   /* of a direct branch, else 0 */
	__u32 name;     /* offset of the demangled name, or of the raw one; length 0: nameless */
	__u32 name_len;
	__u32 text; /* offset of the instruction's text, length 0 if none was asked for or there is none */
	__u32 text_len;
	__u32 module; /* offset of the kernel module's name, length 0: none */
	__u32 module_len;
	__u32 first_inlined; /* index of the innermost inlined function among all; 0 if there is none */
	__u32 n_inlined;     /* at most HL_SYMD_INLINED_MAX */
	__u16 flags;         /* HL_SYMD_NAMED, … */
	__u8 insn_class;     /* enum hl_insn_class */
	__u8 insn_len;
	__u32 file; /* offset of the path of the source that the instruction comes from, length 0: not known */
	__u32 file_len;
	__u32 line; /* in the innermost function; 0: not known */
};

/* What hl_symd_query begins with, and what of hl_symd_answer is left where no more than that is asked. */
struct hl_symd_brief_query {
	__u64 where;
	__u32 file;
	__u16 place;
	__u16 reserved;
};

struct hl_symd_brief {
	__u64 address, function, size;
	__u32 name, name_len;
	__u32 module, module_len;
	__u16 flags;
	__u16 reserved[3];
};

#define HL_SYMD_INLINED_MAX 63

/*
 * A function that was inlined where an answer is: hl_symd_answer.name has the function that holds the code. An
 * answer's own stand together, innermost first, and those of all answers behind the last answer, in their order.
 */
struct hl_symd_inlined {
	__u32 name; /* offset and length as in hl_symd_answer; length 0: nameless */
	__u32 name_len;
	__u32 file; /* where it was called: in the next one, or in the function that holds the code */
	__u32 file_len;
	__u32 line;
	__u32 reserved;
};

struct hl_symd_lines_limits {
	__u64 memory;  /* bytes of debug information, inflated, and as much again for the index */
	__u32 time_ms; /* for this request */
	__u32 reserved;
};

struct hl_symd_lines {
	__u32 n_ranges, n_locations; /* of the table */
	__u64 length;                /* of the table, in bytes */
	/* What is not in it: damaged units, functions nested too deeply, units whose .dwo file was not there. */
	__u32 damaged_units, deep_functions, missing_dwo;
	__u32 reserved;
};

#define HL_SYMD_WANTED_MAX 256 /* files named by one reply */

struct hl_symd_wanted_list {
	__u32 n;
	__u32 is_cut; /* there are more */
};

/* A file that the debug information names. Name and directory are whatever the file says. */
struct hl_symd_wanted {
	__u32 name;
	__u32 name_len;
	__u32 directory; /* what the name is relative to; length 0: the directory of the file that names it */
	__u32 directory_len;
	__u8 id[64]; /* build-id of an alternate file, id of a .dwo file */
	__u32 id_len;
	__u32 is_alt;
};

/* Places are file offsets, kernel or raw addresses, as in hl_symd_query. */
struct hl_symd_list_query {
	__u64 where;     /* any place in the function */
	__u64 bytes_at;  /* where the given bytes stand */
	__u32 n_sampled; /* u64 places behind this struct, ascending: each begins an instruction */
	__u32 n_bytes;   /* bytes of code behind those; 0: the file's are read */
	__u16 place;     /* enum hl_symd_place */
	__u16 flags;     /* HL_SYMD_CODE_32 */
	__u32 file;
};

#define HL_SYMD_SAMPLED_MAX (64u << 10)
#define HL_SYMD_LIST_MAX    (1u << 20)   /* bytes of a function that are listed, and bytes given */
#define HL_SYMD_ROWS_MAX    (256u << 10) /* instructions */

#define HL_SYMD_LIST_CUT 1u /* the function is longer than what is listed */

struct hl_symd_list {
	__u64 function; /* address of its start, as in hl_symd_answer */
	__u64 size;
	__u64 where; /* place of its start: an address of a row less `function` is an offset from here */
	__u32 name;  /* offset and length as in hl_symd_answer; length 0: nameless */
	__u32 name_len;
	__u32 n_rows;
	__u32 flags; /* HL_SYMD_LIST_CUT */
};

#define HL_SYMD_ROW_UNDECODED 1u
#define HL_SYMD_ROW_OVERLAPS  2u /* a sampled instruction begins inside this one: data, or a skipped prefix */
#define HL_SYMD_ROW_TARGET    4u /* `target` is that of a direct branch */

struct hl_symd_row {
	__u64 address;
	__u64 target;
	__u32 text;
	__u32 text_len;
	__u8 bytes[15];
	__u8 length;
	__u8 insn_class; /* enum hl_insn_class */
	__u8 flags;      /* HL_SYMD_ROW_* */
	__u8 reserved[2];
	__u32 file; /* as in hl_symd_answer, where the request wants lines */
	__u32 file_len;
	__u32 line;
};

#endif
