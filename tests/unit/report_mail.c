// SPDX-License-Identifier: BSD-2-Clause
/* needs: all tests/stores tests/symdchild tests/command tests/shell */
#include "command/command.h"

#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "harness.h"
#include "shell.h"
#include "stores.h"

/* `hotleaf report --mail` and `--spikes`, of a store in which an hour differs from the one before. */

static char store[80];

static uint32_t frame_of(struct hl_batch *batch, struct hl_frame frame)
{
	uint32_t index;

	frame.name_len = strlen(frame.name);
	frame.module = "/usr/bin/app";
	frame.module_len = strlen(frame.module);
	CHECK_INT(hl_profile_frame(hl_batch_profile(batch), &frame, &index), 0);
	return index;
}

/* A window in which app;main;parse has @hot samples, in the build with that first byte, and main @steady. */
static void write_window(struct hl_store *to, const char *host, uint64_t start_ns, uint8_t build,
			 uint64_t hot, uint64_t steady)
{
	static const struct hl_segment segment = { 0x1000, 0, 0x1000 };
	const uint8_t build_id[] = { build, 0x22, 0x33, 0x44, 0x55 };
	const struct hl_id id = { build, 9 };
	const struct hl_binary binary = { id, build_id, sizeof(build_id), &segment, 1, 0 };
	const struct hl_owner owner = {
		.process = "app", .thread = "app", .service = "web", .exe = "/usr/bin/app"
	};
	struct hl_profile_meta meta = stores_meta(start_ns);
	struct hl_batch *batch = hl_batch_new();
	struct hl_err err;
	uint32_t frames[3];

	CHECK(batch);
	frames[0] = frame_of(
		batch,
		(struct hl_frame){ .kind = HL_FRAME_USER, .binary = id, .address = 0x1100, .name = "main" });
	frames[1] = frame_of(batch, (struct hl_frame){ .kind = HL_FRAME_INSN,
						       .binary = id,
						       .address = 0x1104,
						       .offset = 4,
						       .name = "add $0x1,%rax" });
	CHECK_INT(hl_batch_add(batch, &owner, frames, 2, steady, steady * 10101010), 0);
	frames[1] = frame_of(batch, (struct hl_frame){ .kind = HL_FRAME_USER,
						       .binary = id,
						       .address = 0x1000u + build,
						       .name = "parse(int, char)" });
	frames[2] = frame_of(batch, (struct hl_frame){ .kind = HL_FRAME_INSN,
						       .binary = id,
						       .address = 0x104du + build,
						       .offset = 0x4d,
						       .name = "imul $0x3,%rax,%rdx" });
	if (hot)
		CHECK_INT(hl_batch_add(batch, &owner, frames, 3, hot, hot * 10101010), 0);
	CHECK_INT(hl_profile_add_binary(hl_batch_profile(batch), &binary), 0);
	meta.host = host;
	meta.n_losses = 0;
	meta.busy_cpus = (double)(hot + steady) / 990;
	if (hl_store_write(to, &meta, batch, &err))
		FAIL("%s", err.text);
	hl_batch_free(batch);
}

/* Two hours: from @window on parse has ten times as much, in another build. */
static void prepare(unsigned int window)
{
	struct hl_store *to;

	(void)snprintf(store, sizeof(store), "%s/store", stores_dir());
	to = stores_open(store);
	for (unsigned int i = 0; i < 720; i++)
		write_window(to, "host1", STORES_NOON + i * 10 * STORES_S, i < window ? 0xaa : 0xbb,
			     i < window ? 40 : 400, 300 + i % 7);
	hl_store_close(to);
}

#define REPORT(since, until, ...) \
	RUN("report", "--store", store, "--since", since, "--until", until __VA_OPT__(, ) __VA_ARGS__)
#define AT_13 "2024-02-28T13:00:00Z"
#define AT_14 "2024-02-28T14:00:00Z"

/* What a mail program finds: python's parser tells the parts; the text is left in said[]. */
static void read_mail(void)
{
	static const char script[] =
		"import email, email.policy, sys\\n"
		"m = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.default)\\n"
		"assert not m.defects and m.is_multipart(), m.defects\\n"
		"text, page = m.iter_parts()\\n"
		"assert text.get_content_type() == 'text/plain' and page.is_attachment()\\n"
		"assert page.get_filename().startswith('hotleaf-2024'), page.get_filename()\\n"
		"raw = open(sys.argv[1], 'rb').read()\\n"
		"assert len(raw) < 1000000 and max(map(len, raw.split(b'\\\\n'))) < 998\\n"
		"assert b'<!doctype html>' in page.get_content().encode().lower()[:200]\\n"
		"lines = text.get_content().rstrip('\\\\n').split('\\\\n')\\n"
		"assert len(lines) <= 60 and max(map(len, lines[:-5])) <= 100, lines\\n"
		"print('Subject:', m['Subject']); print('To:', m['To']); print('\\\\n'.join(lines))\\n";
	int status;

	CHECK(setenv("S", script, 1) == 0);
	(void)snprintf(said, sizeof(said), "%s",
		       output_of(&status, "printf '%%b' \"$S\" >%s/mail.py; python3 %s/mail.py %s/said",
				 stores_dir(), stores_dir(), stores_dir()));
	if (status)
		FAIL("no mail: %s", said);
}

