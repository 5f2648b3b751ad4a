// SPDX-License-Identifier: MIT
/* Packets that leave. They are put by, and go out together. */
#include <errno.h>
#include <string.h>

#include "link.h"

static struct bl_roce_out *out_at(struct bl_snic_link *link, uint32_t count)
{
	return &link->outs[count % BL_ROCE_BATCH];
}

static uint8_t *payload_at(const struct bl_snic_link *link, uint32_t count)
{
	return link->rooms + (size_t)(count % BL_ROCE_BATCH) * BL_ROCE_ROOM + BL_ROCE_ROOM_HEAD;
}

void *bl_roce_reserve(struct bl_snic_path *path, size_t len)
{
	struct bl_snic_link *link = path->link;

	if (len > BL_ROCE_MAX_PAYLOAD || !bl_roce_path_is_ready(path))
		return NULL;
	if (link->tail - link->head == BL_ROCE_BATCH)
		bl_roce_flush(link);
	return link->tail - link->head == BL_ROCE_BATCH ? NULL : payload_at(link, link->tail);
}

void bl_roce_spoil(struct bl_snic_path *path, uint64_t bits)
{
	path->link->spoil = true;
	path->link->spoil_bits = bits;
}

/* Anything of what UDP carries but the byte that may change on its way. */
static void change_a_bit(struct bl_snic_link *link, uint8_t *bth, size_t len)
{
	size_t at = (uint32_t)link->spoil_bits % len;

	bth[at == 4 ? 5 : at] ^= (uint8_t)(1U << (link->spoil_bits >> 61));
	link->spoil = false;
}

/*
 * For a frame of more than a page the kernel has the first bytes in one place and pages for the others, which it clears and
 * of which it needs but half, unless a header before the frame says that all of it is to lie together.
 */
static void put_vnet(const struct bl_snic_link *link, struct bl_roce_out *out)
{
	const struct virtio_net_hdr vnet = {.hdr_len = (uint16_t)out->len};

	if (link->tx_long < 0 || out->len < BL_ROCE_LONG_FRAME)
		return;
	out->fd = link->tx_long;
	out->frame -= sizeof(vnet);
	out->len += sizeof(vnet);
	memcpy(out->frame, &vnet, sizeof(vnet));
}

static void put_ethernet(const struct bl_snic_path *path, struct bl_roce_out *out, uint8_t *ip, size_t len)
{
	out->fd = path->link->tx;
	out->frame = ip - BL_ROCE_ETHERNET_LEN;
	out->len = len + BL_ROCE_ETHERNET_LEN;
	memcpy(out->frame, path->header, BL_ROCE_ETHERNET_LEN);
	bl_roce_capture_add(path->link->capture, out->frame, BL_ROCE_ETHERNET_LEN, ip, len);
	put_vnet(path->link, out);
}

void bl_roce_commit(struct bl_snic_path *path, const struct bl_packet *packet)
{
	struct bl_snic_link *link = path->link;
	struct bl_roce_out *out = out_at(link, link->tail);
	size_t len, wrap = bl_roce_wrap_len(path->flow.src);
	uint8_t *frame;

	/* nothing that a wire has no packet for comes here: the NIC knows that it has one */
	if (!bl_roce_header_len(packet->opcode) || packet->len > BL_ROCE_MAX_PAYLOAD) {
		link->unsent++;
		return;
	}
	frame = bl_roce_frame_put(&path->flow, packet, payload_at(link, link->tail), &len);
	if (link->spoil)
		change_a_bit(link, frame + wrap, len - wrap);
	if (packet->len > path->largest)
		path->largest = packet->len;
	*out = (struct bl_roce_out){.path = path, .frame = frame + wrap, .len = len - wrap, .fd = path->local->port};
	if (link->packet)
		put_ethernet(path, out, frame, len);
	else
		bl_roce_capture_add(link->capture, frame, wrap, out->frame, out->len);
	link->tail++;
}

/* As many as go out by the same socket. Return: how many were sent, or -errno of the first. */
static int send_some(struct bl_snic_link *link)
{
	struct mmsghdr msgs[BL_ROCE_BATCH];
	struct iovec iovs[BL_ROCE_BATCH];
	int fd = out_at(link, link->head)->fd, nr;
	unsigned int n = 0;

	for (uint32_t count = link->head; count != link->tail; count++, n++) {
		struct bl_roce_out *out = out_at(link, count);

		if (!out->path || out->fd != fd)
			break;
		iovs[n] = (struct iovec){.iov_base = out->frame, .iov_len = out->len};
		msgs[n].msg_hdr = (struct msghdr){
			.msg_name = &out->path->to,
			.msg_namelen = out->path->to_len,
			.msg_iov = &iovs[n],
			.msg_iovlen = 1,
			.msg_control = link->packet ? NULL : out->path->control.bytes,
			.msg_controllen = link->packet ? 0 : sizeof(out->path->control.bytes),
		};
	}
	nr = sendmmsg(fd, msgs, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return nr < 0 ? -errno : nr;
}

/* The first packet is lost, and its path knows why. */
static void lose_first(struct bl_snic_link *link, int err)
{
	/* a queue that is full says nothing of the peer */
	if (err != ENOBUFS)
		bl_roce_path_error(out_at(link, link->head)->path, err);
	link->unsent++;
	link->head++;
}

void bl_roce_flush(struct bl_snic_link *link)
{
	bool again = false;

	while (link->head != link->tail) {
		int nr = out_at(link, link->head)->path ? send_some(link) : 1;

		if (nr > 0) {
			link->head += (uint32_t)nr;
			again = false;
		} else if (nr == -EAGAIN || nr == -EINTR) {
			/* no room: they stay, and whoever has more finds the path full */
			return;
		} else if (!again) {
			/* a socket first says what became of an earlier packet */
			bl_roce_hear_errors(link);
			again = true;
		} else {
			lose_first(link, -nr);
			again = false;
		}
	}
}

void bl_roce_send_drop(struct bl_snic_path *path)
{
	struct bl_snic_link *link = path->link;

	for (uint32_t count = link->head; count != link->tail; count++) {
		struct bl_roce_out *out = out_at(link, count);

		link->unsent += out->path == path;
		if (out->path == path)
			out->path = NULL;
	}
}
