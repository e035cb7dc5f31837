// SPDX-License-Identifier: BSD-2-Clause
#include "command/code_names.h"

#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "command/named_files.h"
#include "process/codefiles.h"
#include "symd/client.h"

/* A file is read in steps of half a gigabyte: what is behind so many of them is left. */
enum { MAX_STEPS = 8 };

static void count_broken(struct hl_code_name_counts *counts, uint32_t tgid, const char *why)
{
	hl_debug("symbol", "code of process %u: %s", tgid, why);
	if (!counts->broken++)
		(void)snprintf(counts->breakage, sizeof(counts->breakage), "of process %u: %.160s", tgid,
			       why);
}

static void read_file(struct hl_symd *symd, uint32_t number, const struct hl_code_process *process, int fd,
		      const struct hl_symd_map *map, struct hl_code_name_counts *counts)
{
	struct hl_symd_map_counts now = { 0 }, before;
	struct hl_err err = { "" };

	for (int step = 0; step < MAX_STEPS; step++) {
		before = now;
		if (hl_symd_add_map(symd, number, fd, map, &now, &err)) {
			count_broken(counts, process->key.tgid, err.text);
			break;
		}
		if (!now.left || (step && now.left >= before.left))
			break;
	}
	counts->damaged += now.damaged;
	counts->dropped += now.dropped;
	counts->left += now.left;
	counts->cut += now.left != 0;
}

void hl_code_names_read(struct hl_symd *symd, const struct hl_code_files *files, struct hl_named_files *named,
			uint64_t until_ns, struct hl_code_name_counts *counts)
{
	static const uint32_t kinds[HL_CODE_KINDS] = {
		[HL_CODE_PERF_MAP] = HL_SYMD_PERF_MAP, [HL_CODE_JITDUMP] = HL_SYMD_JITDUMP
	};
	const struct hl_code_process *process;

	counts->unnoted = hl_code_files_dropped(files);
	counts->refused = hl_code_files_refused(files);
	for (uint32_t n = 1; (process = hl_code_files_get(files, n)); n++)
		for (int kind = 0; kind < HL_CODE_KINDS; kind++) {
			struct hl_symd_map map = { .until_ns = until_ns, .kind = kinds[kind] };

			if (process->fds[kind] >= 0 &&
			    hl_named_files_code_changed(named, (size_t)n * HL_CODE_KINDS + (size_t)kind,
							process->fds[kind]))
				read_file(symd, n, process, process->fds[kind], &map, counts);
		}
}

/* Appends one loss to the sentence. */
static void add(char *text, size_t size, size_t *at, uint64_t count, const char *what)
{
	if (count && *at < size)
		*at += (size_t)snprintf(text + *at, size - *at, "%s%llu %s", *at ? ", " : "",
					(unsigned long long)count, what);
}

bool hl_code_names_note(const struct hl_code_name_counts *counts, char *ret, size_t size)
{
	char text[640] = "";
	size_t at = 0;

	add(text, sizeof(text), &at, counts->dropped, "found no room");
	add(text, sizeof(text), &at, counts->damaged, "are damaged");
	add(text, sizeof(text), &at, counts->cut, "files end in a record that is not whole");
	if (counts->cut && at < sizeof(text))
		at += (size_t)snprintf(text + at, sizeof(text) - at, " (%llu bytes not read)",
				       (unsigned long long)counts->left);
	add(text, sizeof(text), &at, counts->refused, "files are no regular ones, or another user's");
	add(text, sizeof(text), &at, counts->broken, "files cannot be read");
	if (counts->broken && at < sizeof(text))
		at += (size_t)snprintf(text + at, sizeof(text) - at, ", the first %s", counts->breakage);
	add(text, sizeof(text), &at, counts->unnoted, "samples are of too many processes");
	if (!at)
		return false;
	(void)snprintf(ret, size, "names of generated code that are lost: %s", text);
	return true;
}
