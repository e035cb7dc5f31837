// SPDX-License-Identifier: BSD-2-Clause
#include "command/living_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/text.h"
#include "process/codefiles.h"
#include "process/proc.h"
#include "profile/profile.h"
#include "sample/window.h"
#include "symd/client.h"

/* The function at a place, by what symd knows: its bounds as addresses of the profile. */
static int find_bounds(const struct hl_living_code *code, const struct hl_symd_query *query,
		       struct hl_symd_answer *ret, struct hl_err *err)
{
	struct hl_symd_answers answers = { 0 };
	int r = hl_symd_resolve(code->symd, query, 1, 0, &answers, err);

	if (!r)
		*ret = answers.items[0];
	hl_symd_answers_done(&answers);
	return r;
}

/*
 * The sample of the instruction. Addresses of the kernel in a profile are those that it was linked to: symd says
 * of each sampled one what that is.
 */
static int find_sample(const struct hl_living_code *code, const struct hl_frame *insn, bool is_kernel,
		       struct hl_symd_query *query, struct hl_symd_answer *answer,
		       const struct hl_process_key **ret, struct hl_err *err)
{
	for (size_t i = 0; code->window && i < code->window->n_samples; i++) {
		const struct hl_count_key *key = &code->window->samples[i].key;
		int r;

		if (is_kernel ? !hl_frame_is_kernel(key->ip) : !hl_frame_is_raw_user(key->ip))
			continue;
		if (is_kernel && ((key->ip ^ insn->address) & 0xfff))
			continue; /* the kernel moves by pages */
		if (!is_kernel && (key->ip & ~HL_FRAME_RAW) != insn->address)
			continue;
		*query = (struct hl_symd_query){ .where = is_kernel ? key->ip : key->ip & ~HL_FRAME_RAW,
						 .place = is_kernel ? HL_SYMD_KERNEL : HL_SYMD_RAW };
		if (!is_kernel)
			query->file = hl_code_files_number(code->code_files, &key->process);
		r = find_bounds(code, query, answer, err);
		if (r)
			return r;
		*ret = &key->process;
		if (answer->address == insn->address)
			return 0;
	}
	return hl_err_set(err, -ENOENT, "the profile does not say which process the code is of");
}

static int read_process(const struct hl_process_key *process, uint64_t at, uint8_t *bytes, size_t n,
			struct hl_err *err)
{
	_cleanup_close_ int dir_fd = -1, mem_fd = -1;
	char name[32];

	(void)snprintf(name, sizeof(name), "/proc/%u", process->tgid);
	dir_fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || !hl_proc_started(dir_fd, process->start_time))
		return hl_err_set(err, -ESRCH, "the code is in no file, and its process has ended");
	mem_fd = openat(dir_fd, "mem", O_RDONLY | O_CLOEXEC);
	if (mem_fd < 0)
		return hl_err_errno(err, -errno, "cannot read the memory of process %u", process->tgid);
	if (pread(mem_fd, bytes, n, (off_t)at) != (ssize_t)n)
		return hl_err_set(err, -EIO, "the code is in no file, and not in memory any more");
	return 0;
}

/* The same as the process told it, which may have ended since. */
static int read_told(const struct hl_living_code *code, uint32_t process, uint64_t at, uint8_t *bytes,
		     size_t n, struct hl_err *err)
{
	const struct hl_symd_code wanted = { .start = at, .size = n, .until_ns = code->until_ns };
	const struct hl_code_process *files = hl_code_files_get(code->code_files, process);

	if (!files || files->fds[HL_CODE_JITDUMP] < 0)
		return -ENOENT;
	return hl_symd_read_code(code->symd, process, files->fds[HL_CODE_JITDUMP], &wanted, bytes, err);
}

int hl_living_code_read(const struct hl_living_code *code, const struct hl_frame *insn, bool is_kernel,
			struct hl_living_function *ret, struct hl_err *err)
{
	const struct hl_process_key *process = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct hl_symd_answer answer = { 0 };
	struct hl_symd_query query = { 0 };
	uint64_t where;
	int r = find_sample(code, insn, is_kernel, &query, &answer, &process, err);

	if (r)
		return r;
	if (!answer.size || answer.size > HL_SYMD_LIST_MAX)
		return hl_err_set(err, -ENODATA,
				  is_kernel
					  ? "nothing says where the function begins and ends"
					  : "the code is in no file, and its program does not say where its "
					    "functions begin and end");
	where = query.where - (answer.address - answer.function);
	bytes = malloc(answer.size);
	if (!bytes)
		return hl_err_set(err, -ENOMEM, "no memory for the code of a function");
	r = is_kernel ? hl_kernel_text_read(where, bytes, answer.size, err)
		      : read_process(process, where, bytes, answer.size, err);
	if (r && !is_kernel && !read_told(code, query.file, where, bytes, answer.size, NULL))
		r = 0;
	if (r)
		return r;
	*ret = (struct hl_living_function){ .start = answer.function,
					    .size = answer.size,
					    .where = where,
					    .place = query.place,
					    .process = query.file,
					    .bytes = TAKE_PTR(bytes) };
	return 0;
}
