// SPDX-License-Identifier: MIT
#include "gpu/rm/rm_blob.h"

#include "tap.h"

#define NR_SAMPLES 3
#define CLIENT	   0xc1d00042U
#define MAX_FOUND  16

/* What the samples of a driver look like: one object of its own and two small ones. */
static const struct rm_blob allocations[NR_SAMPLES] = {
	{.size = 2 << 20, .object_size = 2 << 20, .offset = 0, .client = CLIENT, .memory = 0x5c000010},
	{.size = 12800, .object_size = 2 << 20, .offset = 0, .client = CLIENT, .memory = 0x5c000011},
	{.size = 21504, .object_size = 2 << 20, .offset = 12800, .client = CLIENT, .memory = 0x5c000011},
};

/* What no field is taken for: the same in all samples, never zero, never a client's handle, never a size. */
static uint32_t noise(size_t at)
{
	return 0x11000000u + (uint32_t)at * 0x10203u;
}

static void write_blob(uint8_t *bytes, const struct rm_blob_layout *layout, const struct rm_blob *blob)
{
	uint32_t pages = (uint32_t)(blob->object_size / 4096);

	memcpy(bytes + layout->size, &blob->size, 8);
	memcpy(bytes + layout->pages, &pages, 4);
	memcpy(bytes + layout->offset, &blob->offset, 4);
	memcpy(bytes + layout->client, &blob->client, 4);
	memcpy(bytes + layout->memory, &blob->memory, 4);
}

static void make_samples(struct rm_sample *samples, const struct rm_blob_layout *layout, const struct rm_blob *blobs)
{
	for (size_t i = 0; i < NR_SAMPLES; i++) {
		for (size_t at = 0; at < RM_BLOB_SIZE; at += 4) {
			uint32_t word = noise(at);

			memcpy(samples[i].bytes + at, &word, 4);
		}
		write_blob(samples[i].bytes, layout, &blobs[i]);
		samples[i].size = blobs[i].size;
	}
}

static size_t candidates(const struct rm_blob_layout *layout, const struct rm_blob *blobs,
			 struct rm_blob_layout *found)
{
	struct rm_sample samples[NR_SAMPLES];

	make_samples(samples, layout, blobs);
	return rm_blob_candidates(samples, NR_SAMPLES, found, MAX_FOUND);
}

static int same(const struct rm_blob_layout *a, const struct rm_blob_layout *b)
{
	return a->size == b->size && a->pages == b->pages && a->offset == b->offset && a->client == b->client &&
	       a->memory == b->memory;
}

static void the_measured_layout_reads_the_measured_places(void)
{
	uint8_t bytes[RM_BLOB_SIZE] = {0};
	struct rm_blob blob;
	uint64_t size = 0x123456789abcdef0ULL;
	uint32_t words[] = {0xffffffff, 0x3200, 0xc1d00123, 0xcaf01234};

	memcpy(bytes + 16, &size, 8);
	memcpy(bytes + 24, &words[0], 4);
	memcpy(bytes + 28, &words[1], 4);
	memcpy(bytes + 48, &words[2], 4);
	memcpy(bytes + 52, &words[3], 4);
	rm_blob_read(&rm_blob_measured, bytes, &blob);
	check_eq(blob.size, size);
	check_eq(blob.object_size, 0xffffffffULL * 4096);
	check_eq(blob.offset, 0x3200);
	check_eq(blob.client, 0xc1d00123);
	check_eq(blob.memory, 0xcaf01234);
}

static void the_measured_layout_is_the_first_candidate(void)
{
	struct rm_blob_layout found[MAX_FOUND];
	size_t nr = candidates(&rm_blob_measured, allocations, found);

	check_eq(nr, 1);
	check(same(&found[0], &rm_blob_measured));
}

