// SPDX-License-Identifier: MIT
#include "common/device.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"

static int init(const struct bl_cuda **cu_p)
{
	const struct bl_cuda *cu = bl_cuda();

	if (!cu)
		return tool_fail(ENODEV, "no CUDA driver library: %s", bl_cuda_error());
	*cu_p = cu;
	return tool_cuda(cu->cuInit(0), "cuInit");
}

static int describe(const struct bl_cuda *cu, int ordinal, struct tool_device *device)
{
	static const int attrs[] = { CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
				     CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID };
	int where[3] = { 0 };
	int ret;

	memset(device, 0, sizeof(*device));
	device->cu = cu;
	device->ordinal = ordinal;
	ret = tool_cuda(cu->cuDeviceGet(&device->dev, ordinal), "cuDeviceGet");
	if (ret)
		return ret;
	ret = tool_cuda(cu->cuDeviceGetName(device->name, sizeof(device->name), device->dev), "cuDeviceGetName");
	if (ret)
		return ret;
	for (int i = 0; i < 3; i++)
		where[i] = tool_device_attr(device, attrs[i]);
	snprintf(device->bus_id, sizeof(device->bus_id), "%04x:%02x:%02x", where[0], where[1], where[2]);
	device->emulated = strcasestr(device->name, "emulated");
	return 0;
}

int tool_device_attr(const struct tool_device *device, int attr)
{
	int value = 0;

	if (device->cu->cuDeviceGetAttribute(&value, attr, device->dev) != CUDA_SUCCESS)
		return 0;
	return value;
}

int tool_device_count(void)
{
	const struct bl_cuda *cu = NULL;
	int nr, ret;

	ret = init(&cu);
	if (!ret)
		ret = tool_cuda(cu->cuDeviceGetCount(&nr), "cuDeviceGetCount");
	return ret ? ret : nr;
}

int tool_devices_print(FILE *out)
{
	struct tool_device device;
	const struct bl_cuda *cu;
	int nr, ret;

	nr = tool_device_count();
	if (nr < 0)
		return nr;
	cu = bl_cuda();
	for (int i = 0; i < nr; i++) {
		ret = describe(cu, i, &device);
		if (ret)
			return ret;
		fprintf(out, "GPU id:%d; name: %s; Bus id: %s\n", i, device.name, device.bus_id);
	}
	return nr;
}

int tool_device_open(int ordinal, struct tool_device *device)
{
	int nr, ret;

	nr = tool_device_count();
	if (nr < 0)
		return nr;
	if (!nr)
		return tool_fail(ENODEV, "the CUDA driver finds no GPU");
	if (ordinal < 0 || ordinal >= nr)
		return tool_fail(ENODEV, "there is no GPU %d, only 0 ... %d", ordinal, nr - 1);
	ret = describe(bl_cuda(), ordinal, device);
	if (ret)
		return ret;
	ret = tool_cuda(device->cu->cuDevicePrimaryCtxRetain(&device->ctx, device->dev), "cuDevicePrimaryCtxRetain");
	if (ret)
		return ret;
	ret = tool_cuda(device->cu->cuCtxSetCurrent(device->ctx), "cuCtxSetCurrent");
	if (ret)
		device->cu->cuDevicePrimaryCtxRelease(device->dev);
	return ret;
}

void tool_device_close(struct tool_device *device)
{
	device->cu->cuCtxSetCurrent(NULL);
	device->cu->cuDevicePrimaryCtxRelease(device->dev);
}
