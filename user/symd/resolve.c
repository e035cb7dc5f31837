// SPDX-License-Identifier: BSD-2-Clause
#include "symd/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "elf/elf.h"
#include "insn/insn.h"
#include "symbol/codelines.h"
#include "symbol/codemap.h"
#include "symbol/demangle.h"
#include "symbol/inlines.h"
#include "symbol/kallsyms.h"
#include "symbol/symbol.h"
#include "symd/files.h"
#include "symd/irqs.h"
#include "symd/maps.h"

enum { TARGET_NAME_MAX = 256 };

/* A name that is in the strings already: many queries of a batch fall into the same functions. */
struct seen {
	uint64_t key; /* the file or the kernel, and the name's number there */
	uint32_t offset, len;
};

struct batch {
	struct hl_symd_sources *sources;
	struct hl_str *payload;
	bool intel, inlines, lines, brief; /* what is wanted */
	struct hl_index index;
	struct seen *seen;
	size_t n_seen, cap_seen;
	struct hl_symd_inlined *inlined;
	size_t n_inlined, cap_inlined;
};

/* What a query's address belongs to: one of the three, or none. */
struct place {
	const struct hl_symd_known *known;
	const uint8_t *lines; /* of it, or of the kernel; or NULL */
	const struct hl_kallsyms *kallsyms;
	const struct hl_symd_maps *maps;
	uint64_t shift; /* from answered to running addresses; kernel only */
	uint32_t file;  /* or process */
};

/* A function, whichever table it came from. */
struct function {
	uint64_t start, size; /* in the addresses of answers */
	uint64_t key;
	uint32_t name; /* of a file */
	const char *kernel_name, *module;
	const char *told_name; /* of made code, inlined functions */
	size_t told_len;
	bool named, is_jitted; /* is_jitted: a jitdump told of it */
};

/* Keys of names of made code; file numbers stay below the one, kernel addresses have the sign bit set. */
#define MAP_KEY      (UINT64_C(1) << 62)
#define MAP_KEY_KIND 61
/* Keys of strings of a table of lines: names of functions, and paths. */
#define NAME_KEY     (UINT64_C(1) << 60)
#define PATH_KEY     (UINT64_C(1) << 59)

static int same_key(const void *ctx, uint32_t position)
{
	const struct batch *b = ((const void *const *)ctx)[0];
	const uint64_t *key = ((const void *const *)ctx)[1];

	return b->seen[position].key == *key;
}

static bool find_made_code(const struct place *place, uint64_t address, struct function *ret)
{
	enum hl_symd_map_kind kind;
	struct hl_code_symbol code;

	if (!hl_symd_maps_find(place->maps, place->file, address, &code, &kind))
		return false;
	*ret = (struct function){ .start = code.start,
				  .size = code.size,
				  .key = MAP_KEY | (uint64_t)kind << MAP_KEY_KIND |
					 (uint64_t)place->file << 32 | code.id,
				  .told_name = code.name,
				  .told_len = code.len,
				  .named = true,
				  .is_jitted = kind == HL_SYMD_JITDUMP };
	return true;
}

static bool find_function(const struct place *place, uint64_t address, struct function *ret)
{
	struct hl_kernel_symbol kernel;
	struct hl_symbol symbol;

	if (place->known && place->known->symbols &&
	    hl_symbols_find(place->known->symbols, address, &symbol)) {
		*ret = (struct function){
			.start = symbol.start, .size = symbol.size, .name = symbol.name, .named = symbol.named
		};
		ret->key = (uint64_t)place->file << 32 | symbol.name;
		return true;
	}
	if (place->kallsyms && hl_kallsyms_find(place->kallsyms, address + place->shift, &kernel) == 0) {
		*ret = (struct function){ .start = kernel.start - place->shift,
					  .size = kernel.size,
					  .kernel_name = kernel.name,
					  .module = kernel.module,
					  .named = true };
		/* Kernel addresses have their upper bits set, file numbers are small. */
		ret->key = kernel.start;
		return true;
	}
	return place->maps && find_made_code(place, address, ret);
}

