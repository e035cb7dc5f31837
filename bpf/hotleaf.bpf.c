// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "task.bpf.h"
#include "walk.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__noinline int is_irq_entry(__u64 address)
{
	__u32 i;

	for (i = 0; i < HL_MAX_IRQ_RANGES; i++)
		if (i < n_irq_ranges && address >= irq_start[i] && address < irq_end[i])
			return 1;
	return 0;
}

/* How many of the @n callers in scratch.kernel belong to interrupt work: up to and with its entry; 0: none. */
__noinline int interrupt_part(__u32 n)
{
	struct scratch *s = get_scratch();
	__u32 i;

	if (!s)
		return 0;
	for (i = 0; i < HL_MAX_KERNEL_FRAMES; i++) {
		if (i >= n)
			break;
		if (is_irq_entry(s->kernel[i] - 1))
			return i + 1;
	}
	return 0;
}

/* Writes the stack in the scratch to the map if it is new there. Returns its id. */
__noinline __u64 keep_stack(__u32 on_side)
{
	struct scratch *s = get_scratch();
	void *map = bpf_map_lookup_elem(&stacks, &on_side);
	__u64 id;
	long error;

	if (!s || !map)
		return HL_STACK_LOST;

	id = s->hash ^ ((__u64)s->stack.head.end << 56) ^ ((__u64)s->stack.head.n << 48);
	id |= 1;
	s->hash = id;
	if (bpf_map_lookup_elem(map, &s->hash))
		return id;
	error = bpf_map_update_elem(map, &s->hash, &s->stack, BPF_NOEXIST);
	if (error && error != -17 /* EEXIST: another CPU was faster */) {
		count_error(HL_COUNTER_STACK_FULL, error);
		return HL_STACK_LOST;
	}
	return id;
}

/* Moves the callers in scratch.kernel to scratch.stack, as lookup addresses. */
__noinline int take_kernel_frames(__u32 from, __u32 n)
{
	struct scratch *s = get_scratch();
	__u32 i;

	if (!s)
		return 0;
	s->hash = stack_seed + 1;
	for (i = 0; i < HL_MAX_KERNEL_FRAMES; i++) {
		__u64 frame;

		if (from + i >= n)
			break;
		frame = s->kernel[(from + i) & (HL_MAX_KERNEL_FRAMES - 1)] - 1;
		s->stack.frames[i] = frame;
		s->hash = (s->hash ^ frame) * 0x9e3779b97f4a7c15ULL;
		s->hash ^= s->hash >> 32;
	}
	s->stack.head = (struct hl_stack_head){ .n = i, .is_kernel = 1 };
	return i;
}

/*
 * Idle is the idle task waiting for work: in __cpuidle_text, or in what that calls to halt the CPU, which
 * under a hypervisor lies elsewhere. Two callers are enough; an interrupt taken while idle is no idling.
 */
__noinline int is_idling(__u32 n)
{
	struct scratch *s = get_scratch();
	__u32 i;

	if (!s)
		return 0;
	for (i = 0; i < 3; i++)
		if (i < n && s->kernel[i] >= idle_start && s->kernel[i] < idle_end)
			return 1;
	return 0;
}

/*
 * The kernel's part of a sample taken in kernel mode: its callers, and whether it is interrupt work. False:
 * the sample is of the idle task, idling.
 */
static __always_inline bool sample_kernel(struct bpf_perf_event_data *ctx, struct scratch *s, __u32 on_side)
{
	long bytes = bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0);
	__u32 n, from = 0, irq;

	if (bytes < 0) {
		count_more(HL_COUNTER_KSTACK_FAILED, 1);
		return true;
	}
	n = (__u32)bytes / 8;
	irq = interrupt_part(n);
	if (!irq && (s->key.flags & HL_FLAG_IDLE) && is_idling(n))
		return false;
	/* The first entry is the interrupted instruction itself; the key has it already. */
	if (n && s->kernel[0] == s->key.ip)
		from = 1;
	if (irq) {
		s->key.flags |= HL_FLAG_IRQ;
		n = irq;
	}
	take_kernel_frames(from, n);
	if (!irq && n >= max_kernel_frames)
		s->stack.head.end = HL_WALK_KERNEL_LIMIT;
	if (s->stack.head.n)
		s->key.kernel_stack = keep_stack(on_side);
	return true;
}

