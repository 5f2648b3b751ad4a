// SPDX-License-Identifier: MIT
/* The ring by itself: records, room, sleep, and the other side's lies. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bed.h"
#include "fixture.h"
#include "softnic/shm/fds.h"
#include "softnic/shm/memory.h"
#include "tap.h"

static void records_of_all_sizes_pass_the_end_in_one_piece(void)
{
	uint64_t state = test_seed();
	uint32_t put_nr = 0, got_nr = 0;
	struct bed bed;
	bool wake;

	bed_make(&bed);
	while (got_nr < 20000) {
		uint64_t dice = next_random(&state);

		if (dice % 3) {
			put_nr += bed_put(&bed, put_nr, (uint32_t)(dice >> 8) % (dice % 8 ? 300 : 12000), &wake);
		} else if (got_nr < put_nr) {
			check_eq(bed_get(&bed, &wake), got_nr);
			got_nr++;
		} else {
			check_eq(bed_get(&bed, &wake), -1);
			bl_shm_rx_tell(&bed.rx);
		}
		if (dice % 5 == 0)
			bl_shm_rx_tell(&bed.rx);
	}
	check(bed.tx.head > 50 * bed.sent.size);
	check(!bed.tx.broken);
	bed_free(&bed);
}

static void a_sender_without_room_is_woken_once(void)
{
	uint32_t nr = 0;
	struct bed bed;
	bool wake;

	bed_make(&bed);
	while (bed_put(&bed, nr, 1000, &wake))
		nr++;
	check_eq(nr, bed.sent.size / 1152);
	check_eq(bed_get(&bed, &wake), 0);
	check(!wake);
	check(bl_shm_rx_tell(&bed.rx));
	check(!bl_shm_rx_tell(&bed.rx));
	check(bed_put(&bed, nr, 1000, &wake));
	check(!bed_put(&bed, nr, 1000, &wake));
	/* without being asked to, a receiver tells of much room at once */
	for (uint32_t i = 1; i < nr && !wake; i++)
		check_eq(bed_get(&bed, &wake), i);
	check(wake);
	bed_free(&bed);
}

static void a_record_as_large_as_the_ring_fits_and_a_larger_one_never(void)
{
	uint32_t most;
	struct bed bed;
	bool wake;

	bed_make(&bed);
	most = (uint32_t)(bed.sent.size - sizeof(struct bl_shm_record));
	for (uint32_t i = 0; i < 3; i++) {
		check(bed_put(&bed, i, most, &wake));
		check(!bed_put(&bed, i, 0, &wake));
		check_eq(bed_get(&bed, &wake), i);
	}
	check(!bl_shm_tx_reserve(&bed.tx, most + 1));
	check(!bl_shm_tx_reserve(&bed.tx, SIZE_MAX));
	check(!bed.tx.broken);
	bed_free(&bed);
}

static void a_sleeper_is_woken_by_the_first_record_only(void)
{
	struct bed bed;
	bool wake;

	bed_make(&bed);
	check(bed_put(&bed, 0, 8, &wake));
	check(!wake);
	check(!bl_shm_rx_sleep(&bed.rx));
	bl_shm_rx_awake(&bed.rx);
	check_eq(bed_get(&bed, &wake), 0);
	check(bl_shm_rx_sleep(&bed.rx));
	check(bed_put(&bed, 1, 8, &wake));
	check(wake);
	check(bed_put(&bed, 2, 8, &wake));
	check(!wake);
	bed_free(&bed);
}