/* A name that the file no longer has stays empty. */
static void add_name(const struct place *place, const struct function *f, struct hl_str *out)
{
	if (f->told_name)
		hl_demangle_or_copy(f->told_name, f->told_len, HL_SYMBOL_NAME_MAX, out);
	else if (f->kernel_name)
		hl_demangle_or_copy(f->kernel_name, strlen(f->kernel_name), HL_SYMBOL_NAME_MAX, out);
	else if (place->known)
		(void)hl_symbols_add_name(place->known->symbols, f->name, out);
}

/* The string that is or will be under @key; 1: it is new, its offset the end of the payload. */
static int find_seen(struct batch *b, uint64_t key, uint32_t *ret)
{
	uint64_t hash = hl_hash(&key, sizeof(key), 0);
	const void *ctx[2] = { b, &key };
	int r;

	*ret = hl_index_find(&b->index, hash, same_key, ctx);
	if (*ret != HL_INDEX_NONE)
		return 0;
	r = hl_grow(&b->seen, &b->cap_seen, b->n_seen + 1, sizeof(*b->seen), UINT32_MAX);
	if (r == 0)
		r = hl_index_add(&b->index, hash, (uint32_t)b->n_seen);
	if (r < 0)
		return r;
	*ret = (uint32_t)b->n_seen;
	b->seen[b->n_seen++] = (struct seen){ .key = key, .offset = (uint32_t)b->payload->len };
	return 1;
}

/* Puts the name of @f into the strings, once a batch. */
static int intern_name(struct batch *b, const struct place *place, const struct function *f,
		       uint32_t *ret_offset, uint32_t *ret_len)
{
	uint32_t found;
	int r = find_seen(b, f->key, &found);

	if (r < 0)
		return r;
	if (r == 1) {
		add_name(place, f, b->payload);
		b->seen[found].len = (uint32_t)b->payload->len - b->seen[found].offset;
	}
	*ret_offset = b->seen[found].offset;
	*ret_len = b->seen[found].len;
	return 0;
}

/* The path of @frame, of a file or, with MAP_KEY for @space, of a process. */
static int intern_path(struct batch *b, uint64_t space, const struct place *place,
		       const struct hl_inlines_frame *frame, uint32_t *ret_offset, uint32_t *ret_len)
{
	uint32_t found;
	int r = find_seen(b, space | PATH_KEY | (uint64_t)place->file << 32 | frame->file_id, &found);

	if (r < 0)
		return r;
	if (r == 1) {
		hl_str_adds(b->payload, frame->file);
		b->seen[found].len = (uint32_t)b->payload->len - b->seen[found].offset;
	}
	*ret_offset = b->seen[found].offset;
	*ret_len = b->seen[found].len;
	return 0;
}

static int add_inlined(struct batch *b, const struct place *place, const struct hl_inlines_frame *frame,
		       const struct hl_inlines_frame *caller)
{
	struct function f = { .key = NAME_KEY | (uint64_t)place->file << 32 | frame->function_id,
			      .told_name = frame->function,
			      .told_len = strlen(frame->function) };
	struct hl_symd_inlined *inlined;
	int r = hl_grow(&b->inlined, &b->cap_inlined, b->n_inlined + 1, sizeof(*b->inlined), UINT32_MAX);

	if (r < 0)
		return r;
	inlined = &b->inlined[b->n_inlined++];
	*inlined = (struct hl_symd_inlined){ .line = b->lines ? caller->line : 0 };
	r = intern_name(b, place, &f, &inlined->name, &inlined->name_len);
	if (r == 0 && b->lines)
		r = intern_path(b, 0, place, caller, &inlined->file, &inlined->file_len);
	return r;
}

