// SPDX-License-Identifier: BSD-2-Clause
#include "sample/reason.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include <hotleaf/abi.h>

static const struct hl_reason walk_reasons[HL_WALK_MAX] = {
	[HL_WALK_DEPTH] = {
		"truncated", "the stack is deeper than the limit; raise --max-depth",
		"The frames nearest to the instruction are kept, those nearest to the thread's start are missing. "
		"Such stacks stand under their process in a frame [truncated], apart from the whole ones. Deep "
		"recursion is the usual cause. --max-depth goes up to 512.",
	},
	[HL_WALK_NO_MAPPING] = {
		"no mapping",
		"the next frame lies in no executable mapping: the code in between keeps no frame pointer",
		"Code without an unwind table (generated at run time, or assembly) is left by its frame pointer. "
		"That register held something else here, and what it led to is no code: rather than invent a "
		"caller, the walk ends. The instruction and the frames up to there are right. It is also the end where wrong "
		"unwind information led to a zero that is no stack's start. For JIT code, let the runtime keep "
		"frame pointers (Java: -XX:+PreserveFramePointer).",
	},
	[HL_WALK_NO_CALL] = {
		"no call",
		"the next address follows no call: the code in between keeps no frame pointer",
		"As \"no mapping\", but what the frame pointer led to lies in code. A return address stands behind a "
		"call instruction; this one does not, so it is no caller. The frames up to there are right.",
	},
	[HL_WALK_BAD_FP] = {
		"no frame pointer",
		"the frame pointer register does not point at the stack: the code uses it for something else",
		"The function has no unwind table, so only its frame pointer could lead to its caller, and it keeps "
		"none. Compile it with -fno-omit-frame-pointer, or so that it has .eh_frame "
		"(-fasynchronous-unwind-tables; in assembly, .cfi directives).",
	},
	[HL_WALK_FAULT] = {
		"fault",
		"memory of the stack, or of the code that it leads to, could not be read in an interrupt: it is "
		"not, or not yet, in the page tables",
		"A sample may not wait for a page. Stacks that were swapped out, or code that was mapped but never "
		"touched by this process, cannot be read then. A few are normal while programs start; many mean "
		"that the host swaps.",
	},
	[HL_WALK_BAD_CFA] = {
		"bad frame", "the unwind table gave a frame below the one before",
		"Stacks grow downwards, so callers lie above. The file's unwind information is wrong at this place, "
		"or the stack was switched by hand (coroutines, makecontext) in code that does not describe it.",
	},
	[HL_WALK_IP_UNMAPPED] = {
		"ip unmapped",
		"the sampled address lies in no executable mapping: the mapping was changing",
		"The process was unmapping or changing that code, or jumped to a wrong address and is about to get "
		"SIGSEGV. Nothing can be said about such a sample but its process.",
	},
	[HL_WALK_NO_TABLE] = {
		"no table yet", "a file's unwind table was still being built: callers are missing",
		"When a file is sampled first, its table is made, or found in the cache, within milliseconds to a "
		"second; of one that cannot be opened it never is. Without it a stack ends in the file's first frame, "
		"since a frame pointer might lead to a caller that is none. Files that run when sampling starts have "
		"their tables before. --cache keeps tables from one run to the next.",
	},
	[HL_WALK_DROPPED] = {
		"table dropped",
		"there was no room for a file's unwind table, callers are missing: raise --unwind-memory",
		"Tables of files that were not sampled for longest make room for new ones. When those of files that "
		"run all the time do not fit together, they displace each other, and stacks end where one would be needed.",
	},
	[HL_WALK_UNSUPPORTED] = {
		"unsupported",
		"the unwind information uses a form that the table cannot hold, or registers that are not known here",
		"The rule for this place needs a DWARF expression or a register that is not followed, or the file "
		"says that the frame has no caller that could be found. The frames up to there are right.",
	},
	[HL_WALK_KERNEL_LIMIT] = {
		"kernel stack limit", "kernel stacks end at sysctl kernel.perf_event_max_stack",
		"The frames nearest to the instruction are kept; those in between and the user's are joined without "
		"the missing ones. The sysctl (127 by default) can be raised while nothing is being sampled.",
	},
};

