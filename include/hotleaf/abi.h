/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOTLEAF_ABI_H
#define HOTLEAF_ABI_H

/*
 * The contract between the BPF programs and user space. Compiled by both compilers; implicit padding does
 * not compile. Enumerations that leave the kernel have explicit values and are never renumbered.
 */

#include <linux/types.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

#define HL_COMM_LEN          16
#define HL_CODE_LEN          16 /* code bytes copied at the IP: an instruction has at most 15 */
#define HL_BEFORE_LEN        8  /* code bytes copied in front of a kernel IP */
#define HL_FILE_NAME_LEN     56 /* of a file's base name, cut */
#define HL_MAX_FRAMES        512 /* user frames of one stack; the limit in force is an option. A power of two */
#define HL_MAX_KERNEL_FRAMES 128 /* likewise of a kernel stack; the kernel's own default limit is 127 */
#define HL_MAX_IRQ_RANGES    8

/*
 * A frame is one u64: where to look a name up. With bit 63 set it is a raw address: a kernel address has
 * its upper bits set anyway, a user address is one in no file, and reads as itself without bit 63. Else it
 * is a file's id and an offset into that file. The address is that of the instruction itself for the leaf,
 * for the frame that entered the kernel and for one interrupted by a signal; for every caller it is the
 * return address minus one, which lies inside the call.
 */
#define HL_FRAME_RAW        (1ULL << 63)
#define HL_FRAME_FILE_SHIFT 44
#define HL_FRAME_OFFSET     ((1ULL << HL_FRAME_FILE_SHIFT) - 1)
#define HL_FILE_NONE        0
#define HL_FILE_VDSO        1 /* the 64-bit vDSO */
#define HL_FILE_VDSO32      2
#define HL_FILE_FIRST       3
#define HL_FILE_LIMIT       (1u << 16)

/* Stack ids are odd but for these. */
#define HL_STACK_NONE 0 /* there are no callers */
#define HL_STACK_LOST 2 /* the stack map had no room: counted without callers */

/* Why a user walk ended. All but COMPLETE mark a stack that did not reach its start. */
enum hl_walk_end {
	HL_WALK_COMPLETE = 0,     /* the thread's first frame */
	HL_WALK_DEPTH = 1,        /* more frames than the limit */
	HL_WALK_NO_MAPPING = 2,   /* the next address lies in no executable mapping */
	HL_WALK_NO_CALL = 3,      /* no call instruction stands before the next address */
	HL_WALK_BAD_FP = 4,       /* the frame pointer leads nowhere near the stack */
	HL_WALK_FAULT = 5,        /* the stack's memory could not be read */
	HL_WALK_BAD_CFA = 6,      /* the frame computed lies below the one before */
	HL_WALK_IP_UNMAPPED = 7,  /* the sampled address itself lies in no executable mapping */
	HL_WALK_KERNEL_LIMIT = 8, /* a kernel stack that ended at perf_event_max_stack */
	HL_WALK_NO_TABLE = 9,     /* a file's table is not loaded yet */
	HL_WALK_UNSUPPORTED = 10, /* the unwind information uses a form that the table cannot hold */
	HL_WALK_DROPPED = 11,     /* as NO_TABLE, but the table had to go for want of memory */
	HL_WALK_MAX = 12,
};

enum hl_mode {
	HL_MODE_KERNEL = 0,
	HL_MODE_USER64 = 1,
	HL_MODE_USER32 = 2,
};

/* hl_count_key.flags, hl_process.flags */
#define HL_FLAG_IRQ     1 /* interrupt work: the process is not its cause */
#define HL_FLAG_KTHREAD 2 /* kernel thread or io worker without a user stack of its own */
#define HL_FLAG_IDLE    4 /* pid 0, not in its idle instruction */
#define HL_FLAG_RAW     8 /* user addresses are raw: user space translates them by /proc/PID/maps */

/* hl_count_key.cgroup_kind: what `cgroup` is the id of */
enum hl_cgroup_kind {
	HL_CGROUP_V2 = 0,
	HL_CGROUP_V1_MEMORY = 1, /* where the v2 id is the root's */
	HL_CGROUP_PID_NS = 2,    /* inode of the pid namespace, where both are */
};

