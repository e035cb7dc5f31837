/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_TABLE_THREAD_H
#define HL_COMMAND_TABLE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_cache;
struct hl_err;
struct hl_symd;

/*
 * A thread that has unwind tables compiled, one at a time. A table takes up to a second, more on a busy host;
 * files and containers have to be opened meanwhile, since their processes may be gone by then.
 */
struct hl_table_thread;

/* Uses @symd, and @cache if that is not NULL, alone until hl_table_thread_free(). 0 or -errno. */
int hl_table_thread_new(struct hl_symd *symd, struct hl_cache *cache, struct hl_table_thread **ret,
			struct hl_err *err);
/* Waits for the table that is being compiled. Accepts NULL. */
void hl_table_thread_free(struct hl_table_thread *thread);

/* Readable while a table is there to be taken. The thread's. */
int hl_table_thread_fd(const struct hl_table_thread *thread);
/* The file whose table was started and is not taken yet; 0: none, another may be started. */
uint32_t hl_table_thread_busy(const struct hl_table_thread *thread);
/* Starts the table of file @id, not 0. @fd stays the caller's, who keeps it open until the table is taken. */
void hl_table_thread_start(struct hl_table_thread *thread, uint32_t id, int fd);
/*
 * Takes what was started, if it is done: true, and *@ret_bytes, to be released with free(), are of the file that
 * was busy; NULL if it has no table.
 */
bool hl_table_thread_take(struct hl_table_thread *thread, uint8_t **ret_bytes, size_t *ret_len);

#endif