static const struct hl_reason counter_reasons[HL_COUNTER_MAX] = {
	[HL_COUNTER_NO_SIDE] = {
		"internal map missing", "a defect in hotleaf: please report it",
		"The program in the kernel did not find the map that it counts in. This cannot happen.",
	},
	[HL_COUNTER_COUNTS_FULL] = {
		"count map full",
		"more distinct samples in a second than the map holds; raise --map-samples or lower -F",
		"Samples that are alike share an entry. Very many processes or instructions in a second fill the map; "
		"the rest of that second is lost, so that what is shown leans to its beginning.",
	},
	[HL_COUNTER_COUNTS_BUSY] = {
		"count map busy", "the sample interrupted an update of the same bucket",
		"The kernel refuses to wait for a lock in an interrupt. Rare, and without a bias to speak of.",
	},
	[HL_COUNTER_COUNTS_NOMEM] = {
		"count map out of memory", "the kernel had no memory for the entry",
		"Memory of the cgroup that hotleaf runs in, or of the host, is used up: BPF maps are charged to it.",
	},
	[HL_COUNTER_COUNTS_OTHER] = {
		"count map error", "the kernel refused the update",
		"With an error that is not expected here. Please report it, with the kernel's version.",
	},
	[HL_COUNTER_STACK_FULL] = {
		"stack map full",
		"counted without callers: more distinct stacks in a second than the map holds; raise --map-stacks "
		"or lower -F",
		"The sample and its instruction are counted, but stand directly under their process.",
	},
	[HL_COUNTER_STACK_BUSY] = {
		"stack map busy", "counted without callers: the sample interrupted an update of the same bucket",
		"The sample and its instruction are counted, but stand directly under their process. Rare.",
	},
	[HL_COUNTER_STACK_NOMEM] = {
		"stack map out of memory", "counted without callers: the kernel had no memory ready for the stack",
		"Memory for stacks is taken from a small reserve that the kernel refills after the interrupt. A burst "
		"of new stacks on one CPU can empty it; so does a cgroup that is at its limit.",
	},
	[HL_COUNTER_STACK_OTHER] = {
		"stack map error", "counted without callers: the kernel refused the update",
		"With an error that is not expected here. Please report it, with the kernel's version.",
	},
	[HL_COUNTER_KSTACK_FAILED] = {
		"kernel stack failed", "the kernel gave no stack for a sample in the kernel",
		"The kernel's own unwinder found nothing, as in the first instructions of an entry or an exception. "
		"The instruction is right; its callers in the kernel are missing.",
	},
	[HL_COUNTER_PROCESS_FULL] = {
		"process map full",
		"more processes in a second than the map holds: shown by the name of their thread; raise "
		"--map-processes",
		"Counts are right. Processes beyond the limit are called by the thread that was sampled, and their "
		"executable is not known.",
	},
	[HL_COUNTER_FILES_FULL] = {
		"file map full", "more than 65,533 files at once: frames of the rest have no name",
		"Files that are not run any more make room after some minutes when sampling goes on for long.",
	},
	[HL_COUNTER_EVENT_LOST] = {
		"file events delayed",
		"the ring buffer was full: those files were announced again by a later sample",
		"A storm of new files: their names and tables came later. Only files that were sampled once can lack "
		"a name for it.",
	},
};

