// SPDX-License-Identifier: MIT
/*
 * data.c - what the CPU writes the GPU reads, and the reverse
 */
#include "sanity/sanity.h"

#include <stdlib.h>

#define DATA_SIZE (2 * GPU_PAGE_SIZE)
#define ROUNDS	  1000
#define WORDS	  1024
#define GUARD	  0xa5

static const size_t offsets[] = { 1, 2, 3, 4, 5, 6, 7, 11, 129, 1023 };
static const size_t lengths[] = { 1, 3, 8, 63, 64, 100, 1000, 4097, 70000 };

/**
 * struct trip - a round trip from host memory to GPU memory and back
 * @unit:     bytes that @device and @host count
 * @device:   offset on the device side
 * @host:     offset on the host side
 */
struct trip {
	size_t unit;
	size_t device;
	size_t host;
};

static void check_types(gdr_t g, gdr_mh_t mh, unsigned int mapped)
{
	const char *name = NULL;
	gdr_info_t info;

	st_ok(gdr_get_info(g, mh, &info));
	st_check_eq(info.mapped, mapped);
	st_check_eq(info.mapping_type != GDR_MAPPING_TYPE_NONE, mapped);
	st_check_eq(info.wc_mapping, info.mapping_type == GDR_MAPPING_TYPE_WC);
	st_ok(gdr_get_mapping_type_string(info.mapping_type, &name));
	st_check(name && *name);
	st_log("mapping type: %s", name);
}

static void plain_stores(const struct tool_device *device, const struct st_buf *buf)
{
	uint32_t *want = st_host(WORDS * sizeof(*want));

	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < WORDS; i++) {
			want[i] = round * 0x9e3779b1u + i;
			buf->map[i] = want[i];
		}
		st_flush();
		st_gpu_holds(device, buf->mem.ptr, want, WORDS * sizeof(*want));
	}
	free(want);
}

static void copy_aligned(const struct tool_device *device, const struct st_buf *buf)
{
	char *host = st_host(DATA_SIZE);

	st_fill(host, DATA_SIZE, 7);
	st_ok(gdr_copy_to_mapping(buf->mh, (void *)(uintptr_t)buf->map, host, DATA_SIZE));
	st_gpu_holds(device, buf->mem.ptr, host, DATA_SIZE);
	free(host);
}

/*
 * Both ends of the copy lie inside larger buffers of one value: a byte written outside shows.
 */
static void round_trip(const struct tool_device *device, const struct st_buf *buf, const struct trip *trip, size_t len,
		       char *host, char *want)
{
	size_t doff = trip->device * trip->unit, hoff = trip->host * trip->unit;
	char *mapped = (char *)(uintptr_t)buf->map + doff;

	st_cuda(device->cu->cuMemsetD8(buf->mem.ptr, GUARD, DATA_SIZE));
	st_cuda(device->cu->cuCtxSynchronize());
	st_fill(host, DATA_SIZE, (uint32_t)(len * 31 + doff * 7 + hoff));
	memset(want, GUARD, DATA_SIZE);
	memcpy(want + doff, host + hoff, len);
	st_ok(gdr_copy_to_mapping(buf->mh, mapped, host + hoff, len));
	st_gpu_holds(device, buf->mem.ptr, want, DATA_SIZE);

	memmove(want + hoff, want + doff, len);
	memset(want, GUARD, hoff);
	memset(want + hoff + len, GUARD, DATA_SIZE - hoff - len);
	memset(host, GUARD, DATA_SIZE);
	st_ok(gdr_copy_from_mapping(buf->mh, host + hoff, mapped, len));
	st_same(host, want, DATA_SIZE);
}

static void round_trips(const struct tool_device *device, const struct st_buf *buf)
{
	char *host = st_host(DATA_SIZE), *want = st_host(DATA_SIZE);

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		for (size_t unit = 1; unit <= 4; unit += 3) {
			size_t off = offsets[i];
			const struct trip trips[] = { { unit, off, 0 }, { unit, 0, off }, { unit, off, off } };

			for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
				for (size_t k = 0; k < 3; k++)
					round_trip(device, buf, &trips[k], lengths[j], host, want);
			}
		}
	}
	free(host);
	free(want);
}

