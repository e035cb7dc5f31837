/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_PROFILE_H
#define HL_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Values reach disk: never renumbered. */
enum hl_frame_kind {
	HL_FRAME_ROOT = 0,    /* what the stack belongs to: a process, [idle task], [kernel threads] */
	HL_FRAME_MARK = 1,    /* [truncated], [unwind: REASON], [irq] */
	HL_FRAME_USER = 2,    /* a function of a file */
	HL_FRAME_INLINED = 3, /* a function inlined into the frame above it */
	HL_FRAME_JIT = 4,     /* user code that lies in no file */
	HL_FRAME_KERNEL = 5,
	HL_FRAME_INSN = 6, /* a leaf: the instruction that was executing */
	HL_FRAME_PART = 7, /* a part of the function above it: a loop, a source line */
};

/* What an instruction does: the names of enum hl_insn_class, by value; the values reach disk. */
enum { HL_N_INSN_CLASSES = 7 };
extern const char *const hl_insn_class_names[HL_N_INSN_CLASSES];

/*
 * A frame as it is handed in. Strings are borrowed for the call; they may hold any bytes (names come from
 * files of strangers): a writer makes them safe for its format.
 */
struct hl_frame {
	uint8_t kind;        /* enum hl_frame_kind */
	uint8_t insn_class;  /* of a leaf: enum hl_insn_class */
	bool kernel;         /* of a leaf: kernel code */
	struct hl_id binary; /* content id of the file; zero for marks and roots */
	/*
	 * ELF address: of a function its start, of a leaf the instruction's. Identity is the kind, binary,
	 * address and, where the address is 0, the binary is zero or the function is inlined, the name; also
	 * where a profile has several names for one address, for all but the least of them.
	 */
	uint64_t address;
	/* From the start of the function, where `address` is a place in it: of a leaf, and in a detailed profile. */
	uint64_t offset;
	/* Function name or the instruction's text, shown as it is: a mark brings its brackets. */
	const char *name;
	size_t name_len;
	/* File name shown, e.g. /usr/lib/libc.so.6 or a kernel module; "" if none. Of a root: what it is the name of. */
	const char *module;
	size_t module_len;
	const char *file; /* source file, as the debug information has it, and line; "" and 0 if unknown */
	size_t file_len;
	uint32_t line;
};

/* An executable segment of a file. */
struct hl_segment {
	uint64_t address, offset, size; /* ELF address; where it lies in the file; bytes in memory */
};

/* What is known of a file whose code frames name by its content id. All is borrowed for the call. */
struct hl_binary {
	struct hl_id id;
	const uint8_t *build_id; /* as the file declares it */
	size_t build_id_len;     /* 0: none */
	const struct hl_segment *segments;
	size_t n_segments;
	uint32_t number; /* by which whoever made the profile knows it */
};

/* A node of the calling-context tree after hl_profile_finish(). */
struct hl_node {
	uint32_t frame;                     /* index into the frames */
	uint32_t parent;                    /* node index; the root node 0 is its own parent */
	uint32_t end;                       /* one past the last node of its subtree */
	uint32_t depth;                     /* the root node has 0 */
	uint64_t self, total;               /* samples */
	uint64_t self_weight, total_weight; /* sums of sample periods, in the profile's unit */
};

/* The loss of what was sampled in windows that could not be kept: what a profile expected and saw is without it. */
#define HL_NOT_STORED "not stored"

/* What a loss does to the picture. Values reach disk: never renumbered. */
enum hl_loss_kind {
	HL_LOSS_LOST = 0,  /* samples that are not shown; a share of those that were due */
	HL_LOSS_CUT = 1,   /* shown under a stack that does not reach its start; a share of those shown */
	HL_LOSS_NOTED = 2, /* shown, but without a name, late, or the like; a share of those shown */
};

/* A line of the header about samples that are not, or not wholly, shown. A sample may be in several. */
struct hl_loss {
	const char *name; /* short, stable: "stack map full" */
	const char *help; /* what it means and what to do */
	uint64_t count;   /* samples */
	uint8_t kind;     /* enum hl_loss_kind */
};

/* What an output says about itself. Strings are borrowed and outlive the profile's writers. */
struct hl_profile_meta {
	const char *host, *kernel, *version, *event, *decoders;
	const char *unit;          /* of weights: "nanoseconds" or "cycles" */
	bool precise;              /* the event gives the exact instruction */
	uint32_t frequency;        /* Hz */
	uint32_t cpus;             /* online while sampling */
	uint64_t start_ns, end_ns; /* since the epoch */
	/* Samples: due, run through our program, idle, not asked for. */
	uint64_t expected, seen, idle, filtered;
	/* Of these: whose cuts and notes were counted before they were left out, and are in @losses. */
	uint64_t left_out;
	double busy_cpus;     /* average number of CPUs that were not idle */
	double cost_programs; /* CPUs used by the BPF programs, average; negative: not known */
	double cost_process;  /* CPUs used by hotleaf itself, average; negative: not known */
	const struct hl_loss *losses;
	size_t n_losses;
	const char *const *notes; /* fallbacks and other things a reader must know, a sentence each */
	size_t n_notes;
};

