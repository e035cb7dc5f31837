// SPDX-License-Identifier: BSD-2-Clause
#include "render/common.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- numbers ------------------------------------------------------------------------------------------- */

void hl_render_decimal(struct hl_str *out, double value, unsigned int digits)
{
	uint64_t scale = 1, scaled;

	for (unsigned int i = 0; i < digits && i < 6; i++)
		scale *= 10;
	if (!(value >= 0) || value > 1e12)
		value = 0;
	scaled = (uint64_t)(value * (double)scale + 0.5);
	hl_str_addf(out, "%" PRIu64, scaled / scale);
	if (scale > 1)
		hl_str_addf(out, ".%0*" PRIu64, (int)digits, scaled % scale);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void hl_render_share(struct hl_str *out, uint64_t part, uint64_t whole)
{
	hl_render_decimal(out, share(part, whole), 1);
}

void hl_render_percent(struct hl_str *out, uint64_t part, uint64_t whole)
{
	double percent = share(part, whole);

	hl_render_decimal(out, percent, percent < 9.95 ? 1 : 0);
	hl_str_adds(out, " %");
}

void hl_render_time(struct hl_str *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	unsigned int ms = (unsigned int)(ns % 1000000000 / 1000000);
	struct tm tm;
	char text[32];

	if (!gmtime_r(&seconds, &tm) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return;
	hl_str_adds(out, text);
	if (ms)
		hl_str_addf(out, ".%03u", ms);
	hl_str_addc(out, 'Z');
}

/* ---- frames -------------------------------------------------------------------------------------------- */

const char *hl_render_suffix(const struct hl_frame *frame)
{
	switch (frame->kind) {
	case HL_FRAME_KERNEL:
		return "_[k]";
	case HL_FRAME_INLINED:
		return "_[i]";
	case HL_FRAME_JIT:
		return "_[j]";
	case HL_FRAME_INSN:
		return frame->kernel ? "_[k]" : "";
	default:
		return "";
	}
}

void hl_render_name(struct hl_str *out, const struct hl_frame *frame)
{
	if (frame->name_len)
		hl_render_clean(out, frame->name, frame->name_len, HL_RENDER_NAME_MAX);
	else
		hl_str_adds(out, "[no name]");
}

void hl_render_module(struct hl_str *out, const struct hl_frame *frame)
{
	static const char memfd[] = "/memfd:";
	const char *slash = memrchr(frame->module, '/', frame->module_len);
	const char *base = slash ? slash + 1 : frame->module;

	/* The name of a memfd may hold anything: what it is stays visible. */
	if (frame->module_len >= strlen(memfd) && memcmp(frame->module, memfd, strlen(memfd)) == 0)
		base = frame->module + 1;

	hl_render_clean(out, base, frame->module_len - (size_t)(base - frame->module), HL_RENDER_NAME_MAX);
}

void hl_render_more(struct hl_str *out, uint64_t n)
{
	hl_str_addf(out, "[%" PRIu64 " more instruction%s]", n, n == 1 ? "" : "s");
}

unsigned int hl_render_class(const struct hl_frame *frame)
{
	return frame->insn_class < HL_N_INSN_CLASSES ? frame->insn_class : 0;
}

uint64_t hl_render_lost(const struct hl_profile_meta *meta, unsigned int kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < meta->n_losses; i++)
		sum += meta->losses[i].kind == kind ? meta->losses[i].count : 0;
	return sum;
}

uint64_t hl_render_due(const struct hl_profile_meta *meta)
{
	uint64_t due = meta->expected > meta->seen ? meta->expected : meta->seen;

	for (size_t i = 0; i < meta->n_losses; i++)
		if (meta->losses[i].name && strcmp(meta->losses[i].name, HL_NOT_STORED) == 0)
			due += meta->losses[i].count;
	return due;
}

uint32_t hl_render_depth(const struct hl_profile *profile)
{
	uint32_t n, i, depth = 0;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);

	for (i = 0; i < n; i++)
		if (nodes[i].depth > depth)
			depth = nodes[i].depth;
	return depth;
}

const struct hl_frame *hl_render_holder(const struct hl_profile *profile, uint32_t node)
{
	uint32_t n;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);

	return hl_profile_get_frame(profile, nodes[hl_profile_holder(profile, node)].frame);
}

int hl_render_flush(FILE *out, const char *format, struct hl_err *err)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return hl_err_errno(err, errno ? -errno : -EIO, "cannot write the %s output", format);
}