static void validate(const struct tool_device *device, gdr_t g, struct st_buf *buf)
{
	check_types(g, buf->mh, 0);
	st_buf_map(g, buf);
	check_types(g, buf->mh, 1);
	st_log("%d rounds of stores", ROUNDS);
	plain_stores(device, buf);
	st_log("copies");
	copy_aligned(device, buf);
	round_trips(device, buf);
	st_buf_drop(g, buf);
	st_ok(gdr_close(g));
}

static void data_validation(enum tool_mem_kind kind)
{
	struct st_buf buf = { .len = DATA_SIZE };
	struct tool_device device;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, DATA_SIZE, &buf.mem);
	st_buf_pin(g, &buf);
	validate(&device, g, &buf);
}

static void data_validation_v2(enum tool_mem_kind kind)
{
	struct st_buf buf = { .len = DATA_SIZE };
	struct tool_device device;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, DATA_SIZE, &buf.mem);
	st_ok(gdr_pin_buffer_v2(g, buf.mem.ptr, buf.len, GDR_PIN_FLAG_DEFAULT, &buf.mh));
	validate(&device, g, &buf);
}

static void data_validation_v2_forcepci(enum tool_mem_kind kind)
{
	struct st_buf buf = { .len = DATA_SIZE };
	struct tool_device device;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_needs_force_pcie(&device, g);
	st_alloc(&device, kind, DATA_SIZE, &buf.mem);
	st_ok(gdr_pin_buffer_v2(g, buf.mem.ptr, buf.len, GDR_PIN_FLAG_FORCE_PCIE, &buf.mh));
	validate(&device, g, &buf);
}

/* Write through one mapping, read through the other. */
static void cross(gdr_mh_t to, void *to_map, gdr_mh_t from, const void *from_map, uint32_t seed)
{
	char *want = st_host(DATA_SIZE), *got = st_host(DATA_SIZE);

	st_fill(want, DATA_SIZE, seed);
	memset(got, 0, DATA_SIZE);
	st_ok(gdr_copy_to_mapping(to, to_map, want, DATA_SIZE));
	st_ok(gdr_copy_from_mapping(from, got, from_map, DATA_SIZE));
	st_same(got, want, DATA_SIZE);
	free(want);
	free(got);
}

static void data_validation_mix_mappings(enum tool_mem_kind kind)
{
	void *wc_map = NULL, *cached_map = NULL;
	gdr_mh_t wc = { 0 }, cached = { 0 };
	struct tool_device device;
	struct tool_mem mem;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_needs_private_pins(g);
	if (!tool_device_attr(&device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES))
		st_waive("GPU %d is not on a coherent link: there is one type of mapping only", device.ordinal);
	st_alloc(&device, kind, DATA_SIZE, &mem);
	st_ok(gdr_pin_buffer(g, mem.ptr, DATA_SIZE, 0, 0, &wc));
	st_ok(gdr_pin_buffer(g, mem.ptr, DATA_SIZE, 0, 0, &cached));
	st_ok(gdr_map_v2(g, wc, &wc_map, DATA_SIZE, GDR_MAP_FLAG_REQ_WC_MAPPING));
	st_ok(gdr_map_v2(g, cached, &cached_map, DATA_SIZE, GDR_MAP_FLAG_REQ_CACHE_MAPPING));
	for (uint32_t round = 0; round < 100; round++) {
		cross(wc, wc_map, cached, cached_map, 2 * round);
		cross(cached, cached_map, wc, wc_map, 2 * round + 1);
	}
	st_ok(gdr_unmap(g, wc, wc_map, DATA_SIZE));
	st_ok(gdr_unmap(g, cached, cached_map, DATA_SIZE));
	st_ok(gdr_unpin_buffer(g, wc));
	st_ok(gdr_unpin_buffer(g, cached));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

const struct sanity_test sanity_data[] = {
	SANITY_BOTH(data_validation),
	{ "data_validation_v2_cumemalloc", data_validation_v2, TOOL_MEM_ALLOC, false },
	{ "data_validation_v2_forcepci_cumemalloc", data_validation_v2_forcepci, TOOL_MEM_ALLOC, false },
	{ "data_validation_mix_mappings_cumemalloc", data_validation_mix_mappings, TOOL_MEM_ALLOC, false },
	{ 0 },
};
