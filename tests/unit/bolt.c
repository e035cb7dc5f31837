// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/boltwriter */
#include "process/bolt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boltwriter.h"
#include "harness.h"

enum { PAGES = 16, LIMIT = 20000 };

static uint8_t file[PAGES * BOLT_PAGE];
static char large[3 * BOLT_PAGE];

/*
 * Page 3 is the root, with bucket "ctr" in page 4, a branch over the leaves 5 and 6: buckets "aa" and "mm", whose pages
 * are inside of them, and "zz" in page 7, which three more continue.
 */
static void build(void)
{
	uint8_t aa[256] = { 0 }, mm[256] = { 0 };
	const uint64_t ctr[2] = { 4, 0 }, zz[2] = { 7, 0 };
	size_t aa_len =
		16 + bolt_page(aa + 16, 0, 0, (struct bolt_element[]){ { "config", "{1}", 3, 0, 0 } }, 1);
	size_t mm_len = 16 + bolt_page(mm + 16, 0, 0,
				       (struct bolt_element[]){ { "config", "{22}", 4, 0, 0 },
								{ "state", "", 0, 0, 0 } },
				       2);

	memset(file, 0, sizeof(file));
	memset(large, 'x', sizeof(large));
	bolt_meta(file, 0, 3, 10);
	bolt_meta(file, 1, 99, 9); /* the state before */
	(void)bolt_page(file + 3 * BOLT_PAGE, 3, 0,
			(struct bolt_element[]){ { "ctr", ctr, 16, 0, 1 }, { "pod", "", 0, 0, 0 } }, 2);
	(void)bolt_page(file + 4 * BOLT_PAGE, 4, 1,
			(struct bolt_element[]){ { "aa", NULL, 0, 5, 0 }, { "zz", NULL, 0, 6, 0 } }, 2);
	(void)bolt_page(file + 5 * BOLT_PAGE, 5, 0,
			(struct bolt_element[]){ { "aa", aa, aa_len, 0, 1 }, { "mm", mm, mm_len, 0, 1 } }, 2);
	(void)bolt_page(file + 6 * BOLT_PAGE, 6, 0, (struct bolt_element[]){ { "zz", zz, 16, 0, 1 } }, 1);
	(void)bolt_page(file + 7 * BOLT_PAGE, 7, 0,
			(struct bolt_element[]){ { "config", large, sizeof(large), 0, 0 } }, 1);
}

/* What is found of the first @len bytes of the file; *@ret to be freed. */
static int get(size_t len, const char *bucket, const char *id, const char *key, size_t limit, char **ret)
{
	const char *const keys[] = { bucket, id, key };
	int fd = memfd_create("bolt", MFD_CLOEXEC), code;
	size_t value_len = 0;

	CHECK(fd >= 0 && write(fd, file, len) == (ssize_t)len);
	*ret = NULL;
	code = hl_bolt_get(fd, keys, 3, limit, ret, &value_len);
	CHECK((code == 0) == (*ret != NULL));
	CHECK(code || strlen(*ret) == value_len);
	(void)close(fd);
	return code;
}

static void check_fails(size_t len, const char *id, int want)
{
	char *value;

	CHECK_INT(get(len, "ctr", id, "config", LIMIT, &value), want);
}

HL_TEST(values_of_buckets_in_pages_and_inside_of_values)
{
	char *value;

	build();
	CHECK_INT(get(sizeof(file), "ctr", "aa", "config", LIMIT, &value), 0);
	CHECK_STR(value, "{1}");
	free(value);
	CHECK_INT(get(sizeof(file), "ctr", "mm", "config", LIMIT, &value), 0);
	CHECK_STR(value, "{22}");
	free(value);
	CHECK_INT(get(sizeof(file), "ctr", "mm", "state", LIMIT, &value), 0);
	CHECK_STR(value, "");
	free(value);
	CHECK_INT(get(sizeof(file), "ctr", "zz", "config", LIMIT, &value), 0);
	CHECK(value && strlen(value) == sizeof(large) && memcmp(value, large, sizeof(large)) == 0);
	free(value);
	CHECK_INT(get(sizeof(file), "ctr", "zz", "config", sizeof(large) - 1, &value), -EFBIG);
}

HL_TEST(what_is_not_there)
{
	char *value;

	build();
	check_fails(sizeof(file), "a", -ENOENT);
	check_fails(sizeof(file), "ab", -ENOENT);
	check_fails(sizeof(file), "zzz", -ENOENT);
	CHECK_INT(get(sizeof(file), "cts", "aa", "config", LIMIT, &value), -ENOENT);
	CHECK_INT(get(sizeof(file), "ctr", "mm", "netns", LIMIT, &value), -ENOENT);
	/* A value is no bucket. */
	CHECK_INT(get(sizeof(file), "pod", "aa", "config", LIMIT, &value), -EBADMSG);
}

HL_TEST(the_newest_state_that_is_whole)
{
	char *value;

	build();
	bolt_meta(file, 1, 3, 11);
	bolt_meta(file, 0, 99, 10);
	CHECK_INT(get(sizeof(file), "ctr", "aa", "config", LIMIT, &value), 0);
	free(value);
	file[16 + 30] ^= 1; /* the first is torn */
	CHECK_INT(get(sizeof(file), "ctr", "aa", "config", LIMIT, &value), 0);
	free(value);
	file[BOLT_PAGE + 16 + 30] ^= 1;
	check_fails(sizeof(file), "aa", -EBADMSG);
}

HL_TEST(damage)
{
	build();
	for (size_t len = 0; len < 7 * BOLT_PAGE; len += 512)
		check_fails(len, "zz", -EBADMSG);
	/* A branch that leads to itself. */
	(void)bolt_page(file + 4 * BOLT_PAGE, 4, 1, (struct bolt_element[]){ { "aa", NULL, 0, 4, 0 } }, 1);
	check_fails(sizeof(file), "zz", -EBADMSG);
	build();
	memset(file + 7 * BOLT_PAGE + 12, 0xff, 4); /* continued by four billion pages */
	check_fails(sizeof(file), "zz", -EFBIG);
	build();
	memset(file + 5 * BOLT_PAGE + 20, 0xff, 4); /* a key behind its page */
	check_fails(sizeof(file), "aa", -EBADMSG);
	build();
	file[5 * BOLT_PAGE + 28] = 8; /* a bucket too short for one */
	check_fails(sizeof(file), "aa", -EBADMSG);
	build();
	file[3 * BOLT_PAGE] = 5; /* a page that is another */
	check_fails(sizeof(file), "aa", -EBADMSG);
}
