/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_FILE_H
#define HL_BPF_FILE_H

/*
 * Files get their id from the program that first sees them, so that even the first sample of a file is
 * whole. User space learns of the file by an event and opens it through the process that maps it; until it
 * has, the event is repeated, at most once in EVENT_INTERVAL_NS. The files of what runs already are listed
 * in the same form before sampling starts.
 */

#include "maps.bpf.h"

/*
 * In units of 2^20 ns: for a file that is not open yet; for one whose table found no room; for code in no file,
 * over all processes.
 */
#define EVENT_INTERVAL   96
#define DROPPED_INTERVAL 9600
#define MOVED_INTERVAL   48
/*
 * A mapping stays in the caches for an epoch, 4 s. So while a process is looked at again sooner than this, one of its
 * code in no file is looked up each time: else it would be asked about an epoch late.
 */
#define MOVED_SOON       1200

#define ID_TRIES 4

static __always_inline void read_mtime(struct inode *inode, struct hl_file_key *key)
{
	struct inode___split *split = (void *)inode;
	struct inode___renamed *renamed = (void *)inode;
	struct inode___plain *plain = (void *)inode;

	if (bpf_core_field_exists(split->i_mtime_sec)) {
		key->mtime_sec = BPF_CORE_READ(split, i_mtime_sec);
		key->mtime_nsec = BPF_CORE_READ(split, i_mtime_nsec);
	} else if (bpf_core_field_exists(renamed->__i_mtime)) {
		key->mtime_sec = BPF_CORE_READ(renamed, __i_mtime.tv_sec);
		key->mtime_nsec = BPF_CORE_READ(renamed, __i_mtime.tv_nsec);
	} else {
		key->mtime_sec = BPF_CORE_READ(plain, i_mtime.tv_sec);
		key->mtime_nsec = BPF_CORE_READ(plain, i_mtime.tv_nsec);
	}
}

static __always_inline void read_file_key(struct file *file, struct hl_file_key *key)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	key->inode = BPF_CORE_READ(inode, i_ino);
	key->size = BPF_CORE_READ(inode, i_size);
	key->generation = BPF_CORE_READ(inode, i_generation);
	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	key->reserved = 0;
	read_mtime(inode, key);
}

/* The bits above the id in the file map's value: few files share them, and none can be made to. */
static __always_inline __u64 key_check(const struct hl_file_key *key)
{
	const __u64 *word = (const void *)key;
	__u64 h = stack_seed;
	int i;

#pragma unroll
	for (i = 0; i < (int)(sizeof(*key) / sizeof(*word)); i++) {
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	return h & ~HL_FILE_ID_MASK;
}

/*
 * Takes an id. A place in free_ids is written again only after the ids in front of it were all taken, so that
 * if the exchange succeeds, what was read before is right.
 */
static __always_inline __u32 take_id(__u64 *ret_at)
{
	int i;

#pragma unroll
	for (i = 0; i < ID_TRIES; i++) {
		__u64 at = *(volatile __u64 *)&ids_taken;
		__u32 id;

		if (at >= *(volatile __u64 *)&ids_given)
			return HL_FILE_NONE;
		id = at < HL_FILE_LIMIT - HL_FILE_FIRST
			     ? HL_FILE_FIRST + (__u32)at
			     : *(volatile __u32 *)&free_ids[at & (HL_FILE_LIMIT - 1)];
		*ret_at = at;
		if (__sync_val_compare_and_swap(&ids_taken, at, at + 1) == at)
			return id;
	}
	return HL_FILE_NONE;
}

/* The id of the file with @key, given to it now if it has none. HL_FILE_NONE when ids or memory are out. */
static __always_inline __u32 get_file(const struct hl_file_key *key)
{
	__u64 check = key_check(key), word, at;
	__u64 *known = bpf_map_lookup_elem(&files, key);
	__u32 id;

	if (known) {
		word = *(volatile __u64 *)known;
		if ((word & ~HL_FILE_ID_MASK) == check)
			return word & HL_FILE_ID_MASK;
	}
	id = take_id(&at);
	if (id == HL_FILE_NONE)
		return HL_FILE_NONE;
	word = check | id;
	if (bpf_map_update_elem(&files, key, &word, BPF_NOEXIST) == 0)
		return id;
	/* Another CPU was faster, or memory is short. Back it goes, unless one was taken since: then it is lost. */
	__sync_val_compare_and_swap(&ids_taken, at + 1, at);
	known = bpf_map_lookup_elem(&files, key);
	word = known ? *(volatile __u64 *)known : 0;
	return (word & ~HL_FILE_ID_MASK) == check ? word & HL_FILE_ID_MASK : HL_FILE_NONE;
}

/* The state of file @id, which is in use from here on. */
static __always_inline struct hl_file *use_file(__u32 id)
{
	struct hl_file *file = bpf_map_lookup_elem(&file_states, &id);

	if (file && file->used != epoch)
		file->used = epoch;
	return file;
}

static __always_inline void read_base_name(struct file *file, struct hl_file_event *event)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);

	if (bpf_probe_read_kernel_str(event->name, sizeof(event->name), name) < 0)
		event->name[0] = '\0';
}

