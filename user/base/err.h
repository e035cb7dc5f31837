/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_ERR_H
#define HL_BASE_ERR_H

/*
 * One sentence about a failure, written where the failure is known: what, where, what to do. Lowercase,
 * no full stop, the subject in quotes. Owned by the caller; every function that takes one accepts NULL.
 */
struct hl_err {
	char text[512];
};

/*
 * Writes the sentence and returns @code, so that a caller can `return hl_err_set(err, -EINVAL, …)`.
 * A sentence longer than the buffer is cut. @err may be NULL.
 */
int hl_err_set(struct hl_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As hl_err_set, with ": strerror(-code)" appended. @code is 0 or a negative errno. */
int hl_err_errno(struct hl_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before the sentence that is there. Returns @code. */
int hl_err_prefix(struct hl_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
