/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_TASK_H
#define HL_BPF_TASK_H

/* Whom a sample belongs to: process, cgroup, and whether there is a user stack at all. */

#include "file.bpf.h"

#define PF_EXITING     0x00000004
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD     0x00200000

static __always_inline bool is_kernel_thread(struct task_struct *task)
{
	return task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER);
}

static __always_inline bool in_execve(struct task_struct *task)
{
	struct task_struct___execve *flavour = (void *)task;

	if (!bpf_core_field_exists(flavour->in_execve))
		return false;
	return BPF_CORE_READ_BITFIELD_PROBED(flavour, in_execve);
}

static __always_inline __u64 memory_cgroup_id(struct task_struct *task)
{
	struct css_set *set = task->cgroups;
	struct cgroup_subsys_state *css = NULL;
	__u32 which;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	which = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	if (bpf_probe_read_kernel(&css, sizeof(css),
				  (void *)set + bpf_core_field_offset(struct css_set, subsys) + 8 * which))
		return 0;
	if (!css || BPF_CORE_READ(css, cgroup, level) == 0)
		return 0;
	return BPF_CORE_READ(css, cgroup, kn, id);
}

static __always_inline __u64 pid_namespace(struct task_struct *task)
{
	/* Read by a helper it is a number: up to 6.1 nothing unknown may be added to a pointer with a type. */
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	struct upid upid;

	if (level > 32 || bpf_probe_read_kernel(&upid, bpf_core_type_size(struct upid),
						(void *)pid + bpf_core_field_offset(struct pid, numbers) +
							level * bpf_core_type_size(struct upid)))
		return 0;
	return BPF_CORE_READ(upid.ns, ns.inum);
}

/* The cgroup of the task: of v2, where that is the root of v1's memory controller, else its pid namespace. */
static __always_inline void read_cgroup(struct task_struct *task, struct hl_count_key *key)
{
	struct css_set *set = task->cgroups;

	if (BPF_CORE_READ(set, dfl_cgrp, level) != 0) {
		key->cgroup = bpf_get_current_cgroup_id();
		key->cgroup_kind = HL_CGROUP_V2;
		return;
	}
	key->cgroup = memory_cgroup_id(task);
	key->cgroup_kind = HL_CGROUP_V1_MEMORY;
	if (key->cgroup)
		return;
	key->cgroup = pid_namespace(task);
	key->cgroup_kind = HL_CGROUP_PID_NS;
}

static __always_inline void read_process_key(struct task_struct *task, struct hl_process_key *key)
{
	key->tgid = task->tgid;
	key->start_time = task->group_leader->start_boottime;
	key->exec_id = (__u32)task->self_exec_id;
}

/* Records who the process is, the first time that this side sees it: it may be gone when that is read. */
static __always_inline void record_process(struct scratch *s, struct task_struct *task, __u32 on_side)
{
	void *map = bpf_map_lookup_elem(&processes, &on_side);
	struct mm_struct *mm;

	if (!map || bpf_map_lookup_elem(map, &s->key.process))
		return;
	s->process = (struct hl_process){ .parent = task->real_parent->tgid };
	__builtin_memcpy(s->process.comm, task->group_leader->comm, sizeof(s->process.comm));
	if (is_kernel_thread(task))
		s->process.flags = HL_FLAG_KTHREAD;
	mm = task->mm;
	if (mm && use_mappings)
		s->process.exe = exe_file_id(s, BPF_CORE_READ(mm, exe_file));
	if (bpf_map_update_elem(map, &s->key.process, &s->process, BPF_NOEXIST) == -7 /* E2BIG */)
		count_more(HL_COUNTER_PROCESS_FULL, 1);
}

#endif
