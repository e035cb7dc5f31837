/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_LABEL_H
#define HL_BASE_LABEL_H

/* A label of a container. Any bytes but NUL: whoever starts containers chooses them. */
struct hl_label {
	const char *key, *value;
};

#endif
