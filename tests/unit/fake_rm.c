// SPDX-License-Identifier: MIT
#include "fake_rm.h"

#include <errno.h>

#include "fake_bytes.h"
#include "tap.h"

#define MAX_OBJECTS 256
#define MAX_SOURCES 64

#define NR_OF(request)	 ((unsigned int)(request) & 0xff)
#define SIZE_OF(request) ((size_t)((request) >> 16 & 0x3fff))

enum { OK = 0, INSUFFICIENT_PERMISSIONS = 0x1b, INVALID_CLIENT = 0x23, INVALID_ARGUMENT = 0x1f, INVALID_CLASS = 0x22,
       INVALID_OBJECT_PARENT = 0x36, NOT_SUPPORTED = 0x56, OBJECT_NOT_FOUND = 0x57, STATE_IN_USE = 0x63 };

struct object {
	uint32_t handle;
	uint32_t parent;
	uint32_t class_id;
	uint64_t vram_off;
	uint64_t size;
};

/* What a node's descriptor carries; word of the file: 1 registered, 2 used for a mapping. */
struct map {
	uint32_t memory;
	uint64_t vram_off;
	uint64_t len;
	uint64_t phys;
	struct fake_file *file;
};

struct fake_rm fake_rm;
static struct object objects[MAX_OBJECTS];
static struct object sources[MAX_SOURCES];
static struct map maps[MAX_OBJECTS];
static uint32_t next_handle;
static int interrupts_left;

static struct object *find(struct object *table, size_t nr, uint32_t handle)
{
	for (size_t i = 0; handle && i < nr; i++) {
		if (table[i].handle == handle)
			return &table[i];
	}
	return NULL;
}

static struct object *object(uint32_t handle)
{
	return find(objects, MAX_OBJECTS, handle);
}

static uint32_t object_new(uint32_t handle, uint32_t parent, uint32_t class_id, uint64_t vram_off, uint64_t size)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		if (objects[i].handle)
			continue;
		objects[i] = (struct object){handle ? handle : next_handle++, parent, class_id, vram_off, size};
		return objects[i].handle;
	}
	return 0;
}

static struct map *map_find(uint32_t memory, uint64_t phys)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		if (maps[i].len && maps[i].memory == memory && maps[i].phys == phys)
			return &maps[i];
	}
	return NULL;
}

static bool node_is_open(void)
{
	for (int fd = 0; fd < 4096; fd++) {
		if (fake_sys_file(fd) && !strcmp(fake_sys_file(fd)->name, "nvidia3"))
			return true;
	}
	return false;
}

static uint32_t do_alloc(void *arg)
{
	uint32_t root = get32(arg, 0), parent = get32(arg, 4), class_id = get32(arg, 12);
	uint32_t handle = 0;

	if (get32(arg, 8))
		fake_violation("alloc with a handle of its own");
	switch (class_id) {
	case 0x41:
		if (root || parent || get_ptr(arg, 16) || object(FAKE_RM_CLIENT))
			return INVALID_ARGUMENT;
		handle = object_new(FAKE_RM_CLIENT, 0, class_id, 0, 0);
		break;
	case 0x80:
		if (root != FAKE_RM_CLIENT || parent != root)
			return INVALID_OBJECT_PARENT;
		if (!node_is_open())
			return INSUFFICIENT_PERMISSIONS;
		if (get32(get_ptr(arg, 16), 0) != FAKE_RM_INSTANCE)
			return INVALID_ARGUMENT;
		handle = object_new(0, parent, class_id, 0, 0);
		break;
	case 0x2080:
		if (root != FAKE_RM_CLIENT || !object(parent) || object(parent)->class_id != 0x80)
			return INVALID_OBJECT_PARENT;
		handle = object_new(0, parent, class_id, 0, 0);
		break;
	default:
		return INVALID_CLASS;
	}
	put32(arg, 8, handle);
	return OK;
}

/* A free takes along what lies under the object and RM's mappings of it; no page-table entry may be left. */
static void free_tree(uint32_t handle)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		if (objects[i].handle && objects[i].parent == handle)
			free_tree(objects[i].handle);
	}
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		if (!maps[i].len || maps[i].memory != handle)
			continue;
		if (maps[i].file && fake_sys_vmas_of(maps[i].file))
			fake_violation("free of object 0x%x before munmap", handle);
		maps[i].len = 0;
	}
	object(handle)->handle = 0;
}

static uint32_t do_free(const void *arg)
{
	uint32_t handle = get32(arg, 8);

	if (get32(arg, 0) != FAKE_RM_CLIENT || !object(FAKE_RM_CLIENT))
		return INVALID_CLIENT;
	if (!object(handle)) {
		fake_violation("free of object 0x%x, which there is not", handle);
		return OBJECT_NOT_FOUND;
	}
	if (handle != FAKE_RM_CLIENT && object(handle)->parent != get32(arg, 4))
		return INVALID_OBJECT_PARENT;
	free_tree(handle);
	return OK;
}

