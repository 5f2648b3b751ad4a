// SPDX-License-Identifier: MIT
/*
 * checkpoint save FILE [PARTS [BYTES]] - write GPU memory to a file that is whole or not there
 * checkpoint restore FILE              - read it back and verify it
 *
 * "save" fills PARTS allocations of BYTES each with bytes of their own, as a training run would have its state, and writes
 * them with cuFile, one thread for each. The file gets its name when it is complete and on the disk: who is killed in
 * between leaves the checkpoint before it untouched. "restore" needs nothing but the file: sizes and checksums are in its
 * first page.
 */
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <sys/stat.h>

#include "file_example.h"

#define PAGE	  4096UL
#define MAX_PARTS 64
#define PIECE	  (16UL << 20)

static const char magic[8] = "BLCKPT1";

/* First page of the file, in the machine's byte order; parts follow, each at a multiple of a page. */
struct header {
	char magic[8];
	uint64_t nr;
	struct place {
		uint64_t off;
		uint64_t len;
		uint64_t sum;
	} part[MAX_PARTS];
	uint64_t sum; /* of all before */
};

_Static_assert(sizeof(struct header) <= PAGE, "the header is one page");

struct part {
	pthread_t thread;
	CUcontext context;
	CUfileHandle_t fh;
	CUdeviceptr gpu;
	struct place *place;
	unsigned int index;
	bool save;
};

static uint64_t add_sum(uint64_t sum, const void *data, size_t len)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ at[i]) * 0x100000001b3U;
	return sum;
}

#define SUM_START 0xcbf29ce484222325U

/* Bytes that tell a part and a place in it. */
static void fill(struct part *part)
{
	uint64_t *buf = malloc(PIECE);

	if (!buf)
		example_die("out of memory");
	part->place->sum = SUM_START;
	for (uint64_t off = 0; off < part->place->len; off += PIECE) {
		size_t len = part->place->len - off < PIECE ? part->place->len - off : PIECE;

		for (size_t i = 0; i < PIECE / 8; i++)
			buf[i] = (off / 8 + i + 1) * 0x9e3779b97f4a7c15U + part->index;
		part->place->sum = add_sum(part->place->sum, buf, len);
		CU(cuMemcpyHtoD(part->gpu + off, buf, len));
	}
	/* cuFile's calls are in no stream: the copies must be over */
	CU(cuCtxSynchronize());
	free(buf);
}

static void check(const struct part *part)
{
	unsigned char *buf = malloc(PIECE);
	uint64_t sum = SUM_START;

	if (!buf)
		example_die("out of memory");
	for (uint64_t off = 0; off < part->place->len; off += PIECE) {
		size_t len = part->place->len - off < PIECE ? part->place->len - off : PIECE;

		CU(cuMemcpyDtoH(buf, part->gpu + off, len));
		sum = add_sum(sum, buf, len);
	}
	free(buf);
	if (sum != part->place->sum)
		example_die("part %u: what was read has another checksum than what was saved", part->index);
}

static void move(const struct part *part)
{
	void *base = (void *)(uintptr_t)part->gpu;

	for (uint64_t done = 0; done < part->place->len; done += PIECE) {
		size_t len = part->place->len - done < PIECE ? part->place->len - done : PIECE;
		off_t pos = (off_t)(part->place->off + done);
		ssize_t moved = part->save ? cuFileWrite(part->fh, base, len, pos, (off_t)done) :
					     cuFileRead(part->fh, base, len, pos, (off_t)done);

		if (moved != (ssize_t)len)
			example_die("part %u: %s of %zu bytes at %lld: %s", part->index,
				    part->save ? "cuFileWrite" : "cuFileRead", len, (long long)pos, example_io_error(moved));
	}
}

static void *work(void *arg)
{
	struct part *part = arg;

	CU(cuCtxSetCurrent(part->context));
	move(part);
	return NULL;
}

static void move_all(struct part *parts, const struct header *header, int fd, bool save)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };
	uint64_t begin, bytes = 0;
	CUfileHandle_t fh;
	double seconds;
	int err;

	CUFILE(cuFileHandleRegister(&fh, &descr));
	for (unsigned int i = 0; i < header->nr; i++) {
		parts[i].fh = fh;
		parts[i].save = save;
		bytes += header->part[i].len;
		CUFILE(cuFileBufRegister((void *)(uintptr_t)parts[i].gpu, header->part[i].len, 0));
	}
	begin = example_now_ns();
	for (unsigned int i = 0; i < header->nr; i++) {
		err = pthread_create(&parts[i].thread, NULL, work, &parts[i]);
		if (err)
			example_die("no thread: %s", strerror(err));
	}
	for (unsigned int i = 0; i < header->nr; i++)
		pthread_join(parts[i].thread, NULL);
	if (save && fdatasync(fd))
		example_die("fdatasync: %s", strerror(errno));
	seconds = (double)(example_now_ns() - begin) / 1e9;
	printf("%s %llu parts, %llu bytes in %.3f s: %.2f GB/s%s\n", save ? "saved" : "restored",
	       (unsigned long long)header->nr, (unsigned long long)bytes, seconds, (double)bytes / 1e9 / seconds,
	       save ? ", on the disk" : "");
	for (unsigned int i = 0; i < header->nr; i++)
		CUFILE(cuFileBufDeregister((void *)(uintptr_t)parts[i].gpu));
	cuFileHandleDeregister(fh);
}

