// SPDX-License-Identifier: BSD-2-Clause
/* Why programs were not loaded, in one sentence: from what libbpf says about it, which is many. */
#include "capture/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"

#define LOG_BEGIN "-- BEGIN PROG LOAD LOG --\n"
#define LOG_END   "\nprocessed "

HL_DEFINE_CLEANUP(struct btf, btf__free)

/* libbpf's callback takes no context. */
static char said[200];
static bool said_by_verifier;

static void keep(const char *text, size_t len)
{
	(void)snprintf(said, sizeof(said), "%.*s", (int)len, text);
}

/* The verifier's log ends with its reason and a line of counts. */
static bool keep_verdict(const char *text)
{
	const char *log = strstr(text, LOG_BEGIN), *end, *line;

	if (!log)
		return false;
	log += strlen(LOG_BEGIN);
	end = strstr(log, LOG_END);
	if (!end)
		return false;
	for (line = end; line > log && line[-1] != '\n'; line--)
		;
	keep(line, (size_t)(end - line));
	return true;
}

/* What went wrong first is the cause, unless the verifier tells it. */
static int hear(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;

	if (level != LIBBPF_WARN || said_by_verifier || vasprintf(&text, fmt, ap) < 0)
		return 0;
	said_by_verifier = keep_verdict(text);
	if (!said_by_verifier && !said[0])
		keep(text, strcspn(text, "\n"));
	return 0;
}

void hl_refusal_listen(void)
{
	said[0] = '\0';
	said_by_verifier = false;
	(void)libbpf_set_print(hear);
}

/* True if type @id or an anonymous struct or union in it has a member @name. */
static bool has_member(const struct btf *btf, int id, const char *name, unsigned int depth)
{
	const struct btf_type *type = btf__type_by_id(btf, (uint32_t)id);
	const struct btf_member *member;

	if (!type || !btf_is_composite(type) || depth > 8)
		return false;
	member = btf_members(type);
	for (unsigned int i = 0; i < btf_vlen(type); i++, member++) {
		const char *this = btf__name_by_offset(btf, member->name_off);

		if (this && strcmp(this, name) == 0)
			return true;
		if ((!this || !*this) && has_member(btf, (int)member->type, name, depth + 1))
			return true;
	}
	return false;
}

bool hl_has_mapping_tree(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "mm_struct", BTF_KIND_STRUCT);

	return id >= 0 && has_member(btf, id, "mm_mt", 0);
}

int hl_refusal_explain(int code, struct hl_err *err)
{
	_cleanup_(btf__freep) struct btf *btf = NULL;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return hl_err_set(
			err, -ENOTSUP,
			"this kernel does not describe its types (no '/sys/kernel/btf/vmlinux'): hotleaf "
			"needs Linux 6.1 or newer, built with CONFIG_DEBUG_INFO_BTF");
	btf = btf__load_vmlinux_btf();
	if (btf && !hl_has_mapping_tree(btf))
		return hl_err_set(
			err, -ENOTSUP,
			"this kernel is too old (it has no maple tree of mappings): hotleaf needs Linux 6.1 "
			"or newer");
	return hl_err_errno(err, code, "the kernel refuses the BPF programs%s%s (try `hotleaf check`)",
			    said[0] ? ": " : "", said);
}