static __always_inline void send_file_event(struct scratch *s, struct hl_file *known, __u32 id,
					    struct file *file, __u64 start, __u64 end, __u64 offset)
{
	__u32 interval = known->settled ? DROPPED_INTERVAL : EVENT_INTERVAL, now;
	struct hl_file_event *event;
	__u64 ids;

	if (known->settled && known->table != HL_TABLE_DROPPED)
		return;
	now = bpf_ktime_get_boot_ns() >> 20 | 1;
	if (known->last_event && now - known->last_event < interval)
		return;
	event = bpf_ringbuf_reserve(&file_events, sizeof(*event), 0);
	if (!event) {
		count_more(HL_COUNTER_EVENT_LOST, 1);
		return;
	}
	known->last_event = now;
	ids = bpf_get_current_pid_tgid();
	event->key = s->file_key;
	event->process = (struct hl_process_key){};
	event->start = start;
	event->end = end;
	event->offset = offset;
	event->id = id;
	event->tgid = ids >> 32;
	event->tid = (__u32)ids;
	event->reserved = 0;
	read_base_name(file, event);
	bpf_ringbuf_submit(event, 0);
}

/*
 * Asks user space whether the code in no file between @start and @end, of the process in scratch.moved_key, was
 * moved out of a file. Most such code is a runtime's, which maps more and more: so each process is looked at
 * ever more rarely, and few events are sent by all of them together. True: it has answered, and is not asked soon.
 */
static __always_inline bool send_moved_event(struct scratch *s, __u64 start, __u64 end)
{
	__u32 now = bpf_ktime_get_boot_ns() >> 20 | 1;
	struct hl_file_event *event;
	struct hl_moved *looked;
	__s32 wait;
	__u64 ids;

	s->moved_key.start = 0;
	looked = bpf_map_lookup_elem(&moved_code, &s->moved_key);
	wait = looked ? (__s32)(looked->next_event - now) : 0;
	if (wait > 0)
		return wait > MOVED_SOON;
	if (moved_event && now - moved_event < MOVED_INTERVAL)
		return false;
	event = bpf_ringbuf_reserve(&file_events, sizeof(*event), 0);
	if (!event) {
		count_more(HL_COUNTER_EVENT_LOST, 1);
		return false;
	}
	moved_event = now;
	ids = bpf_get_current_pid_tgid();
	__builtin_memset(event, 0, sizeof(*event));
	event->process = s->moved_key.process;
	event->start = start;
	event->end = end;
	event->tgid = ids >> 32;
	event->tid = (__u32)ids;
	bpf_ringbuf_submit(event, 0);
	return false;
}

/*
 * The id of an executable, which may not be mapped where we look; behind an overlay never: a process of a
 * container maps the file below. Of such a one there is one event, without a mapping, as the first sign of a
 * container; it holds no other up.
 */
static __always_inline __u32 exe_file_id(struct scratch *s, struct file *file)
{
	struct hl_file *known;
	__u32 id;

	if (!file)
		return HL_FILE_NONE;
	read_file_key(file, &s->file_key);
	id = get_file(&s->file_key);
	known = use_file(id);
	if (known && !known->last_event) {
		send_file_event(s, known, id, file, 0, 0, 0);
		if (known->last_event)
			known->last_event = 1;
	}
	return id;
}

#endif
