// SPDX-License-Identifier: MIT
#include "net/fpga/track.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

static size_t words_of(uint64_t nr)
{
	return (size_t)((nr + 63) / 64);
}

int fpga_track_open(struct fpga_track *track, uint64_t nr)
{
	*track = (struct fpga_track){.nr = nr, .bits = calloc(words_of(nr), sizeof(*track->bits))};
	return track->bits ? 0 : tool_fail(ENOMEM, "no memory for %llu frames", (unsigned long long)nr);
}

void fpga_track_close(struct fpga_track *track)
{
	free(track->bits);
	track->bits = NULL;
}

void fpga_track_begin(struct fpga_track *track)
{
	*track = (struct fpga_track){.nr = track->nr, .bits = track->bits};
	memset(track->bits, 0, words_of(track->nr) * sizeof(*track->bits));
}

bool fpga_track_add(struct fpga_track *track, uint64_t number)
{
	uint64_t bit = 1ULL << number % 64, *word = &track->bits[number / 64];

	if (*word & bit) {
		track->twice++;
		return false;
	}
	*word |= bit;
	track->returned++;
	if (number < track->next)
		track->reordered++;
	else
		track->next = number + 1;
	return true;
}
