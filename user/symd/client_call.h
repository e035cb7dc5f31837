/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_CALL_H
#define HL_SYMD_CLIENT_CALL_H

/* What the files of the client share; private to this folder. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hotleaf/symd.h>

struct hl_cache;
struct hl_err;
struct hl_str;
struct hl_symd;

/*
 * Sends @request with its @payload, and @fd if that is not -1. 0 with the reply's payload in @ret, which lives
 * until the next request; or -errno: the server's, or -EPROTO for a reply that makes no sense.
 */
int hl_symd_call(struct hl_symd *symd, const struct hl_symd_request *request, const void *payload, int fd,
		 const struct hl_str **ret, struct hl_err *err);

/* @r, the result of a call and of the checks of its answer. -EPROTO: the server is not to be trusted. */
int hl_symd_checked(struct hl_symd *symd, int r);

/* As hl_symd_add_file() and hl_symd_add_debug(), with the table of functions, to be released with free(). */
int hl_symd_add_file_whole(struct hl_symd *symd, uint32_t file, int fd, struct hl_symd_file *ret,
			   uint8_t **ret_table, size_t *ret_len, struct hl_err *err);
int hl_symd_add_debug_whole(struct hl_symd *symd, uint32_t file, int fd, uint8_t **ret_table, size_t *ret_len,
			    struct hl_err *err);
/* Takes a description of a file from the server: 0 or -EPROTO. */
int hl_symd_take_file(uint32_t file, const void *bytes, size_t len, struct hl_symd_file *ret,
		      struct hl_err *err);

/*
 * What names all that the server has of a file, where that is known: the content of the running file, then of it
 * and its debug file. Forgotten when the file is given without saying what it is.
 */
struct hl_symd_content {
	uint8_t id[HL_SYMD_CONTENT_ID];
	bool known;
};
/* NULL: no memory. Lives until the next call of this. */
struct hl_symd_content *hl_symd_content_of(struct hl_symd *symd, uint32_t file);
/* Names the content of a file together with that of another that belongs to it. @ret may be one of them. */
void hl_symd_combine(const uint8_t file[HL_SYMD_CONTENT_ID], const uint8_t other[HL_SYMD_CONTENT_ID],
		     uint8_t ret[HL_SYMD_CONTENT_ID]);
/* The content of the file at @fd, which is not read again as long as it has not changed. 0 or -errno. */
int hl_symd_find_content(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd,
			 uint8_t ret[HL_SYMD_CONTENT_ID], struct hl_err *err);

#endif
