// SPDX-License-Identifier: MIT
/* Any reply of the nvidia-fs module, in the argument and in the page that requests report to. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "file/nvfs_io.h"
#include "fuzz.h"
#include "util/clock.h"

#define GPU_VA	 0x7f5000000000ULL
#define GPU_LEN	 (4UL << 20)
#define MAX_MAPS 64
/* A fence that does not come costs this much. */
#define PATIENCE_NS 100000U

#define REASON 32
#define BLOCK  4096U

/* The page of each shadow mapping, by the module's numbers and offsets. */
static struct {
	uint64_t shadow;
	uint8_t *meta;
} maps[MAX_MAPS];
static int nr_maps;

static int has(const char *path)
{
	return strncmp(path, "/dev/", 5) ? 2 : 1;
}

static void text(const char *path, char *to, size_t size)
{
	if (fuzz_byte() % 16 == 15)
		fuzz_text(to, size);
	else
		snprintf(to, size, "version: 2.%u\n", 12U + fuzz_byte());
}

static uint64_t get64(const void *arg, size_t at)
{
	uint64_t v;

	memcpy(&v, (const char *)arg + at, sizeof(v));
	return v;
}

static void put64(void *arg, size_t at, uint64_t v)
{
	memcpy((char *)arg + at, &v, sizeof(v));
}

static void put32(void *arg, size_t at, uint32_t v)
{
	memcpy((char *)arg + at, &v, sizeof(v));
}

static uint64_t or_any(uint64_t good)
{
	return fuzz_byte() % 16 == 15 ? fuzz_number() : good;
}

/* A list of holes that is right, or nearly, or nothing of the kind. */
static void report_holes(uint8_t *meta, uint64_t pos, uint64_t size)
{
	uint32_t nr = fuzz_byte() % 8, start = 0;

	put64(meta, 24, or_any(0xabc0cba1abc2cba3ULL));
	put32(meta, 32, (uint32_t)or_any(1));
	put32(meta, 36, (uint32_t)or_any(nr));
	put64(meta, 40, or_any(pos));
	for (uint32_t i = 0; i < nr; i++) {
		uint16_t hole[2];

		start += fuzz_byte() % 4;
		hole[0] = (uint16_t)or_any(start);
		hole[1] = (uint16_t)or_any(1 + fuzz_byte() % 4U);
		start += hole[1];
		if (size / BLOCK < start)
			hole[0] = 0;
		memcpy(meta + 48 + 4 * i, hole, sizeof(hole));
	}
}

static uint64_t result_of(uint64_t size)
{
	switch (fuzz_byte() % 8) {
	case 0:
		return 0;
	case 1:
		return (uint64_t) - (int64_t)fuzz_byte();
	case 2:
		return fuzz_number();
	case 3:
		return size / BLOCK / 2 * BLOCK;
	default:
		return size;
	}
}

static int answer(void *arg)
{
	uint64_t size = get64(arg, 16), result = result_of(size);
	uint8_t *meta = NULL;

	for (int i = 0; i < nr_maps; i++) {
		if (maps[i].shadow == get64(arg, 0))
			meta = maps[i].meta;
	}
	must(meta); /* a request on what was never bound */
	must(size && size % BLOCK == 0 && get64(arg, 8) % BLOCK == 0);
	if (fuzz_byte() % 8 == 7) {
		put32(meta, 16, (uint32_t)or_any(fuzz_byte() % 4));
		report_holes(meta, get64(arg, 8), size);
	}
	put64(meta, 8, result);
	put64(meta, 0, or_any(get64(arg, 24)));
	put64(arg, REASON, or_any(result));
	return (int64_t)get64(arg, REASON) < 0 || fuzz_byte() % 16 == 15 ? -EPERM : 0;
}

static int map(void *arg)
{
	if (fuzz_byte() % 16 == 15) {
		put64(arg, REASON, (uint64_t) - (int64_t)fuzz_byte());
		return -EPERM;
	}
	for (int i = 0; i < nr_maps; i++) {
		/* bound once more: the page that it has already, or another */
		if (maps[i].shadow == get64(arg, 16)) {
			if (get64(arg, REASON))
				maps[i].meta = (uint8_t *)(uintptr_t)get64(arg, REASON);
			return 0;
		}
	}
	must(nr_maps < MAX_MAPS && get64(arg, REASON));
	maps[nr_maps].shadow = get64(arg, 16);
	maps[nr_maps++].meta = (uint8_t *)(uintptr_t)get64(arg, REASON);
	return 0;
}

/* Of no shadow: the question whether there is such a request. */
static int unmap(const void *arg)
{
	static const int errors[] = {0, -ENOTTY, -EBUSY, -EINVAL};
	bool known = !get64(arg, 0);

	for (int i = 0; i < nr_maps; i++)
		known = known || maps[i].shadow == get64(arg, 0);
	must(known && !get64(arg, 8));
	return errors[fuzz_byte() % 4];
}

static int reply(unsigned long request, void *arg)
{
	switch (request) {
	case 0x40047403:
		return map(arg);
	case 0x40107480:
		return unmap(arg);
	case 0x40047402:
	case 0x40047404:
		return answer(arg);
	default:
		abort(); /* a command that is not used */
	}
}

static const struct fuzz_driver driver = {has, reply, text};

/* Holes lie inside of what was asked for. */
static int zero(void *priv, uint64_t va, size_t len)
{
	const struct bl_nvfs_request *rq = priv;

	must(len && va >= rq->va && len <= rq->len && va - rq->va <= rq->len - len);
	return fuzz_byte() % 16 == 15 ? -EIO : 0;
}

static void use(struct bl_nvfs_pool *pool)
{
	struct bl_nvfs_request rq = {
		.fd = 0,
		.inum = 1,
		.va = GPU_VA + or_any(fuzz_byte()) * BLOCK,
		.pos = or_any(fuzz_byte()) * BLOCK,
		.len = or_any(1 + fuzz_byte()) * BLOCK,
		.write = fuzz_byte() % 2,
		.poll = fuzz_number(),
		.piece = or_any(1 + fuzz_byte() % 16) * 65536,
		.window = (unsigned int)or_any(1 + fuzz_byte() % 16),
		.deadline_ns = bl_now_ns() + PATIENCE_NS,
		.zero = fuzz_byte() % 8 ? zero : NULL,
		.priv = &rq,
	};
	int ret = bl_nvfs_transfer(pool, &rq);

	must(ret <= 0 && ret >= -4095);
	must(rq.done <= rq.len && rq.holes <= rq.len);
	must(ret || rq.done == rq.len || !rq.write);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bl_nvfs_range range;
	struct bl_nvfs_dev *dev = NULL;
	struct bl_nvfs_pool *pool;
	char why[128];

	fuzz_begin(data, size);
	fuzz_sys(&driver);
	nr_maps = 0;
	if (!bl_nvfs_dev_open(&dev, why, sizeof(why))) {
		must(dev->nr > 0 && dev->nr <= 16 && dev->major == 2);
		range = (struct bl_nvfs_range){GPU_VA, or_any(GPU_LEN), 0};
		must(!bl_nvfs_pool_new(dev, &range, 1, &pool));
		for (int i = fuzz_byte() % 4; i >= 0; i--)
			use(pool);
		bl_nvfs_pool_put(pool);
		bl_nvfs_dev_put(dev);
	} else {
		must(!dev);
	}
	must(memchr(why, '\0', sizeof(why)));
	fuzz_end();
	return 0;
}