/* Innermost first; the last frame is the function that holds the code, whose name is known better. */
static int locate_answer(struct batch *b, const struct place *place, struct hl_symd_answer *answer)
{
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	size_t n = hl_inlines_find(place->lines, answer->address, frames);
	int r = 0;

	if (n && b->lines) {
		r = intern_path(b, 0, place, &frames[0], &answer->file, &answer->file_len);
		answer->line = frames[0].line;
	}
	if (n < 2 || !b->inlines)
		return r;
	answer->first_inlined = (uint32_t)b->n_inlined;
	answer->n_inlined = (uint32_t)n - 1;
	for (size_t i = 0; i + 1 < n && r == 0; i++)
		r = add_inlined(b, place, &frames[i], &frames[i + 1]);
	return r;
}

static int locate_made_code(struct batch *b, const struct place *place, uint64_t start,
			    struct hl_symd_answer *answer)
{
	struct hl_inlines_frame frame = { 0 };
	struct hl_code_line line;

	if (!hl_symd_maps_find_line(place->maps, place->file, start, answer->address, &line))
		return 0;
	frame.file = line.file;
	frame.file_id = line.id;
	answer->line = line.line;
	return intern_path(b, MAP_KEY, place, &frame, &answer->file, &answer->file_len);
}

static int name_answer(struct batch *b, const struct place *place, struct hl_symd_answer *answer)
{
	struct function f;
	int r;

	answer->function = answer->address;
	if (!find_function(place, answer->address, &f))
		return 0;
	answer->function = f.start;
	answer->size = f.size;
	if (f.module && f.module[0]) {
		answer->module = (uint32_t)b->payload->len;
		answer->module_len = (uint32_t)strlen(f.module);
		answer->flags |= HL_SYMD_MODULE;
		hl_str_add(b->payload, f.module, answer->module_len);
	}
	if (!f.named)
		return 0;
	r = intern_name(b, place, &f, &answer->name, &answer->name_len);
	if (r == 0 && b->lines && f.is_jitted)
		r = locate_made_code(b, place, f.start, answer);
	if (r == 0 && answer->name_len)
		answer->flags |= HL_SYMD_NAMED;
	return r;
}

static struct hl_decoder *get_decoder(struct batch *b, bool code_32)
{
	struct hl_decoder **decoder = &b->sources->decoders[code_32][b->intel];

	if (!*decoder)
		*decoder = hl_decoder_new(code_32 ? HL_INSN_MODE_32 : HL_INSN_MODE_64,
					  b->intel ? HL_INSN_INTEL : HL_INSN_ATT);
	return *decoder;
}

/*
 * Writes ` <function+0xoffset>` for the target of a branch, as objdump does, to @ret; nothing where the
 * function has no name.
 */
static int format_target(struct batch *b, const struct place *place, uint64_t target, char *ret, size_t size)
{
	uint32_t offset, len, kept;
	struct function f;
	const char *name;
	int r;

	ret[0] = '\0';
	if (!find_function(place, target, &f) || !f.named)
		return 0;
	r = intern_name(b, place, &f, &offset, &len);
	if (r < 0 || len == 0 || b->payload->failed)
		return r;
	name = b->payload->data + offset;
	kept = len <= TARGET_NAME_MAX ? len : TARGET_NAME_MAX;
	/* Not inside a UTF-8 sequence. */
	while (kept < len && kept > TARGET_NAME_MAX - 3 && (name[kept] & 0xc0) == 0x80)
		kept--;
	(void)snprintf(ret, size, " <%.*s%s", (int)kept, name, kept < len ? "…" : "");
	len = (uint32_t)strlen(ret);
	if (target != f.start)
		(void)snprintf(ret + len, size - len, "+0x%llx>", (unsigned long long)(target - f.start));
	else
		(void)snprintf(ret + len, size - len, ">");
	return 0;
}

static int decode_answer(struct batch *b, const struct place *place, const struct hl_symd_query *query,
			 struct hl_symd_answer *answer)
{
	struct hl_decoder *decoder = get_decoder(b, query->flags & HL_SYMD_CODE_32);
	size_t len = query->code_len < sizeof(query->code) ? query->code_len : sizeof(query->code);
	const uint8_t *code = query->code;
	uint8_t from_file[sizeof(query->code)];
	char suffix[TARGET_NAME_MAX + 32] = "", reference[TARGET_NAME_MAX + 32] = "";
	bool wants_reference = query->flags & HL_SYMD_WANT_REFERENCE;
	struct hl_insn insn;
	long n = 0;
	int r = 0;