struct hl_process_key {
	__u64 start_time; /* of the group leader, ns since boot */
	__u32 tgid;
	__u32 exec_id; /* grows with each execve */
};

struct hl_count_key {
	struct hl_process_key process;
	__u64 cgroup;
	__u64 kernel_stack; /* id of the callers in the kernel */
	__u64 user_stack;   /* id of the callers in user space */
	__u64 ip;           /* the instruction, as a frame */
	__u64 code_hash;    /* of the code bytes where they may change: user code that is in no file, or in
				   one that may be written; else 0 */
	char comm[HL_COMM_LEN]; /* of the thread */
	__u8 mode;              /* enum hl_mode, of the instruction */
	__u8 flags;             /* HL_FLAG_* */
	__u8 cgroup_kind;
	__u8 event;
	__u32 reserved;
};

struct hl_count {
	__u64 samples;
	__u64 periods; /* sum of sample periods: ns for a software clock, else events */
	__u8 code[HL_CODE_LEN];
	__u8 before[HL_BEFORE_LEN];
	__u32 code_len; /* bytes that could be read */
	__u32 before_len;
};

struct hl_stack_head {
	__u32 n;
	__u8 end; /* enum hl_walk_end */
	__u8 is_kernel;
	__u16 reserved;
};

/* The value of the stack map ends after as many frames as the depth limit in force. */
struct hl_stack {
	struct hl_stack_head head;
	__u64 frames[HL_MAX_FRAMES]; /* from the leaf's caller towards the thread's start */
};

struct hl_process {
	char comm[HL_COMM_LEN]; /* of the group leader */
	__u32 exe;              /* file id of its executable, 0: none */
	__u32 flags;            /* HL_FLAG_KTHREAD */
	__u32 parent;           /* tgid */
	__u32 reserved;
};

/* Without size and mtime, btrfs snapshots and files overwritten in place would share a key. */
struct hl_file_key {
	__u64 inode;
	__u64 size;
	__u64 mtime_sec;
	__u32 mtime_nsec;
	__u32 generation;
	__u32 device; /* s_dev, the kernel's encoding */
	__u32 reserved;
};

/*
 * The value of the file map is one word, loaded at once: the id in the low bits, above it a hash of the key.
 * An element of a deleted file may be another's by the time that its value is read; then the hash disagrees.
 */
#define HL_FILE_ID_BITS 20
#define HL_FILE_ID_MASK ((1ULL << HL_FILE_ID_BITS) - 1)

/* What is known of a file, by id. */
struct hl_file {
	__u32 table; /* where its unwind table is, or enum hl_table_state */
	__u32 used;  /* the epoch in which a program last looked for it; epochs are counted by user space */
	__u32 last_event; /* boot time in units of 2^20 ns; 0: no event was sent */
	__u32 settled;    /* user space has the file, or gave it up: no more events */
};

/*
 * Unwind tables lie in slabs of 1 MiB that all files share; a place in them is the number of a word, counted
 * over all slabs. A table is a head, behind it its page index (struct hl_unwind_page, with first_row such a
 * place), and rows anywhere. Head and index begin at an even word and may go on in the next slab, the rows of
 * one page never do. What a file's `table` leads to does not change while a program may come by.
 */
struct hl_table_head {
	__u32 first_page, n_pages; /* as in struct hl_unwind_table */
};

/* Smaller than any place of a table. */
enum hl_table_state {
	HL_TABLE_PENDING = 0, /* not known yet whether there will be one */
	HL_TABLE_NONE = 1,    /* the file has no unwind information */
	HL_TABLE_DROPPED = 2, /* there was no room for it */
	HL_TABLE_FIRST = 16,  /* the first place */
};

#define HL_SLAB_WORDS (1u << 18) /* 32-bit words: 1 MiB */
#define HL_SLABS      1024
#define HL_RULES      65536 /* distinct rules over all files; 3,622 ELF files of one host used 5,583 */

/*
 * A file that user space should open, at once: its process may be gone soon. With id HL_FILE_NONE a mapping that
 * is of no file, though its code may be: see struct hl_moved.
 */
