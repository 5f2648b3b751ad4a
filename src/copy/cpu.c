// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "copy/cpu: " fmt
#include "cpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barlane.h"
#include "isa.h"
#include "ladder.h"
#include "util/log.h"

const struct bl_cpu_isa *const bl_cpu_isas[] = {
	&bl_isa_scalar.bare,
#if defined(__x86_64__)
	&bl_isa_sse41.bare,
	&bl_isa_avx2.bare,
	&bl_isa_avx512.bare,
	&bl_isa_movdir64b.bare,
#elif defined(__aarch64__)
	&bl_isa_neon.bare,
#ifdef BL_HAVE_LS64
	&bl_isa_ls64.bare,
#endif
#endif
	NULL,
};

/*
 * What a write-combining mapping is copied with by default: the first one of each list that is compiled in and that
 * this CPU supports. Stores and loads are chosen apart. docs/copy-engine.md says why in this order.
 */
static const char *const best_to[] = {"avx512", "avx2", "movdir64b", "sse4.1", "neon", "scalar", NULL};
static const char *const best_from[] = {"avx512", "avx2", "sse4.1", "neon", "scalar", NULL};

const struct bl_cpu_isa *bl_cpu_isa_find(const char *name)
{
	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (!strcmp(bl_cpu_isas[i]->name, name))
			return bl_cpu_isas[i];
	}
	return NULL;
}

static const struct bl_cpu_copy *wc_of(const struct bl_cpu_isa *isa)
{
	return &((const struct bl_isa *)((const char *)isa - offsetof(struct bl_isa, bare)))->wc;
}

static const struct bl_cpu_copy *first_supported(const char *const *names)
{
	for (size_t i = 0; names[i]; i++) {
		const struct bl_cpu_isa *isa = bl_cpu_isa_find(names[i]);

		if (isa && isa->supported())
			return wc_of(isa);
	}
	return &bl_isa_scalar.wc;
}

static struct bl_cpu_copy default_wc;
static char default_name[32];

static void choose_default_wc(void)
{
	const struct bl_cpu_copy *to = first_supported(best_to), *from = first_supported(best_from);

	if (to == from)
		snprintf(default_name, sizeof(default_name), "%s", to->name);
	else
		snprintf(default_name, sizeof(default_name), "%s/%s", to->name, from->name);
	default_wc = (struct bl_cpu_copy){default_name, to->to, from->from};
}

/* What BARLANE_CPU_ISA asks for, or NULL. */
static const struct bl_cpu_copy *forced_wc(void)
{
	const char *name = secure_getenv("BARLANE_CPU_ISA");
	const struct bl_cpu_isa *isa;

	if (!name || !*name)
		return NULL;
	isa = bl_cpu_isa_find(name);
	if (!isa) {
		log_warn("BARLANE_CPU_ISA %s ignored: no such instruction set in this build", name);
		return NULL;
	}
	if (!isa->supported()) {
		log_warn("BARLANE_CPU_ISA %s ignored: not supported by this CPU or operating system", name);
		return NULL;
	}
	return wc_of(isa);
}

static const struct bl_cpu_copy *select_wc(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct bl_cpu_copy *forced = forced_wc();

	if (forced)
		return forced;
	pthread_once(&once, choose_default_wc);
	return &default_wc;
}

/*
 * Cached mappings are memory. The single accesses are kept, since libc's memcpy may well do a small copy as two
 * overlapping ones, and a flag must not be written twice.
 */
static int cached_to(void *dst, const void *src, size_t len)
{
	struct bl_run run = {dst, src, len};

	if (!bl_put_single(&run))
		memcpy(dst, src, len);
	return 0;
}

static int cached_from(void *dst, const void *src, size_t len)
{
	struct bl_run run = {dst, src, len};

	if (!bl_get_single(&run))
		memcpy(dst, src, len);
	return 0;
}

const struct bl_cpu_copy *bl_cpu_copy_select(unsigned int type)
{
	static const struct bl_cpu_copy cached = {"memcpy", cached_to, cached_from};

	switch (type) {
	case BL_MAP_CACHED:
		return &cached;
	case BL_MAP_DEVICE:
		return &bl_copy_device;
	default:
		return select_wc();
	}
}

void bl_cpu_fence_mixed(void)
{
	bl_fence_full();
}
