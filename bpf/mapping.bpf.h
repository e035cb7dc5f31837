/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_MAPPING_H
#define HL_BPF_MAPPING_H

/*
 * From an address to the mapping that covers it, in the sampling interrupt itself.
 *
 * Since 6.1 the mappings of an address space stand in a maple tree (mm_struct.mm_mt, lib/maple_tree.c). The
 * kernel offers no helper that may walk it here: bpf_find_vma needs the mmap lock and an irq_work that is
 * busy after the first call of a run, the vma iterator always fails. So the tree is walked by hand, without
 * a lock, while its owner may be changing it on another CPU, or even under this very interrupt:
 *
 *   - every read is a guarded one: a stale pointer gives an error or garbage, never a fault;
 *   - nodes and mappings are freed by RCU, and a run lies inside an RCU section, so memory reached from the
 *     root keeps its type until the run ends;
 *   - what was found is believed only if it covers the address and belongs to this mm.
 *
 * A change in between can make a lookup fail; the walk then ends with a reason. It cannot make it lie.
 * The layout of a node is no ABI: user space tests it on a thousand mappings before it trusts it.
 *
 * A node is 256 bytes, aligned to 256. An encoded pointer to it has the node's type in bits 3 to 6; that in
 * the tree's root has 2 in its low two bits, or it is no node but a single mapping. Word 0 is the parent,
 * then come the pivots, then the slots. Slot i covers the addresses up to and including pivot i; a pivot of
 * zero after the first ends the list.
 */

#include "file.bpf.h"

enum maple_type {
	MAPLE_LEAF_64 = 1,
	MAPLE_RANGE_64 = 2,
	MAPLE_ARANGE_64 = 3,
};

#define MAPLE_LEVELS        6 /* 16⁶ mappings */
#define MAPLE_RANGE_PIVOTS  15
#define MAPLE_ARANGE_PIVOTS 9
#define VM_WRITE            2UL
#define VM_EXEC             4UL
#define VM_SHARED           8UL
#define TMPFS_MAGIC         0x01021994UL
#define HUGETLBFS_MAGIC     0x958458f6UL
#define PAGE_SHIFT          12

/* Which word of the node in the scratch is the slot that covers @address. Its own function: proved once. */
__noinline int maple_slot(__u64 address, __u32 n_pivots)
{
	struct scratch *s = get_scratch();
	__u32 i;

	if (!s)
		return 0;
	for (i = 0; i < MAPLE_RANGE_PIVOTS; i++) {
		__u64 pivot = s->node[1 + i];

		if (i >= n_pivots || (pivot == 0 && i > 0) || address <= pivot)
			break;
	}
	return 1 + n_pivots + i;
}

/* Puts the mapping structure that may cover @address into scratch.vma; 0 where there is none. */
static __always_inline void maple_find(struct scratch *s, __u64 address)
{
	__u64 entry;
	struct mm_struct *mm = (void *)s->mm;
	int level;

	s->vma = 0;
	entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	if ((entry & 3) != 2)
		return;
	for (level = 0; level < MAPLE_LEVELS; level++) {
		__u32 type = (entry >> 3) & 15, n_pivots;
		__u32 slot;

		if (entry <= 4096 || type < MAPLE_LEAF_64 || type > MAPLE_ARANGE_64)
			return;
		n_pivots = type == MAPLE_ARANGE_64 ? MAPLE_ARANGE_PIVOTS : MAPLE_RANGE_PIVOTS;
		if (bpf_probe_read_kernel(s->node, sizeof(s->node), (void *)(entry & ~255ULL)))
			return;
		slot = maple_slot(address, n_pivots);
		entry = s->node[slot & (NODE_WORDS - 1)];
		if (type == MAPLE_LEAF_64) {
			s->vma = entry;
			return;
		}
	}
}

/* The two words at @place, which is even. 0 where there is no slab. */
static __always_inline __u64 read_pair(__u32 place)
{
	__u32 slab = place / HL_SLAB_WORDS, zero = 0;
	void *map = bpf_map_lookup_elem(&slabs, &slab);
	__u64 *pairs = map ? bpf_map_lookup_elem(map, &zero) : NULL;

	return pairs ? pairs[(place & (HL_SLAB_WORDS - 1)) / 2] : 0;
}

