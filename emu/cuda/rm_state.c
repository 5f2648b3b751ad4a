// SPDX-License-Identifier: MIT
#include "rm_state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counts.h"

struct emu_driver emu_driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/*
 * The lock is not taken around fork(): a client that closes the window between its mmap() and madvise() with a lock of
 * its own holds that one while it waits for ours, and which of the two handlers runs first is not ours to choose. The
 * child gets a new lock instead, and only reads what it inherited.
 */
static void after_fork_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	emu_vma_after_fork();
}

static void install(void)
{
	emu_violations_init();
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

void rm_lock(void)
{
	pthread_once(&once, install);
	pthread_mutex_lock(&lock);
}

void rm_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void bad_setting(const char *name, const char *value, const char *want)
{
	fprintf(stderr, "barlane-emu: %s \"%s\": not %s\n", name, value, want);
	abort();
}

static void read_nodes(void)
{
	const char *list = getenv("BARLANE_EMU_NODES"), *mode = getenv("BARLANE_EMU_NODE_MODE");
	char copy[64], *rest = copy, *name;

	if (!list)
		list = "rm";
	if (snprintf(copy, sizeof(copy), "%s", list) >= (int)sizeof(copy))
		bad_setting("BARLANE_EMU_NODES", list, "a list of rm, gdrdrv");
	emu_driver.rm = emu_driver.gdrdrv = false;
	while ((name = strsep(&rest, ","))) {
		if (!strcmp(name, "rm"))
			emu_driver.rm = true;
		else if (!strcmp(name, "gdrdrv"))
			emu_driver.gdrdrv = true;
		else if (*name)
			bad_setting("BARLANE_EMU_NODES", list, "a list of rm, gdrdrv");
	}
	emu_driver.deny = mode && !strcmp(mode, "deny");
	if (mode && *mode && !emu_driver.deny)
		bad_setting("BARLANE_EMU_NODE_MODE", mode, "deny");
}

static void read_gdrdrv(void)
{
	const char *version = getenv("BARLANE_EMU_GDRDRV"), *persistent = getenv("BARLANE_EMU_GDRDRV_PERSISTENT");

	if (!version)
		version = "2.6";
	if (strlen(version) != 3 || strncmp(version, "2.", 2) || version[2] < '0' || version[2] > '6')
		bad_setting("BARLANE_EMU_GDRDRV", version, "2.0 to 2.6");
	emu_driver.gdr_minor = version[2] - '0';
	if (persistent && strcmp(persistent, "0") && strcmp(persistent, "1"))
		bad_setting("BARLANE_EMU_GDRDRV_PERSISTENT", persistent, "0 or 1");
	emu_driver.gdr_persistent = !persistent || !strcmp(persistent, "1");
}

void emu_driver_reload(void)
{
	const char *version = getenv("BARLANE_EMU_DRIVER");

	for (struct emu_file *file = emu_files(); file; file = file->next) {
		if (emu_file_is_ours(file) && !file->mem)
			return;
	}
	snprintf(emu_driver.version, sizeof(emu_driver.version), "%s", version ? version : "580.159.04");
	emu_driver.abi = rm_abi_find(emu_driver.version);
	read_nodes();
	read_gdrdrv();
}

static void count_files(struct bl_emu_counts *counts)
{
	for (struct emu_file *file = emu_files(); file; file = file->next) {
		if (!emu_file_is_ours(file))
			continue;
		if (file->kind == EMU_FILE_DMABUF)
			counts->dmabufs += !file->closed;
		else
			counts->nodes += !file->closed;
		if (file->kind == EMU_FILE_GDRDRV)
			counts->pins += gdr_pin_count(file);
	}
}

static void count_clients(struct bl_emu_counts *counts)
{
	for (struct rm_client *client = rm_clients(); client; client = client->next) {
		if (!client->file || client->pid != getpid())
			continue;
		counts->clients++;
		for (struct rm_object *object = client->objects; object; object = object->next)
			counts->dups += object->hclass == RM_CLASS_MEMORY;
	}
}

void emu_rm_count(struct bl_emu_counts *counts)
{
	struct emu_gpu *gpu = emu_gpu(0);

	rm_lock();
	emu_files_reap(true);
	count_files(counts);
	count_clients(counts);
	for (struct rm_map *map = rm_maps(); map; map = map->next)
		counts->maps += map->client->pid == getpid();
	for (struct emu_vma *vma = emu_vma_list(); vma; vma = vma->next)
		counts->vmas++;
	if (gpu) {
		counts->vram_used = emu_vram_used(gpu);
		counts->bar1_used = rm_bar1_used(gpu);
	}
	rm_unlock();
}
