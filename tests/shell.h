/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_SHELL_H
#define HL_TESTS_SHELL_H

#include <stdarg.h>
#include <stddef.h>

/* Shell commands of tests, in printf's form. */

/* The exit status of a command. */
int shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* As shell(), but any status but 0 fails the test. */
void must(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* All that a command prints on stdout and stderr, static; its exit status in @ret_status unless NULL. */
const char *output_of(int *ret_status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts a command together; one that does not fit into @size fails the test. */
void shell_format(char *text, size_t size, const char *fmt, va_list ap);
/* What a shell would say of what wait() said: 128 and more for a signal. */
int shell_status(int wait_status);

#endif