/* Fallback where mappings cannot be looked up: the kernel's own frame-pointer walk, as raw addresses. */
static __always_inline void walk_by_kernel(struct bpf_perf_event_data *ctx, struct scratch *s, bool user_mode)
{
	long bytes = bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), BPF_F_USER_STACK);
	__u32 n = bytes > 0 ? (__u32)bytes / 8 : 0, i, first = user_mode ? 1 : 0;

	s->key.flags |= HL_FLAG_RAW;
	s->stack.head = (struct hl_stack_head){ .end = HL_WALK_COMPLETE };
	s->hash = stack_seed;
	for (i = 0; i < HL_MAX_KERNEL_FRAMES; i++) {
		if (first + i >= n)
			break;
		s->found.base = HL_FRAME_RAW;
		s->ip = s->kernel[(first + i) & (HL_MAX_KERNEL_FRAMES - 1)];
		/* What a frame pointer leads to may be any number, and would read as a frame of another kind. */
		if (s->ip == 0 || s->ip >> USER_ADDRESS_BITS) {
			s->stack.head.end = s->ip ? HL_WALK_NO_MAPPING : HL_WALK_COMPLETE;
			break;
		}
		s->ip -= first + i ? 1 : 0;
		if (!append_frame(s)) {
			s->stack.head.end = HL_WALK_DEPTH;
			break;
		}
	}
	if (n >= max_kernel_frames && first + i >= n)
		s->stack.head.end = HL_WALK_DEPTH;
}

/*
 * The registers with which the task runs, or last ran, in user space. A precise event's context holds the
 * address of an instruction some steps ago beside registers of now: the saved ones are all of one moment.
 */
static __always_inline bool read_user_registers(struct bpf_perf_event_data *ctx, struct scratch *s,
						struct task_struct *task)
{
	void *saved = (void *)bpf_task_pt_regs(task);

	if (s->key.mode == HL_MODE_KERNEL || precise)
		return bpf_probe_read_kernel(&s->leaf, sizeof(s->leaf), saved) == 0;
	s->leaf = ctx->regs;
	return true;
}

/* The user's part: the leaf's frame if it was user code, and its callers. */
static __always_inline void sample_user(struct bpf_perf_event_data *ctx, struct scratch *s,
					struct task_struct *task, __u32 on_side)
{
	bool user_mode = s->key.mode != HL_MODE_KERNEL;
	__u64 ip;

	/* In execve the saved registers are the old program's: what the kernel does there is all there is. */
	if (in_execve(task) || !read_user_registers(ctx, s, task))
		return;
	walk_begin(s);
	mapping_begin(s, task->mm);
	ip = user_mode ? s->key.ip : s->ip;
	if (!use_mappings) {
		s->key.ip = user_mode ? HL_FRAME_RAW | ip : s->key.ip;
		walk_by_kernel(ctx, s, user_mode);
	} else if (find_mapping(ip) == MAPPING_NONE) {
		s->key.ip = user_mode ? HL_FRAME_RAW | ip : s->key.ip;
		s->stack.head.end = HL_WALK_IP_UNMAPPED;
	} else {
		if (user_mode) {
			s->key.ip = s->found.base + ip;
			s->key.code_hash = s->found.is_living; /* becomes one when the code is read */
		}
		if (ip != s->ip && find_mapping(s->ip) == MAPPING_NONE)
			s->stack.head.end = HL_WALK_IP_UNMAPPED;
		else if (user_mode || append_frame(s))
			walk_on(s);
	}
	mapping_end(s);
	s->key.user_stack = keep_stack(on_side);
}

/* Copies the code bytes at @ip, and for kernel code those in front of it, into the scratch's value. */
static __always_inline void read_code(struct scratch *s, __u64 ip, bool user_mode)
{
	__u64 left = 4096 - (ip & 4095);
	long error;

	s->count.code_len = HL_CODE_LEN;
	error = user_mode ? bpf_probe_read_user(s->count.code, HL_CODE_LEN, (void *)ip)
			  : bpf_probe_read_kernel(s->count.code, HL_CODE_LEN, (void *)ip);
	if (error) {
		/* The next page may be missing: what this one holds is enough for most instructions. */
		left = left < HL_CODE_LEN ? left & (HL_CODE_LEN - 1) : 0;
		if (left)
			error = user_mode ? bpf_probe_read_user(s->count.code, left, (void *)ip)
					  : bpf_probe_read_kernel(s->count.code, left, (void *)ip);
		s->count.code_len = error ? 0 : left;
	}
	if (!user_mode &&
	    !bpf_probe_read_kernel(s->count.before, HL_BEFORE_LEN, (void *)(ip - HL_BEFORE_LEN)))
		s->count.before_len = HL_BEFORE_LEN;
}

