/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_IMPORT_IMPORT_H
#define HL_IMPORT_IMPORT_H

#include "base/err.h"

struct hl_profile;

/*
 * Reads the profile.proto file @path (github.com/google/pprof), gzipped or not, ours or another program's, into
 * a finished profile: hl_profile_free() releases it. Its binaries are numbered from 1. All of it is checked,
 * and it may be anybody's: -EBADMSG for what is damaged, -EFBIG for more than 1 GiB of it, with the place in
 * @err; -EISDIR and the like for what is no file; -ENOMEM.
 */
int hl_import_pprof(const char *path, struct hl_profile **ret, struct hl_err *err);

#endif
