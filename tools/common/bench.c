// SPDX-License-Identifier: MIT
#include "common/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/error.h"

const struct tool_name bench_map_types[] = {
	{ "default", GDR_MAP_FLAG_DEFAULT },
	{ "wc", GDR_MAP_FLAG_REQ_WC_MAPPING },
	{ "cache", GDR_MAP_FLAG_REQ_CACHE_MAPPING },
	{ "device", GDR_MAP_FLAG_REQ_DEVICE_MAPPING },
	{ NULL, 0 },
};

static void need(int ret, const char *what)
{
	if (ret)
		tool_die("%s: %s", what, strerror(ret));
}

static void choose_device(const struct bench_options *options, struct bench *bench)
{
	int ordinal = options->ordinal;

	if (tool_devices_print(bench->out) < 0)
		tool_die("%s", tool_why());
	fprintf(bench->out, "selecting device %d\n", ordinal);
	if (tool_device_open(ordinal, &bench->device))
		tool_die("%s", tool_why());
	if (bench->device.emulated)
		fprintf(bench->out, "emu: GPU %d is emulated; these figures say nothing about hardware\n", ordinal);
	if (tool_bind(&bench->device, (enum tool_bind)options->bind, bench->out, &bench->numa))
		tool_die("%s", tool_why());
}

void bench_prepare(const struct bench_options *options, struct bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	bench->out = options->json && !strcmp(options->json, "-") ? stderr : stdout;
	choose_device(options, bench);
	bench->len = (options->size + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
	if (tool_mem_alloc(&bench->device, options->kind, bench->len, &bench->mem))
		tool_die("%s", tool_why());
	bench->g = gdr_open();
	if (!bench->g)
		tool_die("gdr_open() failed; \"barlane providers\" shows why");
}

void bench_open(const struct bench_options *options, struct bench *bench)
{
	void *map = NULL;

	bench_prepare(options, bench);
	need(gdr_pin_buffer(bench->g, bench->mem.ptr, bench->len, 0, 0, &bench->mh), "gdr_pin_buffer");
	need(gdr_map_v2(bench->g, bench->mh, &map, bench->len, options->map), "gdr_map_v2");
	need(gdr_get_info(bench->g, bench->mh, &bench->info), "gdr_get_info");
	bench->map = map;
	bench->user = bench->map + (bench->mem.ptr - bench->info.va);
}

void bench_print(const struct bench_options *options, const struct bench *bench)
{
	FILE *out = bench->out;

	fprintf(out, "gpu alloc fn: %s\n", tool_value_name(options->kind, tool_mem_kinds));
	fprintf(out, "device ptr: %llx\n", bench->mem.ptr);
	fprintf(out, "map_d_ptr: %p\n", (void *)bench->map);
	fprintf(out, "info.va: %" PRIx64 "\n", bench->info.va);
	fprintf(out, "info.mapped_size: %" PRIu64 "\n", bench->info.mapped_size);
	fprintf(out, "info.page_size: %" PRIu32 "\n", bench->info.page_size);
	fprintf(out, "info.mapped: %u\n", bench->info.mapped);
	fprintf(out, "info.wc_mapping: %u\n", bench->info.wc_mapping);
	fprintf(out, "page offset: %llu\n", bench->mem.ptr - bench->info.va);
	fprintf(out, "user-space pointer:%p\n", (void *)bench->user);
}

void bench_close(struct bench *bench)
{
	fprintf(bench->out, "unmapping buffer\n");
	need(gdr_unmap(bench->g, bench->mh, bench->map, bench->len), "gdr_unmap");
	fprintf(bench->out, "unpinning buffer\n");
	need(gdr_unpin_buffer(bench->g, bench->mh), "gdr_unpin_buffer");
	bench_release(bench);
}

void bench_release(struct bench *bench)
{
	fprintf(bench->out, "closing gdrdrv\n");
	need(gdr_close(bench->g), "gdr_close");
	if (tool_mem_free(&bench->mem))
		tool_die("%s", tool_why());
	tool_device_close(&bench->device);
}

void bench_check(const struct bench *bench, size_t off, const void *want, size_t len)
{
	unsigned char *got = bench_host_alloc(len);
	const unsigned char *expected = want;

	if (tool_cuda(bench->device.cu->cuMemcpyDtoH(got, bench->mem.ptr + off, len), "cuMemcpyDtoH"))
		tool_die("%s", tool_why());
	for (size_t i = 0; i < len; i++) {
		if (got[i] != expected[i])
			tool_die("wrong data: byte %zu of %zu at offset %zu is 0x%02x in GPU memory, not 0x%02x", i,
				 len, off, got[i], expected[i]);
	}
	free(got);
}

void bench_fill(void *host, size_t len, unsigned int seed)
{
	unsigned char *bytes = host;
	uint32_t state = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		state = state * 1664525u + 1013904223u;
		bytes[i] = (unsigned char)(state >> 24);
	}
}

