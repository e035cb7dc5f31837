// SPDX-License-Identifier: BSD-2-Clause
/* needs: base insn */
#include "insn/insn.h"

#include <ctype.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "harness.h"

/*
 * The decoder's text of every instruction in a library's code against the text of `objdump -d`. Each is
 * decoded by itself, at its own address, with what follows behind it as a sample would have it.
 */

enum { WINDOW = 16, NOTES = 12 };

struct line {
	uint64_t address;
	size_t code; /* position in listing.code */
	size_t text; /* position in listing.text */
	unsigned int length;
};

struct listing {
	struct line *lines;
	size_t n, cap;
	struct hl_str code, text;
};

struct result {
	size_t decoded, equal, by_zydis, undecoded, bad_length;
};

/* Removes " <symbol>" and "# comment", and makes one blank of several. */
static void normalise(char *text)
{
	char *to = text, *cut = strpbrk(text, "#<");

	if (cut)
		*cut = '\0';
	for (const char *from = text; *from; from++)
		if (!isspace((unsigned char)*from))
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	while (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

/* Reads "  401136:\t55 \tpush   %rbp". False if @row is anything else. */
static bool parse_row(struct listing *listing, char *row, struct line *ret)
{
	char *at, *text;
	unsigned int byte;
	int used;

	ret->address = strtoull(row, &at, 16);
	if (at == row || strncmp(at, ":\t", 2) != 0)
		return false;
	text = strchr(at + 2, '\t');
	if (!text)
		return false;
	*text++ = '\0';
	ret->code = listing->code.len;
	ret->length = 0;
	for (at += 2; sscanf(at, " %2x%n", &byte, &used) == 1; at += used, ret->length++)
		hl_str_addc(&listing->code, (char)byte);
	normalise(text);
	ret->text = listing->text.len;
	hl_str_add(&listing->text, text, strlen(text) + 1);
	return ret->length > 0;
}

static void read_listing(struct listing *listing, const char *path, const char *options)
{
	_cleanup_str_ struct hl_str command = { 0 };
	_cleanup_free_ char *row = NULL;
	size_t cap = 0;
	FILE *f;

	hl_str_addf(&command, "objdump -d -w --insn-width=15 %s '%s' 2>/dev/null", options, path);
	f = popen(command.data, "r");
	CHECK(f);
	while (getline(&row, &cap, f) > 0) {
		struct line line;

		if (!parse_row(listing, row, &line))
			continue;
		CHECK_INT(hl_grow(&listing->lines, &listing->cap, listing->n + 1, sizeof(line), SIZE_MAX), 0);
		listing->lines[listing->n++] = line;
	}
	CHECK_INT(pclose(f), 0);
	for (int i = 0; i < WINDOW; i++)
		hl_str_addc(&listing->code, 0);
	CHECK_INT(hl_str_status(&listing->code) | hl_str_status(&listing->text), 0);
}

static void listing_done(struct listing *listing)
{
	free(listing->lines);
	hl_str_done(&listing->code);
	hl_str_done(&listing->text);
}

static void compare_line(struct hl_decoder *decoder, const struct listing *listing, const struct line *line,
			 struct result *result)
{
	const uint8_t *code = (const uint8_t *)listing->code.data + line->code;
	const char *want = listing->text.data + line->text;
	struct hl_insn insn;

	if (strstr(want, "(bad)") || want[0] == '.')
		return; /* data */
	hl_decoder_decode(decoder, code, WINDOW, line->address, &insn);
	result->decoded++;
	result->by_zydis += insn.by_zydis;
	result->undecoded += insn.undecoded;
	result->bad_length += insn.length != line->length;
	if (strcmp(insn.text, want) == 0)
		result->equal++;
	else if (result->decoded - result->equal <= NOTES)
		NOTE("%" PRIx64 ": \"%s\", objdump says \"%s\"", line->address, insn.text, want);
}

static struct result compare(const char *path, const char *options, enum hl_insn_mode mode,
			     enum hl_insn_syntax syntax)
{
	_cleanup_(listing_done) struct listing listing = { 0 };
	struct hl_decoder *decoder = hl_decoder_new(mode, syntax);
	struct result result = { 0 };

	CHECK(decoder);
	read_listing(&listing, path, options);
	for (size_t i = 0; i < listing.n; i++)
		compare_line(decoder, &listing, &listing.lines[i], &result);
	hl_decoder_free(decoder);
	NOTE("%s: %zu of %zu equal (%.4f %%), %zu by Zydis, %zu undecoded, %zu of another length", path,
	     result.equal, result.decoded, 100.0 * (double)result.equal / (double)result.decoded,
	     result.by_zydis, result.undecoded, result.bad_length);
	return result;
}

/* The path of the libc that this process runs with. */
static int find_libc(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hl_str *path = data;
	const char *base = strrchr(info->dlpi_name, '/');

	if (!base || !hl_starts_with(base, "/libc.so"))
		return 0;
	hl_str_adds(path, info->dlpi_name);
	return 1;
}

/* The path of library @name in libc's folder, owned by the caller. */
static char *library_path(const char *name)
{
	_cleanup_str_ struct hl_str path = { 0 };

	CHECK_INT(dl_iterate_phdr(find_libc, &path), 1);
	path.len = (size_t)(strrchr(path.data, '/') + 1 - path.data);
	hl_str_adds(&path, name);
	CHECK_INT(hl_str_status(&path), 0);
	return TAKE_PTR(path.data);
}

static void check_objdump(void)
{
	if (system("objdump --version >/dev/null 2>&1") != 0)
		SKIP("objdump is missing (package binutils)");
}

static void check_library(const char *path, const char *options, enum hl_insn_mode mode,
			  enum hl_insn_syntax syntax, double least)
{
	struct result result;

	check_objdump();
	if (access(path, R_OK) != 0)
		SKIP("%s is missing", path);
	result = compare(path, options, mode, syntax);
	CHECK(result.decoded > 1000);
	if ((double)result.equal < least * (double)result.decoded)
		FAIL("%.4f %% equal, should be %.2f %%",
		     100.0 * (double)result.equal / (double)result.decoded, 100 * least);
}

HL_TEST(libc)
{
	_cleanup_free_ char *path = library_path("libc.so.6");

	check_library(path, "", HL_INSN_MODE_64, HL_INSN_ATT, 0.9999);
}

HL_TEST(libc_in_intel_syntax)
{
	_cleanup_free_ char *path = library_path("libc.so.6");

	check_library(path, "-M intel", HL_INSN_MODE_64, HL_INSN_INTEL, 0.9999);
}

/* objdump joins fwait with the x87 instruction behind it, which a decoder of one instruction must not. */
HL_TEST(libm)
{
	_cleanup_free_ char *path = library_path("libm.so.6");

	check_library(path, "", HL_INSN_MODE_64, HL_INSN_ATT, 0.9995);
}

/* Its .text holds tables of constants, which objdump lists as instructions with prefixes of all kinds. */
HL_TEST(libcrypto)
{
	_cleanup_free_ char *path = library_path("libcrypto.so.3");

	check_library(path, "", HL_INSN_MODE_64, HL_INSN_ATT, 0.99);
}

HL_TEST(libc_of_32_bits)
{
	check_library("/lib32/libc.so.6", "", HL_INSN_MODE_32, HL_INSN_ATT, 0.9999);
}

HL_TEST(libc_of_32_bits_in_intel_syntax)
{
	check_library("/lib32/libc.so.6", "-M intel", HL_INSN_MODE_32, HL_INSN_INTEL, 0.9999);
}