static void lies_about_the_head_are_found(void)
{
	struct bl_packet packet;
	const void *payload;
	struct bed bed;
	uint64_t lies[6];
	bool wake;

	bed_make(&bed);
	check(bed_put(&bed, 0, 100, &wake));
	check_eq(bed_get(&bed, &wake), 0);
	lies[0] = bed.rx.tail + 1;
	lies[1] = bed.rx.tail - 64;
	lies[2] = bed.rx.tail + bed.sent.size + 64;
	lies[3] = 0;
	lies[4] = UINT64_MAX;
	lies[5] = bed.rx.tail ^ 1ULL << 63;
	for (int i = 0; i < 6; i++) {
		atomic_store(&bed.sent.words->head, lies[i]);
		for (int again = 0; again < 3; again++)
			check_eq(bl_shm_rx_next(&bed.rx, &packet, &payload), -EPROTO);
		check(!bl_shm_rx_sleep(&bed.rx));
	}
	bed_free(&bed);
}

static void what_is_no_record_is_found(void)
{
	struct bl_shm_record *record;
	struct bl_packet packet;
	const void *payload;
	struct bed bed;
	bool wake;

	bed_make(&bed);
	check(bed_put(&bed, 0, 100, &wake));
	record = (struct bl_shm_record *)(void *)bed.sent.data;
	record->mark++;
	check_eq(bl_shm_rx_next(&bed.rx, &packet, &payload), -EPROTO);
	record->mark--;
	record->zero = 1;
	check_eq(bl_shm_rx_next(&bed.rx, &packet, &payload), -EPROTO);
	record->zero = 0;
	/* past the head, past the ring, and so long that a sum would wrap */
	for (uint32_t len = 161; len; len = len == 161 ? SIZE : len == SIZE ? UINT32_MAX : 0) {
		record->packet.len = len;
		check_eq(bl_shm_rx_next(&bed.rx, &packet, &payload), -EPROTO);
	}
	record->packet.len = 100;
	check_eq(bl_shm_rx_next(&bed.rx, &packet, &payload), 1);
	bed_free(&bed);
}

static void lies_about_the_tail_end_the_sending(void)
{
	static const uint64_t lies[] = {1, 64, UINT64_MAX, 1ULL << 63, SIZE * 4096ULL};
	struct bed bed;
	bool wake;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		bed_make(&bed);
		for (uint32_t k = 0; bed_put(&bed, k, 1000, &wake); k++)
			;
		check(!bed.tx.broken);
		/* beyond what was sent, or not where a record can end; 64 is where none ends, but harms the liar alone
		 */
		atomic_store(&bed.sent.words->tail, lies[i]);
		check(!bed_put(&bed, 0, 1000, &wake));
		check_eq(bed.tx.broken, lies[i] != 64);
		bed_free(&bed);
	}
	bed_make(&bed);
	for (uint32_t k = 0; k < 5; k++)
		check(bed_put(&bed, k, 100, &wake));
	for (uint32_t k = 0; k < 5; k++)
		check_eq(bed_get(&bed, &wake), k);
	bl_shm_rx_tell(&bed.rx);
	while (bed_put(&bed, 0, 1000, &wake))
		;
	/* backwards */
	atomic_store(&bed.sent.words->tail, 0);
	check(!bed_put(&bed, 0, 1000, &wake));
	check(bed.tx.broken);
	bed_free(&bed);
}

/* Any bytes in the whole of the memory: nothing is read outside of it, and nothing goes on for ever. */
static void any_bytes_are_read_without_harm(void)
{
	uint64_t state = test_seed();
	struct bl_packet packet;
	const void *payload;
	struct bed bed;

	for (int round = 0; round < 2000; round++) {
		struct bl_shm_record *record;
		uint64_t sum = 0;

		bed_make(&bed);
		record = (struct bl_shm_record *)(void *)bed.sent.data;
		bed.rx.tail = bed.rx.head = bed.rx.told = (next_random(&state) % 1000) * BL_SHM_UNIT;
		record = (struct bl_shm_record *)(void *)(bed.sent.data + bed.rx.tail % bed.sent.size);
		record->mark = 0x736e6963U ^ (uint32_t)(bed.rx.tail / BL_SHM_UNIT);
		record->packet.len = (uint32_t)(next_random(&state) % (round % 2 ? 20000 : UINT32_MAX));
		atomic_store(&bed.sent.words->head, bed.rx.tail + (next_random(&state) % 300) * BL_SHM_UNIT);
		for (int i = 0; i < 300 && bl_shm_rx_next(&bed.rx, &packet, &payload) == 1; i++) {
			check((const char *)payload + packet.len <= (char *)bed.taken.base + bed.taken.len);
			for (uint32_t k = 0; k < packet.len; k++)
				sum += ((const uint8_t *)payload)[k];
			bl_shm_rx_done(&bed.rx);
		}
		check(sum < UINT64_MAX);
		bed_free(&bed);
	}
}