HL_TEST(says_what_changed_since_when_where_and_by_whom)
{
	prepare(450); /* 13:15 */
	CHECK_INT(REPORT(AT_13, AT_14, "--mail"), 0);
	read_mail();
	check_said("Subject: hotleaf host1: parse(int, char) 0.04 -> 0.31 CPUs\n");
	check_said("host1, 2024-02-28T13:00:00Z to 2024-02-28T14:00:00Z\n"
		   "compared with 2024-02-28T12:00:00Z to 2024-02-28T13:00:00Z\n");
	check_said("coverage  360 windows, none missing\n");
	check_said("busy      0.35 -> 0.62 of 2 CPUs; hotleaf itself: 0.0010\n");
	check_said("lost: 0, with a cut stack: 0\n");
	check_said("changed beyond noise, CPUs of their own\n"
		   "  0.04 -> 0.31  parse(int, char)  app  since 2024-02-28T13:15:00Z  build aa223344 -> "
		   "bb223344\n"
		   "      imul $0x3,%rax,%rdx +0x4d, 100 % of it; called by main 100 %\n");
	check_said("  0.31    51 %    0.04  parse(int, char)  app\n");
	check_said("  hotleaf diff 2024-02-28T12:00:00Z..2024-02-28T13:00:00Z \\\n");
}

/* ---- where in the code --------------------------------------------------------------------------------- */

extern const char report_mail_hot[];
#define HOT ".globl report_mail_hot\nreport_mail_hot: imul $3, %0, %0"

/* A loop in a loop; what is hot stands in the inner one. */
static __attribute__((noinline, noclone)) unsigned int spin(unsigned int n, unsigned int *ret_line)
{
	unsigned int sum = 0;

	*ret_line = __LINE__ + 3;
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < i; k++)
			__asm__ volatile(HOT : "+r"(sum));
		sum ^= i;
	}
	return sum;
}

/* This program, as a store knows it. */
struct self {
	struct hl_segment segment; /* that spin() lies in */
	uint8_t build_id[20];
	size_t build_id_len;
	uint64_t base;
};

static void take_note(struct self *self, const char *at, size_t size)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		size_t name = (note->n_namesz + 3) & ~3u,
		       whole = sizeof(*note) + name + ((note->n_descsz + 3) & ~3u);

		if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= sizeof(self->build_id)) {
			memcpy(self->build_id, at + sizeof(*note) + name, note->n_descsz);
			self->build_id_len = note->n_descsz;
		}
		if (whole > size)
			break;
		at += whole;
		size -= whole;
	}
}

static int look_at_self(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct self *self = ctx;

	self->base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
			self->segment = (struct hl_segment){ p->p_vaddr, p->p_offset, p->p_memsz };
		if (p->p_type == PT_NOTE)
			take_note(self, (const char *)(self->base + p->p_vaddr), p->p_memsz);
	}
	return 1; /* the first is the program */
}

/* @hot samples in the inner loop of spin(), called by main. */
static void write_spin(struct hl_store *to, uint64_t start_ns, const char *path, bool other_build,
		       uint64_t hot)
{
	const struct hl_owner owner = { .process = "app", .thread = "app", .service = "web", .exe = path };
	const struct hl_id id = { 5, other_build };
	struct self self = { .build_id_len = 0 };
	struct hl_binary binary = { .id = id, .segments = &self.segment, .n_segments = 1 };
	struct hl_frame function = { .kind = HL_FRAME_USER, .binary = id, .name = "spin", .name_len = 4 },
			insn;
	struct hl_profile_meta meta = stores_meta(start_ns);
	struct hl_batch *batch = hl_batch_new();
	struct hl_err err;
	uint32_t frames[2];

	CHECK(batch && dl_iterate_phdr(look_at_self, &self) == 1 && self.build_id_len);
	self.build_id[0] ^= other_build;
	binary.build_id = self.build_id;
	binary.build_id_len = self.build_id_len;
	function.address = (uint64_t)(uintptr_t)spin - self.base;
	function.module = path;
	function.module_len = strlen(path);
	insn = function;
	insn.kind = HL_FRAME_INSN;
	insn.address = (uint64_t)(uintptr_t)report_mail_hot - self.base;
	insn.offset = insn.address - function.address;
	insn.name = "imul $0x3,%eax,%eax";
	insn.name_len = strlen(insn.name);
	CHECK_INT(hl_profile_frame(hl_batch_profile(batch), &function, &frames[0]), 0);
	CHECK_INT(hl_profile_frame(hl_batch_profile(batch), &insn, &frames[1]), 0);
	CHECK_INT(hl_batch_add(batch, &owner, frames, 2, hot, hot * 10101010), 0);
	CHECK_INT(hl_profile_add_binary(hl_batch_profile(batch), &binary), 0);
	meta.n_losses = 0;
	if (hl_store_write(to, &meta, batch, &err))
		FAIL("%s", err.text);
	hl_batch_free(batch);
}

