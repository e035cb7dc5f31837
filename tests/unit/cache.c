// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd */
/* What was made of files, kept on disk. */
#include "symd/client_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "harness.h"

static const uint8_t first_id[16] = { 1, 2, 3 }, second_id[16] = { 0xff, 9 };

static char *new_dir(void)
{
	static char name[64];

	(void)snprintf(name, sizeof(name), "/tmp/hotleaf-cache-XXXXXX");
	CHECK(mkdtemp(name));
	return name;
}

static struct hl_cache *open_cache(const char *dir, uint64_t limit)
{
	struct hl_cache *cache = NULL;
	struct hl_err err = { "" };

	if (hl_cache_open(dir, limit, &cache, &err))
		FAIL("%s", err.text);
	return cache;
}

/* Removes @dir and the files in it; returns how many there were. */
static int remove_dir(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *item;
	char path[512];
	int n = 0;

	while (d && (item = readdir(d))) {
		if (item->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, item->d_name);
		n += unlink(path) == 0;
	}
	if (d)
		(void)closedir(d);
	CHECK_INT(rmdir(dir), 0);
	return n;
}

static bool loads(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16], const void *bytes,
		  size_t len)
{
	uint8_t *got;
	size_t got_len;
	bool same;

	if (hl_cache_load(cache, kind, id, &got, &got_len))
		return false;
	same = got_len == len && memcmp(got, bytes, len) == 0;
	free(got);
	return same;
}

HL_TEST(saved_is_loaded)
{
	char *dir = new_dir();
	struct hl_cache *cache = open_cache(dir, 1 << 20);
	struct hl_cache_stats stats;

	CHECK(!loads(cache, HL_CACHE_UNWIND, first_id, "", 0));
	hl_cache_save(cache, HL_CACHE_UNWIND, first_id, "table", 5);
	hl_cache_save(cache, HL_CACHE_UNWIND, second_id, "", 0);
	CHECK(loads(cache, HL_CACHE_UNWIND, first_id, "table", 5));
	hl_cache_close(cache);

	cache = open_cache(dir, 1 << 20);
	CHECK(loads(cache, HL_CACHE_UNWIND, first_id, "table", 5));
	CHECK(loads(cache, HL_CACHE_UNWIND, second_id, "", 0));
	CHECK(!loads(cache, HL_CACHE_LINES, first_id, "table", 5));
	hl_cache_save(cache, HL_CACHE_UNWIND, first_id, "other", 5);
	CHECK(loads(cache, HL_CACHE_UNWIND, first_id, "other", 5));
	hl_cache_stats(cache, &stats);
	CHECK_INT(stats.hits, 3);
	CHECK_INT(stats.misses, 1);
	CHECK_INT(stats.damaged + stats.failed + stats.dropped, 0);
	hl_cache_close(cache);
	CHECK_INT(remove_dir(dir), 2);
}

/* The path of the only file in @dir. */
static void only_file(const char *dir, char *ret, size_t size)
{
	DIR *d = opendir(dir);
	const struct dirent *item;

	ret[0] = '\0';
	while (d && (item = readdir(d)))
		if (item->d_name[0] != '.')
			(void)snprintf(ret, size, "%s/%s", dir, item->d_name);
	if (d)
		(void)closedir(d);
}

/* Each byte of an entry in turn is another than was written, then each is the last. */
HL_TEST(damage_is_seen_and_removed)
{
	char *dir = new_dir(), path[512], byte;
	struct hl_cache *cache = open_cache(dir, 1 << 20);
	struct hl_cache_stats stats;
	struct stat st = { 0 };
	long at, believed = 0;
	int fd;

	hl_cache_save(cache, HL_CACHE_UNWIND, first_id, "table", 5);
	only_file(dir, path, sizeof(path));
	CHECK(stat(path, &st) == 0 && st.st_size > 5);
	for (at = 0; at < 2 * st.st_size; at++) {
		hl_cache_save(cache, HL_CACHE_UNWIND, first_id, "table", 5);
		fd = open(path, O_RDWR);
		CHECK(fd >= 0);
		if (at >= st.st_size) {
			CHECK_INT(ftruncate(fd, at - st.st_size), 0);
		} else {
			CHECK_INT(pread(fd, &byte, 1, at), 1);
			byte ^= 0x40;
			CHECK_INT(pwrite(fd, &byte, 1, at), 1);
		}
		(void)close(fd);
		believed += loads(cache, HL_CACHE_UNWIND, first_id, "table", 5) || access(path, F_OK) == 0;
	}
	/* Only the reserved word of the header may say anything. */
	CHECK(believed <= 4);
	hl_cache_stats(cache, &stats);
	CHECK_INT(stats.foreign, 16);
	CHECK_INT(stats.damaged + stats.foreign, 2 * st.st_size - believed);
	hl_cache_close(cache);
	(void)remove_dir(dir);
}

