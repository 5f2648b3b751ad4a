// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <unistd.h>

#include "counts.h"
#include "rm_state.h"

#define CLIENT_FIRST  0xc1d00000U
#define CLIENT_LAST   0xc1dfffffU
#define OBJECT_FIRST  0xcaf00000U
#define SHARE_ALL     (1U << 1)
#define SHARE_USER    (1U << 2)
#define SHARE_PROCESS (1U << 4)

static struct rm_client *clients;

struct rm_client *rm_clients(void)
{
	return clients;
}

struct rm_client *rm_client_any(uint32_t handle)
{
	for (struct rm_client *client = clients; client; client = client->next) {
		if (client->handle == handle)
			return client;
	}
	return NULL;
}

/* Only through the control file that made it, and only from the process that did. */
struct rm_client *rm_client_find(uint32_t handle, const struct emu_file *file)
{
	struct rm_client *client = rm_client_any(handle);

	if (!client)
		return NULL;
	if (client->pid != getpid()) {
		emu_violation("client 0x%x used by another process than its own", handle);
		return NULL;
	}
	return client->file == file ? client : NULL;
}

static uint32_t free_client_handle(void)
{
	static uint32_t last = CLIENT_FIRST;

	do
		last = last == CLIENT_LAST ? CLIENT_FIRST : last + 1;
	while (rm_client_any(last));
	return last;
}

struct rm_client *rm_client_new(struct emu_file *file, uint32_t handle)
{
	struct rm_client *client;

	if (handle && (handle < CLIENT_FIRST || handle > CLIENT_LAST || rm_client_any(handle)))
		return NULL;
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->handle = handle ? handle : free_client_handle();
	client->pid = getpid();
	client->euid = geteuid();
	client->file = file;
	client->shares = SHARE_PROCESS;
	client->next_handle = OBJECT_FIRST;
	client->next = clients;
	clients = client;
	return client;
}

void rm_client_free(struct rm_client *client)
{
	struct rm_client **link = &clients;

	while (client->objects)
		rm_object_free(client, client->objects);
	while (*link != client)
		link = &(*link)->next;
	*link = client->next;
	free(client);
}

void rm_clients_of_file_free(const struct emu_file *file)
{
	struct rm_client *next;

	for (struct rm_client *client = clients; client; client = next) {
		next = client->next;
		if (client->file == file)
			rm_client_free(client);
	}
}

struct rm_object *rm_object_find(struct rm_client *client, uint32_t handle)
{
	for (struct rm_object *object = client->objects; object; object = object->next) {
		if (object->handle == handle)
			return object;
	}
	return NULL;
}

static bool handle_taken(struct rm_client *client, uint32_t handle)
{
	return handle == client->handle || rm_object_find(client, handle);
}

uint32_t rm_object_new(struct rm_client *client, uint32_t handle, struct rm_object **object_p)
{
	struct rm_object *object;

	if (handle && handle_taken(client, handle))
		return RM_INSERT_DUPLICATE_NAME;
	object = calloc(1, sizeof(*object));
	if (!object)
		return RM_NO_MEMORY;
	while (!handle) {
		handle = client->next_handle++;
		if (handle_taken(client, handle))
			handle = 0;
	}
	object->handle = handle;
	object->next = client->objects;
	client->objects = object;
	*object_p = object;
	return RM_OK;
}

static void free_maps_of(struct rm_client *client, struct rm_object *object)
{
	struct rm_map *next;

	for (struct rm_map *map = rm_maps(); map; map = next) {
		next = map->next;
		if (map->client != client || map->object != object)
			continue;
		if (emu_vma_of_map(map))
			emu_violation("memory object 0x%x goes away while the process has it mapped", object->handle);
		else
			emu_violation("memory object 0x%x goes away before UNMAP_MEMORY", object->handle);
		rm_map_free(map);
	}
}

static struct rm_object *child_of(struct rm_client *client, const struct rm_object *object)
{
	for (struct rm_object *child = client->objects; child; child = child->next) {
		if (child->parent == object->handle)
			return child;
	}
	return NULL;
}

void rm_object_free(struct rm_client *client, struct rm_object *object)
{
	struct rm_object **link = &client->objects, *child;

	while ((child = child_of(client, object)))
		rm_object_free(client, child);
	free_maps_of(client, object);
	while (*link != object)
		link = &(*link)->next;
	*link = object->next;
	if (object->mem)
		emu_mem_put(object->mem);
	free(object);
}

/* A policy of the object replaces its client's. */
bool rm_object_may_dup(const struct rm_client *client, const struct rm_object *object)
{
	uint32_t shares = object->shares ? object->shares : client->shares;
	bool same_process = client->pid == getpid();

	if (shares & SHARE_ALL)
		return true;
	if (shares & SHARE_USER && (client->euid == geteuid() || same_process))
		return true;
	return shares & SHARE_PROCESS && same_process;
}

uint32_t rm_object_dup(struct rm_client *client, struct rm_object *device, uint32_t handle, struct emu_mem *mem,
		       struct rm_object **object_p)
{
	struct rm_object *object;
	uint32_t status;

	if (device->hclass != RM_CLASS_DEVICE || device->gpu != mem->gpu)
		return RM_INVALID_OBJECT_PARENT;
	status = rm_object_new(client, handle, &object);
	if (status)
		return status;
	object->hclass = RM_CLASS_MEMORY;
	object->parent = device->handle;
	object->gpu = device->gpu;
	object->mem = emu_mem_get(mem);
	*object_p = object;
	return RM_OK;
}
