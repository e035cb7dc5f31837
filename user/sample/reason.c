// SPDX-License-Identifier: BSD-2-Clause
#include "sample/reason.h"

#include <stddef.h>

#include <hotleaf/abi.h>

static const struct hl_reason walk_reasons[HL_WALK_MAX] = {
	[HL_WALK_DEPTH] = { "truncated", "the stack is deeper than the limit; raise --max-depth" },
	[HL_WALK_NO_MAPPING] = { "no mapping",
				 "the next frame lies in no executable mapping: the code in between "
				 "keeps no frame pointer" },
	[HL_WALK_NO_CALL] = { "no call",
			      "the next address follows no call: the code in between keeps no frame "
			      "pointer" },
	[HL_WALK_BAD_FP] = { "no frame pointer",
			     "the frame pointer register does not point at the stack: the "
			     "code uses it for something else" },
	[HL_WALK_FAULT] = { "fault",
			    "memory of the stack, or of the code that it leads to, could not be read in "
			    "an interrupt: it is not, or not yet, in the page tables" },
	[HL_WALK_BAD_CFA] = { "bad frame", "the unwind table gave a frame below the one before" },
	[HL_WALK_IP_UNMAPPED] = { "ip unmapped",
				  "the sampled address lies in no executable mapping: the mapping "
				  "was changing" },
	[HL_WALK_NO_TABLE] = { "no table yet", "a file's unwind table was still being built: callers may be "
					       "missing" },
	[HL_WALK_DROPPED] = { "table dropped", "there was no room for a file's unwind table, callers may be "
					       "missing: raise --unwind-memory" },
	[HL_WALK_UNSUPPORTED] = { "unsupported",
				  "the unwind information uses a form that the table cannot hold, or "
				  "registers that are not known here" },
	[HL_WALK_KERNEL_LIMIT] = { "kernel stack limit", "kernel stacks end at sysctl "
							 "kernel.perf_event_max_stack" },
};

static const struct hl_reason counter_reasons[HL_COUNTER_MAX] = {
	[HL_COUNTER_NO_SIDE] = { "internal map missing", "a defect in hotleaf: please report it" },
	[HL_COUNTER_COUNTS_FULL] = { "count map full",
				     "more distinct samples in a second than the map holds; "
				     "raise --map-samples or lower -F" },
	[HL_COUNTER_COUNTS_BUSY] = { "count map busy",
				     "the sample interrupted an update of the same bucket" },
	[HL_COUNTER_COUNTS_NOMEM] = { "count map out of memory", "the kernel had no memory for the entry" },
	[HL_COUNTER_COUNTS_OTHER] = { "count map error", "the kernel refused the update" },
	[HL_COUNTER_STACK_FULL] = { "stack map full",
				    "counted without callers: more distinct stacks in a second "
				    "than the map holds; raise --map-stacks or lower -F" },
	[HL_COUNTER_STACK_BUSY] = { "stack map busy",
				    "counted without callers: the sample interrupted an update "
				    "of the same bucket" },
	[HL_COUNTER_STACK_NOMEM] = { "stack map out of memory", "counted without callers: the kernel had no "
								"memory ready for the stack" },
	[HL_COUNTER_STACK_OTHER] = { "stack map error",
				     "counted without callers: the kernel refused the update" },
	[HL_COUNTER_KSTACK_FAILED] = { "kernel stack failed", "the kernel gave no stack for a sample in the "
							      "kernel" },
	[HL_COUNTER_PROCESS_FULL] = { "process map full",
				      "more processes in a second than the map holds: shown by the "
				      "name of their thread; raise --map-processes" },
	[HL_COUNTER_FILES_FULL] = { "file map full",
				    "more than 65,533 files at once: frames of the rest have no name" },
	[HL_COUNTER_EVENT_LOST] = { "file events delayed",
				    "the ring buffer was full: those files were announced "
				    "again by a later sample" },
};

const struct hl_reason *hl_reason_of_walk(uint8_t end)
{
	return end < HL_WALK_MAX && walk_reasons[end].name ? &walk_reasons[end] : NULL;
}

const struct hl_reason *hl_reason_of_counter(unsigned int counter)
{
	return counter < HL_COUNTER_MAX && counter_reasons[counter].name ? &counter_reasons[counter] : NULL;
}