/* All ways to put the five fields into the 16 words, the size taking two. */
static void every_other_order_of_the_fields_is_found(void)
{
	struct rm_blob_layout found[MAX_FOUND], l;
	size_t tried = 0;

	for (unsigned int s = 0; s < 15; s++) {
		for (unsigned int mask = 0; mask < 16 * 16 * 16 * 16; mask++) {
			unsigned int p = mask & 15, o = mask >> 4 & 15, c = mask >> 8 & 15, m = mask >> 12;
			size_t nr, i = 0;

			if (p == s || o == s || c == s || m == s || p == s + 1 || o == s + 1 || c == s + 1 ||
			    m == s + 1 || p == o || p == c || p == m || o == c || o == m || c == m)
				continue;
			l = (struct rm_blob_layout){.size = (uint8_t)(4 * s), .pages = (uint8_t)(4 * p),
						    .offset = (uint8_t)(4 * o), .client = (uint8_t)(4 * c),
						    .memory = (uint8_t)(4 * m)};
			nr = candidates(&l, allocations, found);
			while (i < nr && !same(&found[i], &l))
				i++;
			if (i == nr)
				tap_end(TAP_FAILED, "size %u pages %u offset %u client %u memory %u: not among %zu", l.size,
					l.pages, l.offset, l.client, l.memory, nr);
			tried++;
		}
	}
	check_eq(tried, 15 * 14 * 13 * 12 * 11);
}

static void noise_has_no_candidate(void)
{
	struct rm_blob_layout found[MAX_FOUND];
	struct rm_sample samples[NR_SAMPLES];
	uint32_t state = 99;

	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < NR_SAMPLES; i++) {
			for (size_t at = 0; at < RM_BLOB_SIZE; at++) {
				state = state * 1664525u + 1013904223u;
				samples[i].bytes[at] = (uint8_t)(state >> 24);
			}
			samples[i].size = allocations[i].size;
		}
		check_eq(rm_blob_candidates(samples, NR_SAMPLES, found, MAX_FOUND), 0);
	}
	memset(samples, 0, sizeof(samples));
	check_eq(rm_blob_candidates(samples, NR_SAMPLES, found, MAX_FOUND), 0);
	memset(samples, 0xff, sizeof(samples));
	check_eq(rm_blob_candidates(samples, NR_SAMPLES, found, MAX_FOUND), 0);
}

/* Each of these makes one thing wrong in what is otherwise right. */
static void samples_that_do_not_hang_together_are_refused(void)
{
	struct rm_blob_layout found[MAX_FOUND];
	struct rm_blob wrong[NR_SAMPLES];
	struct rm_sample samples[NR_SAMPLES];

	for (int what = 0; what < 9; what++) {
		memcpy(wrong, allocations, sizeof(wrong));
		switch (what) {
		case 0: /* two clients */
			wrong[2].client++;
			break;
		case 1: /* no client's handle */
			wrong[0].client = wrong[1].client = wrong[2].client = 0xc1e00000;
			break;
		case 2: /* small ones overlap by one unit */
			wrong[2].offset = 12800 - 256;
			break;
		case 3: /* small ones at one place */
			wrong[2].offset = 0;
			break;
		case 4: /* the last runs over the end of the object */
			wrong[2].offset = (2 << 20) - 21504 + 256;
			break;
		case 5: /* a small one in the large one's object */
			wrong[1].memory = wrong[0].memory;
			break;
		case 6: /* the large one does not fill its object */
			wrong[0].object_size *= 2;
			break;
		case 7: /* an offset that no allocation has */
			wrong[2].offset = 12800 + 128;
			break;
		case 8: /* a handle of 0 */
			wrong[1].memory = wrong[2].memory = 0;
			break;
		}
		if (candidates(&rm_blob_measured, wrong, found))
			tap_end(TAP_FAILED, "mistake %d is not noticed", what);
	}
	make_samples(samples, &rm_blob_measured, allocations);
	samples[1].size++;
	check_eq(rm_blob_candidates(samples, NR_SAMPLES, found, MAX_FOUND), 0);
}

static void small_samples_in_objects_of_their_own_are_accepted(void)
{
	struct rm_blob_layout found[MAX_FOUND];
	struct rm_blob blobs[NR_SAMPLES];

	memcpy(blobs, allocations, sizeof(blobs));
	blobs[2].memory++;
	blobs[2].offset = 256;
	blobs[1].offset = 512;
	check_eq(candidates(&rm_blob_measured, blobs, found), 1);
	check(same(&found[0], &rm_blob_measured));
}

