/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_PROBE_H
#define HL_CAPTURE_PROBE_H

/* What this kernel, this machine and these privileges allow: a row a question. */

enum hl_probe_state {
	HL_PROBE_OK,
	HL_PROBE_LIMITED, /* hotleaf works, but shows less or costs more */
	HL_PROBE_MISSING, /* hotleaf cannot work */
};

struct hl_finding {
	enum hl_probe_state state;
	char value[400];  /* what was found, one line */
	char remedy[400]; /* what to do about it, one line; "" if there is nothing to do */
};

/* Descriptors of the directories that stand for /proc and /sys. */
struct hl_probe_roots {
	int proc, sys;
};

struct hl_probe {
	const char *name; /* "sampling event" */
	/* Asks. @ret is zero-initialised: ok, with nothing to say. */
	void (*run)(const struct hl_probe_roots *roots, struct hl_finding *ret);
};

/* All probes, in the order to show; the last has no name. */
extern const struct hl_probe hl_probes[];

#endif
