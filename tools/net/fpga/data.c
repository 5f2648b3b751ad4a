// SPDX-License-Identifier: MIT
#include "net/fpga/data.h"

#include <string.h>

#include "softnic/bytes.h"

#define MAGIC  0x424c4650U
#define PERIOD 251U
#define CHUNK  (16 * PERIOD)

/* The bytes from any of the values of a period on. */
static uint8_t ramp[PERIOD + CHUNK];

void fpga_data_begin(void)
{
	for (uint32_t i = 0; i < sizeof(ramp); i++)
		ramp[i] = (uint8_t)(i % PERIOD);
}

/* What byte @off of frame @number and those behind it are, CHUNK of them. */
static const uint8_t *ramp_at(uint64_t number, uint32_t off)
{
	return ramp + (number % PERIOD + off) % PERIOD;
}

static void put_stamp(const struct fpga_stamp *stamp, uint8_t *to)
{
	bl_be32_put(to, MAGIC);
	bl_be32_put(to + 4, stamp->run);
	bl_be64_put(to + 8, stamp->number);
	bl_be64_put(to + 16, stamp->sent_ns);
	bl_be32_put(to + 24, stamp->len);
	bl_be32_put(to + 28, 0);
}

static void get_stamp(const uint8_t *from, struct fpga_stamp *stamp)
{
	*stamp = (struct fpga_stamp){
		.magic = bl_be32(from),
		.run = bl_be32(from + 4),
		.number = bl_be64(from + 8),
		.sent_ns = bl_be64(from + 16),
		.len = bl_be32(from + 24),
		.zero = bl_be32(from + 28),
	};
}

void fpga_data_put(const struct fpga_stamp *stamp, uint32_t off, uint8_t *to, uint32_t len)
{
	if (!off) {
		put_stamp(stamp, to);
		off = FPGA_STAMP_LEN;
		to += FPGA_STAMP_LEN;
		len -= FPGA_STAMP_LEN;
	}
	while (len) {
		uint32_t part = len < CHUNK ? len : CHUNK;

		memcpy(to, ramp_at(stamp->number, off), part);
		to += part;
		off += part;
		len -= part;
	}
}

void fpga_check_begin(struct fpga_check *check)
{
	*check = (struct fpga_check){.right = false};
}

/* Bytes of the stamp among @len; 0: there is no stamp. */
static uint32_t check_stamp(struct fpga_check *check, const uint8_t *from, uint32_t len)
{
	if (len < FPGA_STAMP_LEN)
		return 0;
	get_stamp(from, &check->stamp);
	return check->stamp.magic == MAGIC && !check->stamp.zero ? FPGA_STAMP_LEN : 0;
}

void fpga_check_part(struct fpga_check *check, const uint8_t *from, uint32_t len)
{
	uint32_t done = 0;

	if (!check->len) {
		done = check_stamp(check, from, len);
		check->right = done != 0;
	}
	while (check->right && done < len) {
		uint32_t part = len - done < CHUNK ? len - done : CHUNK;

		check->right = !memcmp(from + done, ramp_at(check->stamp.number, check->len + done), part);
		done += part;
	}
	check->len += len;
}

bool fpga_check_end(const struct fpga_check *check)
{
	return check->right && check->len == check->stamp.len;
}
