/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_CHECK_H
#define HL_STORE_DAY_CHECK_H

#include "base/err.h"

struct day_reader;

/* Reads every row of the day, of all levels, and compares the checksums. 0; -EBADMSG with what is wrong; -errno. */
int day_check(struct day_reader *day, struct hl_err *err);

#endif
