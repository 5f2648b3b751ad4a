// SPDX-License-Identifier: MIT
#include "mem.h"

#include <string.h>

#include "copy/fence.h"
#include "util/guard.h"

bool bl_snic_mem_is_valid(const struct bl_snic_mem *mem)
{
	if (mem->peek && (!mem->peeked || !mem->read))
		return false;
	if (mem->put && (!mem->addr || !mem->domain))
		return false;
	if (mem->put_line && !mem->put)
		return false;
	return mem->read ? mem->write != NULL : !mem->write && mem->addr;
}

int bl_snic_mem_read(const struct bl_snic_mem *mem, uint64_t off, void *dst, size_t len)
{
	if (mem->read)
		return mem->read(mem->priv, off, dst, len);
	return bl_guard_copy_from(dst, (const char *)mem->addr + off, len);
}

/* Bytes of the last word that one store can write. */
static size_t last_word(uintptr_t end, size_t len)
{
	size_t word = 8;

	while (word > 1 && (word > len || end & (word - 1)))
		word /= 2;
	return word;
}

/* Release: who polls the last word of a message and sees it finds all that was written before. */
static void put_last(void *at, const void *src, size_t word)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	switch (word) {
	case 8:
		memcpy(&v8, src, sizeof(v8));
		__atomic_store_n((uint64_t *)at, v8, __ATOMIC_RELEASE);
		break;
	case 4:
		memcpy(&v4, src, sizeof(v4));
		__atomic_store_n((uint32_t *)at, v4, __ATOMIC_RELEASE);
		break;
	case 2:
		memcpy(&v2, src, sizeof(v2));
		__atomic_store_n((uint16_t *)at, v2, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint8_t *)at, *(const uint8_t *)src, __ATOMIC_RELEASE);
	}
}

struct placed {
	char *dst;
	const char *src;
	size_t len;
};

static int place(void *arg)
{
	const struct placed *what = arg;
	size_t len = what->len, word = last_word((uintptr_t)(what->dst + len), len);

	if (len > word)
		memcpy(what->dst, what->src, len - word);
	put_last(what->dst + len - word, what->src + len - word, word);
	return 0;
}

static bool is_one_domain(const struct bl_snic_mem *one, const struct bl_snic_mem *other)
{
	return one->domain && one->domain == other->domain;
}

void bl_snic_mem_order(struct bl_snic *nic)
{
	/* the puts so far before any later store */
	if (nic->loose)
		bl_fence_wc_store();
	nic->loose = false;
}

/* What was written elsewhere before what is written to @mem. */
static void turn_to(struct bl_snic *nic, const struct bl_snic_mem *mem)
{
	/* a word here may be what somebody waits for before he looks there */
	if (nic->dirty && nic->dirty != mem && !is_one_domain(nic->dirty, mem))
		bl_snic_mem_settle(nic);
	if (mem->flush)
		nic->dirty = mem;
}

/* Stores to ordinary memory before those by which a GPU, which sees both, may learn of them. */
static void leave_ordinary(struct bl_snic *nic)
{
	if (nic->placed)
		bl_fence_full();
	nic->placed = false;
}

int bl_snic_mem_put(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const void *src, size_t len)
{
	turn_to(nic, mem);
	leave_ordinary(nic);
	nic->loose = true;
	return mem->put(mem->priv, off, src, len);
}

int bl_snic_mem_put_line(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const void *src)
{
	turn_to(nic, mem);
	leave_ordinary(nic);
	nic->loose = true;
	return mem->put_line(mem->priv, off, src);
}

static bool fits_put(const struct bl_snic_mem *mem, uint64_t off, size_t len)
{
	return mem->put && len <= BL_SNIC_PEEK_MAX && !(len % 8) && !(((uintptr_t)mem->addr + off) % 8);
}

int bl_snic_mem_write(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const void *src, size_t len)
{
	struct placed what = {bl_snic_mem_at(mem, off), src, len};

	if (!len)
		return 0;
	if (fits_put(mem, off, len)) {
		bl_snic_mem_order(nic);
		return bl_snic_mem_put(nic, mem, off, src, len);
	}
	turn_to(nic, mem);
	if (!mem->write) {
		nic->placed = true;
		return bl_guard_call(what.dst, len, place, &what);
	}
	leave_ordinary(nic);
	bl_snic_mem_order(nic);
	return mem->write(mem->priv, off, src, len);
}

void bl_snic_mem_settle(struct bl_snic *nic)
{
	const struct bl_snic_mem *mem = nic->dirty;

	bl_snic_mem_order(nic);
	nic->dirty = NULL;
	if (mem)
		mem->flush(mem->priv);
}

void bl_snic_mem_push(struct bl_snic *nic)
{
	bl_snic_mem_order(nic);
	if (nic->dirty && !nic->dirty->domain)
		bl_snic_mem_settle(nic);
}

void bl_snic_mem_forget(struct bl_snic *nic, const struct bl_snic_mem *mem)
{
	if (nic->dirty == mem)
		bl_snic_mem_settle(nic);
}