/* Where words cannot be told apart every reading is offered, within the room; proof is for others. */
static void ambiguous_samples_give_as_many_as_there_is_room_for(void)
{
	struct rm_blob_layout found[MAX_FOUND + 1];
	struct rm_sample samples[NR_SAMPLES];
	uint32_t zero = 0;

	make_samples(samples, &rm_blob_measured, allocations);
	for (size_t i = 0; i < NR_SAMPLES; i++) {
		/* copies of the handle, and of the offset */
		memcpy(samples[i].bytes + 0, &allocations[i].memory, 4);
		memcpy(samples[i].bytes + 4, &allocations[i].memory, 4);
		memcpy(samples[i].bytes + 8, &allocations[i].offset, 4);
		memcpy(samples[i].bytes + 60, &zero, 4);
	}
	found[2] = (struct rm_blob_layout){.size = 0xee};
	check_eq(rm_blob_candidates(samples, NR_SAMPLES, found, 2), 2);
	check_eq(found[2].size, 0xee);
	check(same(&found[0], &rm_blob_measured));
	check(!same(&found[1], &rm_blob_measured));
	check_eq(rm_blob_candidates(samples, NR_SAMPLES, found, 0), 0);
	check_eq(rm_blob_candidates(samples, NR_SAMPLES, found, MAX_FOUND), 6);
	for (size_t i = 0; i < 6; i++) {
		for (size_t j = 0; j < i; j++)
			check(!same(&found[i], &found[j]));
	}
}

static void only_what_adds_up_is_plausible(void)
{
	struct rm_blob good = {.size = 4096, .object_size = 2 << 20, .offset = 512, .client = CLIENT, .memory = 5};
	struct rm_blob b;

	check(rm_blob_plausible(&good, 4096));
	check(!rm_blob_plausible(&good, 4095));
	b = good, b.memory = 0;
	check(!rm_blob_plausible(&b, 4096));
	b = good, b.memory = CLIENT;
	check(!rm_blob_plausible(&b, 4096));
	b = good, b.client = 0xc1cfffff;
	check(!rm_blob_plausible(&b, 4096));
	b = good, b.client = 0xc1d00000;
	check(rm_blob_plausible(&b, 4096));
	b = good, b.client = 0xc1dfffff;
	check(rm_blob_plausible(&b, 4096));
	b = good, b.client = 0xc1e00000;
	check(!rm_blob_plausible(&b, 4096));
	b = good, b.offset = 255;
	check(!rm_blob_plausible(&b, 4096));
	b = good, b.offset = (2 << 20) - 4096;
	check(rm_blob_plausible(&b, 4096));
	b = good, b.offset = (2 << 20) - 4096 + 256;
	check(!rm_blob_plausible(&b, 4096));
	b = good, b.offset = (2 << 20) + 256;
	check(!rm_blob_plausible(&b, 4096));
	b = good, b.size = UINT64_MAX;
	check(!rm_blob_plausible(&b, UINT64_MAX));
	b = good, b.object_size = 0, b.offset = 0, b.size = 0;
	check(rm_blob_plausible(&b, 0));
}

static const struct tap_test tests[] = {
	{"the measured layout reads the measured places", the_measured_layout_reads_the_measured_places},
	{"the measured layout is the first candidate", the_measured_layout_is_the_first_candidate},
	{"every other order of the fields is found", every_other_order_of_the_fields_is_found},
	{"noise has no candidate", noise_has_no_candidate},
	{"samples that do not hang together are refused", samples_that_do_not_hang_together_are_refused},
	{"small samples in objects of their own are accepted", small_samples_in_objects_of_their_own_are_accepted},
	{"ambiguous samples give as many as there is room for",
	 ambiguous_samples_give_as_many_as_there_is_room_for},
	{"only what adds up is plausible", only_what_adds_up_is_plausible},
};

TAP_MAIN(tests)
