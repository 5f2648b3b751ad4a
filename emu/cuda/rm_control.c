// SPDX-License-Identifier: MIT
#include "rm_control.h"
#include "counts.h"

/* NVOS54 */
enum { CONTROL_CLIENT = 0, CONTROL_OBJECT = 4, CONTROL_CMD = 8, CONTROL_FLAGS = 12, CONTROL_PARAMS = 16 };
enum { CONTROL_SIZE = 24 };

static const struct rm_control *const tables[] = {
	rm_controls_client,
	rm_controls_system,
	rm_controls_export,
	rm_controls_gpu,
};

/* 0: the branch has no such control. */
static uint32_t control_size(const struct rm_control *control)
{
	const struct rm_abi *abi = emu_driver.abi;

	switch (control->which) {
	case RM_SIZE_PROBED_IDS:
		return abi->probed_ids;
	case RM_SIZE_EXPORT_INFO:
		return abi->export_info;
	case RM_SIZE_PAGE_SIZE:
		return abi->page_size;
	case RM_SIZE_FB_INFO_V2:
		return abi->fb_info_v2;
	case RM_SIZE_STATIC_BAR1:
		return abi->static_bar1;
	case RM_SIZE_DUP_QUERY:
		return abi->dup_query ? control->size : 0;
	default:
		return control->size;
	}
}

static const struct rm_control *find_control(uint32_t cmd, uint32_t hclass)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct rm_control *control = tables[i]; control->serve; control++) {
			if (control->cmd == cmd && control->hclass == hclass && control_size(control))
				return control;
		}
	}
	return NULL;
}

uint32_t rm_control(struct emu_file *file, void *arg)
{
	struct rm_client *client = rm_client_find(rm_get32(arg, CONTROL_CLIENT), file);
	uint32_t handle = rm_get32(arg, CONTROL_OBJECT), size = rm_get32(arg, CONTROL_SIZE), status;
	void *params = rm_getptr(arg, CONTROL_PARAMS);
	const struct rm_control *control;
	struct rm_object *object;

	rm_must_be_zero("RM_CONTROL flags", rm_get32(arg, CONTROL_FLAGS));
	if (!client)
		return RM_INVALID_CLIENT;
	status = rm_fault_status("rm.control", RM_OPERATING_SYSTEM);
	if (status)
		return status;
	object = rm_object_find(client, handle);
	if (!object && handle != client->handle)
		return RM_OBJECT_NOT_FOUND;
	control = find_control(rm_get32(arg, CONTROL_CMD), object ? object->hclass : RM_CLASS_CLIENT);
	if (!control)
		return RM_NOT_SUPPORTED;
	if (!params != !size)
		return RM_INVALID_ARGUMENT;
	if (size != control_size(control))
		return RM_INVALID_PARAM_STRUCT;
	return control->serve(client, object, params);
}
