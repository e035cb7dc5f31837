/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_PLACE_FRAMES_H
#define HL_COMMAND_PLACE_FRAMES_H

#include <hotleaf/symd.h>

struct hl_named_file;
struct hl_place;
struct hl_places;
struct hl_profile;
struct hl_str;
struct hl_symd_answers;

/*
 * Makes the frames of one place, which is answered by @a of @answers: its function, what was inlined there, and the
 * instruction if its text is wanted. @text is for their names, reused. 0 or -errno.
 */
int hl_place_frames(struct hl_places *places, struct hl_place *place, const struct hl_symd_answers *answers,
		    const struct hl_symd_answer *a, const struct hl_named_file *file,
		    struct hl_profile *profile, struct hl_str *text);

#endif
