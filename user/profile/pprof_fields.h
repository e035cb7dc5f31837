/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_PPROF_FIELDS_H
#define HL_PROFILE_PPROF_FIELDS_H

/* The fields of message Profile of pprof's profile.proto, for its writer and its reader. */
enum {
	HL_PPROF_SAMPLE_TYPE = 1,
	HL_PPROF_SAMPLE = 2,
	HL_PPROF_MAPPING = 3,
	HL_PPROF_LOCATION = 4,
	HL_PPROF_FUNCTION = 5,
	HL_PPROF_STRING = 6,
	HL_PPROF_TIME = 9,
	HL_PPROF_DURATION = 10,
	HL_PPROF_PERIOD_TYPE = 11,
	HL_PPROF_PERIOD = 12,
	HL_PPROF_COMMENT = 13,
	HL_PPROF_DEFAULT_TYPE = 14
};

#endif
