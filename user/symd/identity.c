// SPDX-License-Identifier: BSD-2-Clause
#include "symd/identity.h"

#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/elf.h"
#include <hotleaf/symd.h>

enum { CHUNK = 256 * 1024 };
#define MAX_HASHED (1ull << 30)

HL_DEFINE_CLEANUP(EVP_MD_CTX, EVP_MD_CTX_free)

/* Hashes @size bytes at @offset, or what the file has of them; -E2BIG once *@left is used up. */
static int hash_bytes(const struct hl_elf *elf, EVP_MD_CTX *sha, void *buffer, uint64_t offset, uint64_t size,
		      uint64_t *left)
{
	uint64_t want;
	long n;

	while (size) {
		if (*left == 0)
			return -E2BIG;
		want = size < CHUNK ? size : CHUNK;
		if (want > *left)
			want = *left;
		n = hl_elf_read_some(elf, offset, buffer, (size_t)want);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		if (EVP_DigestUpdate(sha, buffer, (size_t)n) != 1)
			return -EIO;
		offset += (uint64_t)n;
		size -= (uint64_t)n;
		*left -= (uint64_t)n;
	}
	return 0;
}

static int hash_code(const struct hl_elf *elf, EVP_MD_CTX *sha)
{
	_cleanup_free_ void *buffer = malloc(CHUNK);
	const struct hl_elf_segment *s = NULL;
	uint64_t left = MAX_HASHED, size = hl_elf_size(elf);
	int r = 0;

	if (!buffer)
		return -ENOMEM;
	while (r == 0 && (s = hl_elf_next_code(elf, s))) {
		uint64_t bounds[2] = { s->address, s->file_size };

		if (EVP_DigestUpdate(sha, bounds, sizeof(bounds)) != 1)
			return -EIO;
		r = hash_bytes(elf, sha, buffer, s->offset, s->file_size, &left);
	}
	if (r != -E2BIG)
		return r;
	return EVP_DigestUpdate(sha, &size, sizeof(size)) == 1 ? 0 : -EIO;
}

static int hash_whole(const struct hl_elf *elf, EVP_MD_CTX *sha, uint64_t *left)
{
	_cleanup_free_ void *buffer = malloc(CHUNK);
	uint64_t size = hl_elf_size(elf);

	if (!buffer)
		return -ENOMEM;
	if (EVP_DigestUpdate(sha, &size, sizeof(size)) != 1)
		return -EIO;
	return hash_bytes(elf, sha, buffer, 0, size, left);
}

int hl_symd_content(const struct hl_elf *const *files, size_t n, uint8_t ret[HL_SYMD_CONTENT_ID],
		    struct hl_err *err)
{
	_cleanup_(EVP_MD_CTX_freep) EVP_MD_CTX *sha = EVP_MD_CTX_new();
	uint8_t digest[EVP_MAX_MD_SIZE];
	uint64_t left = MAX_HASHED, size = 0;
	int r = sha ? 0 : -ENOMEM;

	if (r == 0 && EVP_DigestInit_ex(sha, EVP_sha256(), NULL) != 1)
		r = -EIO;
	/* Before anything is read: a sparse file is made at no cost. */
	for (size_t i = 0; i < n && r == 0; i++) {
		if (files[i] && hl_elf_size(files[i]) > MAX_HASHED - size)
			r = -E2BIG;
		else
			size += files[i] ? hl_elf_size(files[i]) : 0;
	}
	for (size_t i = 0; i < n && r == 0; i++)
		r = files[i] ? hash_whole(files[i], sha, &left) : 0;
	if (r == 0 && EVP_DigestFinal_ex(sha, digest, NULL) != 1)
		r = -EIO;
	if (r < 0)
		return hl_err_errno(err, r, "'%s': cannot hash its content", hl_elf_name(files[0]));
	memcpy(ret, digest, HL_SYMD_CONTENT_ID);
	return 0;
}

static int hash_file(const struct hl_elf *elf, const uint8_t *build_id, size_t len, uint8_t ret[16])
{
	_cleanup_(EVP_MD_CTX_freep) EVP_MD_CTX *sha = EVP_MD_CTX_new();
	uint8_t digest[EVP_MAX_MD_SIZE];
	int r;

	if (!sha)
		return -ENOMEM;
	if (EVP_DigestInit_ex(sha, EVP_sha256(), NULL) != 1)
		return -EIO;
	r = hash_code(elf, sha);
	if (r < 0)
		return r;
	if (EVP_DigestUpdate(sha, build_id, len) != 1 || EVP_DigestFinal_ex(sha, digest, NULL) != 1)
		return -EIO;
	memcpy(ret, digest, 16);
	return 0;
}

int hl_symd_identify(const struct hl_elf *elf, struct hl_symd_file *ret, struct hl_err *err)
{
	int r;

	ret->build_id_len = (uint32_t)hl_elf_build_id(elf, ret->build_id);
	if (!hl_elf_debuglink(elf, ret->debuglink, &ret->debuglink_crc))
		ret->debuglink[0] = '\0';
	r = hash_file(elf, ret->build_id, ret->build_id_len, ret->binary_id);
	if (r < 0)
		return hl_err_errno(err, r, "'%s': cannot hash its code", hl_elf_name(elf));
	return 0;
}

int hl_symd_match_debug(const struct hl_elf *elf, const struct hl_elf *debug, struct hl_err *err)
{
	uint8_t id[HL_ELF_BUILD_ID_MAX], debug_id[HL_ELF_BUILD_ID_MAX];
	size_t len = hl_elf_build_id(elf, id), debug_len = hl_elf_build_id(debug, debug_id);
	char name[HL_ELF_DEBUGLINK_MAX];
	uint32_t crc, debug_crc;
	int r;

	if (hl_elf_machine(elf) != hl_elf_machine(debug) || hl_elf_is_64(elf) != hl_elf_is_64(debug))
		return hl_err_set(err, -ESTALE, "'%s' is for another machine than '%s'", hl_elf_name(debug),
				  hl_elf_name(elf));
	if (len && debug_len) {
		if (len == debug_len && memcmp(id, debug_id, len) == 0)
			return 0;
		return hl_err_set(err, -ESTALE, "'%s' has another build-id than '%s'", hl_elf_name(debug),
				  hl_elf_name(elf));
	}
	if (!hl_elf_debuglink(elf, name, &crc))
		return hl_err_set(err, -ESTALE,
				  "'%s' has neither a build-id nor a debuglink by which to know '%s'",
				  hl_elf_name(elf), hl_elf_name(debug));
	r = hl_elf_crc(debug, &debug_crc, err);
	if (r < 0)
		return r;
	if (crc != debug_crc)
		return hl_err_set(err, -ESTALE, "'%s' has CRC %08x, the debuglink of '%s' says %08x",
				  hl_elf_name(debug), debug_crc, hl_elf_name(elf), crc);
	return 0;
}