void *bench_host_alloc(size_t len)
{
	void *host = aligned_alloc(64, (len + 63) & ~(size_t)63);

	if (!host)
		tool_die("no host memory for %zu bytes", len);
	return host;
}

static void cpu_model(char *model, size_t size)
{
	char line[256];
	FILE *file;

	snprintf(model, size, "unknown");
	file = fopen("/proc/cpuinfo", "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		const char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !value)
			continue;
		snprintf(model, size, "%.*s", (int)strcspn(value + 1, "\n"), value + 1 + strspn(value + 1, " "));
		break;
	}
	fclose(file);
	model[strcspn(model, "\n")] = '\0';
}

static int attribute(const struct bench *bench, gdr_attr_t attr)
{
	int value = 0;

	if (gdr_get_attribute(bench->g, attr, &value))
		return 0;
	return value;
}

struct json_object *bench_json(const struct bench_options *options, const struct bench *bench)
{
	struct json_object *object = tool_json_object();
	const char *type = "unknown";
	struct utsname host;
	char model[128];

	uname(&host);
	cpu_model(model, sizeof(model));
	gdr_get_mapping_type_string(bench->info.mapping_type, &type);
	tool_json_string(object, "program", program_invocation_short_name);
	tool_json_string(object, "version", BARLANE_VERSION);
	tool_json_string(object, "kernel", host.release);
	tool_json_string(object, "cpu", model);
	tool_json_string(object, "gpu", bench->device.name);
	tool_json_string(object, "bus_id", bench->device.bus_id);
	tool_json_bool(object, "emu", bench->device.emulated);
	tool_json_int(object, "gpu_node", bench->numa.gpu_node);
	tool_json_int(object, "cpu_node", bench->numa.cpu_node);
	tool_json_string(object, "bind", tool_value_name(options->bind, tool_bind_names));
	tool_json_string(object, "alloc", tool_value_name(options->kind, tool_mem_kinds));
	tool_json_string(object, "mapping", type);
	tool_json_int(object, "bytes", (int64_t)bench->len);
	tool_json_bool(object, "persistent", attribute(bench, GDR_ATTR_USE_PERSISTENT_MAPPING));
	tool_json_bool(object, "dma_buf", attribute(bench, GDR_ATTR_USING_DMA_BUF_MMAP));
	return object;
}

struct json_object *bench_json_result(const char *name, size_t size, uint64_t iters, const struct tool_stats *stats)
{
	struct json_object *object = tool_json_object();

	tool_json_string(object, "test", name);
	tool_json_int(object, "bytes", (int64_t)size);
	tool_json_int(object, "iters", (int64_t)iters);
	tool_json_double(object, "min_ns", stats->min);
	tool_json_double(object, "p50_ns", stats->p50);
	tool_json_double(object, "p99_ns", stats->p99);
	tool_json_double(object, "max_ns", stats->max);
	tool_json_double(object, "mean_ns", stats->mean);
	return object;
}

int bench_finish(const struct bench_options *options, struct json_object *object)
{
	if (!options->json)
		json_object_put(object);
	else if (tool_json_write(object, options->json))
		tool_die("%s", tool_why());
	return EXIT_SUCCESS;
}