static __always_inline __u64 code_hash(const struct hl_count *count)
{
	__u64 h = *(__u64 *)count->code * 0x9e3779b97f4a7c15ULL;

	h ^= h >> 29;
	h = (h ^ *(__u64 *)(count->code + 8)) * 0x9e3779b97f4a7c15ULL;
	return (h ^ h >> 32) | 1;
}

/* Adds one sample under the scratch's key. 0: it is lost, and counted as that. */
__noinline int count_sample(__u64 ip, __u64 period, __u32 on_side)
{
	struct scratch *s = get_scratch();
	void *map = bpf_map_lookup_elem(&counts, &on_side);
	struct hl_count *known;
	bool user_mode;
	long error;

	if (!s || !map) {
		count_more(HL_COUNTER_NO_SIDE, 1);
		return 0;
	}
	user_mode = s->key.mode != HL_MODE_KERNEL;
	s->count = (struct hl_count){ .samples = 1, .periods = period };
	if (user_mode && ((s->key.ip & HL_FRAME_RAW) || s->key.code_hash)) {
		read_code(s, ip, true);
		s->key.code_hash = code_hash(&s->count);
	}
	known = bpf_map_lookup_elem(map, &s->key);
	if (!known) {
		if (!s->key.code_hash)
			read_code(s, ip, user_mode);
		error = bpf_map_update_elem(map, &s->key, &s->count, BPF_NOEXIST);
		if (!error) {
			if (!s->count.code_len)
				count_more(HL_COUNTER_NO_CODE, 1);
			return 0;
		}
		if (error != -17 /* EEXIST: another CPU was faster */) {
			count_error(HL_COUNTER_COUNTS_FULL, error);
			return 0;
		}
		known = bpf_map_lookup_elem(map, &s->key);
		if (!known) {
			count_more(HL_COUNTER_COUNTS_OTHER, 1);
			return 0;
		}
	}
	__sync_fetch_and_add(&known->samples, 1);
	__sync_fetch_and_add(&known->periods, period);
	return 1;
}

static long is_late(__u32 round, __u64 *until)
{
	return bpf_ktime_get_ns() >= *until;
}

/* Tests only: makes a run slow, so that a drain that does not wait for it is found out. */
static __always_inline void lose_time(void)
{
	__u64 until;

	if (!slow_ns)
		return;
	until = bpf_ktime_get_ns() + slow_ns;
	bpf_loop(1 << 20, is_late, &until, 0);
}

static __always_inline bool in_idle_text(__u64 address)
{
	return address >= idle_start && address < idle_end;
}

/*
 * Whether the idle task idles, told without a walk of its stack: most samples of a quiet host end here. The
 * function that halts the CPU may lie elsewhere, but its return address is on top of the stack. An interrupt
 * has put its registers there first.
 */
static __always_inline bool idles_for_sure(__u64 ip, __u64 sp)
{
	__u64 top[4];

	if (in_idle_text(ip))
		return true;
	if (bpf_probe_read_kernel(top, sizeof(top), (void *)sp))
		return false;
	return in_idle_text(top[0]) || in_idle_text(top[1]) || in_idle_text(top[2]) || in_idle_text(top[3]);
}

static __always_inline void count_idle(__u64 period)
{
	count_more(HL_COUNTER_IDLE, 1);
	count_more(HL_COUNTER_IDLE_PERIODS, period);
}

