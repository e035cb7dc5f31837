// SPDX-License-Identifier: BSD-2-Clause
/* Questions that only the kernel's reaction answers: types, events, programs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/io.h"
#include "base/str.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "capture/internal.h"
#include "capture/probe_internal.h"

enum { HZ = 99, DEPTH = 127 };

#define BTF_PATH "kernel/btf/vmlinux"

HL_DEFINE_CLEANUP(struct btf, btf__free)
HL_DEFINE_CLEANUP(struct hl_capture, hl_capture_free)

/* The kernel's type information; NULL without. Owned by the caller. */
static struct btf *load_btf(const struct hl_probe_roots *roots)
{
	_cleanup_free_ char *bytes = NULL;
	struct btf *btf;
	size_t len;

	if (hl_read_file_at(roots->sys, BTF_PATH, 256 << 20, &bytes, &len) < 0 || len > UINT32_MAX)
		return NULL;
	btf = btf__new(bytes, (uint32_t)len);
	return btf; /* libbpf 1 returns NULL on failure */
}

void hl_probe_btf(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	_cleanup_(btf__freep) struct btf *btf = load_btf(roots);

	if (btf) {
		hl_finding_set(f, HL_PROBE_OK, "BTF, %u types", btf__type_cnt(btf));
		return;
	}
	if (faccessat(roots->sys, BTF_PATH, F_OK, 0) == 0)
		hl_finding_set(f, HL_PROBE_MISSING, "/sys/" BTF_PATH " cannot be read as BTF");
	else
		hl_finding_set(f, HL_PROBE_MISSING, "no /sys/" BTF_PATH);
	hl_finding_remedy(f, "use a kernel with CONFIG_DEBUG_INFO_BTF=y, and let containers see its /sys");
}

void hl_probe_mappings(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	_cleanup_(btf__freep) struct btf *btf = load_btf(roots);

	if (btf && hl_has_mapping_tree(btf)) {
		hl_finding_set(f, HL_PROBE_OK, "maple tree");
		return;
	}
	hl_finding_set(f, HL_PROBE_MISSING, "%s", btf ? "no maple tree" : "unknown");
	hl_finding_remedy(f, "use a kernel from 6.1 on, with type information");
}

void hl_probe_event(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	struct hl_event_choice choice;
	struct hl_err err = { "" };

	if (hl_event_choose(NULL, HZ, &choice, &err) < 0) {
		hl_finding_set(f, HL_PROBE_MISSING, "none can be opened");
		hl_finding_remedy(f, "%s", err.text);
	} else if (choice.software_clock) {
		hl_finding_set(f, HL_PROBE_LIMITED, "%s, a timer: blind while interrupts are off",
			       choice.name);
		hl_finding_remedy(f, "for cycles use real hardware, or give the virtual machine a PMU");
	} else if (choice.precise == 0) {
		hl_finding_set(f, HL_PROBE_LIMITED,
			       "%s, not precise: often names the instruction after the slow one",
			       choice.name);
		hl_finding_remedy(
			f,
			"read leaves together with the instruction before them; precise events (PEBS, IBS) "
			"are not offered here");
	} else {
		hl_finding_set(f, HL_PROBE_OK, "%s", choice.name);
	}
}

#define INSN(operation, dst, src, value)                                                \
	{                                                                               \
		.code = (operation), .dst_reg = (dst), .src_reg = (src), .imm = (value) \
	}
#define SET(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, value)
#define COPY(dst, src)  INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0)
#define ADD(dst, value) INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, value)
#define CALL(helper)    INSN(BPF_JMP | BPF_CALL, 0, 0, helper)
#define EXIT            INSN(BPF_JMP | BPF_EXIT, 0, 0, 0)

static int load_program(const struct bpf_insn *insns, size_t n)
{
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "hl_probe", "Dual BSD/GPL", insns, n, NULL);

	return fd < 0 ? -errno : fd;
}

/* A program that takes the kernel's stack, as ours does; loaded. */
static int load_stack_program(void)
{
	static const struct bpf_insn insns[] = {
		COPY(2, 10), ADD(2, -64), SET(3, 64), SET(4, 0), CALL(BPF_FUNC_get_stack), SET(0, 0), EXIT,
	};

	return load_program(insns, sizeof(insns) / sizeof(insns[0]));
}

/* A program that reads kernel memory, which lockdown=confidentiality forbids; loaded. */
static int load_reading_program(void)
{
	static const struct bpf_insn insns[] = {
		COPY(1, 10), ADD(1, -8), SET(2, 8), SET(3, 0), CALL(BPF_FUNC_probe_read_kernel),
		SET(0, 0),   EXIT,
	};

	return load_program(insns, sizeof(insns) / sizeof(insns[0]));
}

