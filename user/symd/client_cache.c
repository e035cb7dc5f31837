// SPDX-License-Identifier: BSD-2-Clause
#include "symd/client_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#define XFS_MAGIC 0x58465342 /* linux/magic.h leaves it out */

enum {
	NAME_SIZE = 48,
	ENTRY_MAX = 512 << 20,
	KNOWN_MAX = 1 << 16, /* contents remembered */
	/* A file can change again within a tick of the clock that stamps it. */
	UNSETTLED_S = 2,
};

static const char known_name[] = "contents";
static const char magic[8] = "hotleafC";

/* In front of an entry's bytes, and of the list of contents. In the machine's byte order: it stays here. */
struct header {
	char magic[8];
	uint32_t kind, reserved;
	uint8_t id[16];
	struct hl_id program; /* of the version that wrote it */
	uint64_t length;
	struct hl_id check; /* of the bytes */
};

struct known {
	struct hl_cache_stamp stamp;
	uint8_t id[16];
};

struct hl_cache {
	char *dir;
	int fd;
	struct hl_id program;
	uint64_t limit;
	struct known *known;
	size_t n_known, cap_known;
	struct hl_index index; /* of the stamps */
	bool learned;          /* the list has changed */
	struct hl_cache_stats stats;
};

/* The build-id of the program itself, the first of the objects. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct hl_id *ret = ctx;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr);
		const char *end = at + (p->p_type == PT_NOTE ? p->p_memsz : 0);

		while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);
			const char *id = name + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4))
				*ret = hl_id_of(id, note->n_descsz);
			at = id + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 1;
}

/* Which program made an entry: another one may make another table of the same file. */
static struct hl_id program_id(void)
{
	struct hl_id id = hl_id_of(HL_VERSION, sizeof(HL_VERSION));

	(void)dl_iterate_phdr(find_build_id, &id);
	return id;
}

static void entry_name(enum hl_cache_kind kind, const uint8_t id[16], char ret[NAME_SIZE])
{
	static const char *const suffixes[] = { [HL_CACHE_UNWIND] = "unwind", [HL_CACHE_LINES] = "lines" };
	int at = 0, i;

	for (i = 0; i < 16; i++)
		at += snprintf(ret + at, (size_t)(NAME_SIZE - at), "%02x", id[i]);
	(void)snprintf(ret + at, (size_t)(NAME_SIZE - at), ".%s", suffixes[kind]);
}

/* Reads file @name whole, checked against its header. -EBADMSG: it is not what was written by this version. */
static int read_checked(const struct hl_cache *cache, const char *name, uint32_t kind, const uint8_t id[16],
			uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ char *bytes = NULL;
	struct header header;
	struct hl_id check;
	size_t len;
	int r = hl_read_file_at(cache->fd, name, ENTRY_MAX, &bytes, &len);

	if (r < 0)
		return r == -EMEDIUMTYPE ? -EBADMSG : r;
	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	len -= sizeof(header);
	if (memcmp(header.magic, magic, sizeof(magic)) != 0 || header.kind != kind ||
	    memcmp(header.id, id, sizeof(header.id)) != 0 || header.length != len ||
	    !hl_id_equal(header.program, cache->program))
		return -EBADMSG;
	memmove(bytes, bytes + sizeof(header), len);
	check = hl_id_of(bytes, len);
	if (!hl_id_equal(header.check, check))
		return -EBADMSG;
	*ret = (uint8_t *)TAKE_PTR(bytes);
	*ret_len = len;
	return 0;
}

static int write_checked(const struct hl_cache *cache, const char *name, uint32_t kind, const uint8_t id[16],
			 const void *bytes, size_t len)
{
	struct header header = {
		.kind = kind, .program = cache->program, .length = len, .check = hl_id_of(bytes, len)
	};
	_cleanup_(hl_output_freep) struct hl_output *output = NULL;
	_cleanup_free_ char *path = NULL;

	if (len > ENTRY_MAX - sizeof(header))
		return -EFBIG;
	memcpy(header.magic, magic, sizeof(magic));
	memcpy(header.id, id, sizeof(header.id));
	if (asprintf(&path, "%s/%s", cache->dir, name) < 0)
		return -ENOMEM;
	output = hl_output_new(path, NULL);
	if (!output)
		return -EIO;
	(void)fwrite(&header, sizeof(header), 1, hl_output_stream(output));
	(void)fwrite(bytes, 1, len, hl_output_stream(output));
	return hl_output_commit(output, NULL);
}