static const struct hl_reason lacks[HL_LACKS] = {
	[HL_LACK_DELIVERY] = {
		"not delivered",
		"due by the clock, but the interrupt did not come: the CPU was halted or taken away by the "
		"hypervisor, interrupts were off, or the kernel throttled the event",
		"Samples are due at a fixed rate on each CPU. On a virtual machine the clock stops with an idle or "
		"descheduled CPU, which costs nothing but this number. While a host is busy it should be small; if it "
		"is not, look for \"interrupt took too long\" in the kernel's log, and lower -F.",
	},
	[HL_LACK_ROOM] = {
		"no room in memory", "more distinct samples than hotleaf keeps in one recording",
		"Record for a shorter time, at a lower -F, or let an agent keep windows of its store.",
	},
	[HL_LACK_STACK] = {
		"stack lost", "shown without callers, as the stack map had no room",
		"The sum, over samples, of what \"stack map full\", \"busy\" and \"out of memory\" came to.",
	},
	[HL_LACK_CGROUP] = {
		"without a cgroup",
		"it was removed before it could be read: service, container and the like are not known",
		"A container that lives for some milliseconds can be gone when its first sample is read. It shows as "
		"[unknown container] and the like; the process and its stacks are right.",
	},
	[HL_LACK_NAME] = {
		"without a name", "no symbol covers the instruction: stripped or generated code",
		"A function of a stripped file shows as [module+0xSTART], each under its own start. Install its debug "
		"file (…-dbgsym, libc6-dbg), or give --debuginfod. For generated code, let the runtime write a perf "
		"map. Where nearly all functions of other users lack one, privileges do: see \"hotleaf check\".",
	},
	[HL_LACK_FILE] = {
		"file not opened",
		"the process ended before its file could be opened",
		"Files are opened by the mapping of the process that was sampled, within milliseconds. Of shorter "
		"processes only files that others run too are found. Or privileges do not suffice: see \"hotleaf "
		"check\", line \"files\".",
	},
	[HL_LACK_HOST_IDS] = {
		"file not to be found",
		"process ids here are a container's own, and the kernel's are others",
		"Each file is opened through the process that maps it, by the number that the kernel has for the "
		"process. In a pid namespace of its own, as in a container or under unshare -p, hotleaf cannot find "
		"it by that. Start the container with --pid=host.",
	},
	[HL_LACK_ANSWER] = {
		"file system silent", "the file system of the file did not answer in time",
		"A FUSE mount whose daemon hangs, or a network mount whose server is gone. A child that waits for it "
		"is left behind, and the mount is tried again after a minute. Programs that run from it have no names "
		"and no unwind tables; nothing else is affected.",
	},
	[HL_LACK_COPY] = {
		"file too large", "on FUSE, from where files are copied to memory up to a limit",
		"A file on FUSE is never held open, since closing it waits for its daemon. It is copied instead, up to "
		"64 MiB a file and 256 MiB in all. Run such programs from another file system.",
	},
	[HL_LACK_PERMISSION] = {
		"file refused", "its file system does not let it be opened",
		"FUSE mounts, AppImages for one, serve their own user only, not even root. Or hotleaf lacks "
		"privileges: see \"hotleaf check\", line \"files\".",
	},
	[HL_LACK_ELF] = {
		"no ELF file", "what was executed is no file that symd can read",
		"Code in an executable mapping of other files, such as the caches of runtimes. It shows by the file's "
		"name and the address in it.",
	},
	[HL_LACK_DENIED] = {
		"file denied", "symd, which parses files in a sandbox, failed on the file twice",
		"It crashed, used too much memory, or did not answer in time. The file has no names and no table; "
		"nothing else is affected. If the file is sound, please report it; --symd-memory may help with very "
		"large ones.",
	},
	[HL_LACK_TEXT] = {
		"without text", "the code bytes could not be read in the interrupt, nor from the file",
		"The address is right, and shows without its instruction.",
	},
	[HL_LACK_DECODER] = {
		"undecoded", "no decoder knows the instruction: shown as bytes",
		"An instruction newer than the decoders (their versions stand in the report), or data that was run. "
		"It shows as .byte … (undecoded).",
	},
	[HL_LACK_SAME_BYTES] = {
		"the file differs",
		"the code that ran is not what the file holds there: patched while running, or the file was written "
		"over; what is shown is what ran",
		"The kernel patches itself; so do some runtimes. If it is a program that was just installed over the "
		"running one, its names may be of the new build: restart it.",
	},
	[HL_LACK_LINES] = {
		"without lines", "no debug information says which source line the instruction comes from",
		"Compile with -g, install the debug file, or give --debuginfod.",
	},
	[HL_LACK_LOOPS] = {
		"without loops",
		"there was no code of the whole function to look for loops in, as of the kernel and of made code; or "
		"it goes round with two ways in, which makes no loop",
		"A loop is found by the jumps back in the function's code, which is read from its file.",
	},
	[HL_LACK_IRQS] = {
		"irqs were off",
		"taken late, where interrupts were switched on again: the time was spent before that place",
		"A software clock is an interrupt, and waits while interrupts are off. The leaf is marked (irqs were "
		"off): read it as \"somewhere before here\". Hardware events with :P see that code.",
	},
};

