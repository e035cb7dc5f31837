/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_SYSTEM_AGENT_H
#define HL_TESTS_SYSTEM_AGENT_H

#include <sys/types.h>

/*
 * Starts an agent in the background, which reads no settings, and whose store is "store" in the test's directory,
 * in windows of two seconds; "disabled" there switches it off. All that it says is added to the file "said".
 * Needs root: skips otherwise.
 */
pid_t start_agent(const char *options);
/* Ends it as a service manager does; it must succeed. */
void end_agent(pid_t pid);

#endif
