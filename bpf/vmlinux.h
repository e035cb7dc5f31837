/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_VMLINUX_H
#define HL_BPF_VMLINUX_H

/*
 * The kernel's types, kept by hand: only the fields that the programs read. Their offsets are relocated
 * when the programs are loaded (CO-RE), so order and gaps do not matter. A field that moved or was renamed
 * between releases has a flavour (___name) and one accessor in the header that reads it. Constants and the
 * context come from the UAPI headers.
 */

#include <linux/types.h>
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned long i_ino;
	long long i_size;
	struct super_block *i_sb;
	__u32 i_generation;
};

struct timespec64 {
	long long tv_sec;
	long tv_nsec;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct maple_tree {
	void *ma_root;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct {
	struct maple_tree mm_mt;
	mm_context_t context;
	struct file *exe_file;
	unsigned long start_stack;
	unsigned long exec_vm;
	int map_count;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct kernfs_node;

struct cgroup {
	struct kernfs_node *kn;
	int level;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_boottime;
	__u64 self_exec_id;
	char comm[16];
	struct css_set *cgroups;
	struct signal_struct *signal;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

/* A bit field of its own flavour: reading it needs all of its word. */
struct task_struct___execve {
	unsigned int in_execve : 1;
};

/* i_mtime: a timespec64 up to 6.6, renamed __i_mtime in 6.7, split in 6.11 (3aa63a569c64). */
struct inode___plain {
	struct timespec64 i_mtime;
};

struct inode___renamed {
	struct timespec64 __i_mtime;
};

struct inode___split {
	long long i_mtime_sec;
	__u32 i_mtime_nsec;
};

/* kernfs_node.id: a plain u64 since 5.5. */
struct kernfs_node {
	__u64 id;
};

/*
 * mm_lock_seq (CONFIG_PER_VMA_LOCK): an int since 6.4, a seqcount_t since eb449bd96954. Each has its flavour: a
 * number and a structure of the same name are not the same field.
 */
struct mm_struct___lock_number {
	int mm_lock_seq;
};

struct seqcount {
	unsigned int sequence;
};

struct mm_struct___lock_seqcount {
	struct seqcount mm_lock_seq;
};

enum cgroup_subsys_id {
	memory_cgrp_id = 4, /* relocated: its number depends on the kernel's configuration */
};

#pragma clang attribute pop

#endif