/*
 * In a detailed profile, which pprof is written from, the frame of a function is one place in it: the call that
 * the next frame is in, or the instruction. Other profiles have one frame a function, with its start as address.
 */
struct hl_profile;

/* Whether @frame is a function, of whatever kind. */
bool hl_frame_is_function(const struct hl_frame *frame);

/* An empty profile, owned by the caller; NULL without memory. */
struct hl_profile *hl_profile_new(void);
void hl_profile_free(struct hl_profile *profile);

/*
 * Interns a frame, copying its strings. 0 with its index in @ret, -ENOMEM, or -E2BIG at 2³⁰ frames. Of two
 * instructions with one identity and different strings the one is kept that comes first in byte order, but
 * text before bytes (".byte …"), and both before a remark in parentheses; functions of different names are
 * different frames.
 */
int hl_profile_frame(struct hl_profile *profile, const struct hl_frame *frame, uint32_t *ret);

/* Keeps a copy of @binary; of two with one id the first. 0, -ENOMEM, or -E2BIG at 2³⁰ of them. */
int hl_profile_add_binary(struct hl_profile *profile, const struct hl_binary *binary);
/* The binary with that id, or NULL. It lives as long as the profile. */
const struct hl_binary *hl_profile_binary(const struct hl_profile *profile, struct hl_id id);
/* Binary @number, as they were added, from 1; NULL beyond. */
const struct hl_binary *hl_profile_binary_at(const struct hl_profile *profile, uint32_t number);
/* The segment of @binary that holds ELF address @address, or NULL. */
const struct hl_segment *hl_binary_segment(const struct hl_binary *binary, uint64_t address);

/*
 * Counts @count samples of summed period @weight for the stack @frames, root first, leaf last. @n may be any
 * depth. 0, -ENOMEM, or -E2BIG at 2³⁰ nodes; on failure nothing was counted.
 */
int hl_profile_add(struct hl_profile *profile, const uint32_t *frames, size_t n, uint64_t count,
		   uint64_t weight);

/*
 * The node where the stack @frames ends, made if need be and without samples of its own: equal stacks, equal
 * nodes, numbered from 1 as they come, a parent before its children. Node 0 is the empty stack. Errors as
 * above. They hold until hl_profile_finish(), which gives nodes other numbers.
 */
int hl_profile_stack(struct hl_profile *profile, const uint32_t *frames, size_t n, uint32_t *ret);
/* The node of the stack of @parent, such a node, and @frame behind it; likewise. */
int hl_profile_child(struct hl_profile *profile, uint32_t parent, uint32_t frame, uint32_t *ret);
/* The last frame of such a node, and in @ret_parent the node without it. */
uint32_t hl_profile_stack_frame(const struct hl_profile *profile, uint32_t node, uint32_t *ret_parent);
/* Counts samples of such a node, as hl_profile_add() does. */
void hl_profile_count(struct hl_profile *profile, uint32_t node, uint64_t count, uint64_t weight);

/*
 * Puts the nodes into preorder, siblings in their order on the page (functions by name, then address, then
 * id; after them instructions by address), and sums totals. Frames get new indices, in that order too, so
 * that all that follows depends only on what was added. Nothing may be added afterwards. 0 or -ENOMEM.
 */
int hl_profile_finish(struct hl_profile *profile);

/* After hl_profile_finish(): all nodes, node 0 the root of roots, "all", with every sample below it. */
const struct hl_node *hl_profile_nodes(const struct hl_profile *profile, uint32_t *ret_n);
/* Frame @index; its strings live as long as the profile and are NUL-terminated. */
const struct hl_frame *hl_profile_get_frame(const struct hl_profile *profile, uint32_t index);
uint32_t hl_profile_n_frames(const struct hl_profile *profile);
/* The node of the function that @node, an instruction or a part, stands under; it may be inlined. */
uint32_t hl_profile_function(const struct hl_profile *profile, uint32_t node);
/* The node of the function that holds the code of leaf @node: that or, if it is inlined, the one around it. */
uint32_t hl_profile_holder(const struct hl_profile *profile, uint32_t node);
/* The content-addressed id of a frame, and those of all nodes: equal on every host for equal content. */
struct hl_id hl_profile_frame_id(const struct hl_profile *profile, uint32_t index);
/* By node; to be released with free(). NULL without memory. */
struct hl_id *hl_profile_node_ids(const struct hl_profile *profile);

/* A NUL-terminated copy of @text that lives as long as the profile; NULL without memory. */
const char *hl_profile_keep(struct hl_profile *profile, const char *text, size_t len);
/* Sets and gets the header; the profile keeps a shallow copy. */
void hl_profile_set_meta(struct hl_profile *profile, const struct hl_profile_meta *meta);
const struct hl_profile_meta *hl_profile_meta(const struct hl_profile *profile);

#endif
