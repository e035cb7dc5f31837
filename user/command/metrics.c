// SPDX-License-Identifier: BSD-2-Clause
#include "command/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "command/caps.h"
#include "command/cost.h"
#include "profile/profile.h"
#include "web/address.h"
#include "web/http.h"

/* Losses have static names, of which there are fewer. */
enum { MOST_SERVICES = 50, MOST_LOSSES = 128, KINDS = 3 };
#define IDLE_NS (86400 * UINT64_C(1000000000))

struct service {
	char *name; /* NULL: the place is free */
	uint64_t ns, last_ns;
};

struct loss {
	char *name;
	uint8_t kind;
	uint64_t count;
};

struct hl_metrics {
	pthread_mutex_t lock;
	struct hl_http *http; /* NULL: not asked for */
	char *address, *file;
	bool file_failed; /* and it was told */
	bool sampling;
	struct service services[MOST_SERVICES];
	uint64_t other_ns;
	struct loss losses[MOST_LOSSES];
	size_t n_losses;
	uint64_t losses_dropped;
	/* Sums over windows. */
	uint64_t windows[2]; /* lost, stored */
	uint64_t expected, seen, idle, filtered, unstored;
	uint64_t last_end_ns;
	uint32_t frequency, cpus;
	char event[32];
	struct hl_cost used; /* sums of its CPU times; the rest is as of the last look */
	uint64_t tables_dropped, tables_refused;
	uint64_t caps_before[HL_N_CAPS], caps_hit[HL_N_CAPS];
	unsigned int caps_level;
};

struct hl_metrics *hl_metrics_new(void)
{
	struct hl_metrics *m = calloc(1, sizeof(*m));

	if (m)
		(void)pthread_mutex_init(&m->lock, NULL); /* cannot fail */
	return m;
}

