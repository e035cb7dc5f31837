/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_MAIL_CODE_H
#define HL_COMMAND_MAIL_CODE_H

struct hl_hot;
struct hl_profile;
struct hl_str;

/* Where in its function the hottest instruction stands, by the function's code, as long as its file is there. */
struct hl_mail_code;

/* Nothing is started or opened before it is asked for. NULL without memory. hl_mail_code_free() accepts NULL. */
struct hl_mail_code *hl_mail_code_new(void);
void hl_mail_code_free(struct hl_mail_code *code);

/*
 * Appends the innermost loop around the hottest instruction of @hot, by offsets in its function, and its source
 * line, each with two blanks behind it: "[loop +0x40-+0x60]  app.c:12  ". What is not known is left out. 0 or
 * -ENOMEM.
 */
int hl_mail_code_say(struct hl_mail_code *code, const struct hl_profile *profile, const struct hl_hot *hot,
		     struct hl_str *out);

#endif
