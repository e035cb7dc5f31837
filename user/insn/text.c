// SPDX-License-Identifier: BSD-2-Clause
#include "insn/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A string copy that cuts; snprintf would cost a tenth of a whole decode. */
static void put(char *to, size_t size, const char *from, size_t len)
{
	if (len > size - 1)
		len = size - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Copies one operand of @len bytes without blanks, but for those that part two words. */
static void put_operand(char *to, size_t size, const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < size - 1; i++) {
		bool parts = n && i + 1 < len && is_word(to[n - 1]) && is_word(from[i + 1]);

		if (from[i] != ' ' || parts)
			to[n++] = from[i];
	}
	to[n] = '\0';
}

static void split_operands(struct hl_text *t, const char *operands)
{
	const char *start = operands;
	int depth = 0;

	t->n = 0;
	for (const char *p = operands;; p++) {
		depth += *p == '(' || *p == '[';
		depth -= *p == ')' || *p == ']';
		if (*p && (*p != ',' || depth > 0))
			continue;
		if (p > start && t->n < HL_TEXT_OPERANDS)
			put_operand(t->operand[t->n++], sizeof(t->operand[0]), start, (size_t)(p - start));
		if (!*p)
			break;
		start = p + 1;
	}
}

void hl_text_split(struct hl_text *ret, const char *mnemonic, const char *operands)
{
	size_t len = strlen(mnemonic);
	const char *last;

	while (len && mnemonic[len - 1] == ' ')
		len--;
	last = memrchr(mnemonic, ' ', len);
	last = last ? last + 1 : mnemonic;
	put(ret->prefix, sizeof(ret->prefix), mnemonic, (size_t)(last - mnemonic));
	put(ret->mnemonic, sizeof(ret->mnemonic), last, (size_t)(mnemonic + len - last));
	split_operands(ret, operands);
}

/* Appends @text at @at, never beyond @end. */
static char *append(char *at, const char *end, const char *text)
{
	while (*text && at < end)
		*at++ = *text++;
	return at;
}

void hl_text_join(const struct hl_text *t, char *buf, size_t size)
{
	char *at = buf, *end = buf + size - 1;

	at = append(at, end, t->prefix);
	at = append(at, end, t->mnemonic);
	for (unsigned int i = 0; i < t->n; i++) {
		at = append(at, end, i ? "," : " ");
		at = append(at, end, t->operand[i]);
	}
	*at = '\0';
}

void hl_text_add_prefix(struct hl_text *t, const char *word)
{
	size_t len = strlen(t->prefix), more = strlen(word);

	if (len + more + 1 >= sizeof(t->prefix))
		return;
	memcpy(t->prefix + len, word, more);
	memcpy(t->prefix + len + more, " ", 2);
}

void hl_text_set_mnemonic(struct hl_text *t, const char *mnemonic)
{
	put(t->mnemonic, sizeof(t->mnemonic), mnemonic, strlen(mnemonic));
}

void hl_text_append_mnemonic(struct hl_text *t, const char *end)
{
	size_t len = strlen(t->mnemonic);

	put(t->mnemonic + len, sizeof(t->mnemonic) - len, end, strlen(end));
}

void hl_text_cut_mnemonic(struct hl_text *t)
{
	size_t len = strlen(t->mnemonic);

	if (len)
		t->mnemonic[len - 1] = '\0';
}

bool hl_text_is(const struct hl_text *t, const char *mnemonic)
{
	return strcmp(t->mnemonic, mnemonic) == 0;
}

static int by_text(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

bool hl_text_is_one_of(const struct hl_text *t, const char *const *list, size_t n)
{
	return bsearch(t->mnemonic, list, n, sizeof(list[0]), by_text) != NULL;
}

void hl_text_set_operand(struct hl_text *t, unsigned int i, const char *fmt, ...)
{
	va_list ap;

	if (i >= HL_TEXT_OPERANDS)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(t->operand[i], sizeof(t->operand[i]), fmt, ap);
	va_end(ap);
	if (i >= t->n)
		t->n = i + 1;
}

void hl_operand_add(struct hl_operand *o, const char *text, size_t len)
{
	size_t room = sizeof(o->text) - 1 - o->len;

	len = len < room ? len : room;
	memcpy(o->text + o->len, text, len);
	o->len += len;
}

void hl_operand_adds(struct hl_operand *o, const char *text)
{
	hl_operand_add(o, text, strlen(text));
}

void hl_operand_add_hex(struct hl_operand *o, uint64_t value)
{
	char digits[18];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	digits[--at] = 'x';
	digits[--at] = '0';
	hl_operand_add(o, digits + at, sizeof(digits) - at);
}

void hl_text_put_operand(struct hl_text *t, unsigned int i, const struct hl_operand *o)
{
	if (i >= HL_TEXT_OPERANDS)
		return;
	put(t->operand[i], sizeof(t->operand[i]), o->text, o->len);
	if (i >= t->n)
		t->n = i + 1;
}

void hl_text_remove_operand(struct hl_text *t, unsigned int i)
{
	if (i >= t->n)
		return;
	memmove(t->operand[i], t->operand[i + 1], (t->n - i - 1) * sizeof(t->operand[0]));
	t->n--;
}

void hl_text_insert_operand(struct hl_text *t, unsigned int i, const char *operand)
{
	if (i > t->n || t->n == HL_TEXT_OPERANDS)
		return;
	memmove(t->operand[i + 1], t->operand[i], (t->n - i) * sizeof(t->operand[0]));
	t->n++;
	put(t->operand[i], sizeof(t->operand[i]), operand, strlen(operand));
}

void hl_text_swap_operands(struct hl_text *t, unsigned int i, unsigned int j)
{
	char spare[sizeof(t->operand[0])];

	if (i >= t->n || j >= t->n || i == j)
		return;
	memcpy(spare, t->operand[i], sizeof(spare));
	memcpy(t->operand[i], t->operand[j], sizeof(spare));
	memcpy(t->operand[j], spare, sizeof(spare));
}

const char *hl_text_number(const char *text, uint64_t *ret_value, bool *ret_negative)
{
	bool negative = *text == '-';
	char *end;

	if (*text == '-' || *text == '+')
		text++;
	if (!isdigit((unsigned char)*text))
		return NULL;
	*ret_value = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	*ret_negative = negative;
	return end;
}
