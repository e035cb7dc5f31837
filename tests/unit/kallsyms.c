// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/elfwriter */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "elfwriter.h"
#include "harness.h"

static int read_text(const char *text, size_t len, struct hl_kallsyms **ret, struct hl_err *err)
{
	int fd = ew_file(text, len), r;

	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	r = hl_kallsyms_read(fd, ret, err);
	close(fd);
	return r;
}

static struct hl_kallsyms *must_read(const char *text)
{
	struct hl_kallsyms *k = NULL;
	struct hl_err err = { "" };

	if (read_text(text, strlen(text), &k, &err) < 0)
		FAIL("%s", err.text);
	return k;
}

/* "NAME[MODULE] START+SIZE" */
static const char *at(const struct hl_kallsyms *k, uint64_t address)
{
	static char text[700];
	struct hl_kernel_symbol s;

	if (hl_kallsyms_find(k, address, &s) < 0)
		return "-";
	(void)snprintf(text, sizeof(text), "%s[%s] %llx+%llx", s.name, s.module, (unsigned long long)s.start,
		       (unsigned long long)s.size);
	return text;
}

static const char sample[] = "0000000000000000 A fixed_percpu_data\n"
			     "0000000000021000 A cpu_tss_rw\n"
			     "ffffffff92000000 T _stext\n"
			     "ffffffff92000000 T _text\n"
			     "ffffffff92000000 T startup_64\n"
			     "ffffffff92000100 t __pfx_do_one\n"
			     "ffffffff92000110 T do_one\n"
			     "ffffffff92000110 T __do_one\n"
			     "ffffffff92000180 t do_two\n"
			     "ffffffff92000200 T _etext\n"
			     "ffffffff92000200 D data_behind\n"
			     "ffffffff92000300 d more_data\n"
			     "ffffffff93000000 B _end\n"
			     "ffffffffc0a01000 t helper\t[ext4]\n"
			     "ffffffffc0a01080 t last_of_ext4\t[ext4]\n"
			     "ffffffffc0a05000 t first_of_kvm [kvm]\n"
			     "ffffffffc0b00000 t bpf_prog_6deef7357e7b4530_tick\t[bpf]\n";

HL_TEST(forms_of_lines)
{
	struct hl_kallsyms *k = must_read(sample);

	CHECK_STR(at(k, 0xffffffff92000050), "startup_64[] ffffffff92000000+110");
	CHECK_STR(at(k, 0xffffffff92000105), "startup_64[] ffffffff92000000+110"); /* padding is nobody's */
	CHECK_STR(at(k, 0xffffffff92000110), "do_one[] ffffffff92000110+70");
	CHECK_STR(at(k, 0xffffffff920001ff), "do_two[] ffffffff92000180+80");
	CHECK_STR(at(k, 0xffffffff92000350), "-"); /* data */
	CHECK_STR(at(k, 0xffffffffc0a01001), "helper[ext4] ffffffffc0a01000+80");
	CHECK_STR(at(k, 0xffffffffc0a01fff), "last_of_ext4[ext4] ffffffffc0a01080+f80");
	CHECK_STR(at(k, 0xffffffffc0a02000), "-"); /* not up to the next module */
	CHECK_STR(at(k, 0xffffffffc0a05000), "first_of_kvm[kvm] ffffffffc0a05000+1000");
	/* A long program is named to its end, which nothing tells. */
	CHECK_STR(at(k, 0xffffffffc0b00010), "bpf_prog_6deef7357e7b4530_tick[bpf] ffffffffc0b00000+0");
	CHECK_STR(at(k, 0xffffffffc0b04010), "bpf_prog_6deef7357e7b4530_tick[bpf] ffffffffc0b00000+0");
	CHECK_STR(at(k, 0xffffffffc1b00010), "-");
	CHECK_STR(at(k, 0x21010), "-"); /* a per-CPU offset is no address */
	CHECK_STR(at(k, 0xffffffff91ffffff), "-");
	hl_kallsyms_free(k);
}

HL_TEST(link_addresses)
{
	struct hl_kallsyms *k = must_read(sample);

	CHECK_INT(hl_kallsyms_link_address(k, 0xffffffff92000110), (long long)0xffffffff81000110);
	CHECK_INT(hl_kallsyms_link_address(k, 0xffffffff92ffffff), (long long)0xffffffff81ffffff);
	CHECK_INT(hl_kallsyms_link_address(k, 0xffffffff93000000), (long long)0xffffffff93000000);
	CHECK_INT(hl_kallsyms_link_address(k, 0xffffffffc0a01000), (long long)0xffffffffc0a01000);
	CHECK_INT(hl_kallsyms_link_address(k, 0xffffffff91ffffff), (long long)0xffffffff91ffffff);
	hl_kallsyms_free(k);
}

HL_TEST(hidden_addresses_are_told_from_none)
{
	static const char zeros[] = "0000000000000000 T _text\n0000000000000000 t do_one\n"
				    "0000000000000000 t helper\t[ext4]\n";
	struct hl_kallsyms *k = NULL;
	struct hl_err err = { "" };

	CHECK_INT(read_text(zeros, strlen(zeros), &k, &err), -EACCES);
	CHECK(strstr(err.text, "kptr_restrict"));
	CHECK_INT(read_text("", 0, &k, &err), -EBADMSG);
	CHECK_INT(read_text("what is this\n\n \n", 16, &k, &err), -EBADMSG);
	CHECK(!k);
}

HL_TEST(lines_across_reads_and_without_an_end)
{
	_cleanup_str_ struct hl_str text = { 0 };
	struct hl_kallsyms *k = NULL;
	unsigned int i;

	for (i = 0; i < 20000; i++)
		hl_str_addf(&text, "ffffffff%08x t function_number_%u%s", 0x81000000 + i * 16, i,
			    i < 19999 ? "\n" : "");
	CHECK_INT(read_text(text.data, text.len, &k, NULL), 0);
	CHECK_INT(hl_kallsyms_count(k), 20000);
	for (i = 0; i < 20000; i++) {
		char want[40];

		(void)snprintf(want, sizeof(want), "function_number_%u[", i);
		CHECK(hl_starts_with(at(k, 0xffffffff81000000 + i * 16ull + 7), want));
	}
	hl_kallsyms_free(k);
}

HL_TEST(an_endless_line_is_skipped)
{
	_cleanup_str_ struct hl_str text = { 0 };
	struct hl_kallsyms *k = NULL;
	int i;

	hl_str_adds(&text, "ffffffff81000000 T before\nffffffff81000010 T ");
	for (i = 0; i < 200000; i++)
		hl_str_addc(&text, 'x');
	hl_str_adds(&text, "\nffffffff81000020 T behind\n");
	CHECK_INT(read_text(text.data, text.len, &k, NULL), 0);
	CHECK_INT(hl_kallsyms_count(k), 2);
	CHECK_STR(at(k, 0xffffffff81000020), "behind[] ffffffff81000020+fe0");
	hl_kallsyms_free(k);
}

HL_TEST(unsorted_lines)
{
	struct hl_kallsyms *k =
		must_read("ffffffff81000020 T c\nffffffff81000000 T a\nffffffff81000010 T b\n");

	CHECK_STR(at(k, 0xffffffff8100000f), "a[] ffffffff81000000+10");
	CHECK_STR(at(k, 0xffffffff81000010), "b[] ffffffff81000010+10");
	hl_kallsyms_free(k);
}
