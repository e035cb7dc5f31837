/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_MAPS_H
#define HL_BPF_MAPS_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <hotleaf/abi.h>
#include <hotleaf/unwind.h>

/*
 * What a sample is written to exists twice, as side 0 and side 1. A run reads `side` once and writes to that
 * side only; user space flips it, waits until no run can still hold the old value (the kernel does the
 * waiting when an element of an outer map is replaced) and then drains the idle side without a race.
 */

/* Knobs, set before loading; what they switch off the verifier removes. */
const volatile __u64 stack_seed = 0;          /* makes stack ids unguessable, so that none can be forged */
const volatile __u32 max_user_frames = 127;   /* at most HL_MAX_FRAMES */
const volatile __u32 max_kernel_frames = 127; /* perf_event_max_stack */
const volatile __u32 slow_ns = 0;             /* tests: time lost between reading the side and counting */
const volatile __u64 idle_start = 0, idle_end = 0; /* __cpuidle_text */
const volatile __u64 irq_start[HL_MAX_IRQ_RANGES] = {}, irq_end[HL_MAX_IRQ_RANGES] = {};
const volatile __u32 n_irq_ranges = 0;
const volatile bool precise = false;     /* the event gives the exact instruction, of a moment ago */
const volatile bool use_targets = false; /* only processes in `targets` */
const volatile bool use_mappings = true; /* false: kernel's own user stacks, raw addresses */

/* State shared with user space through the mapped .bss. */
__u32 side = 0;
__u32 files_generation = 0; /* raised when an id may mean another file, or a file has another table */
__u32 epoch = 1;            /* raised every few seconds: see struct hl_file */
struct hl_selftest selftest = {};
__u32 moved_event = 0;  /* when the last event of code in no file was sent: boot time in units of 2^20 ns */
__u64 listed_start = 0; /* 0, or where the only mapping starts that list_files is asked for */

/*
 * Ids are taken in turn, so far ids_taken of the ids_given: first all that there are, then those that user
 * space gave back, the n-th of which stands in free_ids at n, modulo its size.
 */
__u64 ids_taken = 0;
__u64 ids_given = HL_FILE_LIMIT - HL_FILE_FIRST;
__u32 free_ids[HL_FILE_LIMIT] = {};

/* The inner maps are made by user space, which knows the sizes; these two only say what they look like. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} counts SEC(".maps"), stacks SEC(".maps"), processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, HL_FILE_LIMIT);
	__type(key, struct hl_file_key);
	__type(value, __u64); /* see HL_FILE_ID_MASK */
} files SEC(".maps");

/* By id, the vDSO's too. User space writes to it through its own mapping. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, HL_FILE_LIMIT);
	__type(key, __u32);
	__type(value, struct hl_file);
} file_states SEC(".maps");

/* Written by user space only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, HL_MOVED_LIMIT);
	__type(key, struct hl_moved_key);
	__type(value, struct hl_moved);
} moved_code SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} file_events SEC(".maps");

/* Unwind tables: slabs of words, filled by user space through its own mapping of them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, HL_SLABS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, HL_RULES);
	__type(key, __u32);
	__type(value, struct hl_unwind_rule);
} rules SEC(".maps");

/* Thread groups to sample, where use_targets. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hl_counters);
} counters SEC(".maps");

#define MAPPING_CACHE 8    /* a power of two */
#define CHUNK         1024 /* bytes of stack read at a time; a power of two, never crosses a page */
#define NODE_WORDS    32   /* of a maple node: 256 bytes */
#define CALLERS_LOG2  9

enum mapping_kind {
	MAPPING_NONE = 0, /* not executable */
	MAPPING_FILE = 1,
	MAPPING_RAW = 2, /* executable, and anonymous or written to by those who share it: JIT code */
};

/* An executable mapping, or one that is known not to be. frame = base + address. */
struct mapping {
	__u64 start, end;
	__u64 base;
	__u32 kind;
	__u32 table; /* as in struct hl_file, with its head, or no pages */
	struct hl_table_head head;
	__u32 is_living; /* of a file: the code may change under the same file and offset */
	__u32 stamp;     /* what is known of its callers holds as long as this; see caller.bpf.h */
};

/* Which address space the cached mappings belong to; any change empties the cache. */
struct mapping_owner {
	__u64 mm, start_stack, exec_vm;
	__u32 map_count, lock_seq;
	__u32 generation, epoch;
};

/* A frame whose address was tested, with the rule to leave it by; see caller.bpf.h. */
struct caller {
	__u64 frame;
	struct hl_unwind_rule rule;
	__u32 stamp;
	__u32 has_rule;
};

/*
 * All state of a run: too large for the BPF stack, and what comes from map memory is an unknown number to
 * the verifier, which therefore proves each function once. One a CPU; runs do not nest.
 */
struct scratch {
	/* mapping lookup */
	struct mapping_owner owner;
	struct mapping cache[MAPPING_CACHE];
	struct mapping found;
	__u64 cache_next;
	__u32 owner_stamp; /* another one whenever it changed: odd */
	__u32 reserved;
	__u64 n_hits; /* lookups that needed no search in the tree */
	__u64 mm;
	__u64 vma;
	__u64 node[NODE_WORDS];
	/* the walk */
	__u64 ip, sp, bp;           /* ip is a lookup address: see abi.h */
	__u64 caller;               /* the return address that a rule found */
	struct hl_unwind_rule rule; /* of the frame being left … */
	__u64 has_rule;             /* … if there is one; else it is the frame pointer's */
	struct pt_regs leaf;        /* the registers of the sample, or of what a signal interrupted, … */
	__u64 leaf_valid;           /* … while that is the one being left */
	__u64 is_switched;          /* a rule has led from one stack to another */
	__u64 rbx, rbx_valid;       /* of the frame being left, as far as tables follow it */
	__u64 hash;
	__u64 slot;          /* what was read from the stack */
	__u64 chunk_address; /* or NO_CHUNK */
	__u32 word;          /* bytes of a stack slot: 8 or 4 */
	__u32 bp_is_any;     /* bp may be any value that code had there: no frame saved it as its caller's */
	__u8 chunk[CHUNK];
	/* the sample */
	struct hl_count_key key;
	struct hl_count count;
	struct hl_file_key file_key;
	struct hl_moved_key moved_key;
	struct hl_process process;
	struct hl_stack stack;
	__u64 kernel[HL_MAX_KERNEL_FRAMES];
	/* kept from run to run, as the cached mappings are */
	struct caller callers[1 << CALLERS_LOG2];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *get_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

static __always_inline void count_more(enum hl_counter which, __u64 n)
{
	__u32 zero = 0;
	struct hl_counters *c = bpf_map_lookup_elem(&counters, &zero);

	if (c)
		c->value[which] += n;
}

/* Counts a failed map update by its error; @which is the first of four counters: full, busy, nomem, other. */
static __always_inline void count_error(enum hl_counter which, long error)
{
	int n = error == -7 /* E2BIG */     ? 0
		: error == -16 /* EBUSY */  ? 1
		: error == -12 /* ENOMEM */ ? 2
					    : 3;
	__u32 zero = 0;
	struct hl_counters *c = bpf_map_lookup_elem(&counters, &zero);

	if (c)
		c->value[which + n] += 1;
}

#endif