/* Makes scratch.found a mapping of file @id. Returns what is known of it. */
static __always_inline struct hl_file *describe_file(struct scratch *s, __u32 id, __u64 distance)
{
	struct hl_file *known = use_file(id);

	if (!known)
		return NULL;
	s->found.kind = MAPPING_FILE;
	s->found.base = ((__u64)id << HL_FRAME_FILE_SHIFT) + distance;
	s->found.table = *(volatile __u32 *)&known->table;
	if (s->found.table >= HL_TABLE_FIRST && s->word == 8) {
		__u64 pair = read_pair(s->found.table);

		s->found.head.first_page = (__u32)pair;
		s->found.head.n_pages = pair >> 32;
	}
	return known;
}

/*
 * Code in a file is what the file holds, with two exceptions. A shared mapping that is executable was made
 * from a descriptor that may write, or the kernel would have taken the flag away: runtimes that never map a
 * page writable and executable at once write through another mapping of the same memory (.NET, QEMU, Wasm in
 * Firefox). That is generated code in all but name, and what names it knows it by its address. So is what lies
 * in reserved huge pages, anonymous but for a file that the kernel makes. And where code is private, but
 * writable or in memory that has no disk behind it, it is a file's that may change.
 */
static __always_inline bool is_generated(struct file *file, __u64 flags)
{
	return !file || (flags & VM_SHARED) || BPF_CORE_READ(file, f_inode, i_sb, s_magic) == HUGETLBFS_MAGIC;
}

static __always_inline bool is_living(struct file *file, __u64 flags)
{
	return (flags & VM_WRITE) || BPF_CORE_READ(file, f_inode, i_sb, s_magic) == TMPFS_MAGIC;
}

/*
 * Makes scratch.found, code in no file, a mapping of the file that it was moved out of, if user space knows one.
 * What the process does to its copy later nobody can see: so it is code that may change. False: that is not known yet.
 */
static __always_inline bool describe_moved(struct scratch *s)
{
	struct hl_moved *moved;

	s->moved_key.process = s->key.process;
	s->moved_key.start = s->found.start;
	moved = bpf_map_lookup_elem(&moved_code, &s->moved_key);
	if (!moved || moved->end != s->found.end)
		return send_moved_event(s, s->found.start, s->found.end);
	if (describe_file(s, moved->file, moved->offset - s->found.start))
		s->found.is_living = true;
	return true;
}

/* Fills scratch.found from the mapping structure in scratch.vma, which covers @address and is of this mm. */
static __always_inline bool describe_mapping(struct scratch *s, __u64 address)
{
	struct vm_area_struct *vma = (void *)s->vma;
	struct mm_struct *mm = (void *)s->mm;
	struct hl_file *known;
	struct file *file;
	__u64 offset, start, end, flags;
	__u32 id;

	if (s->vma <= 4096 || BPF_CORE_READ(vma, vm_mm) != mm)
		return false;
	start = BPF_CORE_READ(vma, vm_start);
	end = BPF_CORE_READ(vma, vm_end);
	if (address < start || address >= end)
		return false;
	s->found = (struct mapping){ .start = start, .end = end, .kind = MAPPING_NONE };
	flags = BPF_CORE_READ(vma, vm_flags);
	if (!(flags & VM_EXEC))
		return true;
	file = BPF_CORE_READ(vma, vm_file);
	if (is_generated(file, flags)) {
		s->found.kind = MAPPING_RAW;
		s->found.base = HL_FRAME_RAW;
		if (start != (__u64)BPF_CORE_READ(mm, context.vdso))
			return describe_moved(s);
		describe_file(s, s->word == 4 ? HL_FILE_VDSO32 : HL_FILE_VDSO, -start);
		return true;
	}
	offset = BPF_CORE_READ(vma, vm_pgoff) << PAGE_SHIFT;
	read_file_key(file, &s->file_key);
	id = get_file(&s->file_key);
	known = id == HL_FILE_NONE ? NULL : describe_file(s, id, offset - start);
	if (!known) {
		count_more(HL_COUNTER_FILES_FULL, 1);
		s->found.kind = MAPPING_RAW;
		s->found.base = HL_FRAME_RAW;
		return true;
	}
	send_file_event(s, known, id, file, start, end, offset);
	s->found.is_living = is_living(file, flags);
	return known->settled;
}