/* Frames that stand for something else than a function, and what is noted of containers. */
static const struct hl_reason marks[] = {
	{ "irq", "interrupt work that hit the process: it is not its caller",
	  "What an interrupt does (network, timers, block devices) is charged to whom it interrupts. It "
	  "stands under "
	  "that process in a frame [irq], so that it is not taken for the process's own work." },
	{ "kernel threads", "threads of the kernel and io workers, which have no user stack",
	  "Each stands below it by its own name." },
	{ "idle task", "work of the idle task itself, outside of its idle instruction",
	  "Entering and leaving idle states, and interrupts that hit an idle CPU. Idle time is not sampled: "
	  "the head "
	  "of the report says how busy the host was." },
	{ "jit", "code generated at run time, of which no runtime told a name",
	  "Let the runtime write a perf map or a jitdump (node: --perf-basic-prof, Python: -X perf, .NET: "
	  "DOTNET_PerfMapEnabled=1); see \"Generated code\" in the README." },
	{ "no container", "the process is in none, as far as its cgroup tells",
	  "A container is known by the cgroup that its runtime gives it. A runtime that is not known, or one "
	  "that "
	  "was told to use no cgroup (podman run --cgroups=disabled), leaves none." },
	{ "no pod", "the process is in no container, or its container is in no pod",
	  "Pods are of Kubernetes and of podman. Of podman's in a user's own tree only the container's id is "
	  "known; "
	  "namespaces and workloads are of Kubernetes only, but for the workload that the name of a pod of "
	  "podman "
	  "tells." },
	{ "no image", "the process is in no container, or no file of its runtime names the image",
	  "LXC, systemd-nspawn and bundles that runc runs have none; a container whose storage lies "
	  "elsewhere "
	  "than where its runtime keeps it by default shows its id only." },
	{ "no unit", "no part of the process's cgroup is a unit of systemd",
	  "As on a host without systemd, or where a runtime makes its cgroups at the root (cgroupfs)." },
	{ "no exe", "it is not known which file the process runs",
	  "The process ended before that could be looked up, or privileges do not suffice: see \"hotleaf "
	  "check\"." },
	{ "no pid", "the process's number was not kept",
	  "A store's sums of minutes and hours are of all processes that are alike." },
	{ "no process", "the process has an empty name",
	  "A program may give itself and its threads any name, also none." },
	{ "containers whose file could not be used",
	  "a file or database of the runtime is damaged, too large, "
	  "changes all the time, or may not be read",
	  "The note names the first and says why. Of those containers only what other files and the path of "
	  "the "
	  "cgroup tell is known, at least the id." },
	{ "labels left out", "a container has more labels, or longer ones, than are kept",
	  "Of a container 128 labels and 16 KiB of them are kept, the first ones; a value may have 1,024 "
	  "bytes. All "
	  "else of the container is right." },
	{ "look-ups of cgroups without room", "more cgroups at once than hotleaf keeps, or no memory",
	  "There is room for 65,536. Samples of others are right, but count as of an unknown container." },
	{ "not stored", "the agent could not write them: the list of what is missing says when and why",
	  "The disk was full, the store could not be written, or writing was too slow for what is sampled "
	  "(\"the store was too slow\"). They were taken, and are lost. `hotleaf status` says whether it "
	  "still is so; "
	  "windows are written again by themselves once there is room." },
	{ "the agent did not run", "there are no windows of that time, and nobody noted why",
	  "It was stopped or killed, the host was down or suspended, the store was another one, or it could "
	  "not be written "
	  "until the end, when even the note of it was lost. What ran meanwhile is not known. The log of the "
	  "agent has more "
	  "(`journalctl -u hotleaf`)." },
	{ "the settings were read again", "the new sampler took over from the one before",
	  "For the moment between the two, mostly less than a millisecond, nothing was sampled. All samples "
	  "from before "
	  "and behind it are there." },
	{ "disabled", "the file was there that switches the agent off",
	  "While it is there, by default /etc/hotleaf/disabled, nothing is sampled and nothing of hotleaf is "
	  "in the kernel. "
	  "Sampling goes on once it was removed." },
	{ "unknown container", "its cgroup was gone before it was read",
	  "Counted as \"without a cgroup\": a container, pod or unit that lived for some milliseconds, or "
	  "one of so "
	  "many that there was no room." },
};

