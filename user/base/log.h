/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_LOG_H
#define HL_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * One log for the whole program. Lines go to stderr as "hotleaf: …", each by one write, with control
 * characters made visible. Errors and warnings are printed, information too if the level says so; debug
 * lines only for the areas named by the environment: HOTLEAF_DEBUG=capture,process or HOTLEAF_DEBUG=all.
 * An area is the folder that speaks. Safe in threads.
 */
enum hl_log_level { HL_LOG_ERROR, HL_LOG_WARNING, HL_LOG_INFO, HL_LOG_DEBUG };

typedef void (*hl_log_sink_fn)(void *ctx, enum hl_log_level level, const char *line);

/* Prints up to @level and sends lines to @sink, NULL: stderr. Before the first thread starts. */
void hl_log_setup(enum hl_log_level level, hl_log_sink_fn sink, void *ctx);

/*
 * What a line for stderr begins with: "", or, where that is systemd's journal, the level in the form that it
 * understands (sd-daemon(3)), so that it can be asked for warnings alone. Static.
 */
const char *hl_log_prefix(enum hl_log_level level);

/* True if a line of that level and area would be printed: for work that only logging needs. */
bool hl_log_wants(enum hl_log_level level, const char *area);

void hl_log(enum hl_log_level level, const char *area, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define hl_debug(area, ...) hl_log(HL_LOG_DEBUG, area, __VA_ARGS__)

/* A place that logs its first trouble and counts the rest; static, zero-initialised but for the first two. */
struct hl_log_site {
	const char *area;
	enum hl_log_level level;
	atomic_ulong count;
	struct hl_log_site *next;
	char text[160]; /* of the first */
};

/* Counts one trouble at @site, and logs it if it is the first there. */
void hl_log_at(struct hl_log_site *site, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As hl_log(), but only the first time at this place; the others are counted. */
#define hl_log_once(at_level, in_area, ...)                                                      \
	do {                                                                                     \
		static struct hl_log_site hl_site_ = { .area = (in_area), .level = (at_level) }; \
		hl_log_at(&hl_site_, __VA_ARGS__);                                               \
	} while (0)

/* Says of each place that logged once how often it happened, where that is more than once. At the end. */
void hl_log_repeats(void);

#endif
