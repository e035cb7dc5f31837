// SPDX-License-Identifier: BSD-2-Clause
#include "process/exes.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "process/files.h"
#include "process/reach.h"
#include "sample/window.h"

/* An executable whose processes end before they can be asked is tried with so many of them. */
enum { MAX_TRIES = 50 };

struct hl_exes {
	int proc_fd;
	struct hl_reach *reach;
	pthread_mutex_t lock; /* of all below */
	char *paths[HL_FILE_LIMIT];
	struct hl_file_key keys[HL_FILE_LIMIT];
	uint8_t tries[HL_FILE_LIMIT];
};

struct hl_exes *hl_exes_new(int proc_fd, struct hl_reach *reach)
{
	struct hl_exes *exes = calloc(1, sizeof(*exes)); /* pages that nothing is written to are not used */

	if (!exes)
		return NULL;
	exes->proc_fd = proc_fd;
	exes->reach = reach;
	(void)pthread_mutex_init(&exes->lock, NULL); /* cannot fail */
	return exes;
}

void hl_exes_forget(struct hl_exes *exes, uint32_t id)
{
	if (id >= HL_FILE_LIMIT)
		return;
	(void)pthread_mutex_lock(&exes->lock);
	free(exes->paths[id]);
	exes->paths[id] = NULL;
	exes->keys[id] = (struct hl_file_key){ 0 };
	exes->tries[id] = 0;
	(void)pthread_mutex_unlock(&exes->lock);
}

void hl_exes_free(struct hl_exes *exes)
{
	if (!exes)
		return;
	for (uint32_t id = 0; id < HL_FILE_LIMIT; id++)
		free(exes->paths[id]);
	(void)pthread_mutex_destroy(&exes->lock);
	free(exes);
}

/*
 * The process may run another program by now, as whoever forks to exec does, or be another process: only where the link
 * leads to the very file does it tell the path.
 */
static void look_at(struct hl_exes *exes, uint32_t id, pid_t pid)
{
	const struct hl_file_key *key;
	char name[32], link[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (id < HL_FILE_FIRST || id >= HL_FILE_LIMIT || exes->paths[id] || exes->tries[id] == MAX_TRIES)
		return;
	key = &exes->keys[id];
	if (!key->inode) /* what tells of the file is under way */
		return;
	exes->tries[id]++;
	(void)snprintf(name, sizeof(name), "%d/exe", (int)pid);
	n = readlinkat(exes->proc_fd, name, link, sizeof(link) - 1);
	if (n <= 0 || hl_reach_stat_link(exes->reach, exes->proc_fd, name, key->device, &st) ||
	    !hl_is_sampled_file(&st, key))
		return;
	link[n] = '\0';
	hl_cut_deleted(link, &st);
	exes->paths[id] = strdup(link);
}

void hl_exes_on_file(struct hl_exes *exes, const struct hl_file_event *event)
{
	if (event->id >= HL_FILE_LIMIT)
		return;
	(void)pthread_mutex_lock(&exes->lock);
	exes->keys[event->id] = event->key;
	if (!event->end)
		look_at(exes, event->id, (pid_t)event->tgid);
	(void)pthread_mutex_unlock(&exes->lock);
}

void hl_exes_look(struct hl_exes *exes, const struct hl_window *window, size_t first)
{
	(void)pthread_mutex_lock(&exes->lock);
	for (size_t i = first; i < window->n_processes; i++)
		look_at(exes, window->processes[i].process.exe, (pid_t)window->processes[i].key.tgid);
	(void)pthread_mutex_unlock(&exes->lock);
}

const char *hl_exes_path(struct hl_exes *exes, uint32_t id)
{
	const char *path = NULL;

	(void)pthread_mutex_lock(&exes->lock);
	if (id < HL_FILE_LIMIT)
		path = exes->paths[id];
	(void)pthread_mutex_unlock(&exes->lock);
	return path;
}
