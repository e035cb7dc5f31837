// SPDX-License-Identifier: BSD-2-Clause
#include "symd/client_entry.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"

enum { ENTRY_MAX = 512 << 20 };

static const char magic[8] = "hotleafC";

/* In front of an entry's bytes, and of the list of contents. In the machine's byte order: it stays here. */
struct header {
	char magic[8];
	uint32_t kind, reserved;
	uint8_t id[16];
	struct hl_id program; /* of the version that wrote it */
	uint64_t length;
	struct hl_id check; /* of the bytes */
};

_Static_assert(sizeof(struct header) == HL_ENTRY_HEADER, "what follows it is aligned");

/* The build-id of the program itself, the first of the objects. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct hl_id *ret = ctx;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr);
		const char *end = at + (p->p_type == PT_NOTE ? p->p_memsz : 0);

		while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);
			const char *id = name + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4))
				*ret = hl_id_of(id, note->n_descsz);
			at = id + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 1;
}

struct hl_id hl_entry_program(void)
{
	struct hl_id id = hl_id_of(HL_VERSION, sizeof(HL_VERSION));

	(void)dl_iterate_phdr(find_build_id, &id);
	return id;
}

int hl_entry_read(int fd, const struct hl_entry_key *key, uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ char *bytes = NULL;
	struct header header;
	struct hl_id check;
	size_t len;
	int r = hl_read_fd(fd, ENTRY_MAX, &bytes, &len);

	if (r < 0)
		return r == -EMEDIUMTYPE ? -EBADMSG : r;
	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	len -= sizeof(header);
	if (memcmp(header.magic, magic, sizeof(magic)) != 0 || header.kind != key->kind ||
	    memcmp(header.id, key->id, sizeof(header.id)) != 0 || header.length != len)
		return -EBADMSG;
	if (!hl_id_equal(header.program, key->program))
		return -ESTALE;
	check = hl_id_of(bytes + sizeof(header), len);
	if (!hl_id_equal(header.check, check))
		return -EBADMSG;
	*ret = (uint8_t *)TAKE_PTR(bytes);
	*ret_len = len;
	return 0;
}

int hl_entry_write(const char *dir, const char *name, const struct hl_entry_key *key, const void *bytes,
		   size_t len)
{
	struct header header = {
		.kind = key->kind, .program = key->program, .length = len, .check = hl_id_of(bytes, len)
	};
	_cleanup_(hl_output_freep) struct hl_output *output = NULL;
	_cleanup_free_ char *path = NULL;

	if (len > ENTRY_MAX - sizeof(header))
		return -EFBIG;
	memcpy(header.magic, magic, sizeof(magic));
	memcpy(header.id, key->id, sizeof(header.id));
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	output = hl_output_new(path, NULL);
	if (!output)
		return -EIO;
	(void)fwrite(&header, sizeof(header), 1, hl_output_stream(output));
	(void)fwrite(bytes, 1, len, hl_output_stream(output));
	return hl_output_commit(output, NULL);
}