/*
 * A number that changes whenever a mapping of @mm does. False before Linux 6.4: there is none, and another library
 * where one of the same size was leaves no other trace.
 */
static __always_inline bool read_lock_seq(struct mm_struct *mm, __u32 *ret)
{
	struct mm_struct___lock_number *number = (void *)mm;
	struct mm_struct___lock_seqcount *seqcount = (void *)mm;

	*ret = 0;
	if (bpf_core_field_exists(number->mm_lock_seq))
		*ret = BPF_CORE_READ(number, mm_lock_seq);
	else if (bpf_core_field_exists(seqcount->mm_lock_seq.sequence))
		*ret = BPF_CORE_READ(seqcount, mm_lock_seq.sequence);
	else
		return false;
	return true;
}

/*
 * Says whose mappings are asked for from here on. A freed mm_struct is reused at the same address, and the
 * mm with its counts alone was seen to be wrong in an exec storm: all of these must be unchanged.
 */
static __always_inline void mapping_begin(struct scratch *s, struct mm_struct *mm)
{
	struct mapping_owner now = {
		.mm = (__u64)mm,
		.start_stack = mm->start_stack,
		.exec_vm = mm->exec_vm,
		.map_count = mm->map_count,
		.generation = *(volatile __u32 *)&files_generation,
		.epoch = epoch,
	};
	bool is_known = read_lock_seq(mm, &now.lock_seq);
	int i;

	s->mm = (__u64)mm;
	s->found.end = 0;
	s->n_hits = 0;
	if (is_known && s->owner.mm == now.mm && s->owner.start_stack == now.start_stack &&
	    s->owner.exec_vm == now.exec_vm && s->owner.map_count == now.map_count &&
	    s->owner.lock_seq == now.lock_seq && s->owner.generation == now.generation &&
	    s->owner.epoch == now.epoch)
		return;
	s->owner = now;
	s->owner_stamp = (s->owner_stamp + 2) | 1;
	for (i = 0; i < MAPPING_CACHE; i++)
		s->cache[i].end = 0;
}

/* Counts what find_mapping() found at once since mapping_begin(). */
static __always_inline void mapping_end(const struct scratch *s)
{
	count_more(HL_COUNTER_MAPPING_HIT, s->n_hits);
}

/*
 * Until when what is known of callers in scratch.found holds: as long as its file, and the table of that, mean the
 * same, or where the code may change, or no table counts, as long as the owner of the mappings does.
 */
static __always_inline __u32 caller_stamp(const struct scratch *s)
{
	if (s->found.kind != MAPPING_FILE || s->found.is_living || s->word != 8)
		return s->owner_stamp;
	return s->owner.generation << 1;
}

/* Finds the mapping that covers @address, into scratch.found. Its kind, MAPPING_NONE also where none is. */
__noinline int find_mapping(__u64 address)
{
	struct scratch *s = get_scratch();
	bool keep;
	int i;

	if (!s)
		return MAPPING_NONE;
	s->n_hits++;
	/* Callers often lie in the same file. */
	if (address >= s->found.start && address < s->found.end)
		return s->found.kind;
	for (i = 0; i < MAPPING_CACHE; i++) {
		struct mapping *m = &s->cache[i];

		if (address >= m->start && address < m->end) {
			s->found = *m;
			return s->found.kind;
		}
	}
	s->n_hits--;
	count_more(HL_COUNTER_MAPPING_MISS, 1);
	s->found.end = 0;
	s->found.kind = MAPPING_NONE;
	maple_find(s, address);
	keep = describe_mapping(s, address);
	s->found.stamp = caller_stamp(s);
	/* What user space has not answered yet stays out of the cache: its event may have to be repeated. */
	if (keep) {
		s->cache[s->cache_next & (MAPPING_CACHE - 1)] = s->found;
		s->cache_next++;
	}
	return s->found.kind;
}

/* The same; callers often lie in the mapping just found. */
static __always_inline int mapping_at(struct scratch *s, __u64 address)
{
	if (address < s->found.start || address >= s->found.end)
		return find_mapping(address);
	s->n_hits++;
	return s->found.kind;
}

#endif