/* Marks that the row of another explains. */
static const char *const others[][2] = {
	{ "the store was too slow", "not stored" },
	{ "the thread that writes could not be started", "not stored" },
	{ "no runtime", "no container" },
	{ "no namespace", "no pod" },
	{ "no workload", "no pod" },
	{ "no thread", "no process" },
	{ "no service", "no process" },
	{ "unknown service", "unknown container" },
	{ "unknown image", "unknown container" },
	{ "unknown runtime", "unknown container" },
	{ "unknown pod", "unknown container" },
	{ "unknown namespace", "unknown container" },
	{ "unknown workload", "unknown container" },
	{ "unknown cgroup", "unknown container" },
	{ "unknown unit", "unknown container" },
};

const struct hl_reason *hl_reason_of_walk(uint8_t end)
{
	return end < HL_WALK_MAX && walk_reasons[end].name ? &walk_reasons[end] : NULL;
}

const struct hl_reason *hl_reason_of_counter(unsigned int counter)
{
	return counter < HL_COUNTER_MAX && counter_reasons[counter].name ? &counter_reasons[counter] : NULL;
}

const struct hl_reason *hl_reason_of_lack(enum hl_lack lack)
{
	return &lacks[lack];
}

const struct hl_reason *hl_reason_at(size_t number)
{
	static const struct {
		const struct hl_reason *rows;
		size_t n;
	} tables[] = {
		{ walk_reasons, HL_WALK_MAX },
		{ counter_reasons, HL_COUNTER_MAX },
		{ lacks, HL_LACKS },
		{ marks, sizeof(marks) / sizeof(marks[0]) },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (size_t k = 0; k < tables[i].n; k++)
			if (tables[i].rows[k].name && number-- == 0)
				return &tables[i].rows[k];
	return NULL;
}

static bool is_called(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && strncasecmp(name, text, len) == 0;
}

const struct hl_reason *hl_reason_find(const char *text)
{
	const struct hl_reason *reason;
	size_t len;

	text += strspn(text, "[(");
	if (strncasecmp(text, "unwind: ", strlen("unwind: ")) == 0)
		text += strlen("unwind: ");
	len = strcspn(text, "])");
	if (strncasecmp(text, "disabled by ", strlen("disabled by ")) == 0)
		len = strlen("disabled");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_called(others[i][0], text, len)) {
			text = others[i][1];
			len = strlen(text);
			break;
		}
	for (size_t i = 0; (reason = hl_reason_at(i)); i++)
		if (is_called(reason->name, text, len))
			return reason;
	return NULL;
}
