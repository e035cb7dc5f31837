/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CONTAINER_FILE_H
#define HL_PROCESS_CONTAINER_FILE_H

#include <stddef.h>

/* What container.c and the readers of runtimes' files share. */

struct hl_container;
struct hl_err;
struct hl_reach;

/* Bytes of a string that is kept; Kubernetes allows names of 253 and label keys of 317. */
enum { HL_NAME_MAX = 253, HL_KEY_MAX = 317, HL_VALUE_MAX = 1024 };
/* Labels of a container, and bytes of them in all. */
enum { HL_LABELS_MAX = 128, HL_LABELS_BYTES = 16 << 10 };

/* Keeps @len bytes of @text, at most @max of them, in *@field, unless that is set. 0 or -ENOMEM. */
int hl_container_keep(struct hl_container *container, const char **field, const char *text, size_t len,
		      size_t max);
/* Adds a label; the first of a key counts. 0 or -ENOMEM. */
int hl_container_add_label(struct hl_container *container, const char *key, const char *value, size_t len);

/*
 * Reads what the files of @container's runtime say, trying all of Kubernetes' where the path did not tell
 * which. @parent: containerd's namespace as the path has it, may be NULL. 0, also where there is no file;
 * -ENOMEM; else -errno of a file that could not be used.
 */
int hl_container_read_files(struct hl_reach *reach, int root_fd, const char *parent,
			    struct hl_container *container, struct hl_err *err);

/*
 * Reads what a runtime answered about @container, as Docker's engine does for "GET /containers/ID/json". 0; -ENOMEM;
 * -EBADMSG with a sentence: it is no JSON, or about another.
 */
int hl_container_read_inspected(struct hl_container *container, const char *text, size_t len,
				struct hl_err *err);

#endif
