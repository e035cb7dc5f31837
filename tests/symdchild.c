// SPDX-License-Identifier: BSD-2-Clause
/* Makes a test program its own symd. */
#include <string.h>

#include "harness.h"
#include "symd/child.h"

void hl_test_instead(const char *word, char **arguments)
{
	if (strcmp(word, "symd") == 0)
		hl_symd_child_run(0);
}
