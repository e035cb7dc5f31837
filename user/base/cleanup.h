/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_CLEANUP_H
#define HL_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Scope-bound ownership: a variable declared with one of these attributes is released when its scope
 * ends, by any path. Hand ownership on with TAKE_PTR or TAKE_FD.
 */
#define _cleanup_(fn)      __attribute__((cleanup(fn)))
#define _cleanup_free_     _cleanup_(hl_cleanup_free)
#define _cleanup_close_    _cleanup_(hl_cleanup_close)
#define _cleanup_fclose_   _cleanup_(hl_cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(hl_cleanup_closedir)

/* The value of pointer @p, which no longer owns it afterwards. */
#define TAKE_PTR(p)                                  \
	({                                           \
		__typeof__(p) *hl_take_ = &(p);      \
		__typeof__(p) hl_taken_ = *hl_take_; \
		*hl_take_ = NULL;                    \
		hl_taken_;                           \
	})

/* The value of descriptor @fd, which no longer owns it afterwards. */
#define TAKE_FD(fd)                        \
	({                                 \
		int *hl_take_ = &(fd);     \
		int hl_taken_ = *hl_take_; \
		*hl_take_ = -1;            \
		hl_taken_;                 \
	})

/* Defines T_freep for a destructor T_free(T *), for use with _cleanup_(). */
#define HL_DEFINE_CLEANUP(type, fn)                                \
	__attribute__((unused)) static inline void fn##p(type **p) \
	{                                                          \
		if (*p)                                            \
			fn(*p);                                    \
	}

static inline void hl_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void hl_cleanup_close(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void hl_cleanup_fclose(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

static inline void hl_cleanup_closedir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

#endif
