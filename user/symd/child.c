// SPDX-License-Identifier: BSD-2-Clause
/* The child's side of wire.h. */
#include "symd/child.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/spawn.h"
#include "base/str.h"
#include "symd/sandbox.h"
#include "symd/server.h"
#include "symd/wire.h"

/* Freed memory beyond this goes back to the kernel after a request with a file. */
enum { KEPT_FREE = 100 << 20 };
/* A payload begins where any of the structs in it may. */
enum { PAYLOAD_ALIGN = 64 };

enum { STATUS_DONE = 0, STATUS_BROKEN = 1 };

struct buffer {
	char *map; /* NULL: none yet */
	size_t size;
};

/* Waits for the next request; @ret_fd: -1 without a descriptor. _exit, not exit: nothing is left to do. */
static void receive(struct hl_symd_request *ret, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { ret, sizeof(*ret) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	const struct cmsghdr *header;
	ssize_t n;

	do
		n = recvmsg(HL_SPAWN_FD, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		_exit(STATUS_DONE);
	if (n != sizeof(*ret) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		_exit(STATUS_BROKEN);
	*ret_fd = -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
}

static void send_message(const struct hl_wire_reply *reply)
{
	struct iovec part = { (void *)reply, sizeof(*reply) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (sendmsg(HL_SPAWN_FD, &message, MSG_NOSIGNAL) != sizeof(*reply))
		_exit(STATUS_DONE);
}

static void change_buffer(struct buffer *buffer, const struct hl_symd_request *request, int fd)
{
	if (buffer->map)
		(void)munmap(buffer->map, buffer->size);
	buffer->size = request->length;
	buffer->map = mmap(NULL, buffer->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (buffer->map == MAP_FAILED)
		_exit(STATUS_BROKEN);
}

/* Lets @payload be made in the buffer, behind the request. */
static void begin(const struct buffer *buffer, const struct hl_symd_request *request, struct hl_str *payload)
{
	size_t at = (request->length + PAYLOAD_ALIGN - 1) / PAYLOAD_ALIGN * PAYLOAD_ALIGN;

	hl_str_borrow(payload, buffer->map + at, at < buffer->size ? buffer->size - at : 0);
}

/* Sends @reply if its payload has room, else asks for the room. Returns whether it was sent. */
static bool answer(const struct buffer *buffer, struct hl_wire_reply *reply, const struct hl_str *payload)
{
	bool fits = payload->borrowed || payload->len <= buffer->size;

	reply->kind = fits ? HL_WIRE_REPLY : HL_WIRE_GROW;
	reply->at = payload->borrowed ? (uint32_t)(payload->data - buffer->map) : 0;
	if (fits && payload->len && !payload->borrowed)
		memcpy(buffer->map, payload->data, payload->len);
	send_message(reply);
	return fits;
}

bool hl_symd_child_is_wanted(void)
{
	socklen_t len = sizeof(int);
	int type;

	return getsockopt(HL_SPAWN_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

void hl_symd_child_serve(hl_symd_handle_fn handle, void *ctx, uint32_t memory_mb)
{
	struct hl_wire_reply reply = { .kind = HL_WIRE_HELLO, .version = HL_SYMD_VERSION };
	struct hl_str payload = { 0 };
	struct buffer buffer = { 0 };
	bool waits = false; /* the reply, for a larger buffer */

	(void)prctl(PR_SET_NAME, "hotleaf-symd", 0, 0, 0);
	reply.guards = hl_sandbox_enter(memory_mb);
	send_message(&reply);
	for (;;) {
		struct hl_symd_request request = { 0 };
		_cleanup_close_ int fd = -1;

		receive(&request, &fd);
		if (request.type == HL_WIRE_BUFFER) {
			change_buffer(&buffer, &request, fd);
			waits = waits && !answer(&buffer, &reply, &payload);
			continue;
		}
		if (request.length > buffer.size)
			_exit(STATUS_BROKEN);
		begin(&buffer, &request, &payload);
		handle(ctx, &request, buffer.map, request.length, fd, &reply.reply, &payload);
		waits = !answer(&buffer, &reply, &payload);
		if (fd >= 0 && mallinfo2().fordblks > KEPT_FREE)
			(void)malloc_trim(0);
	}
}

static void handle_in_server(void *ctx, const struct hl_symd_request *request, const void *payload,
			     size_t len, int fd, struct hl_symd_reply *ret, struct hl_str *ret_payload)
{
	hl_symd_server_handle(ctx, request, payload, len, fd, ret, ret_payload);
}

void hl_symd_child_run(uint32_t memory_mb)
{
	struct hl_symd_server *server = hl_symd_server_new();

	if (!server)
		_exit(STATUS_BROKEN);
	hl_symd_child_serve(handle_in_server, server, memory_mb);
}
