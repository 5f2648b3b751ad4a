// SPDX-License-Identifier: MIT
/* The ring by itself: records, room, sleep, and the other side's lies. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "softnic/shm/fds.h"
#include "softnic/shm/memory.h"
#include "tap.h"

#define SIZE 16384U

/**
 * struct bed - both ends of a ring, as two processes have them
 * @sent:  sender's mapping
 * @taken: receiver's mapping of the same memory
 */
struct bed {
	struct bl_shm_ring sent, taken;
	struct bl_shm_tx tx;
	struct bl_shm_rx rx;
};

static size_t least_size(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return page > SIZE ? page : SIZE;
}

static void bed_make(struct bed *bed)
{
	size_t size = least_size();
	int fd;

	*bed = (struct bed){0};
	check_eq(bl_shm_memory_make(size, &bed->sent, &fd), 0);
	check_eq(bl_shm_memory_take(fd, size, &bed->taken), 0);
	bl_shm_fd_close(fd);
	bed->tx.ring = &bed->sent;
	bed->rx.ring = &bed->taken;
}

static void bed_free(struct bed *bed)
{
	bl_shm_memory_unmap(&bed->sent);
	bl_shm_memory_unmap(&bed->taken);
}

static bool put(struct bed *bed, uint32_t psn, uint32_t len, bool *wake_p)
{
	struct bl_packet packet = {.psn = psn, .len = len};
	uint8_t *payload = bl_shm_tx_reserve(&bed->tx, len);

	if (!payload)
		return false;
	for (uint32_t i = 0; i < len; i++)
		payload[i] = (uint8_t)(psn + i * 7);
	*wake_p = bl_shm_tx_commit(&bed->tx, &packet);
	return true;
}

/* -1: there is none, -2: it is not as it was sent, else its psn. */
static int64_t get(struct bed *bed, bool *wake_p)
{
	struct bl_packet packet;
	const void *payload;
	int ret = bl_shm_rx_next(&bed->rx, &packet, &payload);

	if (ret != 1)
		return ret ? -2 : -1;
	for (uint32_t i = 0; i < packet.len; i++) {
		if (((const uint8_t *)payload)[i] != (uint8_t)(packet.psn + i * 7))
			return -2;
	}
	*wake_p = bl_shm_rx_done(&bed->rx);
	return packet.psn;
}

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
			put_nr += put(&bed, put_nr, (uint32_t)(dice >> 8) % (dice % 8 ? 300 : 12000), &wake);
		} else if (got_nr < put_nr) {
			check_eq(get(&bed, &wake), got_nr);
			got_nr++;
		} else {
			check_eq(get(&bed, &wake), -1);
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
	while (put(&bed, nr, 1000, &wake))
		nr++;
	check_eq(nr, bed.sent.size / 1152);
	check_eq(get(&bed, &wake), 0);
	check(!wake);
	check(bl_shm_rx_tell(&bed.rx));
	check(!bl_shm_rx_tell(&bed.rx));
	check(put(&bed, nr, 1000, &wake));
	check(!put(&bed, nr, 1000, &wake));
	/* without being asked to, a receiver tells of much room at once */
	for (uint32_t i = 1; i < nr && !wake; i++)
		check_eq(get(&bed, &wake), i);
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
		check(put(&bed, i, most, &wake));
		check(!put(&bed, i, 0, &wake));
		check_eq(get(&bed, &wake), i);
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
	check(put(&bed, 0, 8, &wake));
	check(!wake);
	check(!bl_shm_rx_sleep(&bed.rx));
	bl_shm_rx_awake(&bed.rx);
	check_eq(get(&bed, &wake), 0);
	check(bl_shm_rx_sleep(&bed.rx));
	check(put(&bed, 1, 8, &wake));
	check(wake);
	check(put(&bed, 2, 8, &wake));
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
	check(put(&bed, 0, 100, &wake));
	check_eq(get(&bed, &wake), 0);
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
	check(put(&bed, 0, 100, &wake));
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
		for (uint32_t k = 0; put(&bed, k, 1000, &wake); k++)
			;
		check(!bed.tx.broken);
		/* beyond what was sent, or not where a record can end; 64 is where none ends, but harms the liar alone
		 */
		atomic_store(&bed.sent.words->tail, lies[i]);
		check(!put(&bed, 0, 1000, &wake));
		check_eq(bed.tx.broken, lies[i] != 64);
		bed_free(&bed);
	}
	bed_make(&bed);
	for (uint32_t k = 0; k < 5; k++)
		check(put(&bed, k, 100, &wake));
	for (uint32_t k = 0; k < 5; k++)
		check_eq(get(&bed, &wake), k);
	bl_shm_rx_tell(&bed.rx);
	while (put(&bed, 0, 1000, &wake))
		;
	/* backwards */
	atomic_store(&bed.sent.words->tail, 0);
	check(!put(&bed, 0, 1000, &wake));
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

struct crowd {
	struct bed bed;
	int to_sender, to_receiver;
	uint64_t seed;
	uint32_t total;
	atomic_bool lost;
};

/* Sleep until the other side wakes. False: it never did. */
static bool sleep_on(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};
	eventfd_t count;

	return poll(&pollfd, 1, (int)(DEADLINE_NS / 1000000U)) == 1 && !eventfd_read(fd, &count);
}

static void *send_all(void *arg)
{
	struct crowd *crowd = arg;
	uint64_t state = crowd->seed;
	bool wake;

	for (uint32_t i = 0; i < crowd->total && !crowd->lost; i++) {
		uint32_t len = (uint32_t)(next_random(&state) % 4000);

		while (!put(&crowd->bed, i, len, &wake)) {
			if (!sleep_on(crowd->to_sender)) {
				crowd->lost = true;
				return NULL;
			}
		}
		if (wake)
			eventfd_write(crowd->to_receiver, 1);
	}
	return NULL;
}

