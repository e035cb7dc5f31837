// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/kallsyms.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "symbol/table.h"

enum {
	MAX_LINE = 4096, /* longer ones are skipped; a name is at most KSYM_NAME_LEN, 512 */
	MAX_SYMBOLS = 4 << 20,
	MAX_NAMES = 256 << 20,
	MAX_MODULES = 4096,
	READ_SIZE = 64 * 1024,
	PAGE = 4096,
	LONGEST_BPF = 8 << 20, /* a million instructions, of eight bytes and less each */
};

#define KERNEL_HALF  (1ull << 63)
#define LINK_ADDRESS 0xffffffff81000000ull /* of _text: __START_KERNEL, arch/x86 */

struct entry {
	uint64_t address; /* first: what the sort goes by */
	uint32_t name;    /* in names */
	uint16_t module;  /* in modules; 0: the kernel */
	uint8_t rank;     /* of aliases, higher is better; 0: data, only a boundary */
};

struct hl_kallsyms {
	struct entry *entries;
	size_t n, cap;
	struct hl_str names, modules; /* NUL-terminated one by one; both begin with an empty one */
	uint16_t *module_at;
	size_t n_modules, cap_modules;
	uint64_t text, end; /* _text and _end, 0: unknown */
	bool any, any_address;
};

HL_DEFINE_CLEANUP(struct hl_kallsyms, hl_kallsyms_free)

void hl_kallsyms_free(struct hl_kallsyms *k)
{
	if (!k)
		return;
	free(k->entries);
	free(k->module_at);
	hl_str_done(&k->names);
	hl_str_done(&k->modules);
	free(k);
}

size_t hl_kallsyms_count(const struct hl_kallsyms *k)
{
	return k->n;
}

static const char *module_name(const struct hl_kallsyms *k, size_t module)
{
	return k->modules.data + k->module_at[module];
}

/* The number of module @name. Lines of one module follow each other, so only the last ones are compared. */
static int intern_module(struct hl_kallsyms *k, const char *name, uint16_t *ret)
{
	size_t i, tried = 0;
	int r;

	for (i = k->n_modules; i > 0 && tried < 8; i--, tried++) {
		if (strcmp(module_name(k, i - 1), name) == 0) {
			*ret = (uint16_t)(i - 1);
			return 0;
		}
	}
	if (k->modules.len > UINT16_MAX - MAX_LINE)
		return -E2BIG;
	r = hl_grow(&k->module_at, &k->cap_modules, k->n_modules + 1, sizeof(*k->module_at), MAX_MODULES);
	if (r < 0)
		return r;
	k->module_at[k->n_modules] = (uint16_t)k->modules.len;
	hl_str_add(&k->modules, name, strlen(name) + 1);
	*ret = (uint16_t)k->n_modules++;
	return hl_str_status(&k->modules);
}

static uint8_t rank_of(char type)
{
	switch (type) {
	case 'T':
		return 3;
	case 'W':
		return 2;
	case 't':
	case 'w':
		return 1;
	default:
		return 0;
	}
}

/* Splits `ADDRESS TYPE NAME[\t[MODULE]]` in place; false if it is of another form. */
static bool split_line(char *line, uint64_t *ret_address, char *ret_type, char **ret_name, char **ret_module)
{
	char *end, *name, *module;

	*ret_address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || end[1] == '\0' || end[2] != ' ')
		return false;
	*ret_type = end[1];
	name = end + 3;
	end = name + strcspn(name, " \t");
	module = *end ? end + 1 + strspn(end + 1, " \t") : end;
	*end = '\0';
	if (name == end)
		return false;
	if (module[0] == '[') {
		module++;
		module[strcspn(module, "]")] = '\0';
	} else {
		module = end;
	}
	*ret_name = name;
	*ret_module = module;
	return true;
}

static void note_bounds(struct hl_kallsyms *k, const char *name, uint64_t address)
{
	if (strcmp(name, "_text") == 0)
		k->text = address;
	else if (strcmp(name, "_end") == 0)
		k->end = address;
}

static int add_line(struct hl_kallsyms *k, char *line)
{
	struct entry entry = { 0 };
	char type, *name, *module;
	int r = 0;

	if (!split_line(line, &entry.address, &type, &name, &module))
		return 0;
	k->any = true;
	k->any_address = k->any_address || entry.address != 0;
	/* Offsets of per-CPU variables are absolute symbols too. */
	if (entry.address < KERNEL_HALF || hl_starts_with(name, "__pfx_"))
		return 0;
	if (!module[0])
		note_bounds(k, name, entry.address);
	entry.rank = rank_of(type);
	if (entry.rank) {
		if (k->names.len > MAX_NAMES)
			return -E2BIG;
		entry.name = (uint32_t)k->names.len;
		hl_str_add(&k->names, name, strlen(name) + 1);
	}
	if (module[0])
		r = intern_module(k, module, &entry.module);
	if (r == 0)
		r = hl_grow(&k->entries, &k->cap, k->n + 1, sizeof(*k->entries), MAX_SYMBOLS);
	if (r == 0)
		k->entries[k->n++] = entry;
	return r < 0 ? r : hl_str_status(&k->names);
}