struct hl_file_event {
	struct hl_file_key key;
	struct hl_process_key process; /* only of an event of no file */
	__u64 start, end;              /* the mapping; both 0: an executable, of which none is known */
	__u64 offset;                  /* of `start` in the file */
	__u32 id;
	__u32 tgid;
	__u32 tid;
	__u32 reserved;
	char name[HL_FILE_NAME_LEN]; /* base name as opened, cut */
};

/*
 * Code that a process moved from a file to memory of its own, at the same address, as for huge pages: user space
 * has compared the bytes. It counts while there is a mapping from `start` to `end`, to the byte. The element of
 * `start` 0 is the process itself, whose mappings were looked at; before `next_event`, in units of 2^20 ns of
 * boot time, they need not be looked at again.
 */
struct hl_moved_key {
	struct hl_process_key process;
	__u64 start;
};

struct hl_moved {
	__u64 end;
	__u64 offset; /* of the start in the file */
	__u32 file;   /* its id */
	__u32 next_event;
};

#define HL_MOVED_LIMIT 4096

/* One counter a row; declared here only. */
enum hl_counter {
	HL_COUNTER_SEEN = 0,         /* runs of the program: every sample that was delivered */
	HL_COUNTER_IDLE = 1,         /* of the idle task in its idle instruction: not kept */
	HL_COUNTER_FILTERED = 2,     /* of processes that were not asked for */
	HL_COUNTER_IDLE_PERIODS = 3, /* sum of periods of IDLE */
	HL_COUNTER_PERIODS = 4,      /* sum of periods of SEEN */
	/* lost samples */
	HL_COUNTER_NO_SIDE = 5,      /* internal maps missing */
	HL_COUNTER_COUNTS_FULL = 6,  /* count map full (E2BIG) */
	HL_COUNTER_COUNTS_BUSY = 7,  /* count map locked on this CPU (EBUSY) */
	HL_COUNTER_COUNTS_NOMEM = 8, /* ENOMEM */
	HL_COUNTER_COUNTS_OTHER = 9, /* any other error */
	/* samples that are kept but lack something */
	HL_COUNTER_STACK_FULL = 10, /* stack map full: counted without that stack */
	HL_COUNTER_STACK_BUSY = 11,
	HL_COUNTER_STACK_NOMEM = 12,
	HL_COUNTER_STACK_OTHER = 13,
	HL_COUNTER_KSTACK_FAILED = 14, /* bpf_get_stack failed */
	HL_COUNTER_NO_CODE = 15,       /* distinct leaves whose code bytes could not be read */
	HL_COUNTER_PROCESS_FULL = 16,  /* process map full: its name comes from /proc, or is missing */
	/* not samples */
	HL_COUNTER_FILES_FULL = 17,  /* frames left raw because no file id was free */
	HL_COUNTER_EVENT_LOST = 18,  /* file events not sent (ring buffer full); sent again later */
	HL_COUNTER_MAPPING_HIT = 19, /* mapping cache */
	HL_COUNTER_MAPPING_MISS = 20,
	HL_COUNTER_MAX = 21,
};

struct hl_counters {
	__u64 value[HL_COUNTER_MAX];
};

/* What a self-test run found; see user/capture/selftest.c. */
enum hl_selftest_op {
	HL_SELFTEST_LOOKUP = 1,
	HL_SELFTEST_WALK = 2,
	HL_SELFTEST_WARM = 3, /* makes this CPU's allocator ready for stacks of side `address` */
};

struct hl_selftest {
	__u64 start, end; /* of the executable mapping that covers the address; 0: none does */
	__u64 frame;      /* of the address */
};

#define HL_KERNEL_TEXT_LEN 256

/* What bpf/text.bpf.c is told and fills. */
struct hl_kernel_text {
	__u64 address;
	__u8 bytes[HL_KERNEL_TEXT_LEN];
};

#pragma GCC diagnostic pop

_Static_assert(sizeof(struct hl_count_key) == 80, "abi");
_Static_assert(sizeof(struct hl_count) == 48, "abi");
_Static_assert(sizeof(struct hl_file_key) == 40, "abi");
_Static_assert(sizeof(struct hl_file) == 16, "abi");

#endif
