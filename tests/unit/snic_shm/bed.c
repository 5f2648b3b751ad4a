// SPDX-License-Identifier: MIT
#include "bed.h"

#include <unistd.h>

#include "softnic/shm/fds.h"
#include "softnic/shm/memory.h"
#include "tap.h"

size_t bed_size(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return page > SIZE ? page : SIZE;
}

void bed_make(struct bed *bed)
{
	size_t size = bed_size();
	int fd;

	*bed = (struct bed){0};
	check_eq(bl_shm_memory_make(size, &bed->sent, &fd), 0);
	check_eq(bl_shm_memory_take(fd, size, &bed->taken), 0);
	bl_shm_fd_close(fd);
	bed->tx.ring = &bed->sent;
	bed->rx.ring = &bed->taken;
}

void bed_free(struct bed *bed)
{
	bl_shm_memory_unmap(&bed->sent);
	bl_shm_memory_unmap(&bed->taken);
}

bool bed_put(struct bed *bed, uint32_t psn, uint32_t len, bool *wake_p)
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

int64_t bed_get(struct bed *bed, bool *wake_p)
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