static uint32_t do_dup(void *arg)
{
	struct object *source = find(sources, MAX_SOURCES, get32(arg, 16)), *device = object(get32(arg, 4));

	if (get32(arg, 0) != FAKE_RM_CLIENT || get32(arg, 12) != FAKE_RM_CUDA_CLIENT)
		return INVALID_CLIENT;
	if (!device || device->class_id != 0x80)
		return INVALID_OBJECT_PARENT;
	if (!source)
		return OBJECT_NOT_FOUND;
	put32(arg, 8, object_new(0, device->handle, 0x40, source->vram_off, source->size));
	return OK;
}

static uint32_t do_map(void *arg)
{
	struct fake_file *file = fake_sys_file((int)get32(arg, 48));
	const struct object *memory = object(get32(arg, 8));
	uint64_t off = get64(arg, 16), len = get64(arg, 24);
	size_t i = 0;

	if (!memory || memory->class_id != 0x40 || memory->parent != get32(arg, 4))
		return OBJECT_NOT_FOUND;
	if (!file || strcmp(file->name, "nvidia3"))
		return INVALID_ARGUMENT;
	if (!len || off >= memory->size || len > memory->size - off)
		return INVALID_ARGUMENT;
	if (!(file->word & 1))
		fake_violation("map on a descriptor that is not registered");
	if (file->word & 2)
		return STATE_IN_USE;
	while (maps[i].len)
		i++;
	maps[i] = (struct map){memory->handle, memory->vram_off + off, len, FAKE_RM_BAR1 + memory->vram_off + off, file};
	maps[i].phys += (uint64_t)fake_rm.phys_shift;
	file->word |= 2;
	put64(arg, 32, maps[i].phys);
	/* 515 and 520 have no caching field; 2 in bits 16:15: reflected */
	put32(arg, 44, (fake_rm.branch >= 525 ? fake_rm.caching << 23 : 0x1000000) | 0x10000);
	return OK;
}

static uint32_t do_unmap(const void *arg)
{
	struct map *map = map_find(get32(arg, 8), get64(arg, 16));

	if (!map)
		return INVALID_ARGUMENT;
	if (map->file && fake_sys_vmas_of(map->file))
		fake_violation("unmap of object 0x%x before munmap", map->memory);
	map->len = 0;
	return OK;
}

static uint32_t do_pairs(void *params, bool surface, const struct object *memory)
{
	uint32_t *pairs = get_ptr(params, 8);

	for (uint32_t i = 0; i < get32(params, 0); i++) {
		if (surface && pairs[2 * i] == 7)
			pairs[2 * i + 1] = (uint32_t)(memory->size / 4096) + (uint32_t)fake_rm.size_delta;
		else if (!surface && pairs[2 * i] == 0x05)
			pairs[2 * i + 1] = 262144;
		else if (!surface && pairs[2 * i] == 0x1d)
			pairs[2 * i + 1] = 1024;
		else
			return INVALID_ARGUMENT;
	}
	return OK;
}

static uint32_t do_import(void *params)
{
	struct fake_file *file = fake_sys_file((int)get32(params, 0));
	struct object *source = file ? find(sources, MAX_SOURCES, (uint32_t)file->word) : NULL;

	if (!source || !object(get32(params, 4)) || get32(params, 8) || (get32(params, 648) & 0xffff) != 1)
		return INVALID_ARGUMENT;
	put32(params, 8, object_new(0, get32(params, 4), 0x40, source->vram_off, source->size));
	((uint8_t *)params)[520] = fake_rm.import_type;
	return OK;
}

/* hObject1 0, hObject2 4, answer 8:1; from 525 on */
static uint32_t do_compare(void *params)
{
	const struct object *one = object(get32(params, 0)), *two = object(get32(params, 4));

	if (fake_rm.branch < 525)
		return NOT_SUPPORTED;
	if (!one || !two)
		return OBJECT_NOT_FOUND;
	((uint8_t *)params)[8] = one->vram_off == two->vram_off && one->size == two->size && !fake_rm.apart;
	return OK;
}

static uint32_t do_export_info(void *params)
{
	struct fake_file *file = fake_sys_file((int)get32(params, 0));

	if (!file || strcmp(file->name, "export"))
		return INVALID_ARGUMENT;
	put32(params, 4, fake_rm.export_instance);
	memcpy((char *)params + (fake_rm.branch >= 545 ? 12 : 8), &fake_rm.export_nr, 2);
	return OK;
}

