/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_H
#define HL_SYMD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include <hotleaf/symd.h>

struct hl_symd;

/*
 * The server is a child process that has given up all that it does not need. When it dies, hangs or answers
 * nonsense, it is killed and started anew, with the files that are asked for given to it again; a file on
 * which that happens twice is denied: requests about it fail with -ENOTRECOVERABLE, and answers do without it.
 */
struct hl_symd_options {
	uint32_t memory_mb;  /* the child's address space */
	uint32_t timeout_ms; /* for one request */
	const char *command; /* of this program, by which the child is started; NULL: "symd" */
};
#define HL_SYMD_DEFAULTS                               \
	{                                              \
		.memory_mb = 4096, .timeout_ms = 30000 \
	}

/*
 * A client and its server, owned by the caller. NULL on failure, with the reason in @err. @options NULL: the
 * defaults. To be used by one thread at a time; the child dies with the thread that started it.
 */
struct hl_symd *hl_symd_new_with(const struct hl_symd_options *options, struct hl_err *err);
struct hl_symd *hl_symd_new(struct hl_err *err);
void hl_symd_free(struct hl_symd *symd);

/* What stands between the child and the host. */
#define HL_GUARD_LIMITS       1u  /* of memory, processes, files to write */
#define HL_GUARD_NAMESPACES   2u  /* no network, mounts, IPC or host name of the host */
#define HL_GUARD_ROOT         4u  /* an empty root directory */
#define HL_GUARD_NOBODY       8u  /* user and group 65534 */
#define HL_GUARD_NO_CAPS      16u /* no capabilities */
#define HL_GUARD_NO_NEW_PRIVS 32u
#define HL_GUARD_FILTER       64u /* seccomp: about 20 system calls */
#define HL_GUARD_ALL          127u

struct hl_symd_stats {
	uint64_t starts;     /* of a child */
	uint64_t failures;   /* it died, hung or answered nonsense */
	uint64_t denied;     /* files given up */
	uint64_t unkept;     /* files that could not be kept for the next child, for want of descriptors */
	uint64_t unanswered; /* queries of hl_symd_resolve() that no server survived */
	uint64_t parsed;     /* requests for which something of a file was parsed */
	uint64_t restored;   /* tables that were taken as they had been made before, instead */
	uint64_t cpu_ns;     /* of all children */
	uint32_t guards;     /* HL_GUARD_*, of the last child */
};
void hl_symd_stats(const struct hl_symd *symd, struct hl_symd_stats *ret);

/*
 * Makes number @file known by the ELF file at @fd, which stays the caller's and may be closed afterwards.
 * @ret is filled on success. Returns 0 or -errno: -ENOEXEC for what is no ELF file of this machine.
 */
int hl_symd_add_file(struct hl_symd *symd, uint32_t file, int fd, struct hl_symd_file *ret,
		     struct hl_err *err);

/* Forgets @file. */
void hl_symd_drop_file(struct hl_symd *symd, uint32_t file);

/* Adds the names of the separate debug file at @fd. -ESTALE if it belongs to another build. */
int hl_symd_add_debug(struct hl_symd *symd, uint32_t file, int fd, struct hl_err *err);

/* Reads the kernel's names from @fd, an open /proc/kallsyms. -EACCES if every address in it is zero. */
int hl_symd_add_kallsyms(struct hl_symd *symd, int fd, struct hl_err *err);

/*
 * The unwind table (include/hotleaf/unwind.h) of the ELF file at @fd, which stays the caller's and is called
 * @file in sentences only. It is checked whole, and to be released with free(). -ENODATA: the file has none;
 * -E2BIG: too large a one; -ENOEXEC as for hl_symd_add_file().
 */
int hl_symd_unwind(struct hl_symd *symd, uint32_t file, int fd, uint8_t **ret, size_t *ret_len,
		   struct hl_err *err);

/*
 * Adds the names that process number @process tells in the file at @fd, as HL_SYMD_ADD_MAP says. @ret is
 * filled on success; where it says that bytes are left, another call may take more of them. -EBADMSG: a damaged
 * file, of which the part before the damage is taken.
 */
