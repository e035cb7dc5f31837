// SPDX-License-Identifier: BSD-2-Clause
#include "symd/client_answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "symd/client.h"

/* Longer names and texts than the server makes are not believed. */
enum { MAX_STRING = 8192, MAX_INSN = 15, MAX_CLASS = 6 };

#define KNOWN_FLAGS                                                                                   \
	(HL_SYMD_NAMED | HL_SYMD_UNDECODED | HL_SYMD_NO_BYTES | HL_SYMD_IRQS_OFF | HL_SYMD_UNMAPPED | \
	 HL_SYMD_MODULE | HL_SYMD_DIFFERS)

/* Moves the string at @offset from the payload's to the caller's numbering; false if it lies outside. */
static bool rebase(uint32_t *offset, uint32_t len, size_t first, size_t payload_len, size_t base)
{
	if (len == 0) {
		*offset = 0;
		return true;
	}
	if (len > MAX_STRING || *offset < first || *offset > payload_len || len > payload_len - *offset)
		return false;
	*offset = (uint32_t)(*offset - first + base);
	return true;
}

static bool take_answer(struct hl_symd_answer *a, size_t first, size_t payload_len, size_t base)
{
	if (!rebase(&a->name, a->name_len, first, payload_len, base) ||
	    !rebase(&a->text, a->text_len, first, payload_len, base) ||
	    !rebase(&a->module, a->module_len, first, payload_len, base) ||
	    !rebase(&a->file, a->file_len, first, payload_len, base))
		return false;
	return (a->flags & ~KNOWN_FLAGS) == 0 && a->insn_class <= MAX_CLASS && a->insn_len <= MAX_INSN &&
	       !(a->flags & HL_SYMD_NAMED) == !a->name_len && !(a->flags & HL_SYMD_MODULE) == !a->module_len;
}

/*
 * What was inlined in @n answers, in order, stands behind them: how much that is. The numbers of the first ones
 * become those of the caller, who has @base already. False if they do not follow each other.
 */
static bool count_inlined(struct hl_symd_answer *answers, size_t n, size_t base, size_t *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		struct hl_symd_answer *a = &answers[i];

		if (a->n_inlined > HL_SYMD_INLINED_MAX || a->first_inlined != (a->n_inlined ? count : 0))
			return false;
		a->first_inlined = a->n_inlined ? (uint32_t)(base + count) : 0;
		count += a->n_inlined;
	}
	*ret = count;
	return true;
}

static int take_inlined(const struct hl_str *payload, size_t at, size_t n, struct hl_symd_answers *ret,
			struct hl_err *err)
{
	size_t first = at + n * sizeof(*ret->inlined);
	struct hl_symd_inlined *inlined;
	int r = hl_grow(&ret->inlined, &ret->inlined_cap, ret->n_inlined + n, sizeof(*ret->inlined),
			UINT32_MAX);

	if (r < 0)
		return hl_err_errno(err, r, "no room for symd's answers");
	if (n)
		memcpy(&ret->inlined[ret->n_inlined], payload->data + at, n * sizeof(*inlined));
	for (size_t i = 0; i < n; i++) {
		inlined = &ret->inlined[ret->n_inlined + i];
		if (!rebase(&inlined->name, inlined->name_len, first, payload->len, ret->strings_len) ||
		    !rebase(&inlined->file, inlined->file_len, first, payload->len, ret->strings_len))
			return hl_err_set(err, -EPROTO, "symd's inlined function %zu is damaged", i);
	}
	return 0;
}

/* The answers at @bytes, whole: what was not asked for stays empty. */
static void lengthen(const char *bytes, size_t n, struct hl_symd_answer *ret)
{
	struct hl_symd_brief b;

	for (size_t i = 0; i < n; i++) {
		memcpy(&b, bytes + i * sizeof(b), sizeof(b));
		ret[i] = (struct hl_symd_answer){ .address = b.address,
						  .function = b.function,
						  .size = b.size,
						  .name = b.name,
						  .name_len = b.name_len,
						  .module = b.module,
						  .module_len = b.module_len,
						  .flags = b.flags };
	}
}

int hl_symd_take_answers(const struct hl_str *payload, size_t n, bool brief, struct hl_symd_answers *ret,
			 struct hl_err *err)
{
	size_t first = n * (brief ? sizeof(struct hl_symd_brief) : sizeof(struct hl_symd_answer));
	struct hl_symd_answer *items = &ret->items[ret->n];
	size_t n_inlined = 0, more, i;
	int r;

	if (payload->len < first)
		return hl_err_set(err, -EPROTO, "symd sent %zu bytes for %zu answers", payload->len, n);
	if (brief)
		lengthen(payload->data, n, items);
	else if (n)
		memcpy(items, payload->data, first);
	if (!count_inlined(items, n, ret->n_inlined, &n_inlined) ||
	    (payload->len - first) / sizeof(*ret->inlined) < n_inlined)
		return hl_err_set(err, -EPROTO, "symd's inlined functions do not add up");
	r = take_inlined(payload, first, n_inlined, ret, err);
	if (r < 0)
		return r;
	first += n_inlined * sizeof(*ret->inlined);
	more = payload->len - first;
	r = hl_grow(&ret->strings, &ret->strings_cap, ret->strings_len + more, 1, UINT32_MAX);
	if (r < 0)
		return hl_err_errno(err, r, "no room for symd's answers");
	for (i = 0; i < n; i++)
		if (!take_answer(&items[i], first, payload->len, ret->strings_len))
			return hl_err_set(err, -EPROTO, "symd's answer %zu is damaged", i);
	if (more)
		memcpy(ret->strings + ret->strings_len, payload->data + first, more);
	ret->strings_len += more;
	ret->n_inlined += n_inlined;
	ret->n += n;
	return 0;
}

void hl_symd_answers_done(struct hl_symd_answers *answers)
{
	free(answers->items);
	free(answers->inlined);
	free(answers->strings);
	*answers = (struct hl_symd_answers){ 0 };
}