/* Command, bytes of its parameters, and whether it is for the client. */
static const struct command {
	uint32_t cmd;
	size_t size;
	bool client;
	uint32_t class_id;
} commands[] = {
	{0x205, 32, true, 0},	       {0xd01, 12, true, 0},	      {0xd07, 12, true, 0},
	{0x3d08, 80, true, 0},	       {0x3d0c, 652, true, 0},
	{0x410110, 16, false, 0x40}, {0x2080014a, 268, false, 0x2080}, {0x20801301, 16, false, 0x2080},
};

static uint32_t do_command(uint32_t cmd, void *params, const struct object *target)
{
	switch (cmd) {
	case 0x205:
		if (get32(params, 0) != FAKE_RM_GPU_ID)
			return INVALID_ARGUMENT;
		put32(params, 8, FAKE_RM_INSTANCE);
		return OK;
	case 0xd01:
		put32(params, 8, fake_rm.space);
		return object(get32(params, 0)) ? OK : OBJECT_NOT_FOUND;
	case 0xd07:
		return do_compare(params);
	case 0x3d08:
		return do_export_info(params);
	case 0x3d0c:
		return do_import(params);
	case 0x410110:
		return do_pairs(params, true, target);
	case 0x20801301:
		return do_pairs(params, false, target);
	default:
		if (get32(params, 4) != 2)
			return INVALID_ARGUMENT;
		put32(params, 8, 16);
		memcpy((char *)params + 12, fake_rm.uuid, 16);
		return OK;
	}
}

static uint32_t do_control(const void *arg)
{
	const struct object *target = object(get32(arg, 4));
	uint32_t cmd = get32(arg, 8);

	if (get32(arg, 0) != FAKE_RM_CLIENT || !target)
		return INVALID_CLIENT;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		size_t size = cmd == 0x3d08 && fake_rm.branch < 545 ? 76 : commands[i].size;

		if (commands[i].cmd != cmd)
			continue;
		if (get32(arg, 24) != size || (commands[i].client ? target->handle != FAKE_RM_CLIENT :
								    target->class_id != commands[i].class_id))
			return INVALID_ARGUMENT;
		return do_command(cmd, get_ptr(arg, 16), target);
	}
	return NOT_SUPPORTED;
}

static int do_card_info(void *arg, size_t size)
{
	uint8_t card[72] = {0};

	if (size % 72 || size < 72UL * 2)
		return -EINVAL;
	memset(arg, 0, size);
	card[0] = 1;
	put32(card, 4, 0);
	card[8] = 0xc0;
	put32(card, 16, 0xc000);
	put64(card, 40, FAKE_RM_BAR1 - 0x100000000ULL);
	put64(card, 48, 0x100000000ULL);
	put32(card, 56, 1);
	memcpy(arg, card, 72);
	if (!fake_rm.listed)
		return 0;
	card[8] = 0xc1;
	put32(card, 16, FAKE_RM_GPU_ID);
	put64(card, 40, FAKE_RM_BAR1);
	put64(card, 48, FAKE_VRAM_SIZE);
	put32(card, 56, 3);
	memcpy((char *)arg + 72, card, 72);
	return 0;
}

static int do_version(void *arg)
{
	snprintf((char *)arg + 8, 64, "%u.10.20", fake_rm.branch);
	return -EINVAL; /* what was asked for does not match */
}

static size_t status_place(unsigned int nr)
{
	switch (nr) {
	case 0x29:
		return 12;
	case 0x2a:
		return 28;
	case 0x2b:
		return fake_rm.branch >= 535 ? 28 : 24;
	case 0x34:
		return 24;
	case 0x4e:
		return 40;
	default:
		return 24;
	}
}

static uint32_t serve(unsigned int nr, void *arg)
{
	switch (nr) {
	case 0x29:
		return do_free(arg);
	case 0x2a:
		return do_control(arg);
	case 0x2b:
		return do_alloc(arg);
	case 0x34:
		return do_dup(arg);
	case 0x4e:
		return do_map(arg);
	default:
		return do_unmap(arg);
	}
}

static bool is_refused(void)
{
	if (fake_rm.fail_at < 0 || fake_rm.fail_at--)
		return false;
	fake_rm.refused = true;
	return true;
}

