// SPDX-License-Identifier: BSD-2-Clause
#include "symd/client_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/spawn.h"
#include "base/str.h"
#include "symd/client.h"
#include "symd/wire.h"

/* On a busy host; a child that is up answers within its options' time. */
enum { START_MS = 30000 };
/*
 * A child that has not run at all, looked at STALLS times in a row, is stopped or waits for a disk or a server
 * that is dead. Looks are counted, not time: who was frozen with it has not looked.
 */
enum { LOOK_MS = 500, STALLS = 6 };

struct hl_symd_child {
	pid_t pid;
	int fd;     /* our end of the socket */
	int buffer; /* the memfd, -1: none */
	size_t buffer_size;
	uint32_t timeout_ms, guards;
	uint64_t wait_ms; /* how long a receive waits as of now; 0: for ever */
};

static int spawn(struct hl_symd_child *child, const struct hl_symd_options *options, int socket)
{
	char name[] = "hotleaf", command[64], memory[32];
	char *argv[] = { name, command, memory, NULL };

	(void)snprintf(command, sizeof(command), "%s", options->command ? options->command : "symd");
	(void)snprintf(memory, sizeof(memory), "--memory=%u", options->memory_mb);
	return hl_spawn_self(argv, NULL, socket, &child->pid);
}

uint64_t hl_symd_child_cpu_ns(const struct hl_symd_child *child)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(child->pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* From now on nothing is waited for longer than @ms. */
static void limit_wait(struct hl_symd_child *child, uint64_t ms)
{
	struct timeval limit = { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) };

	if (child->wait_ms == ms)
		return;
	(void)setsockopt(child->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	child->wait_ms = ms;
}

/* The next message, within @ms: one system call, where nothing disturbs it. */
static int receive(struct hl_symd_child *child, uint32_t ms, struct hl_wire_reply *ret, struct hl_err *err)
{
	uint64_t end = hl_monotonic_ns() + ms * UINT64_C(1000000), now, ran, ran_before = UINT64_MAX;
	unsigned int stalls = 0;
	struct iovec part = { ret, sizeof(*ret) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	limit_wait(child, ms < LOOK_MS ? ms : LOOK_MS);
	for (;;) {
		/* No room for descriptors: the kernel closes what may come. */
		n = recvmsg(child->fd, &message, 0);
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
		now = hl_monotonic_ns();
		if (now >= end)
			return hl_err_set(err, -ETIMEDOUT, "no answer in %u s", ms / 1000);
		if (errno == EINTR)
			continue;
		ran = hl_symd_child_cpu_ns(child);
		stalls = ran == ran_before ? stalls + 1 : 0;
		if (stalls == STALLS)
			return hl_err_set(err, -ETIMEDOUT, "no answer, and it has not run for %u s",
					  STALLS * LOOK_MS / 1000);
		ran_before = ran;
	}
	if (n < 0 && errno != ECONNRESET)
		return hl_err_errno(err, -errno, "its socket failed");
	if (n <= 0)
		return hl_err_set(err, -ECONNRESET, "it ended");
	if (n != sizeof(*ret) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return hl_err_set(err, -EPROTO, "its message is damaged");
	return 0;
}

static int send_request(const struct hl_symd_child *child, const struct hl_symd_request *request, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = { (void *)request, sizeof(*request) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS,
						   .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	if (sendmsg(child->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

/* Gives the child a buffer of at least @size bytes; fresh, hence all zero. */
static int give_buffer(struct hl_symd_child *child, uint64_t size, struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_WIRE_BUFFER, .length = size };
	int r;

	if (request.length < HL_WIRE_BUFFER_SIZE)
		request.length = HL_WIRE_BUFFER_SIZE;
	hl_cleanup_close(&child->buffer);
	child->buffer_size = 0;
	child->buffer = memfd_create("hotleaf-symd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (child->buffer < 0 || ftruncate(child->buffer, (off_t)request.length) < 0 ||
	    fcntl(child->buffer, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return hl_err_errno(err, -errno, "cannot make a buffer of %llu bytes",
				    (unsigned long long)request.length);
	r = send_request(child, &request, child->buffer);
	if (r < 0)
		return hl_err_errno(err, r, "cannot pass it a buffer");
	child->buffer_size = request.length;
	return 0;
}

static int write_all(int fd, const char *bytes, size_t len)
{
	ssize_t n;

	for (size_t done = 0; done < len; done += (size_t)n) {
		n = pwrite(fd, bytes + done, len - done, (off_t)done);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return 0;
}

/* Copies the payload out of the buffer. What the child changes afterwards changes nothing here. */
static int read_payload(const struct hl_symd_child *child, const struct hl_wire_reply *reply,
			struct hl_str *ret, struct hl_err *err)
{
	size_t len = reply->reply.length;
	char *bytes;
	ssize_t n;

	hl_str_clear(ret);
	bytes = hl_str_extend(ret, len);
	if (!bytes)
		return hl_err_errno(err, -ENOMEM, "no room for its answer");
	for (size_t done = 0; done < len; done += (size_t)n) {
		n = pread(child->buffer, bytes + done, len - done, (off_t)(reply->at + done));
		if (n <= 0)
			return hl_err_errno(err, n < 0 ? -errno : -EIO, "cannot read its answer");
	}
	return 0;
}

static int exchange(struct hl_symd_child *child, const struct hl_symd_request *request, const void *payload,
		    int fd, struct hl_wire_reply *reply, struct hl_err *err)
{
	int r;

	if (request->length > child->buffer_size) {
		r = give_buffer(child, request->length, err);
		if (r < 0)
			return r;
	}
	r = write_all(child->buffer, payload, request->length);
	if (r < 0)
		return hl_err_errno(err, r, "cannot write the request");
	r = send_request(child, request, fd);
	if (r < 0)
		return hl_err_errno(err, r, "cannot send the request");
	r = receive(child, child->timeout_ms, reply, err);
	if (r < 0 || reply->kind != HL_WIRE_GROW)
		return r;
	if (reply->reply.length > HL_WIRE_PAYLOAD_MAX)
		return hl_err_set(err, -EPROTO, "it announced an answer of %llu bytes",
				  (unsigned long long)reply->reply.length);
	r = give_buffer(child, reply->reply.length, err);
	return r < 0 ? r : receive(child, child->timeout_ms, reply, err);
}

int hl_symd_child_call(struct hl_symd_child *child, const struct hl_symd_request *request,
		       const void *payload, int fd, struct hl_symd_reply *ret, struct hl_str *ret_payload,
		       struct hl_err *err)
{
	struct hl_wire_reply reply = { 0 };
	int r;

	if (request->length > HL_WIRE_PAYLOAD_MAX)
		return hl_err_set(err, -E2BIG, "a request of %llu bytes",
				  (unsigned long long)request->length);
	r = exchange(child, request, payload, fd, &reply, err);
	if (r < 0)
		return r;
	if (reply.kind != HL_WIRE_REPLY || reply.at > child->buffer_size ||
	    reply.reply.length > child->buffer_size - reply.at)
		return hl_err_set(err, -EPROTO, "its answer of %llu bytes is damaged",
				  (unsigned long long)reply.reply.length);
	r = read_payload(child, &reply, ret_payload, err);
	if (r == 0 && child->buffer_size > HL_WIRE_BUFFER_SIZE)
		r = give_buffer(child, 0, err);
	if (r == 0)
		*ret = reply.reply;
	return r;
}

static int greet(struct hl_symd_child *child, struct hl_err *err)
{
	struct hl_wire_reply hello = { 0 };
	int r = receive(child, START_MS, &hello, err);

	if (r < 0)
		return r;
	if (hello.kind != HL_WIRE_HELLO || hello.version != HL_SYMD_VERSION)
		return hl_err_set(err, -EPROTO, "it speaks version %u, not %u", hello.version,
				  HL_SYMD_VERSION);
	child->guards = hello.guards;
	return give_buffer(child, 0, err);
}

int hl_symd_child_start(const struct hl_symd_options *options, struct hl_symd_child **ret, struct hl_err *err)
{
	struct hl_symd_child *child = malloc(sizeof(*child));
	int ends[2], r;

	*ret = child;
	if (!child)
		return hl_err_errno(err, -ENOMEM, "cannot start symd");
	*child = (struct hl_symd_child){ .fd = -1, .buffer = -1, .timeout_ms = options->timeout_ms };
	r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
	if (r == 0) {
		child->fd = ends[0];
		r = spawn(child, options, ends[1]);
		(void)close(ends[1]);
	}
	if (r < 0)
		(void)hl_err_errno(err, r, "cannot start symd");
	else if ((r = greet(child, err)) < 0)
		(void)hl_err_prefix(err, r, "cannot start symd");
	return r;
}

uint32_t hl_symd_child_guards(const struct hl_symd_child *child)
{
	return child->guards;
}

static uint64_t to_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

void hl_symd_child_kill(struct hl_symd_child *child)
{
	hl_cleanup_close(&child->fd);
	hl_cleanup_close(&child->buffer);
	child->fd = child->buffer = -1;
	if (child->pid > 0)
		(void)kill(child->pid, SIGKILL);
}

bool hl_symd_child_reap(struct hl_symd_child *child, uint32_t ms, uint64_t *cpu_ns)
{
	const struct timespec tick = { 0, 1000000 };
	struct rusage used = { 0 };
	pid_t ended = child->pid > 0 ? 0 : -1;

	/* Without a process, -1 at once, and so it is should someone else have waited for it. */
	for (uint32_t waited = 0; ended == 0 && waited <= ms; waited++) {
		ended = wait4(child->pid, NULL, WNOHANG, &used);
		if (ended == 0 && waited < ms)
			(void)nanosleep(&tick, NULL);
	}
	if (ended == 0)
		return false;
	*cpu_ns += to_ns(&used.ru_utime) + to_ns(&used.ru_stime);
	free(child);
	return true;
}
