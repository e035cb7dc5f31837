/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_COMMAND_H
#define HL_TESTS_COMMAND_H

/* Commands as a shell calls them: their exit status, and what they write. */

/* What the last command wrote to stdout. */
extern char said[1 << 20];

/* Runs `hotleaf` with the words, up to a NULL, in this process; its exit status. stores_dir()/said has what it says. */
int command_run(const char *const *words);
/* `RUN("report", "-f", "json")` */
#define RUN(...) command_run((const char *const[]){ __VA_ARGS__, NULL })

/* Fails the test unless @text is part of what was said. */
void check_said(const char *text);

#endif
