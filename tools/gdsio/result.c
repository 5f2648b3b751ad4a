// SPDX-License-Identifier: MIT
/* The line that scripts read, word for word the original's. */
#include <inttypes.h>

#include "gdsio/gdsio.h"

static const char *const io_names[IO_NR] = { "READ", "WRITE", "RANDREAD", "RANDWRITE" };

void gdsio_result_print(const struct gdsio_result *result, FILE *out)
{
	double gib = (double)result->bytes / (1 << 30);

	fprintf(out, "IoType: %s XferType: %s Threads: %u ", io_names[result->io], result->way->name, result->threads);
	if (result->depth)
		fprintf(out, "IoDepth: %u ", result->depth);
	fprintf(out, "DataSetSize: %" PRIu64 "/%" PRIu64 "(KiB) IOSize: %" PRIu64 "(KiB) ", result->bytes / 1024,
		result->want / 1024, result->io_size / 1024);
	fprintf(out, "Throughput: %f GiB/sec, Avg_Latency: %f usecs ops: %" PRIu64 " total_time %f secs\n",
		result->seconds > 0 ? gib / result->seconds : 0, result->lat_us, result->ops, result->seconds);
	fflush(out);
}
