// SPDX-License-Identifier: BSD-2-Clause
/* needs: all tests/symdchild */
#include "command/kernel_names.h"

#include "base/err.h"
#include "harness.h"
#include "symd/client.h"
#include "symd/transport.h"

HL_TEST(names_are_read_again_every_five_seconds_at_most)
{
	const uint64_t second = 1000000000, start = 77 * second;
	struct hl_kernel_names names = { 0 };
	struct hl_err err = { "" };
	struct hl_symd_transport transport;
	struct hl_symd *symd;

	CHECK_INT(hl_symd_transport_local(&transport, &err), 0);
	symd = hl_symd_new_over(transport, &err);
	CHECK(symd);
	CHECK(hl_kernel_names_read(&names, symd, start));
	CHECK(!hl_kernel_names_read(&names, symd, start));
	CHECK(!hl_kernel_names_read(&names, symd, start + 5 * second - 1));
	CHECK(hl_kernel_names_read(&names, symd, start + 5 * second));
	CHECK(!hl_kernel_names_read(&names, symd, start + 6 * second));
	/* What went wrong is kept, what went right leaves nothing. */
	CHECK(!names.error == !names.why[0]);
	hl_symd_free(symd);
}
