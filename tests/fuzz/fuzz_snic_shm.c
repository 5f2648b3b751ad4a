// SPDX-License-Identifier: MIT
/* Any bytes for what the software NIC's transport reads: rings, greetings and other messages; and texts with faults. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "softnic/shm/fds.h"
#include "softnic/shm/greeting.h"
#include "softnic/shm/memory.h"
#include "softnic/transport.h"
#include "util/log.h"

#define SIZE 16384U

static struct bl_shm_ring ring;
static volatile uint8_t seen; /* so that payloads are read */

/* Any words, then any bytes from any position on: every payload lies in the ring, and the end is reached. */
static void fuzz_ring(void)
{
	struct bl_shm_rx rx = {.ring = &ring};
	struct bl_shm_tx tx = {.ring = &ring};
	struct bl_packet packet;
	const void *payload;
	unsigned int nr = 0;
	uint64_t start = (fuzz_number() % (1ULL << 40)) * BL_SHM_UNIT;

	memset(ring.data, 0, SIZE);
	rx.tail = rx.head = rx.told = start;
	atomic_store(&ring.words->head, start + fuzz_number());
	for (unsigned int i = 0; i < 3; i++) {
		struct bl_shm_record *record = (struct bl_shm_record *)(void *)(ring.data + (start + i * 128) % SIZE);

		/* a record that begins well, or any bytes */
		fuzz_bytes(record, sizeof(*record));
		if (fuzz_byte() % 4) {
			record->mark = 0x736e6963U ^ (uint32_t)((start + i * 128) / BL_SHM_UNIT);
			record->zero = 0;
		}
	}
	while (bl_shm_rx_next(&rx, &packet, &payload) == 1) {
		must((const char *)payload > ring.data && packet.len <= SIZE);
		must((const char *)payload + packet.len <= ring.data + 2 * SIZE);
		for (uint32_t i = 0; i < packet.len; i++)
			seen ^= ((const uint8_t *)payload)[i];
		bl_shm_rx_done(&rx);
		must(++nr <= SIZE / BL_SHM_UNIT * 2);
	}
	bl_shm_rx_tell(&rx);
	tx.head = start;
	tx.tail = start - fuzz_number() % (SIZE + 1) / BL_SHM_UNIT * BL_SHM_UNIT;
	atomic_store(&ring.words->tail, fuzz_byte() % 2 ? tx.tail + fuzz_number() : fuzz_number());
	payload = bl_shm_tx_reserve(&tx, fuzz_number() % (2 * SIZE));
	must(!payload ||
	     ((const char *)payload > ring.data && (const char *)payload + tx.reserved <= ring.data + 2 * SIZE));
	must(tx.head - tx.tail <= SIZE);
}

/* Any messages, the first of them a greeting. */
static void fuzz_messages(void)
{
	uint8_t bytes[256];
	struct bl_shm_greeting greeting;
	bool woken = false;
	int socks[2], fd = -1, ret;

	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks));
	for (int i = fuzz_byte() % 4; i >= 0; i--) {
		size_t len = fuzz_byte();

		fuzz_bytes(bytes, len);
		if (fuzz_byte() % 2)
			memcpy(bytes, &(uint32_t){BL_SHM_MAGIC}, 4);
		must(send(socks[0], bytes, len, MSG_DONTWAIT) == (ssize_t)len);
	}
	if (fuzz_byte() % 2) {
		close(socks[0]);
		socks[0] = -1;
	}
	ret = bl_shm_greeted(socks[1], &greeting, &fd);
	/* no descriptor came with it */
	must(ret < 0 && fd < 0);
	ret = bl_shm_hear(socks[1], &woken);
	must(ret <= 0 && (ret || socks[0] >= 0));
	close(socks[1]);
	if (socks[0] >= 0)
		close(socks[0]);
}

static void fuzz_fault(void)
{
	struct bl_snic_fault fault = {.seed = 1};
	const char *bad = NULL;
	char text[128];
	int ret;

	ret = bl_snic_fault_parse(fuzz_text(text, sizeof(text)), &fault, &bad);
	if (ret)
		must(ret == -EINVAL && bad >= text && bad <= text + strlen(text) && fault.seed == 1);
	else
		must(fault.drop <= 1000000 && fault.reorder <= 1000000 && fault.duplicate <= 1000000 &&
		     fault.nak <= 1000000 && fault.corrupt <= 1000000 && fault.delay <= 1000000 &&
		     fault.delay_us <= 1000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (!ring.base) {
		bl_log_set_level(BL_LOG_OFF);
		must(!bl_shm_memory_make(SIZE, &ring, &fd));
		bl_shm_fd_close(fd);
	}
	fuzz_begin(data, size);
	switch (fuzz_byte() % 3) {
	case 0:
		fuzz_ring();
		break;
	case 1:
		fuzz_messages();
		break;
	default:
		fuzz_fault();
	}
	return 0;
}
