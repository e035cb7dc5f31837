/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CONTAINER_SOCKET_H
#define HL_PROCESS_CONTAINER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_cgroup_place;
struct hl_container;
struct hl_err;

/*
 * Sockets at which container runtimes answer HTTP as Docker's engine does: dockerd, and podman's `podman system
 * service`. Who may write there may do anything on the host; all that is asked is to show one container. A runtime
 * that does not answer in HL_ASK_MS, or not in HTTP, is left alone for HL_ASK_REST_S. For one thread.
 */
struct hl_container_sockets;

enum { HL_ASK_MS = 1000, HL_ASK_REST_S = 60 };

/* Whether @path can be that of a socket. 0, or -EINVAL with a sentence. */
int hl_container_socket_check(const char *path, struct hl_err *err);

/* Of sockets at the @n @paths, which stay the caller's and must live as long. NULL: no memory. */
struct hl_container_sockets *hl_container_sockets_new(const char *const *paths, size_t n);
void hl_container_sockets_free(struct hl_container_sockets *sockets);

/* Whether a runtime with such a socket may know the container, and its name can be believed. */
bool hl_container_sockets_may_know(const struct hl_cgroup_place *place);

/*
 * The container of that id, described, from the first socket whose runtime knows it; to be freed by the caller. More
 * may be found below @root_fd, see hl_container_read(). 0; -ENOENT: no runtime knows it, or what it said could not be
 * used; -EAGAIN: one that may know it did not answer, or is left alone: ask again at hl_container_sockets_due_ns();
 * -ENOMEM. Failures are counted.
 */
int hl_container_sockets_ask(struct hl_container_sockets *sockets, int root_fd,
			     const struct hl_cgroup_place *place, struct hl_container **ret);

/* When, by CLOCK_MONOTONIC, one that is left alone may be asked again; the past, if none is. */
uint64_t hl_container_sockets_due_ns(const struct hl_container_sockets *sockets);

/* How many questions failed so far, and in @ret_why a sentence about the first. */
uint64_t hl_container_sockets_failures(const struct hl_container_sockets *sockets, const char **ret_why);

#endif
