// SPDX-License-Identifier: MIT
/*
 * Random requests, shadows, reads, writes, frees, forks and closes. What counts is that the kernel has nothing to
 * complain about, and that nothing is bound or written afterwards.
 */
#include "fuzz.h"
#include "nvfs_lane.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_MEMS	    6
#define NR_SHADOWS  5
#define MAX_ENTRIES 12
#define MAX_RUNS    10 /* where the first one has no request that was taken: on a busy machine */
#define DRIVE_SIZE  (512 * MIB)

static int drive;
/* shadows of all threads: others use them too, also when they are unmapped */
static struct lane_map shadows[FUZZ_THREADS * NR_SHADOWS];
static atomic_ulong nr_binds, nr_bytes, nr_taken, nr_batches, nr_rdma, nr_errors, nr_again;

static struct lane_map *own_shadow(struct fuzz *s)
{
	return &shadows[s->nr * NR_SHADOWS + pick(s, NR_SHADOWS)];
}

static struct lane_map *any_shadow(struct fuzz *s)
{
	return &shadows[pick(s, FUZZ_THREADS * NR_SHADOWS)];
}

/*
 * An own shadow made anew or kept, mostly with memory behind it. Pages for reports stay, since others may name them
 * after their shadow has gone, and their addresses must not become something else.
 */
static void do_bind(struct fuzz *s)
{
	static const size_t lens[] = { 4 * KIB, 32 * KIB, 64 * KIB, 192 * KIB, 512 * KIB };
	struct lane_map *map = own_shadow(s), fresh;
	struct gpu_mem mem = a_mem(s);
	uint64_t off = pick(s, 3) ? pick(s, 16) * 64 * KIB : pick(s, 2 * MIB), len = 1 + pick(s, 2 * MIB - off);

	if (map->shadow && !pick(s, 3) && !try_unmap(a_file(s), map->shadow)) {
		if (!try_bind(a_file(s), &(struct nvidia_fs_map){
					 .size = (int64_t)len,
					 .cpuvaddr = (uintptr_t)map->shadow,
					 .gpuvaddr = mem.va + off,
					 .end_fence_addr = pick(s, 2) ? (uintptr_t)map->meta : 0,
					 .sbuf_block = (uint32_t)(map->shadow_len / NVIDIA_FS_BLOCK),
				 }))
			atomic_fetch_add(&nr_again, 1);
		return;
	}
	if (map->shadow) {
		munmap(map->shadow, map->shadow_len);
		map->shadow = NULL;
	}
	if (pick(s, 10)) {
		if (!try_lane_bind(a_file(s), mem.va + off, len, lens[pick(s, 5)], &fresh)) {
			*map = fresh;
			atomic_fetch_add(&nr_binds, 1);
		}
	} else {
		fresh = (struct lane_map){ .shadow_len = lens[pick(s, 5)] };
		fresh.shadow = try_shadow(a_file(s), fresh.shadow_len);
		if (fresh.shadow)
			munmap(fresh.shadow, fresh.shadow_len);
	}
}

static struct nvidia_fs_io an_io(struct fuzz *s)
{
	const struct lane_map *map = any_shadow(s);
	uint64_t size = pick(s, 64) * 4096, pos = pick(s, DRIVE_SIZE / 4096) * 4096;
	struct nvidia_fs_io io = lane_io(map, pick(s, 20) ? drive : a_file(s), (int64_t)pos, pick(s, 512) * 4096, size);

	if (!pick(s, 3)) {
		io.flags = 0;
		io.end_fence_value = draw(s);
	}
	if (!pick(s, 8)) {
		io.flags = (uint8_t)draw(s);
		io.end_fence_value = pick(s, 2) * draw(s);
	}
	if (!pick(s, 10))
		((uint8_t *)&io)[pick(s, sizeof(io))] ^= (uint8_t)(1 << pick(s, 8));
	return io;
}

/* Now and then they lie where they can be read and not written, or not at all, or may go: in a shadow. */
static struct nvidia_fs_io *batch_at(struct fuzz *s, struct nvidia_fs_io *entries)
{
	static const struct nvidia_fs_io unwritable[MAX_ENTRIES];

