// SPDX-License-Identifier: BSD-2-Clause
#include "process/pressure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"

/* "some avg10=1.53 avg60=…", Documentation/accounting/psi.rst of Linux. */
static bool look_at_psi(int proc_fd, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	uint64_t whole;
	unsigned int hundredths;

	if (hl_read_file_at(proc_fd, "pressure/cpu", 4096, &text, NULL) ||
	    sscanf(text, "some avg10=%" SCNu64 ".%2u", &whole, &hundredths) != 2 || whole > 100)
		return false;
	*ret = whole * 1000 + hundredths * 10;
	return true;
}

/* The first line of stat, proc(5): user nice system idle iowait irq softirq steal. */
bool hl_pressure_look(struct hl_pressure *p, int proc_fd, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	uint64_t v[8] = { 0 }, busy, total, all;

	if (look_at_psi(proc_fd, ret))
		return true;
	if (hl_read_file_at(proc_fd, "stat", 4 << 20, &text, NULL) ||
	    sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) < 4)
		return false;
	busy = v[0] + v[1] + v[2] + v[5] + v[6] + v[7];
	total = busy + v[3] + v[4];
	all = total - p->total;
	if (!p->total || total <= p->total || busy < p->busy || busy - p->busy > all) {
		*p = (struct hl_pressure){ busy, total };
		return false;
	}
	*ret = (busy - p->busy) * 100000 / all;
	*p = (struct hl_pressure){ busy, total };
	return true;
}