static void explain_load(const struct hl_probe_roots *roots, int code, struct hl_finding *f)
{
	hl_finding_set(f, HL_PROBE_MISSING, "cannot be loaded: %s", strerror(-code));
	if (code == -ENOSYS)
		hl_finding_remedy(f, "use a kernel with CONFIG_BPF_SYSCALL=y");
	else if (code == -EPERM && hl_probe_has_cap(roots, CAP_BPF) && hl_probe_has_cap(roots, CAP_PERFMON))
		hl_finding_remedy(
			f, "allow bpf and perf_event_open in the container's seccomp profile, and raise "
			   "ulimit -l");
	else if (code == -EPERM)
		hl_finding_remedy(f, "run as root, or with CAP_BPF and CAP_PERFMON");
	else
		hl_finding_remedy(f, "use a kernel with CONFIG_BPF_EVENTS=y");
}

void hl_probe_program(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	_cleanup_close_ int program = load_stack_program(), event = -1;
	struct hl_event_choice choice;
	struct hl_err err = { "" };

	if (program < 0) {
		explain_load(roots, program, f);
		return;
	}
	if (hl_event_choose(NULL, HZ, &choice, &err) == 0)
		event = hl_event_open(&choice, HZ, 0, &err);
	if (event < 0) {
		hl_finding_set(f, HL_PROBE_MISSING, "loads, but there is no event to attach it to");
		hl_finding_remedy(f, "%s", err.text);
	} else if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program) != 0) {
		hl_finding_set(f, HL_PROBE_MISSING, "cannot be attached to %s: %s", choice.name,
			       strerror(errno));
		hl_finding_remedy(f, "use a kernel with CONFIG_BPF_EVENTS=y");
	} else {
		hl_finding_set(f, HL_PROBE_OK, "loads and attaches");
	}
}

void hl_probe_capture(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	_cleanup_(hl_capture_freep) struct hl_capture *capture = NULL;
	struct hl_event_choice choice;
	struct hl_capture_options options = { .event = &choice, .frequency = HZ, .max_depth = DEPTH };
	struct hl_err err = { "" };
	const char *why;
	int r = hl_event_choose(NULL, HZ, &choice, &err);

	if (r == 0)
		r = hl_capture_new(&options, &capture, &err);
	if (r == 0)
		r = hl_capture_start(capture, &err);
	if (r < 0) {
		hl_finding_set(f, HL_PROBE_MISSING, "does not start: %s", err.text);
		hl_finding_remedy(
			f, "see what is missing above; else this kernel is unknown to hotleaf: report it");
	} else if (hl_capture_walk(capture, &why) == HL_CAPTURE_WALK_OWN) {
		hl_finding_set(f, HL_PROBE_OK, "starts; finds mappings and walks stacks right");
	} else {
		hl_finding_set(f, HL_PROBE_LIMITED,
			       "starts; the self-test failed, so the kernel walks user stacks: %s", why);
		hl_finding_remedy(
			f, "build programs with frame pointers to see whole stacks, or use another kernel");
	}
}

/* The word in brackets of "none [integrity] confidentiality"; "" if securityfs does not tell. */
static void read_lockdown(const struct hl_probe_roots *roots, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	const char *word;

	ret[0] = 0;
	if (hl_read_file_at(roots->sys, "kernel/security/lockdown", 200, &text, NULL) < 0)
		return;
	word = strchr(text, '[');
	if (word)
		(void)snprintf(ret, size, "%.*s", (int)strcspn(word + 1, "]"), word + 1);
}

void hl_probe_lockdown(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	_cleanup_close_ int harmless = -1, reading = -1;
	char mode[32];

	read_lockdown(roots, mode, sizeof(mode));
	if (mode[0] && strcmp(mode, "confidentiality") != 0) {
		hl_finding_set(f, HL_PROBE_OK, "%s", mode);
		return;
	}
	if (!mode[0]) {
		harmless = load_stack_program();
		reading = load_reading_program();
		if (harmless < 0) {
			hl_finding_set(f, HL_PROBE_LIMITED,
				       "unknown: no securityfs, and no program can be loaded to try");
			hl_finding_remedy(f, "run the check as root, which can try it");
			return;
		}
		if (reading >= 0) {
			hl_finding_set(f, HL_PROBE_OK, "programs may read kernel memory");
			return;
		}
	}
	hl_finding_set(f, HL_PROBE_MISSING, "confidentiality: programs may not read kernel memory");
	hl_finding_remedy(f, "boot with lockdown=integrity, or without lockdown");
}