static void mail_of_spin(const char *path, bool other_build)
{
	struct hl_store *to;

	(void)snprintf(store, sizeof(store), "%s/%s%d", stores_dir(), strrchr(path, '/') + 1, other_build);
	to = stores_open(store);
	for (unsigned int i = 0; i < 720; i++)
		write_spin(to, STORES_NOON + i * 10 * STORES_S, path, other_build, i < 360 ? 10 : 400);
	hl_store_close(to);
	CHECK_INT(REPORT(AT_13, AT_14, "--mail"), 0);
	read_mail();
}

HL_TEST(names_the_loop_and_the_line_of_a_file_that_is_still_there)
{
	char self[512], want[160];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *line, *at;
	unsigned int start, end, hot, hot_line;

	CHECK(len > 0 && spin(3, &hot_line) > 0);
	self[len] = '\0';
	mail_of_spin(self, /* other_build= */ false);
	line = strstr(said, "[loop +0x");
	if (!line || sscanf(line, "[loop +0x%x-+0x%x]", &start, &end) != 2)
		FAIL("no loop: %.3000s", said);
	at = strstr(line, "imul");
	CHECK(at && sscanf(strstr(at, "+0x"), "+0x%x,", &hot) == 1);
	/* The inner loop: no longer than what it must hold, which is less than half of the function. */
	CHECK(start <= hot && hot < end && end - start < 32);
	(void)snprintf(want, sizeof(want), "]  report_mail.c:%u  imul $0x3,%%eax,%%eax +0x%x, 100 %% of it\n",
		       hot_line, hot);
	check_said(want);
	check_said("of it\n      called by");
	/* Another build of that name says nothing about what ran, and neither does a file that is gone. */
	mail_of_spin(self, /* other_build= */ true);
	check_said("      imul $0x3,%eax,%eax +0x");
	check_said(" 100 % of it; called by");
	CHECK(!strstr(said, "loop") && !strstr(said, "report_mail.c"));
	mail_of_spin("/nowhere/app", /* other_build= */ false);
	check_said(" 100 % of it; called by");
	CHECK(!strstr(said, "loop"));
}

HL_TEST(nothing_changed)
{
	prepare(0);
	CHECK_INT(REPORT(AT_13, AT_14, "--mail", "--mail-to", "ops@example.org\nBcc: x@y"), 0);
	CHECK(!strstr(said, "\nBcc"));
	read_mail();
	check_said("Subject: hotleaf host1: no change beyond noise, 0.71 of 2 CPUs busy\n");
	check_said("To: ops@example.org?Bcc");
	check_said("\nnothing changed beyond noise\n");
	CHECK_INT(REPORT(AT_13, AT_14, "--mail", "--if-changed"), 0);
	CHECK_STR(said, "");
	/* There is nothing before noon: no change, but half of this is missing. */
	CHECK_INT(REPORT("2024-02-28T11:00:00Z", "2024-02-28T13:00:00Z", "--mail", "--if-changed"), 0);
	read_mail();
	check_said("time missing, nothing to compare with");
	CHECK_INT(REPORT("2024-02-28T10:00:00Z", "2024-02-28T11:00:00Z", "--mail"), 1);
	CHECK_STR(said, "");
}

HL_TEST(hosts_that_fell_silent)
{
	char other[80];
	struct hl_store *to;

	prepare(0);
	(void)snprintf(other, sizeof(other), "%s/other", stores_dir());
	to = stores_open(other);
	for (unsigned int i = 0; i < 360; i++)
		write_window(to, "host2", STORES_NOON + i * 10 * STORES_S, 0xaa, 40, 300);
	hl_store_close(to);
	CHECK_INT(REPORT(AT_13, AT_14, "--store", other, "--mail", "--if-changed"), 0);
	read_mail();
	check_said("hosts silent, ");
	check_said("silent    no windows now, but before: host2\n");
}

