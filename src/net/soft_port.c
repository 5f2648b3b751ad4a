// SPDX-License-Identifier: MIT
/*
 * The ports: two in shared memory, and one for each network interface. All that open one of a name share a NIC, so that
 * its address is one, and its thread. A child that was forked finds the parent's NICs in the table and makes new ones.
 */
#define log_fmt(fmt) "net/soft: " fmt
#include "soft.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "place.h"
#include "softnic/transport.h"
#include "net/log.h"

#define MAX_PORTS 64
#define WIRE	  "soft_"

/* @name stays, since programs keep it; @nic is NULL while nobody has it open. */
struct port {
	char name[sizeof(WIRE) + IF_NAMESIZE];
	struct bl_nic *nic;
};

/* The lock is held for a few stores only, never across a call: a NIC has handlers of fork of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct port ports[MAX_PORTS] = { { "soft0", NULL }, { "soft1", NULL } };
static size_t nr_ports = 2;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void after_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, after_fork_child);
}

/* A place of that name; NULL: all are taken. The lock is held. */
static struct port *port_of(const char *name)
{
	struct port *port;

	for (size_t i = 0; i < nr_ports; i++) {
		if (!strcmp(ports[i].name, name))
			return &ports[i];
	}
	if (nr_ports == MAX_PORTS)
		return NULL;
	port = &ports[nr_ports++];
	snprintf(port->name, sizeof(port->name), "%s", name);
	return port;
}

size_t bl_soft_devices(const char **list, size_t nr)
{
	char interfaces[MAX_PORTS][IF_NAMESIZE], name[sizeof(ports->name)];
	size_t nr_interfaces = bl_snic_roce_interfaces(interfaces, MAX_PORTS), found = 2;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < 2 && i < nr; i++)
		list[i] = ports[i].name;
	for (size_t i = 0; i < nr_interfaces; i++) {
		const struct port *port;

		snprintf(name, sizeof(name), WIRE "%.*s", IF_NAMESIZE - 1, interfaces[i]);
		port = port_of(name);
		if (port && found < nr)
			list[found] = port->name;
		found += port != NULL;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

bool bl_soft_is_wire(const char *name)
{
	return !strncmp(name, WIRE, strlen(WIRE));
}

static struct port *find_port(const char *device)
{
	struct port *port = NULL;

	if (strlen(device) >= sizeof(port->name) || (!bl_soft_is_wire(device) && strcmp(device, "soft0") && strcmp(device, "soft1")))
		return NULL;
	pthread_mutex_lock(&lock);
	port = port_of(device);
	pthread_mutex_unlock(&lock);
	return port;
}

static int make(const char *name, struct bl_nic **nic_p)
{
	struct bl_snic_attr attr = {
		.name = name,
		.transport = bl_soft_is_wire(name) ? &bl_snic_roce : NULL,
		.mover = bl_soft_is_wire(name) ? NULL : bl_place_mover(),
	};
	struct bl_snic_fault fault;
	struct bl_nic *nic;
	int ret;

	ret = bl_soft_env(&attr, &fault);
	if (ret)
		return ret;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return fail(ENOMEM, "device %s: out of memory", name);
	bl_soft_events(nic, &attr);
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
	struct port *port = find_port(device);
	int ret;

	if (!port)
		return fail(ENODEV, "device %s: no such software NIC", device);
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	nic = join(port->nic);
	pthread_mutex_unlock(&lock);
	if (nic) {
		*nic_p = nic;
		return 0;
	}
	ret = make(port->name, &fresh);
	if (ret)
		return ret;
	pthread_mutex_lock(&lock);
	nic = join(port->nic);
	if (!nic)
		port->nic = fresh;
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
	for (size_t i = 0; last && i < nr_ports; i++) {
		if (ports[i].nic == nic)
			ports[i].nic = NULL;
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
