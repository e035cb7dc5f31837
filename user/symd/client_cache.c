// SPDX-License-Identifier: BSD-2-Clause
#include "symd/client_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
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
#include "base/mem.h"
#include "symd/client_entry.h"

#define XFS_MAGIC 0x58465342 /* linux/magic.h leaves it out */

enum {
	NAME_SIZE = 48,
	KNOWN_MAX = 1 << 16, /* contents remembered */
	/* A file can change again within a tick of the clock that stamps it. */
	UNSETTLED_S = 2,
};

static const char known_name[] = "contents";

struct known {
	struct hl_cache_stamp stamp;
	uint8_t id[16];
};

struct hl_cache {
	char *dir;
	int fd;
	struct hl_id program;
	uint64_t limit;
	/* Of all below; files are read and written without it. */
	pthread_mutex_t lock;
	struct known *known;
	size_t n_known, cap_known;
	struct hl_index index; /* of the stamps */
	bool learned;          /* the list has changed */
	struct hl_cache_stats stats;
};

static struct hl_entry_key key_of(const struct hl_cache *cache, uint32_t kind, const uint8_t id[16])
{
	struct hl_entry_key key = { .kind = kind, .program = cache->program };

	memcpy(key.id, id, sizeof(key.id));
	return key;
}

/* Opens file @name, and reads it as hl_entry_read() does. A descriptor or -errno. */
static int open_entry(const struct hl_cache *cache, const char *name, const struct hl_entry_key *key,
		      uint8_t **ret, size_t *ret_len)
{
	_cleanup_close_ int fd =
		openat(cache->fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	int r;

	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	r = hl_entry_read(fd, key, ret, ret_len);
	return r < 0 ? r : TAKE_FD(fd);
}

/* The bytes of file @name, without its header. */
static int read_entry(const struct hl_cache *cache, const char *name, const struct hl_entry_key *key,
		      uint8_t **ret, size_t *ret_len)
{
	uint8_t *bytes = NULL;
	_cleanup_close_ int fd = open_entry(cache, name, key, &bytes, ret_len);

	if (!bytes)
		return fd;
	memmove(bytes, bytes + HL_ENTRY_HEADER, *ret_len);
	*ret = bytes;
	return 0;
}

static void entry_name(enum hl_cache_kind kind, const uint8_t id[16], char ret[NAME_SIZE])
{
	static const char *const suffixes[] = {
		[HL_CACHE_UNWIND] = "unwind", [HL_CACHE_LINES] = "lines", [HL_CACHE_NAMES] = "names"
	};
	int at = 0, i;

	for (i = 0; i < 16; i++)
		at += snprintf(ret + at, (size_t)(NAME_SIZE - at), "%02x", id[i]);
	(void)snprintf(ret + at, (size_t)(NAME_SIZE - at), ".%s", suffixes[kind]);
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
	const struct hl_entry_key key = key_of(cache, 0, no_id);
	_cleanup_free_ uint8_t *bytes = NULL;
	struct known known;
	size_t len = 0, at;
	int r = read_entry(cache, known_name, &key, &bytes, &len);

	if (!bytes) {
		cache->stats.damaged += r == -EBADMSG;
		cache->stats.foreign += r == -ESTALE;
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
	const struct hl_entry_key key = key_of(cache, 0, no_id);
	/* When the list is full, the files of long ago have taken the place of today's: begin anew. */
	size_t n = cache->n_known < KNOWN_MAX ? cache->n_known : 0;

	if (cache->learned &&
	    hl_entry_write(cache->dir, known_name, &key, cache->known, n * sizeof(*cache->known)) < 0)
		cache->stats.failed++;
}

/* Opens @dir so that nobody else can put an entry there. */
static int open_own(const char *dir, int *ret, struct hl_err *err)
{
	bool is_new = mkdir(dir, 0700) == 0;
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!is_new && errno != EEXIST)
		return hl_err_errno(err, -errno, "cannot make the cache '%s'", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return hl_err_errno(err, -errno, "cannot open the cache '%s'", dir);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return hl_err_set(
			err, -EPERM,
			"others can write into the cache '%s': give it to this user alone (chmod 700)", dir);
	/* Others may pass through, whatever the umask, to what is not ours in it, but not list it. */
	if (is_new)
		(void)fchmod(fd, 0711);
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
	(void)pthread_mutex_init(&cache->lock, NULL);
	cache->program = hl_entry_program();
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
	(void)pthread_mutex_destroy(&cache->lock);
	free(cache->known);
	free(cache->dir);
	free(cache);
}

static void lock(struct hl_cache *cache)
{
	(void)pthread_mutex_lock(&cache->lock);
}

static void unlock(struct hl_cache *cache)
{
	(void)pthread_mutex_unlock(&cache->lock);
}

/* Counts the result @r of reading entry @name, and makes of it what the caller is told. */
static int finish_load(struct hl_cache *cache, const char *name, int r)
{
	lock(cache);
	cache->stats.hits += r == 0;
	cache->stats.misses += r < 0;
	cache->stats.damaged += r == -EBADMSG;
	cache->stats.foreign += r == -ESTALE;
	unlock(cache);
	if (r == 0)
		/* The time of the last change is that of the last use. */
		(void)utimensat(cache->fd, name, NULL, 0);
	if (r == -EBADMSG || r == -ESTALE)
		(void)unlinkat(cache->fd, name, 0);
	return r == 0 || r == -ENOMEM ? r : -ENOENT;
}

int hl_cache_load(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16], uint8_t **ret,
		  size_t *ret_len)
{
	const struct hl_entry_key key = key_of(cache, kind, id);
	char name[NAME_SIZE];

	entry_name(kind, id, name);
	return finish_load(cache, name, read_entry(cache, name, &key, ret, ret_len));
}

int hl_cache_open_entry(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16],
			uint64_t *ret_offset, uint64_t *ret_len)
{
	const struct hl_entry_key key = key_of(cache, kind, id);
	_cleanup_free_ uint8_t *bytes = NULL;
	char name[NAME_SIZE];
	size_t len = 0;
	int fd, r;

	entry_name(kind, id, name);
	fd = open_entry(cache, name, &key, &bytes, &len);
	r = finish_load(cache, name, fd < 0 ? fd : 0);
	if (r < 0)
		return r;
	*ret_offset = HL_ENTRY_HEADER;
	*ret_len = len;
	return fd;
}

