// SPDX-License-Identifier: BSD-2-Clause
#include "profile/loops.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "profile/listing.h"

/*
 * An edge from an instruction back to one that dominates it, that is, through which every way to it leads,
 * makes a natural loop: its header, and all from which the edge is reached without passing that. The header
 * need not be the lowest instruction: compilers enter `while` at its test, at the bottom. (Aho, Lam, Sethi,
 * Ullman, "Compilers", 9.6; dominators by Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001.)
 *
 * Where an indirect jump leads is not known. What is not reached otherwise is taken for its targets, if it
 * stands behind it: so a switch does not cut the loop around it. What is reached neither way is entered from
 * outside, as landing pads are; where it goes on into code that is reached, that is no second way into a loop
 * there. And nothing leads to the nops that fill a gap: they stand behind the jump into a rotated loop, and
 * would be a way into it beside that.
 *
 * What has two ways in nevertheless makes no natural loop: it is told by being strongly connected, that is, all
 * of it leads to all of it. (Kosaraju's and Sharir's algorithm: walks against the edges, in reverse postorder.)
 *
 * The code may be anybody's: all work is counted, and ends at a limit.
 */

enum { ROOT = 0 }; /* node i + 1 is row i */
#define UNSEEN     UINT32_MAX
#define MOST_STEPS (UINT64_C(1) << 26)

struct graph {
	const struct hl_listing *listing;
	uint32_t n;      /* nodes */
	uint32_t *edges; /* pairs: from, to */
	size_t n_edges, cap_edges;
	uint32_t *first_out, *out, *first_in, *in; /* edges by node */
	uint32_t *order;                           /* nodes in reverse postorder */
	uint32_t *number;                          /* of a node in it; UNSEEN: not reached */
	uint32_t n_order;
	uint32_t *dominator;
	uint64_t steps;
};

static void graph_done(struct graph *g)
{
	free(g->edges);
	free(g->first_out);
	free(g->out);
	free(g->first_in);
	free(g->in);
	free(g->order);
	free(g->number);
	free(g->dominator);
}

static int add_edge(struct graph *g, uint32_t from, uint32_t to)
{
	int code = hl_grow(&g->edges, &g->cap_edges, g->n_edges + 2, sizeof(*g->edges), SIZE_MAX);

	if (code)
		return code;
	g->edges[g->n_edges++] = from;
	g->edges[g->n_edges++] = to;
	return 0;
}

static int add_edge_to(struct graph *g, uint32_t row, uint64_t address)
{
	const struct hl_listing_row *to = hl_listing_find(g->listing, address);

	return to ? add_edge(g, row + 1, (uint32_t)(to - g->listing->rows) + 1) : 0;
}

/* Where each instruction leads by itself. */
static int add_flow(struct graph *g)
{
	int code = 0;

	for (uint32_t i = 0; i < g->listing->n && !code; i++) {
		const struct hl_listing_row *row = &g->listing->rows[i];

		if (row->flow == HL_FLOW_NEXT || row->flow == HL_FLOW_JUMP)
			code = add_edge_to(g, i, row->address + row->length);
		if (!code && (row->flow == HL_FLOW_JUMP || row->flow == HL_FLOW_GOTO))
			code = add_edge_to(g, i, row->target);
	}
	return code;
}

/* Sorts the edges by their ends: those of node i are @ret from @ret_first[i] to @ret_first[i + 1]. */
static int sort_edges(const struct graph *g, size_t key, uint32_t **ret_first, uint32_t **ret)
{
	uint32_t *first = calloc((size_t)g->n + 2, sizeof(*first)),
		 *sorted = calloc(g->n_edges / 2 + 1, sizeof(*sorted));

	*ret_first = first;
	*ret = sorted;
	if (!first || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_edges; i += 2)
		first[g->edges[i + key] + 2]++;
	for (uint32_t i = 2; i < g->n + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < g->n_edges; i += 2)
		sorted[first[g->edges[i + key] + 1]++] = g->edges[i + 1 - key];
	return 0;
}

