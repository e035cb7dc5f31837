// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample */
#include <string.h>

#include <hotleaf/abi.h>

#include "harness.h"
#include "sample/reason.h"

HL_TEST(each_reason_is_found_as_outputs_spell_it)
{
	const struct hl_reason *reason;
	char text[100];
	size_t n = 0;

	for (; (reason = hl_reason_at(n)); n++) {
		CHECK(hl_reason_find(reason->name) == reason);
		(void)snprintf(text, sizeof(text), "[unwind: %s]", reason->name);
		CHECK(hl_reason_find(text) == reason);
		(void)snprintf(text, sizeof(text), "(%s)", reason->name);
		CHECK(hl_reason_find(text) == reason);
		CHECK(strlen(reason->help) > 10 && reason->help[strlen(reason->help) - 1] != '.');
		CHECK(strlen(reason->more) > 10 && reason->more[strlen(reason->more) - 1] == '.');
	}
	CHECK(n > 30);
	CHECK(hl_reason_at(n + 1) == NULL);
	CHECK(hl_reason_find("No Call") == hl_reason_of_walk(HL_WALK_NO_CALL));
	CHECK_STR(hl_reason_find("(disabled by '/etc/hotleaf/disabled')")->name, "disabled");
	CHECK_STR(hl_reason_find("the store was too slow")->name, "not stored");
}

/* Nothing can be lost for a reason that nobody can look up. */
HL_TEST(nothing_lacks_a_reason)
{
	for (int end = HL_WALK_COMPLETE + 1; end < HL_WALK_MAX; end++)
		CHECK(hl_reason_of_walk((uint8_t)end) != NULL);
	CHECK(hl_reason_of_walk(HL_WALK_COMPLETE) == NULL);
	/* Behind the losses, but for one that "without text" tells of, come figures of the mapping cache. */
	for (unsigned int i = HL_COUNTER_NO_SIDE; i < HL_COUNTER_MAPPING_HIT; i++)
		CHECK((hl_reason_of_counter(i) != NULL) == (i != HL_COUNTER_NO_CODE));
	for (int i = 0; i < HL_LACKS; i++)
		CHECK(hl_reason_of_lack(i)->name != NULL);
}

HL_TEST(other_words_are_no_reason)
{
	CHECK(hl_reason_find("") == NULL);
	CHECK(hl_reason_find("[unwind: ]") == NULL);
	CHECK(hl_reason_find("no") == NULL);
	CHECK(hl_reason_find("no call at all") == NULL);
}