void hl_metrics_free(struct hl_metrics *m)
{
	if (!m)
		return;
	hl_http_stop(m->http);
	free(m->address);
	free(m->file);
	for (int i = 0; i < MOST_SERVICES; i++)
		free(m->services[i].name);
	for (size_t i = 0; i < m->n_losses; i++)
		free(m->losses[i].name);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

/* The server for @address, in @ret; NULL: none is wanted. */
static int start_server(const struct hl_metrics_options *options, struct hl_http **ret, struct hl_err *err)
{
	int fd;

	if (!options->address) {
		*ret = NULL;
		return 0;
	}
	fd = hl_listen(options->address, options->anywhere, err);
	if (fd < 0)
		return fd;
	return hl_http_start(fd, "/metrics", "text/plain; version=0.0.4; charset=utf-8", ret, err);
}

static bool is_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

int hl_metrics_set(struct hl_metrics *m, const struct hl_metrics_options *options, struct hl_err *err)
{
	_cleanup_free_ char *address = options->address ? strdup(options->address) : NULL;
	_cleanup_free_ char *file = options->file ? strdup(options->file) : NULL;
	struct hl_http *http = m->http;
	int code = 0;

	if ((options->address && !address) || (options->file && !file))
		return hl_err_set(err, -ENOMEM, "no memory for metrics");
	/* The same address would be taken. */
	if (!is_equal(address, m->address))
		code = start_server(options, &http, err);
	if (code)
		return code;
	if (http != m->http)
		hl_http_stop(m->http);
	m->http = http;
	free(m->address);
	free(m->file);
	m->address = TAKE_PTR(address);
	m->file = TAKE_PTR(file);
	m->file_failed = false;
	return 0;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static struct service *find_service(struct hl_metrics *m, const char *name, uint64_t now)
{
	struct service *place = NULL;

	for (int i = 0; i < MOST_SERVICES; i++) {
		struct service *s = &m->services[i];

		if (s->name && strcmp(s->name, name) == 0)
			return s;
		if (!place && (!s->name || now - s->last_ns > IDLE_NS))
			place = s;
	}
	if (!place)
		return NULL;
	free(place->name);
	*place = (struct service){ .name = strdup(name) };
	return place->name ? place : NULL;
}

void hl_metrics_add_service(struct hl_metrics *m, const char *service, uint64_t ns)
{
	uint64_t now = hl_monotonic_ns();
	struct service *s;

	(void)pthread_mutex_lock(&m->lock);
	s = service && service[0] ? find_service(m, service, now) : NULL;
	if (s) {
		s->ns += ns;
		s->last_ns = now;
	} else {
		m->other_ns += ns;
	}
	(void)pthread_mutex_unlock(&m->lock);
}

static void add_loss(struct hl_metrics *m, const struct hl_loss *loss)
{
	size_t i;

	for (i = 0; i < m->n_losses; i++)
		if (m->losses[i].kind == loss->kind && strcmp(m->losses[i].name, loss->name) == 0)
			break;
	if (i == m->n_losses) {
		char *name = i < MOST_LOSSES ? strdup(loss->name) : NULL;

		if (!name) {
			m->losses_dropped += loss->count;
			return;
		}
		m->losses[m->n_losses++] = (struct loss){ .name = name, .kind = loss->kind };
	}
	m->losses[i].count += loss->count;
}

void hl_metrics_add_window(struct hl_metrics *m, const struct hl_profile_meta *meta, bool stored)
{
	(void)pthread_mutex_lock(&m->lock);
	m->windows[stored]++;
	m->expected += meta->expected;
	m->seen += meta->seen;
	m->idle += meta->idle;
	m->filtered += meta->filtered;
	m->frequency = meta->frequency;
	m->cpus = meta->cpus;
	(void)snprintf(m->event, sizeof(m->event), "%s", meta->event);
	for (size_t i = 0; i < meta->n_losses; i++)
		add_loss(m, &meta->losses[i]);
	if (stored && meta->end_ns > m->last_end_ns)
		m->last_end_ns = meta->end_ns;
	if (!stored)
		m->unstored += meta->seen - meta->idle - meta->filtered;
	(void)pthread_mutex_unlock(&m->lock);
}

void hl_metrics_lose_window(struct hl_metrics *m, uint64_t samples)
{
	(void)pthread_mutex_lock(&m->lock);
	m->windows[false]++;
	m->seen += samples;
	m->unstored += samples;
	(void)pthread_mutex_unlock(&m->lock);
}

void hl_metrics_add_cost(struct hl_metrics *m, const struct hl_cost *before, const struct hl_cost *now,
			 uint64_t tables_dropped, uint64_t tables_refused)
{
	struct hl_cost *used = &m->used, sums = *used;

	(void)pthread_mutex_lock(&m->lock);
	*used = *now;
	used->programs_ns = sums.programs_ns + now->programs_ns - before->programs_ns;
	used->process_ns = sums.process_ns + now->process_ns - before->process_ns;
	used->tables_ns = sums.tables_ns + now->tables_ns - before->tables_ns;
	used->graphs_ns = sums.graphs_ns + now->graphs_ns - before->graphs_ns;
	used->names_ns = sums.names_ns + now->names_ns - before->names_ns;
	m->tables_dropped += tables_dropped;
	m->tables_refused += tables_refused;
	(void)pthread_mutex_unlock(&m->lock);
}

void hl_metrics_set_caps(struct hl_metrics *m, const struct hl_caps *caps)
{
	(void)pthread_mutex_lock(&m->lock);
	for (int i = 0; i < HL_N_CAPS; i++) {
		/* They begin anew with each session. */
		if (caps->hit[i] < m->caps_hit[i])
			m->caps_before[i] += m->caps_hit[i];
		m->caps_hit[i] = caps->hit[i];
	}
	m->caps_level = caps->level;
	(void)pthread_mutex_unlock(&m->lock);
}

void hl_metrics_set_sampling(struct hl_metrics *m, bool sampling)
{
	(void)pthread_mutex_lock(&m->lock);
	m->sampling = sampling;
	(void)pthread_mutex_unlock(&m->lock);
}

/* ---- the text ------------------------------------------------------------------------------------------ */

static void add_head(struct hl_str *s, const char *name, const char *type, const char *help)
{
	hl_str_addf(s, "# HELP hotleaf_%s %s\n# TYPE hotleaf_%s %s\n", name, help, name, type);
}

/* The value of a label: any bytes, as UTF-8. What the format has escaped in clean text is what JSON has. */
static void add_label(struct hl_str *s, const char *label, const char *value)
{
	_cleanup_str_ struct hl_str clean = { 0 };

	hl_str_add_clean(&clean, value, strnlen(value, 512));
	hl_str_addf(s, "%s=", label);
	hl_str_add_json(s, clean.data ? clean.data : "", clean.len);
	s->failed |= clean.failed;
}

static void add_labelled(struct hl_str *s, const char *name, const char *label, const char *value,
			 double number)
{
	hl_str_addf(s, "hotleaf_%s{", name);
	add_label(s, label, value);
	hl_str_addf(s, "} %.15g\n", number);
}

static void add_one(struct hl_str *s, const char *name, const char *type, const char *help, double number)
{
	add_head(s, name, type, help);
	hl_str_addf(s, "hotleaf_%s %.15g\n", name, number);
}

static void add_windows(struct hl_str *s, const struct hl_metrics *m)
{
	add_head(s, "build_info", "gauge", "Version of hotleaf, and the event that it samples.");
	hl_str_adds(s, "hotleaf_build_info{version=\"" HL_VERSION "\",");
	add_label(s, "event", m->event);
	hl_str_adds(s, "} 1\n");
	add_one(s, "sampling", "gauge", "1 while it samples, 0 while a file disables it.", m->sampling);
	add_one(s, "frequency_hertz", "gauge", "Samples a second on each CPU in the last window.",
		m->frequency);
	add_one(s, "cpus", "gauge", "CPUs that were sampled in the last window.", m->cpus);
	add_one(s, "windows_stored_total", "counter", "Windows that were written to the store.",
		(double)m->windows[1]);
	add_one(s, "windows_lost_total", "counter", "Windows that could not be written to the store.",
		(double)m->windows[0]);
	add_one(s, "last_window_end_timestamp_seconds", "gauge", "When the last window in the store ended.",
		(double)m->last_end_ns / 1e9);
	add_one(s, "samples_expected_total", "counter", "Samples that were due by the clock.",
		(double)m->expected);
	add_one(s, "samples_seen_total", "counter", "Samples that reached the program in the kernel.",
		(double)m->seen);
	add_one(s, "samples_idle_total", "counter", "Of those seen: of idle CPUs, which are not kept.",
		(double)m->idle);
	add_one(s, "samples_filtered_total", "counter", "Of those seen: not asked for.", (double)m->filtered);
}

static void add_losses(struct hl_str *s, const struct hl_metrics *m)
{
	static const char *const names[KINDS] = { "samples_lost_total", "samples_cut_total",
						  "samples_noted_total" };
	static const char *const helps[KINDS] = {
		"Samples that are not shown, by reason.",
		"Samples whose stack does not reach its start, by reason.",
		"Samples without a name or the like, by reason.",
	};

	for (int kind = 0; kind < KINDS; kind++) {
		add_head(s, names[kind], "counter", helps[kind]);
		for (size_t i = 0; i < m->n_losses; i++)
			if (m->losses[i].kind == kind)
				add_labelled(s, names[kind], "reason", m->losses[i].name,
					     (double)m->losses[i].count);
		if (kind == HL_LOSS_LOST)
			add_labelled(s, names[kind], "reason", "not stored", (double)m->unstored);
		if (kind == HL_LOSS_NOTED)
			add_labelled(s, names[kind], "reason", "other", (double)m->losses_dropped);
	}
}

static void add_costs(struct hl_str *s, const struct hl_metrics *m)
{
	const struct hl_cost *c = &m->used;

	add_head(s, "own_cpu_seconds_total", "counter", "CPU time that hotleaf itself took.");
	add_labelled(s, "own_cpu_seconds_total", "part", "programs", (double)c->programs_ns / 1e9);
	add_labelled(s, "own_cpu_seconds_total", "part", "agent", (double)c->process_ns / 1e9);
	add_labelled(s, "own_cpu_seconds_total", "part", "symd tables", (double)c->tables_ns / 1e9);
	add_labelled(s, "own_cpu_seconds_total", "part", "symd names", (double)c->names_ns / 1e9);
	add_labelled(s, "own_cpu_seconds_total", "part", "flame graphs", (double)c->graphs_ns / 1e9);
	add_head(s, "memory_bytes", "gauge", "Memory of the agent, its children apart.");
	add_labelled(s, "memory_bytes", "kind", "resident", (double)c->resident_bytes);
	add_labelled(s, "memory_bytes", "kind", "bpf maps", (double)c->map_bytes);
	add_one(s, "unwind_tables_bytes", "gauge", "Of the memory of BPF maps: unwind tables.",
		(double)c->table_bytes);
	add_one(s, "unwind_tables_dropped_total", "counter", "Unwind tables that had to go for others.",
		(double)m->tables_dropped);
	add_one(s, "unwind_tables_refused_total", "counter", "Unwind tables that found no room.",
		(double)m->tables_refused);
	add_one(s, "caps_level", "gauge", "Steps that are taken now to stay below the caps.", m->caps_level);
	add_head(s, "caps_hit_total", "counter", "Steps that were taken to stay below a cap.");
	for (int i = 0; i < HL_N_CAPS; i++)
		add_labelled(s, "caps_hit_total", "cap", hl_cap_name((enum hl_cap)i),
			     (double)(m->caps_before[i] + m->caps_hit[i]));
}

static void add_services(struct hl_str *s, const struct hl_metrics *m)
{
	uint64_t other = m->other_ns;

	add_head(s, "cpu_seconds_total", "counter", "CPU time by service, from samples.");
	for (int i = 0; i < MOST_SERVICES; i++) {
		const struct service *service = &m->services[i];

		/* One that is called so stands with the others. */
		if (service->name && strcmp(service->name, "other") == 0)
			other += service->ns;
		else if (service->name)
			add_labelled(s, "cpu_seconds_total", "service", service->name,
				     (double)service->ns / 1e9);
	}
	add_labelled(s, "cpu_seconds_total", "service", "other", (double)other / 1e9);
}

static int write_file(const char *path, const struct hl_str *text, struct hl_err *err)
{
	_cleanup_(hl_output_freep) struct hl_output *output = NULL;
	struct stat st;

	/* The agent would wait until somebody reads. */
	if (!stat(path, &st) && S_ISFIFO(st.st_mode))
		return hl_err_set(err, -EINVAL, "'%s' is a pipe", path);
	output = hl_output_new(path, err);
	if (!output)
		return -EIO;
	(void)fwrite(text->data, 1, text->len, hl_output_stream(output));
	return hl_output_commit(output, err);
}

static void tell_file(struct hl_metrics *m, const struct hl_str *text)
{
	struct hl_err err = { "" };
	int code = write_file(m->file, text, &err);

	/* The collector that reads it is another user. */
	if (!code)
		(void)chmod(m->file, 0644);
	if (code && !m->file_failed)
		hl_log(HL_LOG_WARNING, "metrics", "no metrics in a file until this is over: %s", err.text);
	if (!code && m->file_failed)
		hl_log(HL_LOG_WARNING, "metrics", "metrics are written to the file again");
	m->file_failed = code != 0;
}

void hl_metrics_publish(struct hl_metrics *m)
{
	_cleanup_str_ struct hl_str s = { 0 };

	if (!m->http && !m->file)
		return;
	(void)pthread_mutex_lock(&m->lock);
	add_windows(&s, m);
	add_losses(&s, m);
	add_costs(&s, m);
	add_services(&s, m);
	(void)pthread_mutex_unlock(&m->lock);
	if (hl_str_status(&s))
		return;
	if (m->http)
		hl_http_publish(m->http, s.data, s.len);
	if (m->file)
		tell_file(m, &s);
}
