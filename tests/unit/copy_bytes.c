// SPDX-License-Identifier: MIT
/*
 * copy_bytes.c - every copy routine moves exactly the bytes it should, between guard pages
 *
 * All sizes 0 ... 4096, all 64 alignments of the mapped side; host alignments all 64 up to 256 bytes, above that a
 * sample that rotates. BARLANE_TEST_FULL=1 runs the whole product, which takes hours. Routines that run by a signal
 * handler are copied with fewer host alignments, and fewer sizes above 256 bytes.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "barlane.h"
#include "copy/cpu.h"
#include "copy_trap.h"
#include "tap.h"

#define MAX_LEN	  4096
#define SMALL_LEN 256
#define LINE	  64
/* Never a byte of a source: what still has it was not written. */
#define CANARY 0xc5
/* Bytes that are looked at before and after each copy; the whole arena is looked at once in a while. */
#define MARGIN 128

typedef int (*copy_fn)(void *dst, const void *src, size_t len);

/* Memory with an inaccessible page below and above. */
struct arena {
	uint8_t *base;
	size_t size;
};

static struct arena from_arena, to_arena;

static struct arena arena_new(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (MAX_LEN + 4096 + page - 1) / page * page;
	uint8_t *all = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(all != MAP_FAILED);
	check(!mprotect(all + page, size, PROT_READ | PROT_WRITE));
	return (struct arena){all + page, size};
}

static uint32_t random_next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Sources are read-only while copies run: a routine that writes to one dies. */
static void arenas_prepare(void)
{
	uint32_t state = 0x2545f491;

	if (!from_arena.base) {
		from_arena = arena_new();
		to_arena = arena_new();
	}
	check(!mprotect(from_arena.base, from_arena.size, PROT_READ | PROT_WRITE));
	for (size_t i = 0; i < from_arena.size; i++)
		from_arena.base[i] = (uint8_t)(random_next(&state) % CANARY);
	check(!mprotect(from_arena.base, from_arena.size, PROT_READ));
	memset(to_arena.base, CANARY, to_arena.size);
}

/* Where a copy lies: as close to the lower or the upper guard as its alignment lets it. */
static uint8_t *place(const struct arena *arena, size_t align, size_t len, int high)
{
	uintptr_t end = (uintptr_t)arena->base + arena->size - len;

	if (!high)
		return arena->base + align;
	return (uint8_t *)(end - (end - align) % LINE);
}

/* By memcmp(): with a loop over bytes the test takes longer, most of all where each of them is checked. */
static int all_canary(const uint8_t *from, const uint8_t *to)
{
	static uint8_t canaries[MAX_LEN];

	if (*canaries != CANARY)
		memset(canaries, CANARY, sizeof(canaries));
	for (size_t len; from < to; from += len) {
		len = (size_t)(to - from) < sizeof(canaries) ? (size_t)(to - from) : sizeof(canaries);
		if (memcmp(from, canaries, len))
			return 0;
	}
	return 1;
}

static int margins_clean(const uint8_t *dst, size_t len)
{
	const uint8_t *low = to_arena.base, *high = to_arena.base + to_arena.size;
	const uint8_t *before = dst - low > MARGIN ? dst - MARGIN : low;
	const uint8_t *after = high - (dst + len) > MARGIN ? dst + len + MARGIN : high;

	return all_canary(before, dst) && all_canary(dst + len, after);
}

/* @sparse: each copy takes long, so there are fewer */
struct subject {
	const char *name;
	copy_fn fn;
	int mapped_is_dst;
	int sparse;
};

static void copy_once(const struct subject *subject, size_t len, size_t mapped, size_t host, int high)
{
	uint8_t *dst = place(&to_arena, subject->mapped_is_dst ? mapped : host, len, high);
	const uint8_t *src = place(&from_arena, subject->mapped_is_dst ? host : mapped, len, high);

	subject->fn(dst, src, len);
	if (memcmp(dst, src, len))
		tap_end(TAP_FAILED, "%s: wrong bytes: len %zu, mapped alignment %zu, host alignment %zu, %s end",
			subject->name, len, mapped, host, high ? "upper" : "lower");
	if (!margins_clean(dst, len))
		tap_end(TAP_FAILED, "%s: wrote outside: len %zu, mapped alignment %zu, host alignment %zu, %s end",
			subject->name, len, mapped, host, high ? "upper" : "lower");
	memset(dst, CANARY, len);
}

static void small(const struct subject *subject, size_t len, size_t mapped)
{
	size_t stride = subject->sparse ? 13 : 1;

	for (size_t host = (len + mapped) % stride; host < LINE; host += stride) {
		copy_once(subject, len, mapped, host, 0);
		copy_once(subject, len, mapped, host, 1);
	}
}

static void large(const struct subject *subject, size_t len, size_t mapped, int full)
{
	if (!full) {
		copy_once(subject, len, mapped, (len * 13 + mapped * 7) % LINE, (len ^ mapped) & 1);
		return;
	}
	for (size_t host = 0; host < LINE; host++) {
		copy_once(subject, len, mapped, host, 0);
		copy_once(subject, len, mapped, host, 1);
	}
}