/*
 * Both sides sleep whenever they can: with a flag and a record, or a flag and room, that miss each other once, the test
 * ends at its deadline.
 */
static void no_wake_up_is_lost(void)
{
	struct crowd crowd = {.seed = test_seed(), .total = 30000};
	bool wake = false, right = true;
	pthread_t sender;
	int64_t got;

	bed_make(&crowd.bed);
	/* one mapping for both, or ThreadSanitizer would not know that it is the same memory */
	crowd.bed.rx.ring = &crowd.bed.sent;
	crowd.to_sender = eventfd(0, EFD_CLOEXEC);
	crowd.to_receiver = eventfd(0, EFD_CLOEXEC);
	check_eq(pthread_create(&sender, NULL, send_all, &crowd), 0);
	for (uint32_t i = 0; i < crowd.total && right && !crowd.lost;) {
		got = get(&crowd.bed, &wake);
		if (wake || (got < 0 && bl_shm_rx_tell(&crowd.bed.rx)))
			eventfd_write(crowd.to_sender, 1);
		wake = false;
		if (got >= 0) {
			right = got == i++;
			continue;
		}
		right = got == -1 && (!bl_shm_rx_sleep(&crowd.bed.rx) || sleep_on(crowd.to_receiver));
		bl_shm_rx_awake(&crowd.bed.rx);
	}
	if (!right)
		crowd.lost = true;
	eventfd_write(crowd.to_sender, 1);
	pthread_join(sender, NULL);
	close(crowd.to_sender);
	close(crowd.to_receiver);
	check(right && !crowd.lost);
	bed_free(&crowd.bed);
}

/**
 * struct duel - two threads that act in the same moment, round after round
 * @go:   round that may begin
 * @done: round that the second thread has ended
 * @room: the duel is about room, not about records
 * @told: what the second thread's act has said: the other side must be woken
 */
struct duel {
	struct bed bed;
	_Atomic(uint32_t) go;
	_Atomic(uint32_t) done;
	bool room;
	bool told;
	bool stop;
};

static void spin_until(_Atomic(uint32_t) *word, uint32_t value)
{
	for (unsigned int i = 1; atomic_load(word) < value; i++) {
		if (i % 256 == 0)
			sched_yield();
	}
}

/* One sends a record while the other goes to sleep, or gives room back while the other goes to wait for it. */
static void *second(void *arg)
{
	struct duel *duel = arg;

	for (uint32_t round = 1;; round++) {
		spin_until(&duel->go, round);
		if (duel->stop)
			return NULL;
		if (duel->room)
			duel->told = bl_shm_rx_tell(&duel->bed.rx);
		else
			put(&duel->bed, round, 8, &duel->told);
		atomic_store(&duel->done, round);
	}
}

/* Return: rounds in which neither has seen the other, so that both would sleep for ever. */
static uint32_t fight(struct duel *duel, uint32_t rounds)
{
	struct bl_packet packet;
	const void *payload;
	uint32_t lost = 0;
	bool sleeps, wake;

	for (uint32_t round = 1; round <= rounds; round++) {
		if (duel->room) {
			while (bl_shm_tx_reserve(&duel->bed.tx, 3000))
				bl_shm_tx_commit(&duel->bed.tx, &(struct bl_packet){.len = 3000});
			while (bl_shm_rx_next(&duel->bed.rx, &packet, &payload) == 1)
				bl_shm_rx_done(&duel->bed.rx);
		}
		atomic_store(&duel->go, round);
		/* the other one needs some time to see that and to get there */
		for (volatile uint32_t i = 0; i < round % 256; i++)
			;
		sleeps = duel->room ? !bl_shm_tx_reserve(&duel->bed.tx, 3000) : bl_shm_rx_sleep(&duel->bed.rx);
		spin_until(&duel->done, round);
		lost += sleeps && !duel->told;
		if (!duel->room) {
			bl_shm_rx_awake(&duel->bed.rx);
			get(&duel->bed, &wake);
			bl_shm_rx_tell(&duel->bed.rx);
		}
	}
	return lost;
}

static uint32_t lost_in_duels(bool room)
{
	static struct duel duel;
	pthread_t thread;
	uint32_t lost;

	duel = (struct duel){.room = room};
	bed_make(&duel.bed);
	duel.bed.rx.ring = &duel.bed.sent;
	check_eq(pthread_create(&thread, NULL, second, &duel), 0);
	lost = fight(&duel, 20000);
	duel.stop = true;
	atomic_store(&duel.go, UINT32_MAX);
	pthread_join(thread, NULL);
	bed_free(&duel.bed);
	return lost;
}

static void a_record_and_a_sleeper_never_miss_each_other(void)
{
	check_eq(lost_in_duels(false), 0);
}

static void room_and_who_waits_for_it_never_miss_each_other(void)
{
	check_eq(lost_in_duels(true), 0);
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
	size_t size = least_size(), len = (size_t)sysconf(_SC_PAGESIZE) + size;
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
	{"no wake-up is lost", no_wake_up_is_lost},
	{"a record and a sleeper never miss each other", a_record_and_a_sleeper_never_miss_each_other},
	{"room and who waits for it never miss each other", room_and_who_waits_for_it_never_miss_each_other},
	{"memory that is not as it should be is refused", memory_that_is_not_as_it_should_be_is_refused},
	{"rings of wrong sizes are not made", rings_of_wrong_sizes_are_not_made},
};

TAP_MAIN(tests)