	if (!decoder)
		return -ENOMEM;
	if (place->known)
		n = hl_elf_read_some(place->known->elf, query->where, from_file, sizeof(from_file));
	if (len == 0 && n > 0) {
		len = (size_t)n;
		code = from_file;
	}
	if (len == 0) {
		answer->flags |= HL_SYMD_NO_BYTES;
		return 0;
	}
	hl_decoder_decode(decoder, code, len, answer->address, &insn);
	answer->insn_class = insn.class_;
	answer->insn_len = insn.length;
	if (insn.undecoded)
		answer->flags |= HL_SYMD_UNDECODED;
	/* What the CPU ran is shown; that the file says otherwise is said. */
	if (n > 0 && code != from_file &&
	    memcmp(code, from_file, insn.length < (size_t)n ? insn.length : (size_t)n) != 0)
		answer->flags |= HL_SYMD_DIFFERS;
	if (insn.has_target) {
		answer->target = insn.target;
		if (!(answer->flags & HL_SYMD_UNMAPPED))
			r = format_target(b, place, insn.target, suffix, sizeof(suffix));
	}
	if (r == 0 && wants_reference && insn.has_reference)
		r = format_target(b, place, insn.reference, reference, sizeof(reference));
	answer->text = (uint32_t)b->payload->len;
	hl_str_adds(b->payload, insn.text);
	hl_str_adds(b->payload, suffix);
	if (wants_reference && insn.has_reference)
		hl_str_addf(b->payload, " # %llx%s", (unsigned long long)insn.reference, reference);
	answer->text_len = (uint32_t)(b->payload->len - answer->text);
	return r;
}

static struct place find_place(struct batch *b, const struct hl_symd_query *query,
			       struct hl_symd_answer *answer)
{
	struct place place = { .file = query->file };
	const struct hl_symd_known *kernel;
	uint64_t address;

	answer->address = query->where;
	if (query->place == HL_SYMD_FILE) {
		place.known = hl_symd_files_get(b->sources->files, query->file);
		place.lines = place.known ? place.known->lines : NULL;
		if (place.known && hl_elf_address(place.known->elf, query->where, &address))
			answer->address = address;
		else
			answer->flags |= HL_SYMD_UNMAPPED;
	} else if (query->place == HL_SYMD_KERNEL && b->sources->kallsyms) {
		place.kallsyms = b->sources->kallsyms;
		answer->address = hl_kallsyms_link_address(place.kallsyms, query->where);
		place.shift = query->where - answer->address;
		/* Modules and BPF programs keep their addresses, at which the kernel itself has no code. */
		kernel = hl_symd_files_get(b->sources->files, HL_SYMD_KERNEL_FILE);
		place.lines = kernel ? kernel->lines : NULL;
		place.file = HL_SYMD_KERNEL_FILE;
	} else if (query->place == HL_SYMD_RAW && query->file) {
		place.maps = b->sources->maps;
	}
	return place;
}

static int answer_one(struct batch *b, const struct hl_symd_query *query, struct hl_symd_answer *answer)
{
	struct place place = find_place(b, query, answer);
	int r = 0;

	answer->function = answer->address;
	if (!(answer->flags & HL_SYMD_UNMAPPED))
		r = name_answer(b, &place, answer);
	if (r == 0 && place.lines && (b->inlines || b->lines) && !(answer->flags & HL_SYMD_UNMAPPED))
		r = locate_answer(b, &place, answer);
	if (r == 0 && (query->flags & HL_SYMD_WANT_TEXT))
		r = decode_answer(b, &place, query, answer);
	if (query->place == HL_SYMD_KERNEL && (query->flags & HL_SYMD_SW_CLOCK) &&
	    (hl_symd_irqs_were_off(query, get_decoder(b, false)) ||
	     (answer->name_len && hl_symd_enables_irqs(b->payload->data + answer->name, answer->name_len))))
		answer->flags |= HL_SYMD_IRQS_OFF;
	return r < 0 ? r : hl_str_status(b->payload);
}

