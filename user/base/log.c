// SPDX-License-Identifier: BSD-2-Clause
#include "base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

/* The log's own state: the one place of the program that has any. */
static struct {
	enum hl_log_level level;
	hl_log_sink_fn sink;
	void *ctx;
	const char *debug; /* HOTLEAF_DEBUG */
	_Atomic(struct hl_log_site *) sites;
} state = { .level = HL_LOG_WARNING };

static pthread_once_t read_environment = PTHREAD_ONCE_INIT;

static void read_debug(void)
{
	state.debug = secure_getenv("HOTLEAF_DEBUG");
}

void hl_log_setup(enum hl_log_level level, hl_log_sink_fn sink, void *ctx)
{
	state.level = level;
	state.sink = sink;
	state.ctx = ctx;
}

/* True if @area stands in the list of words @list, or "all" does. */
static bool is_listed(const char *list, const char *area)
{
	size_t len = strlen(area);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if ((n == len && memcmp(list, area, n) == 0) || (n == 3 && memcmp(list, "all", 3) == 0))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

bool hl_log_wants(enum hl_log_level level, const char *area)
{
	if (level <= state.level)
		return true;
	(void)pthread_once(&read_environment, read_debug);
	return level == HL_LOG_DEBUG && state.debug && is_listed(state.debug, area);
}

/* As systemd.exec(5) describes JOURNAL_STREAM: who redirects stderr does not change it. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
	       st.st_dev == device && st.st_ino == inode;
}

const char *hl_log_prefix(enum hl_log_level level)
{
	static const char *const prefixes[] = { [HL_LOG_ERROR] = "<3>",
						[HL_LOG_WARNING] = "<4>",
						[HL_LOG_INFO] = "<6>",
						[HL_LOG_DEBUG] = "<7>" };

	return is_journal() ? prefixes[level] : "";
}

static void print(enum hl_log_level level, const char *line)
{
	_cleanup_str_ struct hl_str s = { 0 };

	if (state.sink) {
		state.sink(state.ctx, level, line);
		return;
	}
	hl_str_adds(&s, hl_log_prefix(level));
	hl_str_adds(&s, "hotleaf: ");
	hl_str_add_clean(&s, line, strlen(line));
	hl_str_addc(&s, '\n');
	/* Where even this fails there is nobody left to tell. */
	if (hl_str_status(&s) == 0 && write(STDERR_FILENO, s.data, s.len) < 0)
		return;
}

void hl_log(enum hl_log_level level, const char *area, const char *fmt, ...)
{
	char text[1024];
	size_t len = 0;
	va_list ap;

	if (!hl_log_wants(level, area))
		return;
	if (level == HL_LOG_DEBUG)
		len = (size_t)snprintf(text, 64, "%.40s: ", area);
	va_start(ap, fmt);
	(void)vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
	print(level, text);
}

void hl_log_at(struct hl_log_site *site, const char *fmt, ...)
{
	va_list ap;

	if (atomic_fetch_add(&site->count, 1) != 0)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(site->text, sizeof(site->text), fmt, ap);
	va_end(ap);
	hl_log(site->level, site->area, "%s", site->text);
	site->next = atomic_load(&state.sites);
	while (!atomic_compare_exchange_weak(&state.sites, &site->next, site))
		continue;
}

void hl_log_repeats(void)
{
	for (struct hl_log_site *site = atomic_load(&state.sites); site; site = site->next) {
		unsigned long more = atomic_load(&site->count) - 1;

		if (more > 0)
			hl_log(site->level, site->area, "%lu more times: %s", more, site->text);
	}
}
