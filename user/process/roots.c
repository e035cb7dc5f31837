// SPDX-License-Identifier: BSD-2-Clause
#include "process/roots.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

enum { MAX_ROOTS = 1024 };

/* Two namespaces may show one directory, with other file systems mounted below it: the mount tells them. */
struct hl_root {
	uint64_t mount, inode;
	uint32_t device_major, device_minor;
	int fd;
};

static bool is_same(const struct hl_root *a, const struct hl_root *b)
{
	return a->mount == b->mount && a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor;
}

int hl_roots_of(struct hl_roots *roots, int proc_fd, pid_t tgid, pid_t tid)
{
	_cleanup_close_ int fd = -1;
	struct hl_root root;
	struct statx st;
	char name[64];

	(void)snprintf(name, sizeof(name), "%d/task/%d/root", (int)tgid, (int)tid);
	fd = openat(proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &st))
		return -1;
	root = (struct hl_root){ .mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
				 .inode = st.stx_ino,
				 .device_major = st.stx_dev_major,
				 .device_minor = st.stx_dev_minor };
	for (size_t i = 0; i < roots->n; i++)
		if (is_same(&roots->items[i], &root))
			return roots->items[i].fd;
	if (hl_grow(&roots->items, &roots->cap, roots->n + 1, sizeof(*roots->items), MAX_ROOTS)) {
		roots->dropped++;
		return -1;
	}
	root.fd = TAKE_FD(fd);
	roots->items[roots->n++] = root;
	return root.fd;
}

void hl_roots_done(struct hl_roots *roots)
{
	for (size_t i = 0; i < roots->n; i++)
		hl_cleanup_close(&roots->items[i].fd);
	free(roots->items);
	*roots = (struct hl_roots){ 0 };
}