static void allocate(struct part *parts, struct header *header, CUcontext context)
{
	for (unsigned int i = 0; i < header->nr; i++) {
		parts[i] = (struct part){ .context = context, .place = &header->part[i], .index = i };
		CU(cuMemAlloc(&parts[i].gpu, header->part[i].len));
	}
}

static void release(struct part *parts, const struct header *header)
{
	for (unsigned int i = 0; i < header->nr; i++)
		CU(cuMemFree(parts[i].gpu));
}

static void write_header(int fd, struct header *header)
{
	header->sum = add_sum(SUM_START, header, offsetof(struct header, sum));
	if (pwrite(fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header) || fsync(fd))
		example_die("header: %s", strerror(errno));
}

/* The new name is on the disk when its folder is. */
static void put_in_place(const char *from, const char *to)
{
	char *copy = strdup(to);
	int fd;

	if (!copy)
		example_die("out of memory");
	if (rename(from, to))
		example_die("%s: %s", to, strerror(errno));
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		example_die("folder of %s: %s", to, strerror(errno));
	close(fd);
	free(copy);
}

static void save(const char *path, unsigned int nr, uint64_t len)
{
	static struct header header;
	struct part parts[MAX_PARTS];
	CUcontext context = example_gpu(0);
	char temp[4096];
	int fd;

	if (snprintf(temp, sizeof(temp), "%s.tmp", path) >= (int)sizeof(temp))
		example_die("the name of the file is too long");
	memcpy(header.magic, magic, sizeof(magic));
	header.nr = nr;
	for (unsigned int i = 0; i < nr; i++)
		header.part[i] = (struct place){ .off = PAGE + i * ((len + PAGE - 1) / PAGE * PAGE), .len = len };
	fd = open(temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		example_die("%s: %s", temp, strerror(errno));
	CUFILE(cuFileDriverOpen());
	allocate(parts, &header, context);
	for (unsigned int i = 0; i < nr; i++)
		fill(&parts[i]);
	move_all(parts, &header, fd, true);
	/* the file becomes valid with this, after everything that it speaks of */
	write_header(fd, &header);
	put_in_place(temp, path);
	release(parts, &header);
	CUFILE(cuFileDriverClose());
	close(fd);
}

static void read_header(const char *path, int fd, struct header *header)
{
	struct stat st;

	if (pread(fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header) ||
	    memcmp(header->magic, magic, sizeof(magic)))
		example_die("%s: no checkpoint", path);
	if (header->sum != add_sum(SUM_START, header, offsetof(struct header, sum)) || header->nr > MAX_PARTS ||
	    fstat(fd, &st))
		example_die("%s: the header is damaged", path);
	for (unsigned int i = 0; i < header->nr; i++) {
		if (header->part[i].off + header->part[i].len > (uint64_t)st.st_size)
			example_die("%s: the file ends within part %u", path, i);
	}
}

static void restore(const char *path)
{
	static struct header header;
	struct part parts[MAX_PARTS];
	CUcontext context;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		example_die("%s: %s", path, strerror(errno));
	read_header(path, fd, &header);
	context = example_gpu(0);
	CUFILE(cuFileDriverOpen());
	allocate(parts, &header, context);
	move_all(parts, &header, fd, false);
	for (unsigned int i = 0; i < header.nr; i++)
		check(&parts[i]);
	printf("verified: every part has the checksum that it was saved with\n");
	release(parts, &header);
	CUFILE(cuFileDriverClose());
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc >= 3 && argc <= 5 && !strcmp(argv[1], "save"))
		save(argv[2], argc > 3 ? (unsigned int)example_number(argv[3], 1, MAX_PARTS) : 4,
		     argc > 4 ? example_number(argv[4], 1, 1ULL << 40) : 64UL << 20);
	else if (argc == 3 && !strcmp(argv[1], "restore"))
		restore(argv[2]);
	else
		example_die("usage: checkpoint save FILE [PARTS [BYTES]] | checkpoint restore FILE");
	return EXIT_SUCCESS;
}
