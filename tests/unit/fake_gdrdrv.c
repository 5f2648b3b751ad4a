// SPDX-License-Identifier: MIT
#include "fake_gdrdrv.h"

#include <errno.h>
#include <unistd.h>

#include "fake_bytes.h"
#include "tap.h"

#define GPU_PAGE 65536ULL

struct pin {
	struct pin *next;
	uint64_t handle;
	uint64_t va;
	uint64_t size;
	uint64_t page_off;
	uint32_t wish;
	bool mapped;
};

struct fake_gdrdrv fake_gdrdrv;
static int nr_pins;

static const struct {
	uint32_t code;
	unsigned int since;
	size_t size;
	const char *name;
} commands[] = {
	{0xC028DA01, 0, 40, "pin"},
	{0xC008DA02, 0, 8, "unpin"},
	{0xC008DA03, 0, 16, "cb_flag"},
	{0xC008DA04, 0, 48, "info"},
	{0xC008DA05, 4, 48, "info_v2"},
	{0xC008DA06, 5, 8, "attr"},
	{0xC020DA07, 5, 32, "pin_v2"},
	{0xC008DA08, 5, 16, "type"},
	{0xC008DAFF, 0, 8, "version"},
};

static struct pin *find(const struct fake_file *file, uint64_t handle)
{
	struct pin *pin = file->priv;

	while (pin && pin->handle != handle)
		pin = pin->next;
	return pin;
}

static int pin_new(struct fake_file *file, const void *arg, uint64_t *handle_p)
{
	uint64_t va = get64(arg, 0), size = get64(arg, 8), first = va & ~(GPU_PAGE - 1);
	uint64_t last = (va + size + GPU_PAGE - 1) & ~(GPU_PAGE - 1);
	struct pin *pin;

	if (!size || first < FAKE_VRAM_VA || last > FAKE_VRAM_VA + FAKE_VRAM_SIZE)
		return -EINVAL;
	pin = calloc(1, sizeof(*pin));
	if (!pin)
		return -ENOMEM;
	*pin = (struct pin){.next = file->priv, .handle = file->word, .va = first, .size = last - first};
	pin->page_off = va - first;
	/* handles are places in the file, in host pages; the first is 0 */
	file->word += pin->size / (uint64_t)sysconf(_SC_PAGESIZE);
	file->priv = pin;
	nr_pins++;
	*handle_p = pin->handle;
	return 0;
}

static int pin_v1(struct fake_file *file, void *arg)
{
	uint64_t handle;
	int ret;

	if (fake_gdrdrv.persistent && (get64(arg, 16) || get32(arg, 24)))
		return -EINVAL;
	ret = pin_new(file, arg, &handle);
	if (!ret)
		put64(arg, 32, handle);
	return ret;
}

static int pin_v2(struct fake_file *file, void *arg)
{
	uint32_t flags = get32(arg, 16);
	uint64_t handle;
	int ret;

	if (flags > 1 || (flags && !fake_gdrdrv.force_pcie))
		return -EINVAL;
	ret = pin_new(file, arg, &handle);
	if (!ret)
		put64(arg, 24, handle);
	return ret;
}

static int unpin(struct fake_file *file, const void *arg)
{
	struct pin **place = (struct pin **)&file->priv;
	struct pin *pin;

	while (*place && (*place)->handle != get64(arg, 0))
		place = &(*place)->next;
	pin = *place;
	if (!pin)
		return -EINVAL;
	if (pin->mapped)
		fake_violation("unpin while mapped");
	*place = pin->next;
	free(pin);
	nr_pins--;
	return 0;
}

static int info(const struct fake_file *file, void *arg, bool v2)
{
	const struct pin *pin = find(file, get64(arg, 0));

	if (!pin)
		return -EINVAL;
	put64(arg, 8, pin->va);
	put64(arg, 16, pin->size);
	put32(arg, 24, fake_gdrdrv.page_size);
	put32(arg, 28, 2100000);
	put64(arg, 32, 4242);
	if (v2) {
		put32(arg, 40, pin->mapped ? fake_gdrdrv.type : 0);
	} else {
		put32(arg, 40, pin->mapped);
		put32(arg, 44, pin->mapped && fake_gdrdrv.type == 1);
	}
	return 0;
}

static int attribute(void *arg)
{
	switch (get32(arg, 0)) {
	case 1:
		put32(arg, 4, fake_gdrdrv.persistent);
		return 0;
	case 2:
		put32(arg, 4, fake_gdrdrv.force_pcie);
		return 0;
	default:
		return -EINVAL;
	}
}