/* Who reaches what, before the dominators are known. All arrays are by node. */
struct reach {
	uint32_t *by;    /* the first node of the walk that came by; UNSEEN */
	uint32_t *stack; /* of a walk */
	bool *is_target; /* something that is no filler leads to it */
	bool *outside;   /* of the first node of a walk: it is entered from outside */
};

static void reach_done(struct reach *r)
{
	free(r->by);
	free(r->stack);
	free(r->is_target);
	free(r->outside);
}

static bool is_filler(const struct graph *g, uint32_t node)
{
	return node != ROOT && g->listing->rows[node - 1].filler;
}

static int reach_init(struct reach *r, const struct graph *g)
{
	r->by = malloc(g->n * sizeof(*r->by));
	r->stack = calloc(g->n, sizeof(*r->stack));
	r->is_target = calloc(g->n, sizeof(*r->is_target));
	r->outside = calloc(g->n, sizeof(*r->outside));
	if (!r->by || !r->stack || !r->is_target || !r->outside)
		return -ENOMEM;
	memset(r->by, 0xff, g->n * sizeof(*r->by));
	for (size_t i = 0; i < g->n_edges; i += 2)
		r->is_target[g->edges[i + 1]] |= !is_filler(g, g->edges[i]);
	return 0;
}

/* Marks what is reached from @first, which is not marked yet. */
static void mark_reached(const struct graph *g, uint32_t first, struct reach *r)
{
	uint32_t depth = 0;

	r->by[first] = first;
	r->stack[depth++] = first;
	while (depth) {
		uint32_t node = r->stack[--depth];

		for (uint32_t e = g->first_out[node]; e < g->first_out[node + 1]; e++) {
			if (r->by[g->out[e]] != UNSEEN)
				continue;
			r->by[g->out[e]] = first;
			r->stack[depth++] = g->out[e];
		}
	}
}

/*
 * Gives what is not reached a way to it, from an indirect jump before it or from outside: first what nothing
 * else leads to, and unless @heads_only the rest, which goes round in circles. Fillers are passed over, except
 * in front of what is entered itself.
 */
static int enter_unreached(struct graph *g, struct reach *r, bool heads_only)
{
	uint32_t jump = ROOT;
	int code = 0;

	for (uint32_t node = 1; node < g->n && !code; node++) {
		if (r->by[node] == UNSEEN && !is_filler(g, node) && !(heads_only && r->is_target[node])) {
			uint32_t first = node;

			while (first > 1 && first - 1 > jump && is_filler(g, first - 1) &&
			       r->by[first - 1] == UNSEEN)
				first--;
			code = add_edge(g, jump, first);
			r->outside[first] = jump == ROOT;
			mark_reached(g, first, r);
		}
		if (g->listing->rows[node - 1].flow == HL_FLOW_INDIRECT)
			jump = node;
	}
	return code;
}

/* Takes away what leads from outside, or from what nothing reaches, into code that is reached without it. */
static void cut_ways_in(struct graph *g, const struct reach *r)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_edges; i += 2) {
		uint32_t from = g->edges[i], by = r->by[from];

		if (from != ROOT && by != r->by[g->edges[i + 1]] && (by == UNSEEN || r->outside[by]))
			continue;
		g->edges[n++] = from;
		g->edges[n++] = g->edges[i + 1];
	}
	g->n_edges = n;
}

/* Makes every instruction that may run a part of the graph. */
static int add_entries(struct graph *g)
{
	_cleanup_(reach_done) struct reach r = { 0 };
	int code = reach_init(&r, g);

	if (!code)
		code = sort_edges(g, 0, &g->first_out, &g->out);
	if (!code && g->n > 1) {
		code = add_edge(g, ROOT, 1);
		mark_reached(g, 1, &r);
	}
	if (!code)
		code = enter_unreached(g, &r, true);
	if (!code)
		code = enter_unreached(g, &r, false);
	if (!code)
		cut_ways_in(g, &r);
	free(g->first_out);
	free(g->out);
	g->first_out = g->out = NULL;
	return code;
}

