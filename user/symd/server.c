// SPDX-License-Identifier: BSD-2-Clause
#include "symd/server.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "elf/elf.h"
#include "insn/insn.h"
#include "symbol/jitdump.h"
#include "symbol/kallsyms.h"
#include "symbol/symbol.h"
#include "symd/files.h"
#include "symd/identity.h"
#include "symd/lines.h"
#include "symd/list.h"
#include "symd/maps.h"
#include "symd/number.h"
#include "symd/resolve.h"
#include "symd/wire.h"
#include "unwind/unwind.h"

struct hl_symd_server {
	struct hl_symd_files files;
	struct hl_symd_maps maps;
	struct hl_kallsyms *kallsyms;
	struct hl_symd_sources sources;
};

_Static_assert(HL_SYMD_REFUSED_DEBUGDATA == HL_SYMBOLS_REFUSED_DEBUGDATA &&
		       HL_SYMD_REFUSED_FAR == HL_SYMBOLS_REFUSED_FAR,
	       "what was refused is passed on as it is");

struct hl_symd_server *hl_symd_server_new(void)
{
	struct hl_symd_server *server = calloc(1, sizeof(*server));

	if (server) {
		server->sources.files = &server->files;
		server->sources.maps = &server->maps;
	}
	return server;
}

void hl_symd_server_free(struct hl_symd_server *server)
{
	int i;

	if (!server)
		return;
	hl_symd_files_done(&server->files);
	hl_symd_maps_done(&server->maps);
	hl_kallsyms_free(server->kallsyms);
	for (i = 0; i < 4; i++)
		hl_decoder_free(server->sources.decoders[i / 2][i % 2]);
	free(server);
}

/* The table of file @number, where the request wants it. */
static int add_table(struct hl_symd_server *server, const struct hl_symd_request *request,
		     struct hl_str *payload)
{
	const struct hl_symd_known *known = hl_symd_files_get(&server->files, request->file);
	const void *bytes;
	size_t len;

	if (known && request->flags & HL_SYMD_WANT_TABLE) {
		bytes = hl_symbols_bytes(known->symbols, &len);
		hl_str_add(payload, bytes, len);
	}
	return hl_str_status(payload);
}

static int add_file(struct hl_symd_server *server, uint32_t number, int fd, struct hl_str *payload,
		    struct hl_err *err)
{
	struct hl_symd_file file = { 0 };
	const struct hl_elf_segment *s = NULL;
	struct hl_symd_known *known;
	int r = hl_symd_files_add(&server->files, number, fd, &known, err);

	if (r < 0)
		return r;
	r = hl_symd_identify(known->elf, &file, err);
	if (r < 0) {
		hl_symd_files_drop(&server->files, number);
		return r;
	}
	file.machine = hl_elf_machine(known->elf);
	while ((s = hl_elf_next_code(known->elf, s))) {
		if (file.n_segments < HL_SYMD_SEGMENTS_MAX)
			file.segments[file.n_segments] =
				(struct hl_symd_segment){ s->address, s->offset, s->memory_size,
							  s->file_size };
		file.n_segments++;
	}
	file.n_symbols = (uint32_t)hl_symbols_count(known->symbols);
	file.has_symtab = hl_elf_section_typed(known->elf, SHT_SYMTAB) != NULL;
	file.refused = hl_symbols_refused(known->symbols);
	hl_str_add(payload, &file, sizeof(file));
	return hl_str_status(payload);
}

static int add_debug(struct hl_symd_server *server, const struct hl_symd_request *request, int fd,
		     struct hl_str *payload, struct hl_err *err)
{
	int r = hl_symd_files_add_debug(&server->files, request->file, fd, err);

	return r < 0 ? r : add_table(server, request, payload);
}

static int add_names(struct hl_symd_server *server, uint32_t number, const void *payload, size_t len, int fd,
		     struct hl_str *ret_payload, struct hl_err *err)
{
	struct hl_symd_extent extent;
	struct hl_symd_file file;
	int r;

