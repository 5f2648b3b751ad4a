// SPDX-License-Identifier: MIT
/* Any 64 bytes for a blob: candidates are in bounds, fit the samples, and nothing reads beyond them. */
#include <string.h>

#include "fuzz.h"
#include "gpu/rm/rm_blob.h"

#define NR_SAMPLES 3
#define MAX	   16

static const uint64_t sizes[NR_SAMPLES] = {2 << 20, 12800, 21504};

/* Half of the inputs get a layout that fits, so that the search comes to its end. */
static void plant(struct rm_sample *samples)
{
	uint8_t places[5];
	uint32_t client = 0xc1d00000 | (fuzz_byte() & 0xff), offset = 0;

	for (int i = 0; i < 5; i++)
		places[i] = (uint8_t)(fuzz_byte() % (i ? 16 : 15) * 4);
	for (int i = 0; i < NR_SAMPLES; i++) {
		uint32_t pages = 512, memory = 0x5c000000U + (i > 0);

		memcpy(samples[i].bytes + places[0], &samples[i].size, 8);
		memcpy(samples[i].bytes + places[1], &pages, 4);
		memcpy(samples[i].bytes + places[2], &offset, 4);
		memcpy(samples[i].bytes + places[3], &client, 4);
		memcpy(samples[i].bytes + places[4], &memory, 4);
		offset = i ? offset + 12800 : 0;
	}
}

static void check_layout(const struct rm_blob_layout *layout, const struct rm_sample *samples)
{
	must(layout->size % 4 == 0 && layout->size <= RM_BLOB_SIZE - 8);
	must(layout->pages % 4 == 0 && layout->pages <= RM_BLOB_SIZE - 4);
	must(layout->offset % 4 == 0 && layout->offset <= RM_BLOB_SIZE - 4);
	must(layout->client % 4 == 0 && layout->client <= RM_BLOB_SIZE - 4);
	must(layout->memory % 4 == 0 && layout->memory <= RM_BLOB_SIZE - 4);
	for (int i = 0; i < NR_SAMPLES; i++) {
		struct rm_blob blob;

		rm_blob_read(layout, samples[i].bytes, &blob);
		must(rm_blob_plausible(&blob, samples[i].size));
		must(blob.offset + blob.size <= blob.object_size);
		must(blob.size == samples[i].size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rm_blob_layout layouts[MAX + 1];
	struct rm_sample *samples = malloc(NR_SAMPLES * sizeof(*samples));
	struct rm_blob blob;
	size_t nr, max;

	must(samples);
	fuzz_begin(data, size);
	max = fuzz_byte() % (MAX + 1);
	for (int i = 0; i < NR_SAMPLES; i++) {
		fuzz_bytes(samples[i].bytes, RM_BLOB_SIZE);
		samples[i].size = fuzz_byte() % 8 == 7 ? fuzz_number() : sizes[i];
	}
	if (fuzz_byte() % 2)
		plant(samples);
	memset(&layouts[max], 0xee, sizeof(layouts[0]));
	nr = rm_blob_candidates(samples, NR_SAMPLES, layouts, max);
	must(nr <= max);
	must(layouts[max].size == 0xee);
	for (size_t i = 0; i < nr; i++)
		check_layout(&layouts[i], samples);
	rm_blob_read(&rm_blob_measured, samples[0].bytes, &blob);
	if (rm_blob_plausible(&blob, fuzz_number()))
		must(blob.offset <= blob.object_size);
	free(samples);
	return 0;
}