struct entry {
	char name[NAME_SIZE];
	uint64_t size;
	int64_t used_ns;
};

static int compare_used(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Lists what is in the directory, and adds up its bytes. */
static int list_entries(struct hl_cache *cache, struct entry **ret, size_t *ret_n)
{
	_cleanup_free_ struct entry *entries = NULL;
	_cleanup_closedir_ DIR *dir = NULL;
	int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	size_t n = 0, cap = 0;
	const struct dirent *item;
	struct stat st;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		r = -errno;
		hl_cleanup_close(&fd);
		return r;
	}
	cache->stats.bytes = 0;
	while ((item = readdir(dir))) {
		size_t len = strlen(item->d_name);

		if (len >= NAME_SIZE || fstatat(cache->fd, item->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		r = hl_grow(&entries, &cap, n + 1, sizeof(*entries), 1 << 20);
		if (r < 0)
			return r;
		entries[n] = (struct entry){ .size = (uint64_t)st.st_size,
					     .used_ns = st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec };
		memcpy(entries[n].name, item->d_name, len + 1);
		cache->stats.bytes += entries[n++].size;
	}
	*ret = TAKE_PTR(entries);
	*ret_n = n;
	return 0;
}

/* Removes what was used longest ago until a tenth of the space is free again. */
static void prune(struct hl_cache *cache)
{
	_cleanup_free_ struct entry *entries = NULL;
	uint64_t goal = cache->limit - cache->limit / 10;
	size_t n = 0, i;

	if (cache->stats.bytes <= cache->limit || list_entries(cache, &entries, &n) < 0 || !entries)
		return;
	qsort(entries, n, sizeof(*entries), compare_used);
	for (i = 0; i < n && cache->stats.bytes > goal; i++) {
		if (strcmp(entries[i].name, known_name) == 0 || unlinkat(cache->fd, entries[i].name, 0) < 0)
			continue;
		cache->stats.bytes -= entries[i].size;
		cache->stats.dropped++;
	}
}

struct wanted {
	const struct known *known;
	const struct hl_cache_stamp *stamp;
};

static int same_stamp(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return memcmp(&w->known[position].stamp, w->stamp, sizeof(*w->stamp)) == 0;
}

static uint32_t find_known(const struct hl_cache *cache, const struct hl_cache_stamp *stamp,
			   uint64_t *ret_hash)
{
	struct wanted wanted = { cache->known, stamp };

	*ret_hash = hl_hash(stamp, sizeof(*stamp), 0);
	return hl_index_find(&cache->index, *ret_hash, same_stamp, &wanted);
}

/* Adds to the list in memory. What finds no room is read again next time. */
static bool learn(struct hl_cache *cache, const struct known *known)
{
	uint64_t hash;

	if (find_known(cache, &known->stamp, &hash) != HL_INDEX_NONE ||
	    hl_grow(&cache->known, &cache->cap_known, cache->n_known + 1, sizeof(*known), KNOWN_MAX) < 0 ||
	    hl_index_add(&cache->index, hash, (uint32_t)cache->n_known) < 0)
		return false;
	cache->known[cache->n_known++] = *known;
	return true;
}

static void read_known(struct hl_cache *cache)
{
	static const uint8_t no_id[16];
	_cleanup_free_ uint8_t *bytes = NULL;
	struct known known;
	size_t len = 0, at;
	int r = read_checked(cache, known_name, 0, no_id, &bytes, &len);

	if (r < 0) {
		cache->stats.damaged += r == -EBADMSG;
		return;
	}
	for (at = 0; at + sizeof(known) <= len; at += sizeof(known)) {
		memcpy(&known, bytes + at, sizeof(known));
		(void)learn(cache, &known);
	}
}

static void write_known(struct hl_cache *cache)
{
	static const uint8_t no_id[16];
	/* When the list is full, the files of long ago have taken the place of today's: begin anew. */
	size_t n = cache->n_known < KNOWN_MAX ? cache->n_known : 0;

	if (cache->learned &&
	    write_checked(cache, known_name, 0, no_id, cache->known, n * sizeof(*cache->known)) < 0)
		cache->stats.failed++;
}

/* Opens @dir so that nobody else can put an entry there. */
static int open_own(const char *dir, int *ret, struct hl_err *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	/* Others may pass through, to what is not ours in it, but not list it. */
	if (mkdir(dir, 0711) < 0 && errno != EEXIST)
		return hl_err_errno(err, -errno, "cannot make the cache '%s'", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return hl_err_errno(err, -errno, "cannot open the cache '%s'", dir);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return hl_err_set(
			err, -EPERM,
			"others can write into the cache '%s': give it to this user alone (chmod 700)", dir);
	*ret = TAKE_FD(fd);
	return 0;
}

int hl_cache_open(const char *dir, uint64_t limit, struct hl_cache **ret, struct hl_err *err)
{
	_cleanup_free_ struct entry *entries = NULL;
	struct hl_cache *cache = calloc(1, sizeof(*cache));
	size_t n;
	int r;

	if (!cache)
		return hl_err_errno(err, -ENOMEM, "cannot open the cache '%s'", dir);
	cache->fd = -1;
	cache->program = program_id();
	cache->limit = limit;
	cache->dir = strdup(dir);
	r = cache->dir ? open_own(dir, &cache->fd, err) : hl_err_errno(err, -ENOMEM, "'%s'", dir);
	if (r == 0) {
		r = list_entries(cache, &entries, &n);
		if (r < 0)
			(void)hl_err_errno(err, r, "cannot list the cache '%s'", dir);
	}
	if (r < 0) {
		hl_cache_close(cache);
		return r;
	}
	read_known(cache);
	*ret = cache;
	return 0;
}

void hl_cache_close(struct hl_cache *cache)
{
	if (!cache)
		return;
	if (cache->fd >= 0)
		write_known(cache);
	hl_cleanup_close(&cache->fd);
	hl_index_done(&cache->index);
	free(cache->known);
	free(cache->dir);
	free(cache);
}

int hl_cache_load(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16], uint8_t **ret,
		  size_t *ret_len)
{
	char name[NAME_SIZE];
	int r;

	entry_name(kind, id, name);
	r = read_checked(cache, name, kind, id, ret, ret_len);
	if (r == 0) {
		cache->stats.hits++;
		/* The time of the last change is that of the last use. */
		(void)utimensat(cache->fd, name, NULL, 0);
		return 0;
	}
	cache->stats.misses++;
	if (r == -EBADMSG) {
		cache->stats.damaged++;
		(void)unlinkat(cache->fd, name, 0);
	}
	return r == -ENOMEM ? r : -ENOENT;
}

void hl_cache_save(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16], const void *bytes,
		   size_t len)
{
	char name[NAME_SIZE];

	entry_name(kind, id, name);
	if (write_checked(cache, name, kind, id, bytes, len) < 0) {
		cache->stats.failed++;
		return;
	}
	cache->stats.bytes += sizeof(struct header) + len;
	prune(cache);
}

int hl_cache_stamp(int fd, struct hl_cache_stamp *ret)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_MAGIC && fs.f_type != BTRFS_SUPER_MAGIC)
		return -EOPNOTSUPP;
	if (llabs((long long)(time(NULL) - st.st_ctim.tv_sec)) < UNSETTLED_S)
		return -EAGAIN;
	*ret = (struct hl_cache_stamp){ .device = st.st_dev,
					.inode = st.st_ino,
					.size = (uint64_t)st.st_size,
					.mtime_ns = st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
					.ctime_ns = st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec };
	return 0;
}

int hl_cache_recall(const struct hl_cache *cache, int fd, uint8_t ret_id[16])
{
	struct hl_cache_stamp stamp;
	uint64_t hash;
	uint32_t at;

	if (hl_cache_stamp(fd, &stamp) < 0)
		return -ENOENT;
	at = find_known(cache, &stamp, &hash);
	if (at == HL_INDEX_NONE)
		return -ENOENT;
	memcpy(ret_id, cache->known[at].id, sizeof(cache->known[at].id));
	return 0;
}

void hl_cache_remember(struct hl_cache *cache, const struct hl_cache_stamp *stamp, const uint8_t id[16])
{
	struct known known = { .stamp = *stamp };

	memcpy(known.id, id, sizeof(known.id));
	cache->learned |= learn(cache, &known);
}

void hl_cache_stats(const struct hl_cache *cache, struct hl_cache_stats *ret)
{
	*ret = cache->stats;
}
