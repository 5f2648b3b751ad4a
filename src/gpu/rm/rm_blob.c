// SPDX-License-Identifier: MIT
#include "rm_blob.h"

#include <string.h>

/* Client handles that RM chooses itself start here; measured, and the same in every branch's source. */
#define CLIENT_HANDLE_FIRST 0xC1D00000U
#define CLIENT_HANDLE_LAST  0xC1DFFFFFU

#define OBJECT_UNIT 4096ULL

/* Small allocations start at multiples of this inside their block. */
#define OFFSET_ALIGN 256U

const struct rm_blob_layout rm_blob_measured = { .size = 16, .pages = 24, .offset = 28, .client = 48, .memory = 52 };

static uint32_t word(const uint8_t *bytes, unsigned int at)
{
	uint32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static uint64_t quad(const uint8_t *bytes, unsigned int at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

void rm_blob_read(const struct rm_blob_layout *layout, const uint8_t *bytes, struct rm_blob *blob)
{
	blob->size = quad(bytes, layout->size);
	blob->object_size = word(bytes, layout->pages) * OBJECT_UNIT;
	blob->offset = word(bytes, layout->offset);
	blob->client = word(bytes, layout->client);
	blob->memory = word(bytes, layout->memory);
}

bool rm_blob_plausible(const struct rm_blob *blob, uint64_t size)
{
	return blob->size == size && blob->memory && blob->client >= CLIENT_HANDLE_FIRST &&
	       blob->client <= CLIENT_HANDLE_LAST && blob->memory != blob->client &&
	       blob->offset % OFFSET_ALIGN == 0 && blob->offset <= blob->object_size &&
	       size <= blob->object_size - blob->offset;
}

/*
 * One client for all; the large sample fills an object of its own from the start. Small ones may share an object: then
 * they must not overlap. That the words are what they are taken for is for the self-test to prove.
 */
static bool fits(const struct rm_blob_layout *layout, const struct rm_sample *samples, size_t nr)
{
	struct rm_blob first, other, before;

	rm_blob_read(layout, samples[0].bytes, &first);
	if (!rm_blob_plausible(&first, samples[0].size) || first.offset || first.object_size != samples[0].size)
		return false;
	for (size_t i = 1; i < nr; i++) {
		rm_blob_read(layout, samples[i].bytes, &other);
		if (!rm_blob_plausible(&other, samples[i].size) || other.client != first.client ||
		    other.memory == first.memory)
			return false;
		for (size_t j = 1; j < i; j++) {
			rm_blob_read(layout, samples[j].bytes, &before);
			if (before.memory == other.memory && before.offset < other.offset + other.size &&
			    other.offset < before.offset + before.size)
				return false;
		}
	}
	return true;
}

static bool same(const struct rm_blob_layout *a, const struct rm_blob_layout *b)
{
	return a->size == b->size && a->pages == b->pages && a->offset == b->offset && a->client == b->client &&
	       a->memory == b->memory;
}

/* Words that are apart from each other; the size takes two. */
static bool distinct(const struct rm_blob_layout *l)
{
	const uint8_t at[] = { l->size, (uint8_t)(l->size + 4), l->pages, l->offset, l->client, l->memory };

	for (size_t i = 0; i < sizeof(at); i++) {
		for (size_t j = 0; j < i; j++) {
			if (at[i] == at[j])
				return false;
		}
	}
	return true;
}

struct search {
	const struct rm_sample *samples;
	size_t nr;
	struct rm_blob_layout *layouts;
	size_t max;
	size_t found;
};

static void consider(struct search *s, const struct rm_blob_layout *layout)
{
	if (s->found < s->max && distinct(layout) && fits(layout, s->samples, s->nr) &&
	    (!s->found || !same(layout, &s->layouts[0])))
		s->layouts[s->found++] = *layout;
}

/* The rarest words first: sizes and the client's range leave few places, so the search stays small. */
static void search_rest(struct search *s, struct rm_blob_layout layout)
{
	for (layout.pages = 0; layout.pages < RM_BLOB_SIZE; layout.pages += 4) {
		if (word(s->samples[0].bytes, layout.pages) * OBJECT_UNIT != s->samples[0].size)
			continue;
		for (layout.memory = 0; layout.memory < RM_BLOB_SIZE; layout.memory += 4) {
			for (layout.offset = 0; layout.offset < RM_BLOB_SIZE; layout.offset += 4) {
				if (!word(s->samples[0].bytes, layout.offset))
					consider(s, &layout);
			}
		}
	}
}

size_t rm_blob_candidates(const struct rm_sample *samples, size_t nr, struct rm_blob_layout *layouts, size_t max)
{
	struct search s = { .samples = samples, .nr = nr, .layouts = layouts, .max = max };
	struct rm_blob_layout layout = { 0 };

	consider(&s, &rm_blob_measured);
	for (layout.size = 0; layout.size <= RM_BLOB_SIZE - 8; layout.size += 4) {
		if (quad(samples[0].bytes, layout.size) != samples[0].size)
			continue;
		for (layout.client = 0; layout.client < RM_BLOB_SIZE; layout.client += 4) {
			uint32_t client = word(samples[0].bytes, layout.client);

			if (client >= CLIENT_HANDLE_FIRST && client <= CLIENT_HANDLE_LAST)
				search_rest(&s, layout);
		}
	}
	return s.found;
}