/* Who is running, and in which mode: everything of the key but stacks and code. */
static __always_inline void begin_key(struct scratch *s, struct task_struct *task, __u64 ip, __u64 cs)
{
	__builtin_memset(&s->key, 0, sizeof(s->key));
	s->key.ip = ip;
	s->key.mode = HL_MODE_KERNEL;
	if ((cs & 3) == 3)
		s->key.mode = (cs & 0xffff) == USER_CS_32 ? HL_MODE_USER32 : HL_MODE_USER64;
	read_process_key(task, &s->key.process);
	read_cgroup(task, &s->key);
	bpf_get_current_comm(s->key.comm, sizeof(s->key.comm));
	if (task->pid == 0)
		s->key.flags |= HL_FLAG_IDLE;
	else if (is_kernel_thread(task))
		s->key.flags |= HL_FLAG_KTHREAD;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 ip = ctx->regs.rip, cs = ctx->regs.cs, period = ctx->sample_period;
	__u32 on_side = *(volatile __u32 *)&side & 1, tgid = task->tgid;
	struct scratch *s = get_scratch();

	count_more(HL_COUNTER_SEEN, 1);
	count_more(HL_COUNTER_PERIODS, period);
	if (!s)
		return 0;
	if (task->pid == 0 && idles_for_sure(ip, ctx->regs.rsp)) {
		count_idle(period);
		return 0;
	}
	if (use_targets && !bpf_map_lookup_elem(&targets, &tgid)) {
		count_more(HL_COUNTER_FILTERED, 1);
		return 0;
	}
	lose_time();
	begin_key(s, task, ip, cs);
	if (s->key.mode == HL_MODE_KERNEL && !sample_kernel(ctx, s, on_side)) {
		count_idle(period);
		return 0;
	}
	if (!s->key.flags && task->mm)
		sample_user(ctx, s, task, on_side);
	record_process(s, task, on_side);
	count_sample(ip, period, on_side);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid;
	__u8 one = 1;

	if (from != to && bpf_map_lookup_elem(&targets, &from))
		bpf_map_update_elem(&targets, &to, &one, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	/* The exit of one thread is not the exit of its process. */
	if (task->signal->live.counter == 0)
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

/*
 * Run for every mapping of every process: lists the files that are executed from and that user space does not
 * have yet, so that their tables may be there before their first samples. With listed_start, it is the file of
 * the mapping there and no other, executable or not. A sample may interrupt it: the scratch is not its own.
 */
SEC("iter/task_vma")
int list_files(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct task_struct *task = ctx->task;
	struct hl_file_event event = {};
	struct hl_file *known;
	struct file *file;

	if (!task || !vma)
		return 0;
	event.tgid = task->tgid;
	event.tid = task->pid;
	file = vma->vm_file;
	if (listed_start ? !file || vma->vm_start != listed_start
			 : !(vma->vm_flags & VM_EXEC) || is_generated(file, vma->vm_flags) ||
				   (use_targets && !bpf_map_lookup_elem(&targets, &event.tgid)))
		return 0;
	read_file_key(file, &event.key);
	event.id = get_file(&event.key);
	known = event.id == HL_FILE_NONE ? NULL : use_file(event.id);
	if (!known || (known->settled && !listed_start))
		return 0;
	event.start = vma->vm_start;
	event.end = vma->vm_end;
	event.offset = vma->vm_pgoff << PAGE_SHIFT;
	read_base_name(file, &event);
	bpf_seq_write(ctx->meta->seq, &event, sizeof(event));
	return 0;
}

/* A CPU's allocator holds one element until it was first used: then it refills itself ahead of need. */
static __always_inline int warm_allocator(struct scratch *s, __u32 on_side)
{
	void *map = bpf_map_lookup_elem(&stacks, &on_side);
	__u64 id = 1;

	if (!map)
		return -1;
	bpf_map_update_elem(map, &id, &s->stack, BPF_ANY);
	return bpf_map_delete_elem(map, &id);
}

/* Arguments: enum hl_selftest_op, address. Runs as the process that tests itself; see capture/selftest.c. */
SEC("raw_tp")
int self_test(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 op = ctx->args[0], address = ctx->args[1];
	struct scratch *s = get_scratch();

	if (s && op == HL_SELFTEST_WARM)
		return warm_allocator(s, address);
	if (!s || !task->mm)
		return -1;
	read_process_key(task, &s->key.process);
	s->word = 8;
	mapping_begin(s, task->mm);
	if (op == HL_SELFTEST_LOOKUP) {
		selftest = (struct hl_selftest){};
		if (find_mapping(address) == MAPPING_NONE)
			return 0;
		selftest.start = s->found.start;
		selftest.end = s->found.end;
		selftest.frame = s->found.base + address;
		return s->found.kind;
	}
	if (bpf_probe_read_kernel(&s->leaf, sizeof(s->leaf), (void *)bpf_task_pt_regs(task)))
		return -1;
	walk_begin(s);
	if (find_mapping(s->ip) == MAPPING_NONE || !append_frame(s))
		return -1;
	walk_on(s);
	s->key.user_stack = keep_stack(0);
	return s->stack.head.n;
}
