/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_PATHS_INTERNAL_H
#define HL_UNWIND_PATHS_INTERNAL_H

/* What paths.c, path.c and function.c share. */

#include <stdbool.h>
#include <stdint.h>

struct hl_flow;
struct hl_frame;
struct hl_paths;
struct hl_stretch;

enum {
	FLAG_CALLED = 1,
	FLAG_NAMED = 2,
	FLAG_FIRST = 4,
	FLAG_DOUBT = 8,      /* the symbol names no function */
	FLAG_NO_RETURN = 16, /* the function that begins here */
	FLAG_QUEUED = 32,    /* it will be followed */
	FLAG_CUT = 64,       /* the weak edge that leads here leads nowhere */
	FLAG_PROVEN = 128,   /* it leads to where the function ends well */
	FLAG_UNCLEAN = 256,  /* it leads to something that no function does */
	FLAG_CLASH = 512,    /* functions came here with different frames: no weak edge shall lead to it */
	FLAG_FITS = 1024,    /* code behind it calls with the stack aligned as at the call before it */

	MAX_FRAMES = 60000,
	MAX_EDGES = 1 << 20,
	MAX_FLOWS = 1 << 20,
	MAX_TRIES = 32,
	MAX_GUESS_TRIES = 8,
	MAX_PASSES = 64,
	MAX_AFTER_FIRST = 8, /* instructions behind the call in a program's first function */
	NO_ORIGIN = UINT32_MAX,
	NO_ENTRY = UINT32_MAX - 1,
	NO_PARITY = 255,
	FUNCTION_ALIGNMENT = 16, /* of compilers */
	MAX_FILLING = 4096,      /* bytes that are passed over without counting them */
	MAX_NEAR = 64 << 10,     /* bytes from its beginning within which a function jumps */
};

struct hl_paths_edge {
	uint32_t to;
	uint32_t origin, parent; /* the last weak edge on the way, by where it led; parent: the one before */
	uint16_t frame;
	bool is_weak;
	uint8_t limit;      /* instructions; 0: none */
	uint8_t parity;     /* depth at the last call on the way, modulo 16; or NO_PARITY */
	uint16_t ax_plus_1; /* a small number that is in rax, plus one; 0: not known */
};

struct hl_paths_entry {
	uint32_t at, origin;
	uint16_t before; /* the mark */
	uint8_t length;  /* of the instruction; 0: only the mark has changed */
};

/* A path over one weak edge comes to where one over another has been. */
struct hl_paths_join {
	uint32_t from, to;
};

/* Decodes the instruction at @at in @stretch. */
void hl_paths_decode(struct hl_paths *paths, const struct hl_stretch *stretch, uint32_t at,
		     struct hl_flow *ret);
/* The mark of @frame. -E2BIG: there are too many. */
int hl_paths_mark(struct hl_paths *paths, const struct hl_frame *frame);

/* The weak edge over which the function that is being followed came to @at; NO_ENTRY: it was another one. */
uint32_t hl_paths_origin(const struct hl_paths *paths, uint32_t at);
/* What came over these weak edges cannot be: they are cut, and the function is followed again. */
void hl_paths_contradict(struct hl_paths *paths, uint32_t origin, uint32_t other_origin);
/* The path over the weak edge @origin ends as the path of a function may, or as none may. */
void hl_paths_prove(struct hl_paths *paths, uint32_t origin);
void hl_paths_spoil(struct hl_paths *paths, uint32_t origin);
/* Undoes what the function that is being followed has marked; its instructions get @mark. */
void hl_paths_roll_back(struct hl_paths *paths, uint16_t mark);

int hl_paths_add_edge(struct hl_paths *paths, struct hl_paths_edge edge);
/* True if a function is known to begin there. */
bool hl_paths_is_beginning(const struct hl_paths *paths, uint32_t at);
/* Follows all edges. 0; -E2BIG: a limit was reached; -ENOMEM. */
int hl_paths_follow_edges(struct hl_paths *paths);

#endif
