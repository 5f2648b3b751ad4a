// SPDX-License-Identifier: MIT
#include "env.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vram.h"

static struct emu_env env;
static pthread_once_t env_once = PTHREAD_ONCE_INIT;

static const char *const blob_names[EMU_BLOB_NR] = {
	[EMU_BLOB_REAL] = "real",     [EMU_BLOB_SHIFT] = "shift", [EMU_BLOB_SWAP] = "swap",
	[EMU_BLOB_OFFSET] = "offset", [EMU_BLOB_SIZE] = "size",	  [EMU_BLOB_RANDOM] = "random",
};

static void bad(const char *name, const char *value, const char *want)
{
	fprintf(stderr, "emu: %s \"%s\": not %s\n", name, value, want);
	env.error = 1;
}

/* Number with an optional suffix K, M, G or T. Returns 0, or -EINVAL. */
static int parse_bytes(const char *text, uint64_t *value_p)
{
	static const char suffixes[] = "KMGT";
	unsigned int shift = 0;
	const char *suffix;
	char *end;
	unsigned long long value;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno)
		return -EINVAL;
	if (*end) {
		suffix = strchr(suffixes, *end & ~0x20);
		if (!suffix || !*suffix || end[1])
			return -EINVAL;
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
	}
	if (value > UINT64_MAX >> shift)
		return -EINVAL;
	*value_p = value << shift;
	return 0;
}

static uint64_t get_number(const char *name, uint64_t fallback, uint64_t min, uint64_t max)
{
	const char *text = getenv(name);
	char want[96];
	uint64_t value;

	if (!text || !*text)
		return fallback;
	if (!parse_bytes(text, &value) && value >= min && value <= max)
		return value;
	snprintf(want, sizeof(want), "a number from %llu to %llu", (unsigned long long)min, (unsigned long long)max);
	bad(name, text, want);
	return fallback;
}

static enum emu_blob get_blob(const char *name)
{
	const char *text = getenv(name);

	if (!text || !*text)
		return EMU_BLOB_REAL;
	if (!strcmp(text, "drift"))
		return EMU_BLOB_SHIFT;
	for (int i = 0; i < EMU_BLOB_NR; i++) {
		if (!strcmp(text, blob_names[i]))
			return i;
	}
	bad(name, text, "one of real, drift, shift, swap, offset, size, random");
	return EMU_BLOB_REAL;
}

static enum emu_load get_load(const char *name)
{
	static const char *const names[EMU_LOAD_NR] = { "kernels", "idle", "launch" };
	const char *text = getenv(name);

	for (int i = 0; text && *text && i < EMU_LOAD_NR; i++) {
		if (!strcmp(text, names[i]))
			return i;
	}
	if (text && *text)
		bad(name, text, "one of kernels, idle, launch");
	return EMU_LOAD_KERNELS;
}

static uint64_t power_of_two_above(uint64_t value)
{
	uint64_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

static void env_read(void)
{
	uint64_t bar1;

	env.nr_gpus = (int)get_number("BARLANE_EMU_GPUS", 1, 0, EMU_MAX_GPUS);
	env.vram_size = get_number("BARLANE_EMU_VRAM", 16ULL << 30, 16ULL << 20, 1ULL << 40);
	env.vram_size &= ~(EMU_BLOCK_SIZE - 1);
	bar1 = power_of_two_above(2 * env.vram_size);
	env.bar1_size = get_number("BARLANE_EMU_BAR1", bar1, 1ULL << 20, 1ULL << 42);
	env.static_bar1 = (int)get_number("BARLANE_EMU_STATIC_BAR1", env.bar1_size > env.vram_size, 0, 1);
	if (env.static_bar1 && env.bar1_size < env.vram_size)
		bad("BARLANE_EMU_STATIC_BAR1", "1", "possible with a BAR1 that is smaller than video memory");
	env.cuda_version = (int)get_number("BARLANE_EMU_CUDA", 13000, 11000, 99999);
	env.blob = get_blob("BARLANE_EMU_BLOB");
	env.dmabuf = (int)get_number("BARLANE_EMU_DMABUF", 1, 0, 1);
	env.card = (enum emu_card_use)get_number("BARLANE_EMU_CARD", EMU_CARD_IF_THERE, EMU_CARD_NEVER,
						 EMU_CARD_ALWAYS);
	env.card_pages = (int)get_number("BARLANE_EMU_CARD_PAGES", 0, 0, 1);
	env.channels = (unsigned int)get_number("BARLANE_EMU_CHANNELS", 0, 0, 1024);
	env.load = get_load("BARLANE_EMU_LOAD");
	env.uva = (enum emu_uva)get_number("BARLANE_EMU_UVA", EMU_UVA_WHEN_NEEDED, EMU_UVA_NEVER, EMU_UVA_ALWAYS);
	env.kernel_ms = (uint32_t)get_number("BARLANE_EMU_KERNEL_MS", 300000, 0, 86400000);
	env.peers = (int)get_number("BARLANE_EMU_PEERS", 0, 0, 1);
	env.async_us = (unsigned int)get_number("BARLANE_EMU_ASYNC_US", 0, 0, 10000000);
}

const struct emu_env *emu_env(void)
{
	pthread_once(&env_once, env_read);
	return &env;
}
