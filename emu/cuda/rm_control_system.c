// SPDX-License-Identifier: MIT
/* Controls of a client about the GPUs of the machine. */
#include <stdio.h>
#include <string.h>

#include "rm_card.h"
#include "rm_control.h"

#define IDS 32

static uint32_t get_attached_ids(struct rm_client *client, struct rm_object *none, void *params)
{
	size_t nr = 0;

	for (size_t i = 0; i < IDS; i++)
		rm_put32(params, i * 4, RM_NO_GPU);
	for (int i = 0; i < emu_gpu_count(); i++) {
		if (emu_gpu_is_attached(emu_gpu(i)))
			rm_put32(params, 4 * nr++, emu_gpu(i)->gpu_id);
	}
	return RM_OK;
}

/* gpuIds 0:128, excluded 128:128, and 128 bytes more where the branch has them */
static uint32_t get_probed_ids(struct rm_client *client, struct rm_object *none, void *params)
{
	memset(params, 0xff, emu_driver.abi->probed_ids);
	for (int i = 0; i < emu_gpu_count(); i++)
		rm_put32(params, i * 4, emu_gpu(i)->gpu_id);
	return RM_OK;
}

static struct emu_gpu *attached_gpu(const void *params)
{
	struct emu_gpu *gpu = rm_gpu_by_id(rm_get32(params, 0));

	return gpu && emu_gpu_is_attached(gpu) ? gpu : NULL;
}

/* gpuId 0, flags 4, deviceInstance 8, subDeviceInstance 12, szName 16:8, sli 24, board 28, gpuInstance 32, numaId 36 */
static uint32_t get_id_info(struct rm_client *client, struct rm_object *none, void *params)
{
	struct emu_gpu *gpu = attached_gpu(params);

	if (!gpu)
		return RM_INVALID_ARGUMENT;
	if (rm_getptr(params, 16))
		return RM_NOT_SUPPORTED; /* the name is written where the client says, in a form that is not known */
	rm_put32(params, 4, 0);
	rm_put32(params, 8, gpu->instance);
	rm_put32(params, 12, 0);
	rm_put32(params, 24, 0);
	rm_put32(params, 28, (uint32_t)gpu->index);
	rm_put32(params, 32, gpu->instance);
	rm_put32(params, 36, RM_NO_GPU);
	return RM_OK;
}

/* gpuId 0, flags 4, deviceInstance 8, subDeviceInstance 12, sli 16, boardId 20, gpuInstance 24, numaId 28 */
static uint32_t get_id_info_v2(struct rm_client *client, struct rm_object *none, void *params)
{
	struct emu_gpu *gpu = attached_gpu(params);

	if (!gpu)
		return RM_INVALID_ARGUMENT;
	rm_put32(params, 4, 0);
	rm_put32(params, 8, gpu->instance);
	rm_put32(params, 12, 0);
	rm_put32(params, 16, 0);
	rm_put32(params, 20, (uint32_t)gpu->index);
	rm_put32(params, 24, gpu->instance);
	rm_put32(params, 28, RM_NO_GPU);
	return RM_OK;
}

/* gpuId 0, domain 4, bus 8:2, slot 10:2 */
static uint32_t get_pci_info(struct rm_client *client, struct rm_object *none, void *params)
{
	struct emu_gpu *gpu = rm_gpu_by_id(rm_get32(params, 0));

	if (!gpu)
		return RM_INVALID_ARGUMENT;
	rm_put32(params, 4, gpu->domain);
	rm_put16(params, 8, gpu->bus);
	rm_put16(params, 10, gpu->slot);
	return RM_OK;
}

/* gpuId 0, flags 4 (2: binary, 4: another hash), uuid 8:256, len 264 */
static uint32_t get_uuid_from_gpu_id(struct rm_client *client, struct rm_object *none, void *params)
{
	struct emu_gpu *gpu = attached_gpu(params);
	uint32_t flags = rm_get32(params, 4);

	if (!gpu || flags & ~6U)
		return RM_INVALID_ARGUMENT;
	if (flags & 4)
		return RM_NOT_SUPPORTED;
	memset((char *)params + 8, 0, 256);
	if (flags & 2)
		memcpy((char *)params + 8, gpu->uuid, sizeof(gpu->uuid));
	else
		rm_uuid_text(gpu, (char *)params + 8);
	rm_put32(params, 264, flags & 2 ? sizeof(gpu->uuid) : RM_UUID_TEXT);
	return RM_OK;
}

const struct rm_control rm_controls_system[] = {
	{0x201, RM_CLASS_CLIENT, RM_SIZE_FIXED, IDS * 4, get_attached_ids},
	{0x202, RM_CLASS_CLIENT, RM_SIZE_FIXED, 40, get_id_info},
	{0x205, RM_CLASS_CLIENT, RM_SIZE_FIXED, 32, get_id_info_v2},
	{0x214, RM_CLASS_CLIENT, RM_SIZE_PROBED_IDS, 0, get_probed_ids},
	{0x21b, RM_CLASS_CLIENT, RM_SIZE_FIXED, 12, get_pci_info},
	{0x275, RM_CLASS_CLIENT, RM_SIZE_FIXED, 268, get_uuid_from_gpu_id},
	{0},
};