static void run_subject(const struct subject *subject)
{
	const char *env = getenv("BARLANE_TEST_FULL");
	int full = env && !strcmp(env, "1");

	arenas_prepare();
	for (size_t len = 0; len <= MAX_LEN; len += len > SMALL_LEN && subject->sparse ? 61 : 1) {
		for (size_t mapped = 0; mapped < LINE; mapped++) {
			if (len <= SMALL_LEN)
				small(subject, len, mapped);
			else
				large(subject, len, mapped, full);
		}
		if (len % 64 == 0 && !all_canary(to_arena.base, to_arena.base + to_arena.size))
			tap_end(TAP_FAILED, "%s: wrote far outside at len %zu or a little less", subject->name, len);
	}
	if (!all_canary(to_arena.base, to_arena.base + to_arena.size))
		tap_end(TAP_FAILED, "%s: wrote far outside", subject->name);
}

/* Each test is one instruction set, so that the list says which of them ran. */
static void run_isa(const char *name)
{
	const struct bl_cpu_isa *isa = bl_cpu_isa_find(name);
	unsigned long before = copy_trap_count;
	int slow;

	if (!isa)
		skip("%s is not built for this architecture", name);
	if (!copy_trap_runs(isa))
		skip("this CPU does not support %s", name);
	slow = copy_trap_needed(isa);
	copy_trap_install();
	run_subject(&(struct subject){name, isa->to, 1, slow});
	run_subject(&(struct subject){name, isa->from, 0, slow});
	if (slow) {
		check(copy_trap_count > before);
		printf("# %s: this CPU lacks it, %lu instructions were carried out by a signal handler\n", name,
		       copy_trap_count - before);
	}
}

static void scalar_moves_exactly_its_bytes(void)
{
	run_isa("scalar");
}

#if defined(__x86_64__)

static void sse41_moves_exactly_its_bytes(void)
{
	run_isa("sse4.1");
}

static void avx2_moves_exactly_its_bytes(void)
{
	run_isa("avx2");
}

static void avx512_moves_exactly_its_bytes(void)
{
	run_isa("avx512");
}

static void movdir64b_moves_exactly_its_bytes(void)
{
	run_isa("movdir64b");
}

#elif defined(__aarch64__)

static void neon_moves_exactly_its_bytes(void)
{
	run_isa("neon");
}

static void ls64_moves_exactly_its_bytes(void)
{
	run_isa("ls64");
}

#endif

static void run_type(unsigned int type)
{
	const struct bl_cpu_copy *copy = bl_cpu_copy_select(type);

	run_subject(&(struct subject){copy->name, copy->to, 1, 0});
	run_subject(&(struct subject){copy->name, copy->from, 0, 0});
}

static void write_combining_copies_move_exactly_their_bytes(void)
{
	run_type(BL_MAP_WC);
}

static void cached_copies_move_exactly_their_bytes(void)
{
	run_type(BL_MAP_CACHED);
}

static void device_copies_move_exactly_their_bytes(void)
{
	run_type(BL_MAP_DEVICE);
}

/* Megabytes, so that every unrolled loop turns often, with ends that do not fit it. */
static void large_copies_arrive(void)
{
	const size_t size = (3UL << 20) + 777;
	uint8_t *src = malloc(size + LINE), *dst = malloc(size + LINE);
	uint32_t state = 77;

	check(src && dst);
	copy_trap_install();
	for (size_t i = 0; i < size + LINE; i++)
		src[i] = (uint8_t)random_next(&state);
	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (!copy_trap_runs(bl_cpu_isas[i]))
			continue;
		memset(dst, 0, size + LINE);
		bl_cpu_isas[i]->to(dst + 5, src + 11, size);
		check(!memcmp(dst + 5, src + 11, size));
		memset(dst, 0, size + LINE);
		bl_cpu_isas[i]->from(dst + 9, src + 3, size);
		check(!memcmp(dst + 9, src + 3, size));
	}
	free(src);
	free(dst);
}

static const struct tap_test tests[] = {
	{"scalar_moves_exactly_its_bytes", scalar_moves_exactly_its_bytes},
#if defined(__x86_64__)
	{"sse41_moves_exactly_its_bytes", sse41_moves_exactly_its_bytes},
	{"avx2_moves_exactly_its_bytes", avx2_moves_exactly_its_bytes},
	{"avx512_moves_exactly_its_bytes", avx512_moves_exactly_its_bytes},
	{"movdir64b_moves_exactly_its_bytes", movdir64b_moves_exactly_its_bytes},
#elif defined(__aarch64__)
	{"neon_moves_exactly_its_bytes", neon_moves_exactly_its_bytes},
	{"ls64_moves_exactly_its_bytes", ls64_moves_exactly_its_bytes},
#endif
	{"write_combining_copies_move_exactly_their_bytes", write_combining_copies_move_exactly_their_bytes},
	{"cached_copies_move_exactly_their_bytes", cached_copies_move_exactly_their_bytes},
	{"device_copies_move_exactly_their_bytes", device_copies_move_exactly_their_bytes},
	{"large_copies_arrive", large_copies_arrive},
};

TAP_MAIN(tests)
