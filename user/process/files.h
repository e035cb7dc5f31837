/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_FILES_H
#define HL_PROCESS_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/window.h"

/*
 * The files that sampled code comes from, by the id that the program gave them. They are opened through the
 * process that maps them, while it lives, and only if they are the very file that was sampled: same size
 * and modification time. Nothing is read here: what is in a file is for others, in a sandbox, to parse.
 */

enum hl_file_state {
	HL_FILE_UNSEEN = 0,  /* no event of it was handled */
	HL_FILE_OPEN = 1,    /* the descriptor is good */
	HL_FILE_FAILED = 2,  /* its process ended, or it could not be opened: another try may follow */
	HL_FILE_REFUSED = 3, /* never: no regular file, or failed too often */
};

struct hl_open_file {
	struct hl_file_key key;
	uint32_t state; /* enum hl_file_state */
	uint32_t tries;
	int fd;        /* -1 unless open */
	int root;      /* the root of the process it was opened through, borrowed; -1: unknown */
	int error;     /* of the last try, negative errno */
	bool deleted;  /* it had no name any more when it was opened */
	bool found;    /* by hl_files_search() */
	bool has_path; /* `path` is one, not only a base name */
	char *path;    /* as its process sees it; a base name from the event if it could not be opened */
};

struct hl_files;
struct hl_reach;
struct stat;

/* Whether @st is the state of the file that was sampled under @key. */
bool hl_is_sampled_file(const struct stat *st, const struct hl_file_key *key);
/*
 * Cuts the mark off the end of @path, what a link of /proc leads to, by which the kernel says that the file is gone.
 * @st, its state, says whether it is: a name may really end so.
 */
void hl_cut_deleted(char *path, const struct stat *st);

/*
 * A registry that opens files below @proc_fd, an open /proc, through @reach; both stay the caller's. NULL: no
 * memory.
 */
struct hl_files *hl_files_new(int proc_fd, struct hl_reach *reach);
void hl_files_free(struct hl_files *files);

/*
 * Opens the file of @event unless it is open. Returns its state after that: OPEN and REFUSED are final, so
 * that no more events are wanted.
 */
enum hl_file_state hl_files_open(struct hl_files *files, const struct hl_file_event *event);

/*
 * Copies what is known of the file to @into, unless it is open there: a registry that another thread reads.
 * Its root stays this one's, which must live longer. 0 or -errno.
 */
int hl_files_copy(const struct hl_files *files, uint32_t id, struct hl_files *into);

/* Forgets the file, and closes its descriptor: its id will be another's. */
void hl_files_forget(struct hl_files *files, uint32_t id);

/*
 * Looks through the mappings of all processes for files that could not be opened through the one that was
 * sampled: it had ended, or replaced itself. Returns how many were opened. As dear as reading every maps file
 * of the host: for the end of a recording or once in a while, not for each event.
 */
unsigned int hl_files_search(struct hl_files *files);

/* Files of which no root is kept, as there are too many: their debug files are looked for on the host only. */
uint64_t hl_files_unrooted(const struct hl_files *files);

/* The file with that id; NULL if no event of it was handled. Valid until the next hl_files_open(). */
const struct hl_open_file *hl_files_get(const struct hl_files *files, uint32_t id);

#endif
