// SPDX-License-Identifier: BSD-2-Clause
/*
 * deadfuse MOUNTPOINT FOLDER: a FUSE file system that shows the files of FOLDER, read-only, until SIGUSR1; from
 * then on it takes requests and never answers. It speaks the kernel's protocol itself (linux/fuse.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 64, ROOM = 1 << 20 };

/* Node 1 is the folder itself, node 2 + i the file i. */
static struct {
	char name[256];
	int fd;
} files[MOST];
static int n_files, device;
static volatile sig_atomic_t dead;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void on_signal(int number)
{
	(void)number;
	dead = 1;
}

static void load(const char *folder)
{
	int at = open(folder, O_RDONLY | O_DIRECTORY);
	DIR *dir = at < 0 ? NULL : fdopendir(at);
	const struct dirent *entry;

	if (!dir)
		die(folder);
	while ((entry = readdir(dir)) && n_files < MOST) {
		if (entry->d_name[0] == '.')
			continue;
		strcpy(files[n_files].name, entry->d_name);
		files[n_files].fd = openat(at, entry->d_name, O_RDONLY);
		if (files[n_files++].fd < 0)
			die(entry->d_name);
	}
}

static void answer(const struct fuse_in_header *in, int error, const void *bytes, size_t len)
{
	static char out[sizeof(struct fuse_out_header) + ROOM];
	struct fuse_out_header head = { .unique = in->unique, .error = -error };

	if (dead)
		return;
	head.len = (__u32)(sizeof(head) + len);
	memcpy(out, &head, sizeof(head));
	if (len)
		memcpy(out + sizeof(head), bytes, len);
	(void)!write(device, out, head.len);
}

static int fd_of(__u64 node)
{
	return node >= 2 && node < 2 + (__u64)n_files ? files[node - 2].fd : -1;
}

static struct fuse_attr attributes(__u64 node)
{
	struct fuse_attr attr = { .ino = node, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = 4096 };
	struct stat st;

	if (node == 1 || fstat(fd_of(node), &st))
		return attr;
	attr.mode = S_IFREG | 0755;
	attr.nlink = 1;
	attr.size = (__u64)st.st_size;
	attr.mtime = (__u64)st.st_mtim.tv_sec;
	attr.mtimensec = (__u32)st.st_mtim.tv_nsec;
	return attr;
}

/* Nothing is valid for any time: each use asks again. */
static void look_up(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = { .generation = 1 };

	for (int i = 0; i < n_files && !out.nodeid; i++)
		if (strcmp(files[i].name, name) == 0)
			out.nodeid = 2 + (__u64)i;
	if (out.nodeid)
		out.attr = attributes(out.nodeid);
	answer(in, out.nodeid ? 0 : ENOENT, &out, out.nodeid ? sizeof(out) : 0);
}

static void read_part(const struct fuse_in_header *in, const struct fuse_read_in *what)
{
	static char bytes[ROOM];
	ssize_t n =
		pread(fd_of(in->nodeid), bytes, what->size < ROOM ? what->size : ROOM, (off_t)what->offset);

	answer(in, n < 0 ? EIO : 0, bytes, n < 0 ? 0 : (size_t)n);
}

static void handle(const struct fuse_in_header *in)
{
	const void *body = in + 1;
	const struct fuse_init_in *init = body;
	struct fuse_init_out ready = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536 };
	struct fuse_attr_out attr = { .attr_valid = 0 };
	struct fuse_open_out opened = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		ready.max_readahead = init->max_readahead;
		answer(in, 0, &ready, sizeof(ready));
		break;
	case FUSE_LOOKUP:
		look_up(in, body);
		break;
	case FUSE_GETATTR:
		attr.attr = attributes(in->nodeid);
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		read_part(in, body);
		break;
	case FUSE_READDIR:
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* have no answers */
	default:
		answer(in, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[ROOM + 4096];
	char options[128];

	if (argc != 3)
		return 2;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else is to wait for a dead mount */
	load(argv[2]);
	device = open("/dev/fuse", O_RDWR);
	if (device < 0)
		die("/dev/fuse");
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		       device);
	if (mount("deadfuse", argv[1], "fuse", MS_NOSUID | MS_NODEV, options))
		die("mount");
	(void)signal(SIGUSR1, on_signal);
	for (;;) {
		ssize_t n = read(device, request, sizeof(request));

		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			handle((const struct fuse_in_header *)request);
		else if (n < 0 && errno == ENODEV)
			return 0; /* unmounted */
		else if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
			die("read");
	}
}
