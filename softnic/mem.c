// SPDX-License-Identifier: MIT
#include "mem.h"

#include <string.h>

#include "copy/fence.h"

bool bl_snic_mem_is_valid(const struct bl_snic_mem *mem)
{
	return mem->read ? mem->write != NULL : !mem->write && mem->addr;
}

int bl_snic_mem_read(const struct bl_snic_mem *mem, uint64_t off, void *dst, size_t len)
{
	if (mem->read)
		return mem->read(mem->priv, off, dst, len);
	memcpy(dst, (const char *)mem->addr + off, len);
	return 0;
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

static void place(char *dst, const char *src, size_t len)
{
	size_t word = last_word((uintptr_t)(dst + len), len);

	if (len > word)
		memcpy(dst, src, len - word);
	put_last(dst + len - word, src + len - word, word);
}

int bl_snic_mem_write(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const void *src, size_t len)
{
	if (!len)
		return 0;
	/* a word here may be what somebody waits for before he looks there */
	if (nic->dirty && nic->dirty != mem)
		bl_snic_mem_settle(nic);
	if (mem->flush)
		nic->dirty = mem;
	if (!mem->write) {
		nic->placed = true;
		place((char *)mem->addr + off, src, len);
		return 0;
	}
	/* stores to ordinary memory before those by which a GPU, which sees both, may learn of them */
	if (nic->placed)
		bl_fence_full();
	nic->placed = false;
	return mem->write(mem->priv, off, src, len);
}

void bl_snic_mem_settle(struct bl_snic *nic)
{
	const struct bl_snic_mem *mem = nic->dirty;

	nic->dirty = NULL;
	if (mem)
		mem->flush(mem->priv);
}

void bl_snic_mem_forget(struct bl_snic *nic, const struct bl_snic_mem *mem)
{
	if (nic->dirty == mem)
		bl_snic_mem_settle(nic);
}