/* Puts what was inlined between the answers and the strings, whose offsets all grow by that. */
static int insert_inlined(struct batch *b, size_t n)
{
	size_t at = n * sizeof(struct hl_symd_answer), len = b->n_inlined * sizeof(*b->inlined);
	struct hl_symd_answer *answers;
	struct hl_str *out = b->payload;

	if (len == 0)
		return 0;
	/* Room for it, then everything behind the answers moves up. */
	hl_str_add(out, b->inlined, len);
	if (hl_str_status(out) < 0)
		return -ENOMEM;
	memmove(out->data + at + len, out->data + at, out->len - len - at);
	for (size_t i = 0; i < b->n_inlined; i++) {
		b->inlined[i].name += (uint32_t)len;
		b->inlined[i].file += (uint32_t)len;
	}
	memcpy(out->data + at, b->inlined, len);
	answers = (struct hl_symd_answer *)(void *)out->data;
	for (size_t i = 0; i < n; i++) {
		answers[i].name += (uint32_t)len;
		answers[i].text += (uint32_t)len;
		answers[i].module += (uint32_t)len;
		answers[i].file += (uint32_t)len;
	}
	return 0;
}

static void read_query(const struct batch *b, const void *bytes, size_t i, struct hl_symd_query *ret)
{
	struct hl_symd_brief_query brief;

	if (!b->brief) {
		memcpy(ret, (const char *)bytes + i * sizeof(*ret), sizeof(*ret));
		return;
	}
	memcpy(&brief, (const char *)bytes + i * sizeof(brief), sizeof(brief));
	*ret = (struct hl_symd_query){ .where = brief.where, .file = brief.file, .place = brief.place };
}

static void write_answer(const struct batch *b, size_t i, const struct hl_symd_answer *answer)
{
	const struct hl_symd_brief brief = { .address = answer->address,
					     .function = answer->function,
					     .size = answer->size,
					     .name = answer->name,
					     .name_len = answer->name_len,
					     .module = answer->module,
					     .module_len = answer->module_len,
					     .flags = answer->flags };

	if (b->brief)
		memcpy(b->payload->data + i * sizeof(brief), &brief, sizeof(brief));
	else
		memcpy(b->payload->data + i * sizeof(*answer), answer, sizeof(*answer));
}

int hl_symd_resolve_all(struct hl_symd_sources *sources, const void *bytes, size_t n, uint32_t flags,
			struct hl_str *ret_payload)
{
	const bool brief = flags & HL_SYMD_BRIEF;
	struct batch b = { .sources = sources,
			   .payload = ret_payload,
			   .intel = flags & HL_SYMD_INTEL,
			   .inlines = flags & HL_SYMD_WANT_INLINES && !brief,
			   .lines = flags & HL_SYMD_WANT_LINES && !brief,
			   .brief = brief };
	size_t size = n * (brief ? sizeof(struct hl_symd_brief) : sizeof(struct hl_symd_answer));
	struct hl_symd_answer answer;
	struct hl_symd_query query;
	char *answers;
	int r;

	hl_str_clear(ret_payload);
	answers = hl_str_extend(ret_payload, size);
	if (answers)
		memset(answers, 0, size);
	r = hl_str_status(ret_payload);
	for (size_t i = 0; i < n && r == 0; i++) {
		read_query(&b, bytes, i, &query);
		answer = (struct hl_symd_answer){ 0 };
		r = answer_one(&b, &query, &answer);
		if (r == 0)
			write_answer(&b, i, &answer);
	}
	if (r == 0)
		r = insert_inlined(&b, n);
	hl_index_done(&b.index);
	free(b.seen);
	free(b.inlined);
	return r;
}