void hl_cache_reject(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16])
{
	char name[NAME_SIZE];

	entry_name(kind, id, name);
	(void)unlinkat(cache->fd, name, 0);
	lock(cache);
	cache->stats.damaged++;
	unlock(cache);
}

void hl_cache_save(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16], const void *bytes,
		   size_t len)
{
	const struct hl_entry_key key = key_of(cache, kind, id);
	char name[NAME_SIZE];
	int r;

	entry_name(kind, id, name);
	r = hl_entry_write(cache->dir, name, &key, bytes, len);
	lock(cache);
	if (r < 0) {
		cache->stats.failed++;
	} else {
		cache->stats.bytes += HL_ENTRY_HEADER + len;
		prune(cache);
	}
	unlock(cache);
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

int hl_cache_recall(struct hl_cache *cache, int fd, uint8_t ret_id[16])
{
	struct hl_cache_stamp stamp;
	uint64_t hash;
	uint32_t at;

	if (hl_cache_stamp(fd, &stamp) < 0)
		return -ENOENT;
	lock(cache);
	at = find_known(cache, &stamp, &hash);
	if (at != HL_INDEX_NONE)
		memcpy(ret_id, cache->known[at].id, sizeof(cache->known[at].id));
	unlock(cache);
	return at == HL_INDEX_NONE ? -ENOENT : 0;
}

void hl_cache_remember(struct hl_cache *cache, const struct hl_cache_stamp *stamp, const uint8_t id[16])
{
	struct known known = { .stamp = *stamp };

	memcpy(known.id, id, sizeof(known.id));
	lock(cache);
	cache->learned |= learn(cache, &known);
	unlock(cache);
}

void hl_cache_stats(struct hl_cache *cache, struct hl_cache_stats *ret)
{
	lock(cache);
	*ret = cache->stats;
	unlock(cache);
}
