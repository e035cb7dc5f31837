// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/fuzzing */
/* What comes from a runtime's socket: an answer in HTTP, with or without an end, and a container by its body. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fuzzing.h"
#include "process/cgroup_path.h"
#include "process/container.h"
#include "process/http_answer.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void read_container(const char *text, size_t len)
{
	struct hl_container *container = NULL;
	struct hl_cgroup_place place;
	struct hl_err err = { "" };
	int code;

	hl_cgroup_parse("/docker/" HEX, &place);
	code = hl_container_read_answer(-1, &place, text, len, &container, &err);
	MUST((code == 0) == (container != NULL) && (code == 0) == !err.text[0]);
	if (container)
		MUST(container->described && container->name && strcmp(container->id, HEX) == 0);
	hl_container_free(container);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hl_http_answer answer;
	bool ended = size && data[0] & 1;
	char *text;
	int code;

	if (!size)
		return 0;
	/* Of its very length, so that reading beyond it is found. */
	text = malloc(size);
	MUST(text);
	memcpy(text, data + 1, size - 1);
	code = hl_http_answer_parse(text, size - 1, ended, &answer);
	MUST(code == 0 || code == -EBADMSG || (code == -EAGAIN && !ended));
	if (!code) {
		MUST(answer.status <= 999 && answer.body >= text &&
		     answer.body + answer.len <= text + size - 1);
		read_container(answer.body, answer.len);
	}
	free(text);
	return 0;
}
