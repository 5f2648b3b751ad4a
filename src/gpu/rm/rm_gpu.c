// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/rm: " fmt
#include "rm_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/mmap.h"
#include "util/log.h"

/* The host's GPUs, also those whose nodes are not here; more than any host has. */
#define MAX_CARDS 64

static int find_card(const struct rm_conn *conn, const struct bl_cuda *cuda, int ordinal, struct rm_card_info *card)
{
	unsigned int domain, bus, slot;
	struct rm_card_info *cards;
	char id[32] = "";
	CUdevice device;
	CUresult err;
	int ret;

	err = cuda->cuDeviceGet(&device, ordinal);
	if (!err)
		err = cuda->cuDeviceGetPCIBusId(id, sizeof(id), device);
	if (err || sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return fail(ENODEV, "device %d: PCI address \"%s\": %s", ordinal, id, bl_cuda_strerror(err));
	cards = calloc(MAX_CARDS, sizeof(*cards));
	if (!cards)
		return fail(ENOMEM, "device %d: out of memory", ordinal);
	ret = rm_card_info(conn, cards, MAX_CARDS);
	if (ret)
		goto out;
	ret = -ENODEV;
	for (int i = 0; i < MAX_CARDS && ret; i++) {
		if (cards[i].valid && cards[i].domain == domain && cards[i].bus == bus && cards[i].slot == slot) {
			*card = cards[i];
			ret = 0;
		}
	}
	if (ret)
		fail(ENODEV, "device %d at %s: the kernel driver lists no such GPU", ordinal, id);
out:
	free(cards);
	return ret;
}

int rm_gpu_node(const struct rm_conn *conn, const struct rm_card_info *card)
{
	char path[32];
	int fd, ret;

	snprintf(path, sizeof(path), "/dev/nvidia%u", card->minor);
	fd = bl_device_open(path);
	if (fd < 0)
		return fail(fd == -ENOENT ? ENODEV : -fd, "open %s: %s%s", path, strerror(-fd),
			    fd == -ENOENT ? " (the node of this GPU is not in this container)" : "");
	/* so that a mapping of this descriptor keeps the client's objects alive */
	ret = rm_register_fd(conn, fd);
	if (ret) {
		bl_device_close(fd);
		return ret;
	}
	return fd;
}

/*
 * That the objects are of the GPU that CUDA means. An instance of a partitioned GPU (MIG) has an identifier of its own
 * that RM's GPU does not share, and is not supported.
 */
static int compare_uuid(const struct rm_conn *conn, const struct bl_cuda *cuda, const struct rm_gpu *gpu)
{
	struct rm_gid_info gid = { .flags = 2 };
	CUuuid uuid;
	CUdevice device;
	int ret;

	if (!cuda->cuDeviceGetUuid || cuda->cuDeviceGet(&device, gpu->ordinal) ||
	    cuda->cuDeviceGetUuid(&uuid, device))
		return 0;
	ret = rm_control(conn, gpu->subdevice, RM_CTRL_GPU_GET_GID_INFO, &gid, sizeof(gid));
	if (ret)
		return ret;
	if (gid.length < sizeof(uuid) || memcmp(gid.data, &uuid, sizeof(uuid)))
		return fail(ENODEV, "device %d: CUDA and the kernel driver name different GPUs (a MIG instance?)",
			    gpu->ordinal);
	return 0;
}

/* The node must be open before anything of the device is allocated: RM demands it. */
static int make_objects(const struct rm_conn *conn, struct rm_gpu *gpu)
{
	struct rm_id_info id = { .gpu_id = gpu->card.gpu_id };
	struct rm_device_params device = { 0 };
	uint32_t subdevice = 0;
	int ret;

	ret = rm_control(conn, conn->client, RM_CTRL_GPU_GET_ID_INFO_V2, &id, sizeof(id));
	if (ret)
		return ret;
	gpu->instance = device.device_id = id.device_instance;
	ret = rm_alloc(conn, conn->client, RM_CLASS_DEVICE, &device, &gpu->device);
	if (ret)
		return ret;
	ret = rm_alloc(conn, gpu->device, RM_CLASS_SUBDEVICE, &subdevice, &gpu->subdevice);
	if (ret)
		rm_free(conn, conn->client, gpu->device);
	return ret;
}

int rm_gpu_open(const struct rm_conn *conn, const struct bl_cuda *cuda, int ordinal, struct rm_gpu **gpu_p)
{
	struct rm_gpu *gpu = calloc(1, sizeof(*gpu));
	int ret;

	if (!gpu)
		return fail(ENOMEM, "device %d: out of memory", ordinal);
	gpu->ordinal = ordinal;
	pthread_mutex_init(&gpu->known.lock, NULL);
	ret = find_card(conn, cuda, ordinal, &gpu->card);
	if (ret)
		goto free_gpu;
	ret = gpu->anchor = rm_gpu_node(conn, &gpu->card);
	if (ret < 0)
		goto free_gpu;
	ret = make_objects(conn, gpu);
	if (ret)
		goto close_node;
	ret = compare_uuid(conn, cuda, gpu);
	if (ret)
		goto free_device;
	*gpu_p = gpu;
	return 0;
free_device:
	rm_free(conn, conn->client, gpu->device);
close_node:
	bl_device_close(gpu->anchor);
free_gpu:
	free(gpu);
	return ret;
}

void rm_gpu_close(const struct rm_conn *conn, struct rm_gpu *gpu)
{
	rm_free(conn, conn->client, gpu->device); /* and the subdevice under it */
	bl_device_close(gpu->anchor);
	free(gpu);
}

int rm_gpu_bar1(const struct rm_conn *conn, const struct rm_gpu *gpu, uint32_t *avail_p, uint32_t *size_p)
{
	struct rm_pair pairs[] = { { .index = RM_FB_BAR1_AVAIL }, { .index = RM_FB_BAR1_SIZE } };
	struct rm_pair_list list = { .count = 2, .list = (uintptr_t)pairs };
	int ret;

	ret = rm_control(conn, gpu->subdevice, RM_CTRL_FB_GET_INFO, &list, sizeof(list));
	if (ret)
		return ret;
	*avail_p = pairs[0].data;
	*size_p = pairs[1].data;
	return 0;
}