	switch (pick(s, 64)) {
	case 0:
		return (struct nvidia_fs_io *)(uintptr_t)unwritable;
	case 1:
		return any_shadow(s)->shadow;
	case 2:
		return (struct nvidia_fs_io *)(uintptr_t)draw(s);
	default:
		return entries;
	}
}

/* One that is refused ends the batch, so most are good. */
static void do_batch(struct fuzz *s)
{
	struct nvidia_fs_io entries[MAX_ENTRIES];
	uint64_t nr = 1 + pick(s, MAX_ENTRIES), good = pick(s, 4);

	for (uint64_t i = 0; i < nr; i++) {
		entries[i] = an_io(s);
		if (!good)
			continue;
		entries[i] = lane_io(own_shadow(s), drive, (int64_t)i * 4096, i * 4096, 4096 * (1 + pick(s, 8)));
		entries[i].flags = (uint8_t)(pick(s, 2) | pick(s, 2) << NVIDIA_FS_IO_OP_SHIFT);
		entries[i].end_fence_value = 1 + i;
	}
	if (try_batch(a_file(s), batch_at(s, entries), pick(s, 50) ? nr : draw(s)))
		atomic_fetch_add(&nr_errors, 1);
	else
		atomic_fetch_add(&nr_batches, 1);
}

static void do_io(struct fuzz *s)
{
	struct nvidia_fs_io io = an_io(s);
	int64_t ret;

	ret = try_io(a_file(s), pick(s, 2), &io);
	if (ret < 0)
		atomic_fetch_add(&nr_errors, 1);
	else
		atomic_fetch_add(&nr_taken, 1);
	if (ret > 0)
		atomic_fetch_add(&nr_bytes, (unsigned long)ret);
}

/* The page that a good MAP would pin is the caller's own memory, so a random one does no harm. */
static void do_request(struct fuzz *s)
{
	union nvidia_fs_arg arg;
	uint64_t words[13];
	unsigned int cmd = pick(s, 9) ? NVIDIA_FS_IOC_REMOVE + (unsigned int)pick(s, 8) : NVIDIA_FS_IOC_UNMAP;

	for (size_t i = 0; i < 13; i++) {
		switch (pick(s, 4)) {
		case 0:
			words[i] = draw(s);
			break;
		case 1:
			words[i] = (uintptr_t)any_shadow(s)->shadow;
			break;
		case 2:
			words[i] = a_mem(s).va;
			break;
		default:
			words[i] = pick(s, 64) * 4096;
		}
	}
	memcpy(&arg, words, sizeof(arg));
	/* user space's own memory is all that user space can lose by a wrong address */
	if (cmd == NVIDIA_FS_IOC_MAP)
		arg.map.end_fence_addr = (uintptr_t)any_shadow(s)->meta;
	ioctl(a_file(s), pick(s, 8) ? cmd : (unsigned int)draw(s), pick(s, 16) ? &arg : (void *)draw(s));
}

/* RDMA information that is understood, mostly, of a shadow that may just go. */
static void do_rdma(struct fuzz *s)
{
	union nvidia_fs_arg arg = { .set_rdma = {
		.cpuvaddr = (uintptr_t)any_shadow(s)->shadow,
		.gid = { draw(s), draw(s) },
		.qp_num = (uint32_t)draw(s),
		.flags = (uint8_t)draw(s),
		.version = (uint8_t)(pick(s, 8) ? 2 : draw(s)),
		.rkey = { (uint32_t)draw(s) },
		.nkeys = (uint32_t)(pick(s, 8) ? 1 : draw(s)),
	} };

	if (ioctl(a_file(s), NVIDIA_FS_IOC_SET_RDMA_INFO + (unsigned int)pick(s, 3), &arg))
		atomic_fetch_add(&nr_errors, 1);
	else
		atomic_fetch_add(&nr_rdma, 1);
}