int hl_symd_add_map(struct hl_symd *symd, uint32_t process, int fd, const struct hl_symd_map *map,
		    struct hl_symd_map_counts *ret, struct hl_err *err);

/*
 * Answers, checked: every offset and length lies inside @strings, and what was inlined in an answer inside
 * @inlined. Owned by the caller, zero-initialised
 * before the first use, reused from call to call, released by hl_symd_answers_done().
 */
struct hl_symd_answers {
	struct hl_symd_answer *items;
	size_t n, cap;
	struct hl_symd_inlined *inlined;
	size_t n_inlined, inlined_cap;
	char *strings;
	size_t strings_len, strings_cap;
};

/*
 * Answers @n queries in order; @flags are HL_SYMD_INTEL, HL_SYMD_WANT_INLINES and HL_SYMD_WANT_LINES, of
 * which the last two take effect in files for which hl_symd_lines() succeeded. Returns 0 or -errno; on failure
 * @ret holds no answers. A query that no server survives is answered with its own address and nothing else,
 * and counted.
 */
int hl_symd_resolve(struct hl_symd *symd, const struct hl_symd_query *queries, size_t n, uint32_t flags,
		    struct hl_symd_answers *ret, struct hl_err *err);
void hl_symd_answers_done(struct hl_symd_answers *answers);

/*
 * Reads inlined functions and lines of @file; @fd is the running file again. @ret is filled on success. With
 * @ret_table, that is the table, to be released with free(). -ENODATA: no debug information; -ETIME, -E2BIG: over
 * @limits; answers then stay as they were.
 */
int hl_symd_lines(struct hl_symd *symd, uint32_t file, int fd, const struct hl_symd_lines_limits *limits,
		  struct hl_symd_lines *ret, uint8_t **ret_table, struct hl_err *err);
/* The same from such a table, in the regular file @fd. -EBADMSG if that is damaged. */
int hl_symd_add_lines(struct hl_symd *symd, uint32_t file, int fd, struct hl_symd_lines *ret,
		      struct hl_err *err);

/* What is wanted besides, checked as answers are; strings may hold any bytes but are bounded. Zero is empty. */
struct hl_symd_wants {
	struct hl_symd_wanted_list head;
	struct hl_symd_wanted *items;
	char *strings;
};
/* The files that hl_symd_lines() needs besides. @ret is replaced, released with hl_symd_wants_done(). */
int hl_symd_find_wanted(struct hl_symd *symd, uint32_t file, const struct hl_symd_lines_limits *limits,
			struct hl_symd_wants *ret, struct hl_err *err);
void hl_symd_wants_done(struct hl_symd_wants *wants);
/* Gives such a file. -ESTALE: an alternate file of another build. */
int hl_symd_add_wanted(struct hl_symd *symd, uint32_t file, bool is_alt, int fd, struct hl_err *err);

/* A function's instructions, in the order of their addresses. Checked, as answers are. Zero is empty. */
struct hl_symd_listing {
	struct hl_symd_list head;
	struct hl_symd_row *rows;
	char *strings;
	size_t strings_len;
};

/*
 * Lists the function that covers @query->where; @query->n_sampled places are at @sampled, ascending, and
 * @query->n_bytes bytes of its code at @bytes; @flags: HL_SYMD_INTEL,
 * HL_SYMD_WANT_LINES. 0 or -errno: see HL_SYMD_LIST. @ret is replaced, and to be
 * released with hl_symd_listing_done().
 */
int hl_symd_list_function(struct hl_symd *symd, const struct hl_symd_list_query *query,
			  const uint64_t *sampled, const uint8_t *bytes, uint32_t flags,
			  struct hl_symd_listing *ret, struct hl_err *err);
void hl_symd_listing_done(struct hl_symd_listing *listing);

/* Puts @code->size bytes, HL_SYMD_LIST_MAX at most, at @ret: see HL_SYMD_CODE; @fd is the jitdump of @process. */
int hl_symd_read_code(struct hl_symd *symd, uint32_t process, int fd, const struct hl_symd_code *code,
		      uint8_t *ret, struct hl_err *err);

#endif
