/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_SPIKES_H
#define HL_COMMAND_SPIKES_H

#include <stddef.h>
#include <stdint.h>

struct hl_series;
struct hl_str;

/* A piece of time that stands out: by CPU use, or by what one function had. */
struct hl_spike {
	size_t piece;
	const char *name, *module; /* of the function, the series'; NULL: all of the host */
	double cpus, usual;        /* busy with it, and the median of all pieces */
	double z;                  /* by how many times its usual spread */
};

/*
 * The at most @most spikes of the pieces from @first on with most CPU time beyond what is usual, in time's order.
 * How many in *@ret_n. 0 or -ENOMEM.
 */
int hl_spikes_find(const struct hl_series *series, size_t first, size_t most, struct hl_spike *ret,
		   size_t *ret_n);

/* Appends one line on @spike, without a newline, at most @columns wide. */
void hl_spike_say(struct hl_str *out, const struct hl_series *series, const struct hl_spike *spike,
		  size_t columns);

#endif
