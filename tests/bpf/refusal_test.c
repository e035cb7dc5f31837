// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
#include <errno.h>
#include <unistd.h>

#include "base/err.h"
#include "capture/internal.h"
#include "harness.h"
#include "tests/bpf/refused.skel.h"

HL_TEST(a_refusal_names_the_verifiers_reason)
{
	struct hl_err err = { "" };
	struct refused_bpf *skel;
	int code;

	if (geteuid() != 0)
		SKIP("needs root");
	hl_refusal_listen();
	skel = refused_bpf__open();
	CHECK(skel);
	code = refused_bpf__load(skel);
	CHECK(code < 0);
	CHECK_INT(hl_refusal_explain(code, &err), code);
	NOTE("%s", err.text);
	CHECK(strstr(err.text, "invalid mem access"));
	CHECK(!strchr(err.text, '\n'));
	refused_bpf__destroy(skel);
}

HL_TEST(a_refusal_forgets_the_one_before)
{
	struct hl_err err = { "" };
	struct refused_bpf *skel;

	if (geteuid() != 0)
		SKIP("needs root");
	hl_refusal_listen();
	skel = refused_bpf__open();
	CHECK(skel && refused_bpf__load(skel) < 0);
	refused_bpf__destroy(skel);
	hl_refusal_listen();
	(void)hl_refusal_explain(-ENOMEM, &err);
	CHECK(!strstr(err.text, "invalid mem access"));
}
