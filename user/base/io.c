// SPDX-License-Identifier: BSD-2-Clause
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"

struct hl_output {
	FILE *stream;
	int fd;
	int dirfd;  /* of the directory that both names are in; -1 when written in place */
	int error;  /* of the first write that failed: stdio forgets it */
	char *path; /* as the user wrote it */
	char temporary[HL_TEMPORARY_SIZE]; /* name in the directory, "" when there is none (any more) */
};

static ssize_t write_all(void *cookie, const char *bytes, size_t size)
{
	struct hl_output *output = cookie;
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(output->fd, bytes + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			output->error = output->error ? output->error : -errno;
			return 0;
		}
		done += (size_t)n;
	}
	return (ssize_t)size;
}

/* The descriptor that @path names: "-", /dev/stdout and the like; -1 if it is a file's name. */
static int named_fd(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *digits = path + strlen(folders[i]);

		if (hl_starts_with(path, folders[i]) && strlen(digits) - 1 < 6 &&
		    strspn(digits, "0123456789") == strlen(digits))
			return (int)strtol(digits, NULL, 10);
	}
	return -1;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Opens the directory of @path. */
static int open_parent(const char *path)
{
	size_t len = (size_t)(base_name(path) - path);
	_cleanup_free_ char *dir = NULL;
	int fd;

	dir = len ? strndup(path, len) : strdup(".");
	if (!dir)
		return -ENOMEM;
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const char *hl_temporary_name(char ret[HL_TEMPORARY_SIZE])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return NULL;
	(void)snprintf(ret, HL_TEMPORARY_SIZE, ".hotleaf-%016" PRIx64, random);
	return ret;
}

/* Creates the temporary file. umask says who may read it, as with any file. */
static int create_temporary(struct hl_output *output)
{
	output->dirfd = open_parent(output->path);
	if (output->dirfd < 0)
		return output->dirfd;
	for (int attempt = 0; attempt < 20; attempt++) {
		if (!hl_temporary_name(output->temporary))
			return -EIO;
		output->fd = openat(output->dirfd, output->temporary,
				    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (output->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	output->temporary[0] = 0;
	return -errno;
}

static int open_output(struct hl_output *output)
{
	int named = named_fd(output->path);
	struct stat st;

	if (named >= 0) {
		if (named == STDOUT_FILENO)
			(void)fflush(stdout);
		output->fd = fcntl(named, F_DUPFD_CLOEXEC, 3);
		return output->fd < 0 ? -errno : 0;
	}
	if (!*base_name(output->path))
		return *output->path ? -EISDIR : -ENOENT;
	if (stat(output->path, &st) != 0)
		return errno == ENAMETOOLONG ? -errno : create_temporary(output);
	if (S_ISREG(st.st_mode))
		return create_temporary(output);
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	output->fd = open(output->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return output->fd < 0 ? -errno : 0;
}

struct hl_output *hl_output_new(const char *path, struct hl_err *err)
{
	static const cookie_io_functions_t functions = { .write = write_all };
	_cleanup_(hl_output_freep) struct hl_output *output = calloc(1, sizeof(*output));
	int r;

	if (output) {
		output->fd = output->dirfd = -1;
		output->path = strdup(path);
	}
	r = output && output->path ? open_output(output) : -ENOMEM;
	if (r == 0) {
		output->stream = fopencookie(output, "w", functions);
		r = output->stream ? 0 : -ENOMEM;
	}
	if (r == 0)
		return TAKE_PTR(output);
	if (r == -EISDIR)
		(void)hl_err_set(err, r, "cannot write \"%.300s\": it is a directory; give a file's name",
				 path);
	else
		(void)hl_err_errno(err, r, "cannot create \"%.300s\"", path);
	return NULL;
}

FILE *hl_output_stream(struct hl_output *output)
{
	return output->stream;
}

static void remove_temporary(struct hl_output *output)
{
	if (output->temporary[0])
		(void)unlinkat(output->dirfd, output->temporary, 0);
	output->temporary[0] = 0;
}

/* Everything written, every error known, the descriptor closed. */
static int finish_writing(struct hl_output *output)
{
	int r = fclose(TAKE_PTR(output->stream)) == 0 ? 0 : -EIO;

	if (close(TAKE_FD(output->fd)) != 0 && r == 0)
		r = -errno; /* NFS and quotas speak here */
	return output->error ? output->error : r;
}

int hl_output_commit(struct hl_output *output, struct hl_err *err)
{
	int r = finish_writing(output);

	if (r == 0 && output->temporary[0] &&
	    renameat(output->dirfd, output->temporary, output->dirfd, base_name(output->path)) != 0)
		r = -errno;
	if (r == 0)
		output->temporary[0] = 0;
	remove_temporary(output);
	if (r < 0)
		return hl_err_errno(err, r, "cannot write \"%.300s\"",
				    strcmp(output->path, "-") == 0 ? "standard output" : output->path);
	return 0;
}

void hl_output_free(struct hl_output *output)
{
	if (!output)
		return;
	if (output->stream)
		(void)finish_writing(output);
	else
		hl_cleanup_close(&output->fd);
	remove_temporary(output);
	hl_cleanup_close(&output->dirfd);
	free(output->path);
	free(output);
}

int hl_read_fd(int fd, size_t limit, char **ret, size_t *ret_len)
{
	_cleanup_free_ char *bytes = NULL;
	size_t len = 0, cap = 0, first = limit < 4096 ? limit + 2 : 4096;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EMEDIUMTYPE;
	for (;;) {
		ssize_t n;

		/* One byte more than is allowed, and one for the NUL. */
		r = hl_grow(&bytes, &cap, len + 2 > first ? len + 2 : first, 1, limit + 2);
		if (r < 0)
			return r == -E2BIG ? -EFBIG : r;
		n = read(fd, bytes + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > limit)
			return -EFBIG;
	}
	bytes[len] = 0;
	*ret = TAKE_PTR(bytes);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int hl_read_file_at(int dirfd, const char *path, size_t limit, char **ret, size_t *ret_len)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : hl_read_fd(fd, limit, ret, ret_len);
}