static int ctl_ioctl(struct fake_file *file, unsigned long request, void *arg)
{
	static const uint8_t sizes[][2] = {{0x29, 16}, {0x2a, 32}, {0x2b, 32}, {0x34, 28}, {0x4e, 56}, {0x4f, 32}};
	unsigned int nr = NR_OF(request);
	size_t size = SIZE_OF(request), i = 0;
	uint32_t status;

	if (interrupts_left > 0) {
		interrupts_left--;
		return interrupts_left % 2 ? -EINTR : -EAGAIN;
	}
	interrupts_left = fake_rm.interrupts;
	if (request >> 30 != 3 || (request >> 8 & 0xff) != 'F')
		fake_violation("ioctl 0x%lx is no escape", request);
	fake_rm_trace(file, nr, arg, size);
	if (nr == 200)
		return do_card_info(arg, size);
	if (nr == 210 && size == 72)
		return do_version(arg);
	while (i < 6 && (sizes[i][0] != nr || sizes[i][1] != size))
		i++;
	if (i == 6) {
		fake_violation("escape 0x%x with %zu bytes", nr, size);
		return -EINVAL;
	}
	if (!get32(arg, status_place(nr)))
		fake_violation("escape 0x%x whose status says success beforehand", nr);
	if (nr == 0x2b && get32(arg, 12) == 0x41)
		file->word = 1;
	/* a client is known only on the descriptor that it was made on */
	status = is_refused() ? fake_rm.status : file->word ? serve(nr, arg) : INVALID_CLIENT;
	put32(arg, status_place(nr), status);
	return 0;
}

static int node_ioctl(struct fake_file *file, unsigned long request, void *arg)
{
	const struct fake_file *ctl = fake_sys_file((int)get32(arg, 0));

	if (interrupts_left > 0) {
		interrupts_left--;
		return -EINTR;
	}
	interrupts_left = fake_rm.interrupts;
	fake_rm_trace(file, NR_OF(request), arg, SIZE_OF(request));
	if (NR_OF(request) != 201 || SIZE_OF(request) != 4 || !ctl || strcmp(ctl->name, "nvidiactl") || file->word & 1)
		return -EINVAL;
	file->word |= 1;
	return 0;
}

static int node_mmap(struct fake_file *file, size_t len, off_t off, uint64_t *vram_off_p)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		if (!maps[i].len || maps[i].file != file)
			continue;
		if (off || maps[i].len != len)
			return -ENXIO;
		*vram_off_p = maps[i].vram_off;
		return 0;
	}
	return -EINVAL;
}

/* RM's mapping needs the file no more once nothing is mapped through it. */
static void node_close(struct fake_file *file)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		if (maps[i].file == file)
			maps[i].file = NULL;
	}
}

static int no_mmap(struct fake_file *file, size_t len, off_t off, uint64_t *vram_off_p)
{
	return -EINVAL;
}

static int no_ioctl(struct fake_file *file, unsigned long request, void *arg)
{
	return -ENOTTY;
}

/* The client goes with the descriptor that made it, if nobody freed it. */
static void ctl_close(struct fake_file *file)
{
	if (file->word && object(FAKE_RM_CLIENT))
		fake_violation("close of the control node with its client");
}

static const struct fake_device ctl_device = {.ioctl = ctl_ioctl, .mmap = no_mmap, .close = ctl_close};
static const struct fake_device node_device = {.ioctl = node_ioctl, .mmap = node_mmap, .close = node_close};
static const struct fake_device export_device = {.ioctl = no_ioctl, .mmap = no_mmap};

void fake_rm_begin(unsigned int branch)
{
	char version[32];

	fake_sys_begin();
	memset(objects, 0, sizeof(objects));
	memset(sources, 0, sizeof(sources));
	memset(maps, 0, sizeof(maps));
	next_handle = 0xcaf00001;
	interrupts_left = 0;
	fake_rm = (struct fake_rm){
		.branch = branch, .fail_at = -1, .status = 0x40, .caching = 2, .space = 2, .export_nr = 1,
		.export_instance = FAKE_RM_INSTANCE, .import_type = 1, .uuid = "0123456789abcde", .listed = true,
	};
	snprintf(version, sizeof(version), "%u.10.20", branch);
	fake_sys_text("/sys/module/nvidia/version", version);
	fake_sys_device(FAKE_RM_CTL, &ctl_device);
	fake_sys_device(FAKE_RM_NODE, &node_device);
}

void fake_rm_source(uint32_t handle, uint64_t vram_off, uint64_t size)
{
	size_t i = 0;

	while (i < MAX_SOURCES && sources[i].handle)
		i++;
	check(i < MAX_SOURCES);
	sources[i] = (struct object){handle, 0, 0x40, vram_off, size};
}

int fake_rm_export(uint32_t handle)
{
	return fake_sys_adopt("export", &export_device, handle);
}

int fake_rm_objects(void)
{
	int nr = 0;

	for (size_t i = 0; i < MAX_OBJECTS; i++)
		nr += objects[i].handle != 0;
	return nr;
}

int fake_rm_maps(void)
{
	int nr = 0;

	for (size_t i = 0; i < MAX_OBJECTS; i++)
		nr += maps[i].len != 0;
	return nr;
}

void fake_rm_end(void)
{
	check_str(fake_violations(), "");
	check_eq(fake_sys_vmas(), 0);
	check_eq(fake_rm_maps(), 0);
	check_eq(fake_rm_objects(), 0);
	check_eq(fake_sys_files(), 0);
}