/* Files that tell of what the others change. */
static void do_proc(struct fuzz *s)
{
	static const char *const names[] = { "stats", "peer_distance", "peer_affinity", "bridges", "modules" };
	char path[64], text[512];
	int fd;

	snprintf(path, sizeof(path), "/proc/driver/nvidia-fs/%s", names[pick(s, 5)]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		atomic_fetch_add(&nr_failures, 1);
		return;
	}
	if (pread(fd, text, 1 + pick(s, sizeof(text)), (off_t)pick(s, 1024)) < 0)
		atomic_fetch_add(&nr_failures, 1);
	/* begins to count anew */
	if (!pick(s, 8) && write(fd, text, 1 + pick(s, 8)) < 0)
		atomic_fetch_add(&nr_errors, 1);
	close(fd);
}

static void do_shadow(struct fuzz *s)
{
	const struct lane_map *map = own_shadow(s);
	uint32_t value;

	if (!map->shadow)
		return;
	switch (pick(s, 5)) {
	case 0:
		madvise(map->shadow, map->shadow_len, (int)pick(s, 26));
		break;
	case 1:
		mprotect(map->shadow, 4096, PROT_READ);
		break;
	case 2:
		munmap((char *)map->shadow + pick(s, map->shadow_len / 4096) * 4096, map->shadow_len > 4096 ? 4096 : 0);
		break;
	case 3:
		/* this thread's own pages: nobody unmaps them meanwhile */
		value = *(volatile uint32_t *)map->shadow;
		(void)value;
		break;
	default:
		mremap(map->shadow, map->shadow_len, map->shadow_len * 2, MREMAP_MAYMOVE);
	}
}

static void do_fork(struct fuzz *s)
{
	struct lane_map *map = any_shadow(s);
	pid_t pid = fork();

	if (!pid) {
		struct nvidia_fs_io io = lane_io(map, drive, 0, 0, 4096);

		try_io(a_file(s), false, &io);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void step(struct fuzz *s)
{
	uint64_t what = pick(s, 1000);

	if (what < 150)
		do_bind(s);
	else if (what < 500)
		do_io(s);
	else if (what < 550)
		do_batch(s);
	else if (what < 580)
		do_rdma(s);
	else if (what < 600)
		do_proc(s);
	else if (what < 800)
		do_request(s);
	else if (what < 900)
		do_shadow(s);
	else if (what < 960)
		fuzz_free(s);
	else if (what < 995)
		fuzz_reopen(s, NVIDIA_FS_PATH "1");
	else
		do_fork(s);
}

static int child(void *arg)
{
	(void)arg;
	drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	fuzz_set_up(lane_open, NR_MEMS);
	for (int i = 0; i < MAX_RUNS && !nr_taken; i++) {
		if (fuzz_run(step, NULL))
			return 1;
	}
	printf("# %lu calls, %lu bindings, %lu more on the same shadow, %lu requests, %lu KiB moved, %lu batches, "
	       "%lu of RDMA, %lu errors\n",
	       nr_calls, nr_binds, nr_again, nr_taken, nr_bytes >> 10, nr_batches, nr_rdma, nr_errors);
	fflush(stdout);
	if (nr_failures)
		return 3;
	/* a run that did not get anywhere shows nothing */
	return nr_binds && nr_again && nr_taken && nr_errors ? 0 : 2;
}

/* In a child, whose end must clear up what the threads left. */
static void fuzz(const char *parameters)
{
	int card;

	lane_need_patched();
	lane_reload(parameters);
	fuzz_in_child(child);
	card = gpu_open();
	lane_check_clean(card);
	check_eq(gpu_counters(card).used, 0);
	close(card);
}

static void fuzz_persistent(void)
{
	fuzz("info_enabled=0");
}

static void fuzz_legacy(void)
{
	fuzz("info_enabled=0 " LANE_LEGACY);
}

static const struct tap_test tests[] = {
	{ "random_use_leaves_nothing_behind_persistent", fuzz_persistent },
	{ "random_use_leaves_nothing_behind", fuzz_legacy },
};

int main(int argc, char **argv)
{
	return fuzz_main(tests, sizeof(tests) / sizeof(tests[0]), 2, argc, argv);
}
