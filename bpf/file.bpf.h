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

#define EVENT_INTERVAL_NS 100000000ULL

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

/* The entry of the file, made in @space if there is none. NULL when ids or memory are out. */
static __always_inline struct hl_file *get_file(const struct hl_file_key *key, struct hl_file *space)
{
	struct hl_file *known = bpf_map_lookup_elem(&files, key);
	__u32 id;

	if (known)
		return known;
	if (next_file_id >= HL_FILE_LIMIT)
		return NULL;
	id = __sync_fetch_and_add(&next_file_id, 1);
	if (id >= HL_FILE_LIMIT)
		return NULL;
	*space = (struct hl_file){ .id = id };
	/* Another CPU may have been faster; then its id counts and ours stays unused. */
	bpf_map_update_elem(&files, key, space, BPF_NOEXIST);
	return bpf_map_lookup_elem(&files, key);
}

static __always_inline void read_base_name(struct file *file, struct hl_file_event *event)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);

	if (bpf_probe_read_kernel_str(event->name, sizeof(event->name), name) < 0)
		event->name[0] = '\0';
}

static __always_inline void send_file_event(struct scratch *s, struct hl_file *known, struct file *file,
					    __u64 start, __u64 end, __u64 offset)
{
	__u64 now = bpf_ktime_get_boot_ns(), ids;
	struct hl_file_event *event;

	if (known->settled || (known->last_event && now - known->last_event < EVENT_INTERVAL_NS))
		return;
	event = bpf_ringbuf_reserve(&file_events, sizeof(*event), 0);
	if (!event) {
		count_more(HL_COUNTER_EVENT_LOST, 1);
		return;
	}
	known->last_event = now;
	ids = bpf_get_current_pid_tgid();
	event->key = s->file_key;
	event->start = start;
	event->end = end;
	event->offset = offset;
	event->id = known->id;
	event->tgid = ids >> 32;
	event->tid = (__u32)ids;
	event->reserved = 0;
	read_base_name(file, event);
	bpf_ringbuf_submit(event, 0);
}

/* The id of an executable that is not, or not yet, mapped where we look: no event, only its number. */
static __always_inline __u32 exe_file_id(struct scratch *s, struct file *file)
{
	struct hl_file *known;

	if (!file)
		return HL_FILE_NONE;
	read_file_key(file, &s->file_key);
	known = get_file(&s->file_key, &s->file);
	return known ? known->id : HL_FILE_NONE;
}

#endif