/* Numbers the nodes that are reached from the root, each before those that are only reached through it. */
static int number_nodes(struct graph *g)
{
	_cleanup_free_ uint32_t *stack = calloc((size_t)g->n + 1, sizeof(*stack));
	_cleanup_free_ uint32_t *next = calloc((size_t)g->n + 1, sizeof(*next)); /* edge to follow */
	uint32_t depth = 0, left = g->n;

	g->order = calloc((size_t)g->n + 1, sizeof(*g->order));
	g->number = malloc(((size_t)g->n + 1) * sizeof(*g->number));
	if (!stack || !next || !g->order || !g->number || !g->first_out)
		return -ENOMEM;
	memset(g->number, 0xff, ((size_t)g->n + 1) * sizeof(*g->number));
	memcpy(next, g->first_out, g->n * sizeof(*next));
	stack[depth++] = ROOT;
	g->number[ROOT] = 0;
	while (depth) {
		uint32_t node = stack[depth - 1], to;

		if (next[node] == g->first_out[node + 1]) {
			g->order[--left] = node;
			depth--;
			continue;
		}
		to = g->out[next[node]++];
		if (g->number[to] == UNSEEN) {
			g->number[to] = 0;
			stack[depth++] = to;
		}
	}
	g->n_order = g->n - left;
	memmove(g->order, g->order + left, g->n_order * sizeof(*g->order));
	for (uint32_t i = 0; i < g->n_order; i++)
		g->number[g->order[i]] = i;
	return 0;
}

static uint32_t common_dominator(struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b && g->steps < MOST_STEPS) {
		g->steps++;
		while (g->number[a] > g->number[b] && g->steps++ < MOST_STEPS)
			a = g->dominator[a];
		while (g->number[b] > g->number[a] && g->steps++ < MOST_STEPS)
			b = g->dominator[b];
	}
	return a;
}

static int find_dominators(struct graph *g)
{
	bool changed = true;

	g->dominator = malloc(((size_t)g->n + 1) * sizeof(*g->dominator));
	if (!g->dominator)
		return -ENOMEM;
	memset(g->dominator, 0xff, ((size_t)g->n + 1) * sizeof(*g->dominator));
	g->dominator[ROOT] = ROOT;
	while (changed) {
		changed = false;
		for (uint32_t i = 1; i < g->n_order; i++) {
			uint32_t node = g->order[i], best = UNSEEN;

			for (uint32_t e = g->first_in[node]; e < g->first_in[node + 1]; e++) {
				uint32_t from = g->in[e];

				if (g->number[from] == UNSEEN || g->dominator[from] == UNSEEN)
					continue;
				best = best == UNSEEN ? from : common_dominator(g, from, best);
			}
			changed |= g->dominator[node] != best;
			g->dominator[node] = best;
		}
		g->steps += g->n_order;
		if (g->steps >= MOST_STEPS)
			return -E2BIG;
	}
	return 0;
}

static bool dominates(struct graph *g, uint32_t a, uint32_t node)
{
	while (g->number[node] > g->number[a] && g->steps++ < MOST_STEPS)
		node = g->dominator[node];
	return node == a;
}

/* ---- loops ----------------------------------------------------------------------------------------------- */

/* The members of one loop while it is found. */
struct body {
	uint32_t *nodes;
	uint32_t n;
	uint32_t *seen; /* by node: the header of the loop that it was last seen in */
};

static void add_member(struct body *body, uint32_t node, uint32_t header)
{
	if (body->seen[node] == header)
		return;
	body->seen[node] = header;
	body->nodes[body->n++] = node;
}

/* Collects the loop with @header; body->n is 0 where there is none. */
static void collect(struct graph *g, uint32_t header, struct body *body)
{
	body->n = 0;
	for (uint32_t e = g->first_in[header]; e < g->first_in[header + 1]; e++) {
		uint32_t from = g->in[e];

		if (g->number[from] == UNSEEN || !dominates(g, header, from))
			continue;
		if (!body->n)
			add_member(body, header, header);
		add_member(body, from, header);
	}
	for (uint32_t i = 1; i < body->n; i++)
		for (uint32_t e = g->first_in[body->nodes[i]]; e < g->first_in[body->nodes[i] + 1]; e++) {
			g->steps++;
			if (g->number[g->in[e]] != UNSEEN)
				add_member(body, g->in[e], header);
		}
}