/* Adds the whole lines of @text and moves what is left to its start; returns how much that is, or -errno. */
static long add_lines(struct hl_kallsyms *k, char *text, size_t len, bool *skipping)
{
	char *line = text, *end;
	int r;

	while ((end = memchr(line, '\n', len - (size_t)(line - text)))) {
		*end = '\0';
		r = *skipping ? 0 : add_line(k, line);
		if (r < 0)
			return r;
		*skipping = false;
		line = end + 1;
	}
	len -= (size_t)(line - text);
	if (len > MAX_LINE) {
		*skipping = true;
		len = 0;
	}
	memmove(text, line, len);
	return (long)len;
}

static int read_lines(struct hl_kallsyms *k, int fd)
{
	_cleanup_free_ char *text = malloc(MAX_LINE + READ_SIZE + 1);
	bool skipping = false;
	long left = 0;
	ssize_t n;

	if (!text)
		return -ENOMEM;
	for (;;) {
		n = read(fd, text + left, READ_SIZE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			/* The last line may lack its newline. */
			text[left++] = '\n';
			left = add_lines(k, text, (size_t)left, &skipping);
			return left < 0 ? (int)left : 0;
		}
		left = add_lines(k, text, (size_t)left + (size_t)n, &skipping);
		if (left < 0)
			return (int)left;
	}
}

static bool is_better(const struct hl_kallsyms *k, const struct entry *x, const struct entry *y)
{
	const char *x_name = k->names.data + x->name, *y_name = k->names.data + y->name;
	size_t x_score = hl_count_underscores(x_name), y_score = hl_count_underscores(y_name);

	if (x->rank != y->rank)
		return x->rank > y->rank;
	return x_score != y_score ? x_score < y_score : strcmp(x_name, y_name) < 0;
}

/*
 * One entry an address. Of data behind functions the first is kept, as their end, the others say nothing.
 */
static int sort_entries(struct hl_kallsyms *k)
{
	size_t i, kept = 0;
	int r = hl_radix_sort(k->entries, k->n, sizeof(*k->entries));

	if (r < 0)
		return r;
	for (i = 0; i < k->n; i++) {
		const struct entry *e = &k->entries[i];
		struct entry *last = kept ? &k->entries[kept - 1] : NULL;

		if (!last || (last->address != e->address && (e->rank || last->rank)))
			k->entries[kept++] = *e;
		else if (last->address == e->address && is_better(k, e, last))
			*last = *e;
	}
	k->n = kept;
	return 0;
}

int hl_kallsyms_read(int fd, struct hl_kallsyms **ret, struct hl_err *err)
{
	_cleanup_(hl_kallsyms_freep) struct hl_kallsyms *k = calloc(1, sizeof(*k));
	uint16_t none;
	int r;

	if (!k)
		return hl_err_errno(err, -ENOMEM, "the kernel's symbols");
	hl_str_addc(&k->names, '\0');
	r = intern_module(k, "", &none);
	if (r == 0)
		r = hl_str_status(&k->names);
	if (r == 0)
		r = read_lines(k, fd);
	if (r == 0)
		r = sort_entries(k);
	if (r < 0)
		return hl_err_errno(err, r, "cannot read the kernel's symbols");
	if (k->any && !k->any_address)
		return hl_err_set(err, -EACCES,
				  "the kernel hides its symbols' addresses: run with "
				  "CAP_SYSLOG, or set kernel.kptr_restrict to 1 or 0");
	if (k->n == 0)
		return hl_err_set(err, -EBADMSG, "there are no functions among the kernel's symbols");
	*ret = TAKE_PTR(k);
	return 0;
}

int hl_kallsyms_find(const struct hl_kallsyms *k, uint64_t address, struct hl_kernel_symbol *ret)
{
	size_t low = 0, high = k->n, mid;
	const struct entry *e;
	bool is_bpf, is_followed;
	uint64_t end;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (k->entries[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	e = low ? &k->entries[low - 1] : NULL;
	if (!e || e->rank == 0)
		return -ENOENT;
	/*
	 * The last function of a module ends somewhere before the next module: at its page's end at most. A BPF
	 * program may be longer, and what runs behind it has a name of its own.
	 */
	is_bpf = strcmp(module_name(k, e->module), "bpf") == 0;
	end = is_bpf ? e->address + LONGEST_BPF : (e->address | (PAGE - 1)) + 1;
	is_followed = low < k->n && (k->entries[low].module == e->module || k->entries[low].address < end);
	if (is_followed)
		end = k->entries[low].address;
	if (end > e->address && address >= end)
		return -ENOENT;
	*ret = (struct hl_kernel_symbol){ e->address, is_bpf && !is_followed ? 0 : end - e->address,
					  k->names.data + e->name, module_name(k, e->module) };
	return 0;
}

uint64_t hl_kallsyms_link_address(const struct hl_kallsyms *k, uint64_t address)
{
	if (!k->text || address < k->text || (k->end && address >= k->end))
		return address;
	return address - k->text + LINK_ADDRESS;
}