/* Ten entries where five find room: the one that is used again and again stays. */
HL_TEST(oldest_goes)
{
	enum { ENTRY = 10000, LIMIT = 5 * (ENTRY + 200) };
	char *dir = new_dir();
	static char bytes[ENTRY];
	struct hl_cache *cache = open_cache(dir, LIMIT);
	struct hl_cache_stats stats;
	uint8_t id[16] = { 0 };

	for (id[0] = 0; id[0] < 10; id[0]++) {
		static const uint8_t none[16];

		hl_cache_save(cache, HL_CACHE_UNWIND, id, bytes, sizeof(bytes));
		(void)usleep(20000); /* beyond a tick of the clock that files are stamped by */
		CHECK(loads(cache, HL_CACHE_UNWIND, none, bytes, sizeof(bytes)));
		hl_cache_stats(cache, &stats);
		CHECK(stats.bytes <= LIMIT);
	}
	id[0] = 9;
	CHECK(loads(cache, HL_CACHE_UNWIND, id, bytes, sizeof(bytes)));
	id[0] = 1;
	CHECK(!loads(cache, HL_CACHE_UNWIND, id, bytes, sizeof(bytes)));
	CHECK(stats.dropped >= 5);
	hl_cache_close(cache);
	(void)remove_dir(dir);
}

/* What is no file is not waited for, and goes. */
HL_TEST(a_fifo_is_damage)
{
	char *dir = new_dir(), path[512];
	struct hl_cache *cache = open_cache(dir, 1 << 20);
	struct hl_cache_stats stats;

	hl_cache_save(cache, HL_CACHE_UNWIND, first_id, "table", 5);
	only_file(dir, path, sizeof(path));
	CHECK_INT(unlink(path), 0);
	CHECK_INT(mkfifo(path, 0600), 0);
	CHECK(!loads(cache, HL_CACHE_UNWIND, first_id, "table", 5));
	hl_cache_stats(cache, &stats);
	CHECK_INT(stats.damaged, 1);
	CHECK(access(path, F_OK) != 0);
	hl_cache_close(cache);
	(void)snprintf(path, sizeof(path), "%s/contents", dir);
	CHECK_INT(mkfifo(path, 0600), 0);
	hl_cache_close(open_cache(dir, 1 << 20));
	(void)remove_dir(dir);
}

HL_TEST(others_cannot_write_there)
{
	char *dir = new_dir(), link[128];
	struct hl_cache *cache = NULL;
	struct hl_err err = { "" };

	CHECK_INT(chmod(dir, 0770), 0);
	CHECK_INT(hl_cache_open(dir, 1 << 20, &cache, &err), -EPERM);
	CHECK(strstr(err.text, dir) && strstr(err.text, "chmod"));
	CHECK_INT(chmod(dir, 0700), 0);
	(void)snprintf(link, sizeof(link), "%s-link", dir);
	CHECK_INT(symlink(dir, link), 0);
	CHECK(hl_cache_open(link, 1 << 20, &cache, &err) < 0);
	CHECK_INT(unlink(link), 0);
	CHECK(hl_cache_open("/proc/self/no/such/place", 1 << 20, &cache, &err) < 0);
	CHECK(cache == NULL);
	CHECK_INT(remove_dir(dir), 0);
}

/* A file that has not changed is known again, also after a restart; one that has is not. */
HL_TEST(contents_are_remembered)
{
	char *dir = new_dir(), path[] = "/tmp/hotleaf-content-XXXXXX";
	struct hl_cache *cache = open_cache(dir, 1 << 20);
	int fd = mkstemp(path);
	struct hl_cache_stamp stamp;
	struct timespec times[2];
	struct stat st;
	uint8_t id[16];
	int r;

	CHECK_INT(write(fd, "content", 7), 7);
	r = hl_cache_stamp(fd, &stamp);
	if (r == -EAGAIN) { /* as it must be on a file this young */
		(void)sleep(3);
		r = hl_cache_stamp(fd, &stamp);
		CHECK_INT(hl_cache_recall(cache, fd, id), -ENOENT);
		hl_cache_remember(cache, &stamp, first_id);
		hl_cache_close(cache);
		cache = open_cache(dir, 1 << 20);
		CHECK_INT(hl_cache_recall(cache, fd, id), 0);
		CHECK(memcmp(id, first_id, 16) == 0);
		/* Other content of the same size, and the old time of change put back. */
		CHECK_INT(fstat(fd, &st), 0);
		CHECK_INT(pwrite(fd, "CONTENT", 7, 0), 7);
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		CHECK_INT(futimens(fd, times), 0);
		(void)sleep(3);
		CHECK_INT(hl_cache_recall(cache, fd, id), -ENOENT);
	} else {
		CHECK_INT(r, -EOPNOTSUPP);
		SKIP("the contents of files: this folder is on none of ext4, XFS, Btrfs");
	}
	(void)close(fd);
	CHECK_INT(unlink(path), 0);
	hl_cache_close(cache);
	(void)remove_dir(dir);
}