static int keep(const struct graph *g, const struct body *body, uint32_t header, struct hl_loops *loops)
{
	const struct hl_listing_row *rows = g->listing->rows;
	struct hl_loop loop = { .start = UINT64_MAX, .header = header - 1, .size = body->n };

	if (hl_grow(&loops->items, &loops->cap, loops->n + 1, sizeof(loop), UINT32_MAX))
		return -ENOMEM;
	for (uint32_t i = 0; i < body->n; i++) {
		const struct hl_listing_row *row = &rows[body->nodes[i] - 1];
		uint32_t *best = &loops->of_row[body->nodes[i] - 1];

		if (row->address < loop.start)
			loop.start = row->address;
		if (row->address + row->length > loop.end)
			loop.end = row->address + row->length;
		/* Of two loops around one instruction, one is in the other. */
		if (*best == HL_LOOP_NONE || loops->items[*best].size > loop.size)
			*best = (uint32_t)loops->n;
	}
	loops->items[loops->n++] = loop;
	return 0;
}

static int find_loops(struct graph *g, struct hl_loops *loops)
{
	_cleanup_free_ uint32_t *nodes = calloc((size_t)g->n + 1, sizeof(*nodes));
	_cleanup_free_ uint32_t *seen = calloc((size_t)g->n + 1, sizeof(*seen));
	struct body body = { .nodes = nodes, .seen = seen };
	int code = nodes && seen ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < g->n_order && !code; i++) {
		collect(g, g->order[i], &body);
		if (g->steps >= MOST_STEPS)
			code = -E2BIG;
		else if (body.n)
			code = keep(g, &body, g->order[i], loops);
	}
	return code;
}

/* Marks what goes round outside of all @loops. */
static int find_tangled(const struct graph *g, struct hl_loops *loops)
{
	_cleanup_free_ uint32_t *nodes = calloc((size_t)g->n + 1, sizeof(*nodes));
	_cleanup_free_ bool *seen = calloc((size_t)g->n + 1, sizeof(*seen));

	if (!nodes || !seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_order; i++) {
		uint32_t n = 0;

		if (seen[g->order[i]])
			continue;
		seen[g->order[i]] = true;
		nodes[n++] = g->order[i];
		for (uint32_t k = 0; k < n; k++)
			for (uint32_t e = g->first_in[nodes[k]]; e < g->first_in[nodes[k] + 1]; e++) {
				uint32_t from = g->in[e];

				if (g->number[from] == UNSEEN || seen[from])
					continue;
				seen[from] = true;
				nodes[n++] = from;
			}
		/* One that leads to itself is a loop. */
		for (uint32_t k = 0; k < n && n > 1; k++)
			loops->tangled[nodes[k] - 1] = loops->of_row[nodes[k] - 1] == HL_LOOP_NONE;
	}
	return 0;
}

int hl_loops_find(const struct hl_listing *listing, struct hl_loops *ret)
{
	_cleanup_(graph_done) struct graph g = { .listing = listing, .n = (uint32_t)listing->n + 1 };
	struct hl_loops loops = { 0 };
	int code;

	loops.of_row = malloc((listing->n + 1) * sizeof(*loops.of_row));
	loops.tangled = calloc(listing->n + 1, sizeof(*loops.tangled));
	code = loops.of_row && loops.tangled ? 0 : -ENOMEM;
	if (!code)
		memset(loops.of_row, 0xff, (listing->n + 1) * sizeof(*loops.of_row));
	if (!code && listing->n)
		code = add_flow(&g);
	if (!code && listing->n)
		code = add_entries(&g);
	if (!code)
		code = sort_edges(&g, 0, &g.first_out, &g.out);
	if (!code)
		code = sort_edges(&g, 1, &g.first_in, &g.in);
	if (!code)
		code = number_nodes(&g);
	if (!code)
		code = find_dominators(&g);
	if (!code)
		code = find_loops(&g, &loops);
	if (!code)
		code = find_tangled(&g, &loops);
	if (code)
		hl_loops_done(&loops);
	else
		*ret = loops;
	return code;
}

void hl_loops_done(struct hl_loops *loops)
{
	free(loops->items);
	free(loops->of_row);
	free(loops->tangled);
	*loops = (struct hl_loops){ 0 };
}