HL_TEST(spikes_stand_out)
{
	struct hl_store *to;

	(void)snprintf(store, sizeof(store), "%s/store", stores_dir());
	to = stores_open(store);
	for (unsigned int i = 0; i < 360; i++)
		write_window(to, "host1", STORES_NOON + i * 10 * STORES_S, 0xaa, i == 100 ? 500 : 40 + i % 5,
			     i == 200 ? 1300 : 300 + i % 31);
	hl_store_close(to);
	CHECK_INT(REPORT("2024-02-28T12:00:00Z", "2024-02-28T13:00:00Z", "--spikes", "10"), 0);
	check_said("2024-02-28T12:16:40Z, 10 s  0.82 CPUs, usually 0.36: all of the host\n");
	check_said("2024-02-28T12:16:40Z, 10 s  0.51 CPUs, usually 0.04: parse(int, char)  app\n");
	check_said("2024-02-28T12:33:20Z, 10 s  1.31 CPUs, usually 0.32: main  app\n");
	if (strstr(said, "usually 0.36") == NULL ||
	    strstr(strstr(said, "12:33:20Z, 10 s  1.31") + 1, "\n2024"))
		FAIL("more stands out: %s", said);
	CHECK_INT(REPORT("2024-02-28T12:00:00Z", "2024-02-28T12:10:00Z", "--spikes", "10"), 0);
	CHECK_STR(said, "no spikes\n");
}

HL_TEST(why_time_is_missing_is_read_without_the_page)
{
	struct hl_store *to;

	(void)snprintf(store, sizeof(store), "%s/store", stores_dir());
	to = stores_open(store);
	for (unsigned int i = 0; i < 360; i += 60) {
		hl_store_gap(to, STORES_NOON + (3610 + i * 10) * STORES_S,
			     STORES_NOON + (4200 + i * 10) * STORES_S, 0,
			     "disabled by '/etc/hotleaf/disabled'");
		write_window(to, "host1", STORES_NOON + (3600 + i * 10) * STORES_S, 0xaa, 40, 300);
	}
	hl_store_close(to);
	CHECK_INT(REPORT(AT_13, AT_14, "--mail"), 0);
	read_mail();
	check_said(
		"coverage  6 windows, 3540 s missing: 2024-02-28T13:00:10Z to 2024-02-28T13:10:00Z (disabled "
		"by\n          '/etc/hotleaf/disabled'), 2024-02-28T13:10:10Z to");
}

HL_TEST(of_several_hosts_each_that_lacks_time_is_named)
{
	char other[80];
	struct hl_store *to;

	prepare(0);
	(void)snprintf(other, sizeof(other), "%s/other", stores_dir());
	to = stores_open(other);
	for (unsigned int i = 0; i < 60; i++)
		write_window(to, "host2", STORES_NOON + (3600 + i * 10) * STORES_S, 0xaa, 40, 300);
	hl_store_close(to);
	CHECK_INT(REPORT(AT_13, AT_14, "--store", other, "--mail"), 0);
	read_mail();
	check_said("coverage  2 hosts: host2 lacks 3000 s, of 3600 s\n");
	CHECK_INT(REPORT(AT_13, "2024-02-28T13:10:00Z", "--store", other, "--mail"), 0);
	read_mail();
	check_said("coverage  2 hosts, whole\n");
}

/* The commands are those that make this report, in a shell. */
HL_TEST(commands_can_be_pasted)
{
	prepare(0);
	(void)snprintf(store, sizeof(store), "%s/stor[e]", stores_dir());
	CHECK_INT(REPORT(AT_13, AT_14, "--mail", "--where", "service=~it's|w b|web", "--by", "host,process"),
		  0);
	read_mail();
	check_said("/stor[e]' --by host --by process --where 'service=~it'\\''s|w b|web'\n");
	(void)snprintf(store, sizeof(store), "%s/store", stores_dir());
	CHECK_INT(REPORT(AT_13, AT_14, "--mail", "--exclude", "process=x"), 0);
	read_mail();
	check_said("/store --exclude process=x\n");
}

/* What was taken and not kept is a share of all that was due, with it. */
HL_TEST(what_was_not_stored_is_a_share_of_all)
{
	struct hl_store *to;

	(void)snprintf(store, sizeof(store), "%s/store", stores_dir());
	to = stores_open(store);
	hl_store_gap(to, STORES_NOON + 3660 * STORES_S, STORES_NOON + 3900 * STORES_S, 35640,
		     "no space left for the store");
	for (unsigned int i = 0; i < 6; i++)
		write_window(to, "host1", STORES_NOON + (3600 + i * 10) * STORES_S, 0xaa, 40, 300);
	hl_store_close(to);
	CHECK_INT(REPORT(AT_13, "2024-02-28T13:05:00Z", "--mail"), 0);
	read_mail();
	check_said("lost: 35640 (75 %), with");
	CHECK_INT(REPORT(AT_13, "2024-02-28T13:05:00Z", "-f", "txt", "-o", "-"), 0);
	check_said("35640 (75 %) not stored: ");
}