static int file_of(size_t len, unsigned int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	check(fd >= 0 && !ftruncate(fd, (off_t)len) && !fallocate(fd, 0, 0, (off_t)len));
	check(!fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static int taken(int fd, uint64_t size)
{
	struct bl_shm_ring ring;
	int ret = bl_shm_memory_take(fd, size, &ring);

	if (!ret)
		bl_shm_memory_unmap(&ring);
	return ret;
}

static void memory_that_is_not_as_it_should_be_is_refused(void)
{
	size_t size = bed_size(), len = (size_t)sysconf(_SC_PAGESIZE) + size;
	unsigned int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	int fds[5], pipes[2], fd;

	fd = file_of(len, seals);
	check_eq(taken(fd, size), 0);
	check_eq(taken(fd, size + 1), -EPROTO);
	check_eq(taken(fd, 2 * size), -EPROTO);
	check_eq(taken(fd, 0), -EPROTO);
	check_eq(taken(fd, UINT64_MAX), -EPROTO);
	check_eq(taken(fd, 1ULL << 63), -EPROTO);
	/* holes */
	check(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, sysconf(_SC_PAGESIZE)));
	check_eq(taken(fd, size), -EPROTO);
	close(fd);
	check(!pipe2(pipes, O_CLOEXEC));
	fds[0] = file_of(len, F_SEAL_GROW);
	fds[1] = file_of(len - 4096, seals);
	fds[2] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	fds[3] = pipes[0];
	fds[4] = pipes[1];
	for (int i = 0; i < 5; i++) {
		check(fds[i] >= 0);
		check_eq(taken(fds[i], size), -EPROTO);
		close(fds[i]);
	}
	/* cannot be written: found when it is mapped */
	fd = file_of(len, seals | F_SEAL_WRITE);
	check_eq(taken(fd, size), -EPERM);
	close(fd);
}

static void rings_of_wrong_sizes_are_not_made(void)
{
	static const size_t sizes[] = {0, 1, 8192, SIZE + 1, 3 * SIZE, (1UL << 30) + 1, 1UL << 31, 1UL << 63, SIZE_MAX};
	struct bl_shm_ring ring;
	int fd;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_eq(bl_shm_memory_make(sizes[i], &ring, &fd), -EINVAL);
}

static const struct tap_test tests[] = {
	{"records of all sizes pass the end in one piece", records_of_all_sizes_pass_the_end_in_one_piece},
	{"a sender without room is woken once", a_sender_without_room_is_woken_once},
	{"a record as large as the ring fits, a larger one never",
	 a_record_as_large_as_the_ring_fits_and_a_larger_one_never},
	{"a sleeper is woken by the first record only", a_sleeper_is_woken_by_the_first_record_only},
	{"lies about the head are found", lies_about_the_head_are_found},
	{"what is no record is found", what_is_no_record_is_found},
	{"lies about the tail end the sending", lies_about_the_tail_end_the_sending},
	{"any bytes are read without harm", any_bytes_are_read_without_harm},
	{"memory that is not as it should be is refused", memory_that_is_not_as_it_should_be_is_refused},
	{"rings of wrong sizes are not made", rings_of_wrong_sizes_are_not_made},
};

TAP_MAIN(tests)