static int request_type(const struct fake_file *file, const void *arg)
{
	struct pin *pin = find(file, get64(arg, 0));
	uint32_t type = get32(arg, 8);

	if (!pin || type > 3)
		return -EINVAL;
	if (pin->mapped)
		return -EBUSY;
	if (type && type != fake_gdrdrv.type)
		return -EOPNOTSUPP;
	pin->wish = type;
	return 0;
}

static int serve(struct fake_file *file, uint32_t code, void *arg)
{
	struct pin *pin;

	switch (code) {
	case 0xC028DA01:
		return pin_v1(file, arg);
	case 0xC008DA02:
		return unpin(file, arg);
	case 0xC008DA03:
		pin = find(file, get64(arg, 0));
		put32(arg, 8, fake_gdrdrv.released);
		return pin ? 0 : -EINVAL;
	case 0xC008DA04:
		return info(file, arg, false);
	case 0xC008DA05:
		return info(file, arg, true);
	case 0xC008DA06:
		return attribute(arg);
	case 0xC020DA07:
		return pin_v2(file, arg);
	case 0xC008DA08:
		return request_type(file, arg);
	default:
		put32(arg, 0, fake_gdrdrv.version);
		put32(arg, 4, fake_gdrdrv.min_api);
		return 0;
	}
}

static int gdrdrv_ioctl(struct fake_file *file, unsigned long request, void *arg)
{
	unsigned int minor = fake_gdrdrv.version & 0xffff;
	char words[256] = "";
	size_t i = 0;
	int ret;

	while (i < sizeof(commands) / sizeof(commands[0]) && commands[i].code != request)
		i++;
	if (i == sizeof(commands) / sizeof(commands[0]) || minor < commands[i].since) {
		fake_violation("command 0x%lx of a module 2.%u", request, minor);
		return -ENOTTY;
	}
	if (fake_tracing())
		fake_words(words, sizeof(words), arg, commands[i].size);
	ret = request == fake_gdrdrv.fail_code ? -fake_gdrdrv.fail_err : serve(file, (uint32_t)request, arg);
	fake_trace("%s %lx/%zu: %s%s", commands[i].name, request, commands[i].size, words, ret ? " fails" : "");
	return ret;
}

static int gdrdrv_mmap(struct fake_file *file, size_t len, off_t off, uint64_t *vram_off_p)
{
	long page = sysconf(_SC_PAGESIZE);
	struct pin *pin = off % page ? NULL : find(file, (uint64_t)(off / page));

	if (!pin || pin->mapped || pin->page_off || len > pin->size)
		return -EINVAL;
	pin->mapped = true;
	*vram_off_p = pin->va - FAKE_VRAM_VA;
	return 0;
}

static void gdrdrv_munmap(struct fake_file *file, uint64_t vram_off, size_t len)
{
	/* pins of one file may overlap, but this test's mapped ones do not start at the same place twice */
	for (struct pin *pin = file->priv; pin; pin = pin->next) {
		if (pin->mapped && pin->va - FAKE_VRAM_VA == vram_off && len <= pin->size) {
			pin->mapped = false;
			return;
		}
	}
	fake_violation("munmap of what no pin maps");
}

static void gdrdrv_close(struct fake_file *file)
{
	struct pin *pin;

	while ((pin = file->priv)) {
		fake_violation("close with a pin left");
		file->priv = pin->next;
		free(pin);
		nr_pins--;
	}
}

static const struct fake_device device = {
	.ioctl = gdrdrv_ioctl,
	.mmap = gdrdrv_mmap,
	.munmap = gdrdrv_munmap,
	.close = gdrdrv_close,
};

void fake_gdrdrv_begin(unsigned int minor)
{
	fake_sys_begin();
	fake_sys_device("/dev/gdrdrv", &device);
	fake_gdrdrv = (struct fake_gdrdrv){
		.version = FAKE_GDRDRV_VERSION(minor),
		.min_api = FAKE_GDRDRV_VERSION(0),
		.persistent = minor >= 5,
		.type = 1,
		.page_size = 65536,
	};
}

int fake_gdrdrv_pins(void)
{
	return nr_pins;
}

void fake_gdrdrv_end(void)
{
	check_str(fake_violations(), "");
	check_eq(fake_gdrdrv_pins(), 0);
	check_eq(fake_sys_vmas(), 0);
	check_eq(fake_sys_files(), 0);
}
