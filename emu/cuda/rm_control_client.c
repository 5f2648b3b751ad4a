// SPDX-License-Identifier: MIT
/* Controls of a client about its objects. */
#include "fault.h"
#include "rm_control.h"

#define SPACE_SYSMEM 1
#define SPACE_VIDMEM 2
#define SPACE_REGS   3

/* hObject 0, mapFlags 4, type 8 */
static uint32_t get_addr_space_type(struct rm_client *client, struct rm_object *none, void *params)
{
	struct rm_object *object = rm_object_find(client, rm_get32(params, 0));
	long type = SPACE_SYSMEM;

	if (!object)
		return RM_OBJECT_NOT_FOUND;
	if (object->hclass != RM_CLASS_MEMORY)
		type = SPACE_REGS;
	else if (!emu_fault("rm.space", &type))
		type = SPACE_VIDMEM;
	rm_put32(params, 8, (uint32_t)type);
	return RM_OK;
}

/* hObject 0, index 4, result 8:8 */
static uint32_t get_handle_info(struct rm_client *client, struct rm_object *none, void *params)
{
	struct rm_object *object = rm_object_find(client, rm_get32(params, 0));

	if (!object)
		return RM_OBJECT_NOT_FOUND;
	switch (rm_get32(params, 4)) {
	case 1:
		rm_put64(params, 8, object->parent);
		return RM_OK;
	case 2:
		rm_put64(params, 8, object->hclass);
		return RM_OK;
	default:
		return RM_INVALID_ARGUMENT;
	}
}

/* hObject 0, hClient of its owner 4, mask 8 */
static uint32_t get_access_rights(struct rm_client *client, struct rm_object *none, void *params)
{
	struct rm_client *owner = rm_client_any(rm_get32(params, 4));
	struct rm_object *object;

	if (!owner)
		return RM_INVALID_CLIENT;
	object = rm_object_find(owner, rm_get32(params, 0));
	if (!object)
		return RM_OBJECT_NOT_FOUND;
	rm_put32(params, 8, rm_object_may_dup(owner, object) ? 1 : 0);
	return RM_OK;
}

/* hObject1 0, hObject2 4, answer 8:1 */
static uint32_t objects_are_duplicates(struct rm_client *client, struct rm_object *none, void *params)
{
	struct rm_object *one = rm_object_find(client, rm_get32(params, 0));
	struct rm_object *two = rm_object_find(client, rm_get32(params, 4));

	if (!one || !two)
		return RM_OBJECT_NOT_FOUND;
	rm_put8(params, 8, one == two || (one->mem && one->mem == two->mem));
	return RM_OK;
}

const struct rm_control rm_controls_client[] = {
	{0xd01, RM_CLASS_CLIENT, RM_SIZE_FIXED, 12, get_addr_space_type},
	{0xd02, RM_CLASS_CLIENT, RM_SIZE_FIXED, 16, get_handle_info},
	{0xd03, RM_CLASS_CLIENT, RM_SIZE_FIXED, 12, get_access_rights},
	{0xd07, RM_CLASS_CLIENT, RM_SIZE_DUP_QUERY, 12, objects_are_duplicates},
	{0},
};