	if (len != sizeof(extent))
		return hl_err_set(err, -EINVAL, "the place of names is told in %zu bytes", len);
	memcpy(&extent, payload, sizeof(extent));
	r = hl_symd_files_add_names(&server->files, number, fd, &extent, &file, err);
	if (r < 0)
		return r;
	hl_str_add(ret_payload, &file, sizeof(file));
	return hl_str_status(ret_payload);
}

static int add_kallsyms(struct hl_symd_server *server, int fd, struct hl_err *err)
{
	struct hl_kallsyms *kallsyms;
	int r = hl_kallsyms_read(fd, &kallsyms, err);

	if (r < 0)
		return r;
	hl_kallsyms_free(server->kallsyms);
	server->kallsyms = kallsyms;
	server->sources.kallsyms = kallsyms;
	return 0;
}

static int add_map(struct hl_symd_server *server, uint32_t process, const void *payload, size_t len, int fd,
		   struct hl_str *ret_payload, struct hl_err *err)
{
	struct hl_symd_map_counts counts;
	struct hl_symd_map map;
	int r;

	if (len != sizeof(map) || !process)
		return hl_err_set(err, -EINVAL, "a map of process %u is described in %zu bytes", process,
				  len);
	memcpy(&map, payload, sizeof(map));
	r = hl_symd_maps_read(&server->maps, process, fd, &map, &counts, err);
	if (r < 0)
		return r;
	hl_str_add(ret_payload, &counts, sizeof(counts));
	return hl_str_status(ret_payload);
}

static int resolve(struct hl_symd_server *server, const struct hl_symd_request *request, const void *payload,
		   size_t len, struct hl_str *ret_payload, struct hl_err *err)
{
	uint32_t most = request->flags & HL_SYMD_BRIEF ? HL_SYMD_BRIEF_MAX : HL_SYMD_QUERIES_MAX;

	if (request->count > most || len != request->count * hl_symd_query_size(request))
		return hl_err_set(err, -EINVAL, "a request with %u queries has %zu bytes", request->count,
				  len);
	if (hl_symd_resolve_all(&server->sources, payload, request->count, request->flags, ret_payload) < 0)
		return hl_err_errno(err, -ENOMEM, "cannot answer %u queries", request->count);
	return 0;
}

static int unwind(uint32_t number, int fd, struct hl_str *ret_payload, struct hl_err *err)
{
	struct hl_unwind_result table = { 0 };
	struct hl_elf *elf = NULL;
	char name[32];
	int r;

	(void)snprintf(name, sizeof(name), "%s", HL_FILE_CALLED(number));
	r = hl_elf_open(fd, name, &elf, err);
	if (r < 0)
		return r;
	r = hl_unwind_compile(elf, &table, err);
	hl_elf_free(elf);
	if (r < 0)
		return r;
	hl_str_add(ret_payload, table.bytes, table.len);
	free(table.bytes);
	return hl_str_status(ret_payload) < 0 ? hl_err_errno(err, -ENOMEM, "%s", HL_FILE_CALLED(number)) : 0;
}

static int content(struct hl_symd_server *server, uint32_t number, int fd, struct hl_str *ret_payload,
		   struct hl_err *err)
{
	const struct hl_symd_known *known = fd < 0 ? hl_symd_files_get(&server->files, number) : NULL;
	const struct hl_elf *files[2] = { known ? known->elf : NULL, known ? known->debug : NULL };
	uint8_t id[HL_SYMD_CONTENT_ID];
	struct hl_elf *elf = NULL;
	char name[32];
	int r;

	(void)snprintf(name, sizeof(name), "%s", HL_FILE_CALLED(number));
	if (fd >= 0) {
		r = hl_elf_open_unread(fd, name, &elf, err);
		if (r < 0)
			return r;
		files[0] = elf;
	}
	if (!files[0])
		return hl_err_set(err, -ENOENT, "'%s' is not known", name);
	r = hl_symd_content(files, 2, id, err);
	hl_elf_free(elf);
	if (r < 0)
		return r;
	hl_str_add(ret_payload, id, sizeof(id));
	return hl_str_status(ret_payload);
}

