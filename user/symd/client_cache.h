/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_CACHE_H
#define HL_SYMD_CLIENT_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct hl_err;

/*
 * What was made of files before, on disk, so that a second start parses nothing again.
 *
 * An entry is named by the content of the file that it was made of (SHA-256 over all of it, which symd
 * computes), never by a build-id, which a file declares itself: a container could name the host's libc and
 * have its own tables used for it. Only we can write to the directory, so that its files can be believed as
 * far as their checksum is right; an entry that is damaged is removed and counted, as is one of another
 * build of hotleaf. Files are written under another name and renamed. Over its size, the entries used
 * longest ago go.
 *
 * The content of a file on ext4, XFS or Btrfs is read once only: as long as its device, inode, size, and the
 * times of its last change of content and of state are the same, so is the content. The last cannot be set,
 * unlike the others. Other file systems are not believed: an image may bring its own times along, and a FUSE
 * server can say anything.
 *
 * To be used by several threads at a time.
 */
struct hl_cache;

/* What an entry holds. Values reach disk: never renumbered. */
enum hl_cache_kind {
	HL_CACHE_UNWIND = 1, /* an unwind table; empty: the file has none */
	HL_CACHE_LINES = 2,  /* inlined frames and lines, as symd makes them */
	HL_CACHE_NAMES = 3,  /* an hl_symd_file and a table of functions; empty: files of different builds */
};

struct hl_cache_stats {
	uint64_t hits, misses;
	uint64_t damaged; /* entries removed because they were not as they were written */
	uint64_t foreign; /* likewise, because another build of hotleaf wrote them */
	uint64_t dropped; /* entries removed for others */
	uint64_t failed;  /* entries that could not be written */
	uint64_t bytes;   /* on disk now */
};

/*
 * Opens the cache at @dir, which is made if there is none, to hold at most @limit bytes. Owned by the caller.
 * -EPERM if others than we could write there; or as mkdir(2) and open(2).
 */
int hl_cache_open(const char *dir, uint64_t limit, struct hl_cache **ret, struct hl_err *err);
/* Writes what is to be known next time, and closes. Accepts NULL. */
void hl_cache_close(struct hl_cache *cache);

/*
 * The entry of @kind for content @id, to be released with free(); an empty one is a pointer too. -ENOENT:
 * there is none, or none that can be believed. What is in it is for the caller to check further.
 */
int hl_cache_load(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16], uint8_t **ret,
		  size_t *ret_len);
/*
 * The same without copying it: a descriptor of the file that holds it, @ret_len bytes at @ret_offset, a
 * multiple of 8. It is the caller's, and its bytes stay as they are. Or -errno as above.
 */
int hl_cache_open_entry(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16],
			uint64_t *ret_offset, uint64_t *ret_len);
/* What was loaded makes no sense: it is removed, and counted as damaged. */
void hl_cache_reject(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16]);
/* Keeps @len bytes. What cannot be written is counted, and is no failure. */
void hl_cache_save(struct hl_cache *cache, enum hl_cache_kind kind, const uint8_t id[16], const void *bytes,
		   size_t len);

/* The content id of the file at @fd as it was remembered. -ENOENT: it is not known, or its file system lies. */
int hl_cache_recall(struct hl_cache *cache, int fd, uint8_t ret_id[16]);
/* Remembers it. @fd must be in the state that it had before its content was read: see hl_cache_stamp(). */
struct hl_cache_stamp {
	uint64_t device, inode, size;
	int64_t mtime_ns, ctime_ns;
};
/* The state of the file at @fd. -EOPNOTSUPP on file systems that are not believed, -EAGAIN just changed. */
int hl_cache_stamp(int fd, struct hl_cache_stamp *ret);
void hl_cache_remember(struct hl_cache *cache, const struct hl_cache_stamp *stamp, const uint8_t id[16]);

void hl_cache_stats(struct hl_cache *cache, struct hl_cache_stats *ret);

#endif
