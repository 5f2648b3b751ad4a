// SPDX-License-Identifier: MIT
/*
 * The ports. All that open one of a name share a NIC, so that its address is one, and its thread. A child that was
 * forked finds the parent's NICs in the table and makes new ones.
 */
#define log_fmt(fmt) "net/soft: " fmt
#include "soft.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "softnic/transport.h"
#include "net/log.h"

static const char *const names[] = { "soft0", "soft1" };
#define NR_PORTS (sizeof(names) / sizeof(names[0]))

/* The lock is held for a few stores only, never across a call: a NIC has handlers of fork of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_nic *ports[NR_PORTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void after_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, after_fork_child);
}

size_t bl_soft_devices(const char **list, size_t nr)
{
	for (size_t i = 0; i < NR_PORTS && i < nr; i++)
		list[i] = names[i];
	return NR_PORTS;
}

static int port_index(const char *device)
{
	for (size_t i = 0; i < NR_PORTS; i++) {
		if (!strcmp(names[i], device))
			return (int)i;
	}
	return -1;
}

static int make(const char *name, struct bl_nic **nic_p)
{
	struct bl_snic_attr attr = { .name = name };
	struct bl_snic_fault fault;
	struct bl_nic *nic;
	int ret;

	ret = bl_soft_env(&attr, &fault);
	if (ret)
		return ret;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return fail(ENOMEM, "device %s: out of memory", name);
	ret = bl_snic_open(&attr, &nic->snic);
	if (ret) {
		free(nic);
		return ret;
	}
	nic->name = name;
	nic->forks = bl_object_forks();
	nic->users = 1;
	*nic_p = nic;
	return 0;
}

static struct bl_nic *join(struct bl_nic *nic)
{
	if (!nic || nic->forks != bl_object_forks())
		return NULL;
	nic->users++;
	return nic;
}

int bl_soft_open(const char *device, struct bl_nic **nic_p)
{
	struct bl_nic *nic, *fresh = NULL;
	int index = port_index(device), ret;

	if (index < 0)
		return fail(ENODEV, "device %s: no such software NIC", device);
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	nic = join(ports[index]);
	pthread_mutex_unlock(&lock);
	if (nic) {
		*nic_p = nic;
		return 0;
	}
	ret = make(names[index], &fresh);
	if (ret)
		return ret;
	pthread_mutex_lock(&lock);
	nic = join(ports[index]);
	if (!nic)
		ports[index] = fresh;
	pthread_mutex_unlock(&lock);
	/* somebody else was faster */
	if (nic) {
		bl_snic_close(fresh->snic);
		free(fresh);
	}
	*nic_p = nic ? nic : fresh;
	return 0;
}

static bool leave(struct bl_nic *nic)
{
	bool last;

	pthread_mutex_lock(&lock);
	last = !--nic->users;
	for (size_t i = 0; last && i < NR_PORTS; i++) {
		if (ports[i] == nic)
			ports[i] = NULL;
	}
	pthread_mutex_unlock(&lock);
	return last;
}

/* In a child bl_snic_close() frees memory only, so that both are the same. */
void bl_soft_close(struct bl_nic *nic)
{
	if (!leave(nic))
		return;
	bl_snic_close(nic->snic);
	free(nic);
}

void bl_soft_forget(struct bl_nic *nic)
{
	bl_soft_close(nic);
}