/* Code is as long as a listing at most. */
static int code(const void *payload, size_t len, int fd, struct hl_str *ret_payload, struct hl_err *err)
{
	struct hl_symd_code wanted;
	char *bytes;

	if (len != sizeof(wanted) || fd < 0)
		return hl_err_set(err, -EINVAL, "code is asked for in %zu bytes", len);
	memcpy(&wanted, payload, sizeof(wanted));
	if (!wanted.size || wanted.size > HL_SYMD_LIST_MAX)
		return hl_err_set(err, -EINVAL, "%llu bytes of code are asked for",
				  (unsigned long long)wanted.size);
	bytes = hl_str_extend(ret_payload, (size_t)wanted.size);
	if (!bytes)
		return hl_err_errno(err, -ENOMEM, "no room for code");
	return hl_jit_dump_find_code(fd, wanted.until_ns, wanted.start, (uint8_t *)bytes, (size_t)wanted.size,
				     err);
}

static int handle(struct hl_symd_server *server, const struct hl_symd_request *request, const void *payload,
		  size_t len, int fd, struct hl_str *ret_payload, struct hl_err *err)
{
	int r;

	switch (request->type) {
	case HL_SYMD_ADD_FILE:
		r = add_file(server, request->file, fd, ret_payload, err);
		return r < 0 ? r : add_table(server, request, ret_payload);
	case HL_SYMD_ADD_DEBUG:
		return add_debug(server, request, fd, ret_payload, err);
	case HL_SYMD_ADD_UNREAD:
		return hl_symd_files_add_unread(&server->files, request->file, fd,
						request->flags & HL_SYMD_OF_DEBUG, err);
	case HL_SYMD_ADD_NAMES:
		return add_names(server, request->file, payload, len, fd, ret_payload, err);
	case HL_SYMD_ADD_KALLSYMS:
		return add_kallsyms(server, fd, err);
	case HL_SYMD_RESOLVE:
		return resolve(server, request, payload, len, ret_payload, err);
	case HL_SYMD_DROP_FILE:
		hl_symd_files_drop(&server->files, request->file);
		return 0;
	case HL_SYMD_UNWIND:
		return unwind(request->file, fd, ret_payload, err);
	case HL_SYMD_ADD_MAP:
		return add_map(server, request->file, payload, len, fd, ret_payload, err);
	case HL_SYMD_ADD_ALT:
	case HL_SYMD_ADD_DWO:
	case HL_SYMD_LINES:
	case HL_SYMD_WANTED:
	case HL_SYMD_ADD_LINES:
		return hl_symd_lines_handle(&server->files, request, payload, len, fd, ret_payload, err);
	case HL_SYMD_CONTENT:
		return content(server, request->file, fd, ret_payload, err);
	case HL_SYMD_CODE:
		return code(payload, len, fd, ret_payload, err);
	case HL_SYMD_LIST:
		return hl_symd_list(&server->sources, payload, len, request->flags, ret_payload, err);
	default:
		return hl_err_set(err, -EOPNOTSUPP, "symd does not know request %u", request->type);
	}
}

void hl_symd_server_handle(struct hl_symd_server *server, const struct hl_symd_request *request,
			   const void *payload, size_t len, int fd, struct hl_symd_reply *ret,
			   struct hl_str *ret_payload)
{
	struct hl_err err = { "" };

	*ret = (struct hl_symd_reply){ 0 };
	hl_str_clear(ret_payload);
	server->files.now++;
	ret->status = handle(server, request, payload, len, fd, ret_payload, &err);
	if (ret->status < 0) {
		(void)snprintf(ret->error, sizeof(ret->error), "%.239s", err.text);
		hl_str_clear(ret_payload);
		return;
	}
	ret->count = request->type == HL_SYMD_RESOLVE ? request->count : ret_payload->len ? 1 : 0;
	ret->length = ret_payload->len;
}
