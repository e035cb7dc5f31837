// SPDX-License-Identifier: BSD-2-Clause
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int hl_err_set(struct hl_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int hl_err_errno(struct hl_err *err, int code, const char *fmt, ...)
{
	char what[sizeof(err->text)];
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)snprintf(err->text, sizeof(err->text), "%.400s: %s", what, strerror(-code));
	return code;
}

int hl_err_prefix(struct hl_err *err, int code, const char *fmt, ...)
{
	char prefix[sizeof(err->text)];
	struct hl_err old;
	va_list ap;

	if (!err)
		return code;
	old = *err;
	va_start(ap, fmt);
	(void)vsnprintf(prefix, sizeof(prefix), fmt, ap);
	va_end(ap);
	(void)snprintf(err->text, sizeof(err->text), "%.200s: %.300s", prefix, old.text);
	return code;
}
