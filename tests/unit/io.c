// SPDX-License-Identifier: BSD-2-Clause
/* needs: base */
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "harness.h"

static char dir[64];
static struct hl_err err;

static void enter_directory(void)
{
	strcpy(dir, "/tmp/hl-io-XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	CHECK_INT(chdir(dir), 0);
}

static int count_files(void)
{
	DIR *d = opendir(".");
	int n = 0;

	CHECK(d != NULL);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static const char *content(const char *path)
{
	static char *text;

	free(text);
	text = NULL;
	CHECK_INT(hl_read_file_at(AT_FDCWD, path, 100, &text, NULL), 0);
	return text;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	CHECK(f != NULL);
	CHECK(fputs(text, f) >= 0);
	CHECK_INT(fclose(f), 0);
}

static struct hl_output *start(const char *path)
{
	struct hl_output *output = hl_output_new(path, &err);

	if (!output)
		FAIL("%s", err.text);
	CHECK(fputs("new", hl_output_stream(output)) >= 0);
	return output;
}

static void leave_directory(void)
{
	CHECK_INT(chdir("/"), 0);
	CHECK_INT(rmdir(dir), 0);
}

HL_TEST(commit_replaces_at_once)
{
	struct hl_output *output;

	enter_directory();
	put("out", "old");
	output = start("out");
	CHECK_STR(content("out"), "old");
	CHECK_INT(count_files(), 2);
	CHECK_INT(hl_output_commit(output, &err), 0);
	hl_output_free(output);
	CHECK_STR(content("out"), "new");
	CHECK_INT(count_files(), 1);
	CHECK_INT(unlink("out"), 0);
	leave_directory();
}

HL_TEST(free_without_commit_leaves_nothing)
{
	struct hl_output *output;

	enter_directory();
	put("out", "old");
	output = start("out");
	hl_output_free(output);
	CHECK_STR(content("out"), "old");
	CHECK_INT(count_files(), 1);
	CHECK_INT(unlink("out"), 0);
	leave_directory();
}

HL_TEST(a_link_is_replaced_not_followed)
{
	struct hl_output *output;
	struct stat st;

	enter_directory();
	put("precious", "old");
	CHECK_INT(symlink("precious", "out"), 0);
	output = start("./out");
	CHECK_INT(hl_output_commit(output, &err), 0);
	hl_output_free(output);
	CHECK_STR(content("precious"), "old");
	CHECK_STR(content("out"), "new");
	CHECK_INT(lstat("out", &st), 0);
	CHECK(S_ISREG(st.st_mode));
	CHECK_INT(unlink("out"), 0);
	CHECK_INT(unlink("precious"), 0);
	leave_directory();
}

HL_TEST(umask_says_who_may_read)
{
	struct hl_output *output;
	struct stat st;

	enter_directory();
	(void)umask(027);
	output = start("out");
	CHECK_INT(hl_output_commit(output, &err), 0);
	hl_output_free(output);
	CHECK_INT(stat("out", &st), 0);
	CHECK_INT(st.st_mode & 0777, 0640);
	CHECK_INT(unlink("out"), 0);
	leave_directory();
}

HL_TEST(what_cannot_be_created_is_named)
{
	char longest[300] = "";

	CHECK(!hl_output_new("/nonexistent/out.html", &err));
	CHECK_STR(err.text, "cannot create \"/nonexistent/out.html\": No such file or directory");
	CHECK(!hl_output_new("/proc/out.html", &err));
	CHECK(strstr(err.text, "cannot create \"/proc/out.html\": "));
	CHECK(!hl_output_new("/tmp", &err));
	CHECK_STR(err.text, "cannot write \"/tmp\": it is a directory; give a file's name");
	CHECK(!hl_output_new("/tmp/", &err));
	CHECK_STR(err.text, "cannot write \"/tmp/\": it is a directory; give a file's name");
	CHECK(!hl_output_new("", &err));
	memset(longest, 'x', sizeof(longest) - 1);
	CHECK(!hl_output_new(longest, &err));
	CHECK(strstr(err.text, ": File name too long"));
}

HL_TEST(an_unwritable_directory_is_named)
{
	enter_directory();
	CHECK_INT(mkdir("closed", 0555), 0);
	if (geteuid() == 0) {
		CHECK_INT(chmod(dir, 0755), 0);
		CHECK_INT(seteuid(65534), 0);
	}
	CHECK(!hl_output_new("closed/out", &err));
	CHECK_STR(err.text, "cannot create \"closed/out\": Permission denied");
	if (getuid() == 0)
		CHECK_INT(seteuid(0), 0);
	CHECK_INT(rmdir("closed"), 0);
	leave_directory();
}

HL_TEST(a_full_device_is_an_error)
{
	struct hl_output *output = start("/dev/full");

	CHECK_INT(hl_output_commit(output, &err), -ENOSPC);
	CHECK_STR(err.text, "cannot write \"/dev/full\": No space left on device");
	hl_output_free(output);
}

HL_TEST(a_full_file_system_keeps_the_old_file)
{
	struct hl_output *output;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0)
		SKIP("only root can mount a small file system");
	enter_directory();
	CHECK_INT(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	CHECK_INT(mount("none", dir, "tmpfs", 0, "size=64k"), 0);
	CHECK_INT(chdir(dir), 0);
	put("out", "old");
	output = start("out");
	for (int i = 0; i < 200000; i++)
		(void)fputc('x', hl_output_stream(output));
	CHECK_INT(hl_output_commit(output, &err), -ENOSPC);
	hl_output_free(output);
	CHECK_STR(err.text, "cannot write \"out\": No space left on device");
	CHECK_STR(content("out"), "old");
	CHECK_INT(count_files(), 1);
	CHECK_INT(chdir("/"), 0);
	CHECK_INT(umount(dir), 0);
	leave_directory();
}

HL_TEST(fifos_and_descriptors_are_written_in_place)
{
	struct hl_output *output;
	char text[8] = "", path[40];
	int fifo;

	enter_directory();
	CHECK_INT(mkfifo("fifo", 0600), 0);
	fifo = open("fifo", O_RDWR | O_CLOEXEC);
	CHECK(fifo >= 0);
	output = start("fifo");
	CHECK_INT(hl_output_commit(output, &err), 0);
	hl_output_free(output);
	CHECK_INT(read(fifo, text, sizeof(text)), 3);
	CHECK_STR(text, "new");
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", fifo);
	output = start(path);
	CHECK_INT(hl_output_commit(output, &err), 0);
	hl_output_free(output);
	CHECK_INT(read(fifo, text, sizeof(text)), 3);
	CHECK_INT(count_files(), 1);
	close(fifo);
	CHECK_INT(unlink("fifo"), 0);
	leave_directory();
}

HL_TEST(standard_output_keeps_its_place_in_a_file)
{
	static const char *const names[] = { "-", "/dev/stdout" };
	int saved = dup(1), file;

	enter_directory();
	fflush(stdout);
	file = open("log", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(file >= 0 && dup2(file, 1) == 1);
	for (int i = 0; i < 2; i++) {
		struct hl_output *output;

		printf("before ");
		output = start(names[i]);
		CHECK_INT(hl_output_commit(output, &err), 0);
		hl_output_free(output);
	}
	printf(" after");
	fflush(stdout);
	CHECK(dup2(saved, 1) == 1);
	CHECK_STR(content("log"), "before newbefore new after");
	close(file);
	CHECK_INT(unlink("log"), 0);
	leave_directory();
}

HL_TEST(a_closed_standard_output_is_an_error)
{
	int saved = dup(1);
	struct hl_output *output;

	fflush(stdout);
	close(1);
	output = hl_output_new("-", &err);
	CHECK(dup2(saved, 1) == 1);
	CHECK(!output);
	CHECK_STR(err.text, "cannot create \"-\": Bad file descriptor");
}

HL_TEST(reading_has_a_limit)
{
	char *text = NULL;
	size_t len = 0;

	enter_directory();
	put("ten", "0123456789");
	CHECK_INT(hl_read_file_at(AT_FDCWD, "ten", 10, &text, &len), 0);
	CHECK_INT(len, 10);
	CHECK_STR(text, "0123456789");
	free(text);
	text = NULL;
	CHECK_INT(hl_read_file_at(AT_FDCWD, "ten", 9, &text, &len), -EFBIG);
	CHECK(!text);
	CHECK_INT(hl_read_file_at(AT_FDCWD, "none", 9, &text, &len), -ENOENT);
	CHECK_INT(hl_read_file_at(AT_FDCWD, ".", 9, &text, &len), -EISDIR);
	CHECK_INT(unlink("ten"), 0);
	CHECK_INT(mkfifo("fifo", 0600), 0);
	CHECK_INT(hl_read_file_at(AT_FDCWD, "fifo", 9, &text, &len), -EMEDIUMTYPE);
	CHECK_INT(unlink("fifo"), 0);
	CHECK_INT(hl_read_file_at(AT_FDCWD, "/dev/zero", 9, &text, &len), -EMEDIUMTYPE);
	CHECK_INT(hl_read_file_at(AT_FDCWD, "/proc/self/maps", 1 << 20, &text, &len), 0);
	CHECK(len > 500 && strlen(text) == len);
	free(text);
	leave_directory();
}
