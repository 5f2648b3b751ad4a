// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/roce: " fmt
#include "ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/bytes.h"
#include "softnic/shm/fds.h"
#include "util/fork.h"
#include "util/log.h"

#define RING_LEN  (4U << 20)
#define BLOCK_LEN (64U << 10)

#define LOAD(size, at)	      BPF_STMT(BPF_LD | BPF_##size | BPF_ABS, at)
#define SAME_OR_OUT(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)
#define TAKE		      BPF_STMT(BPF_RET | BPF_K, 0xffffffff)
#define LEAVE		      BPF_STMT(BPF_RET | BPF_K, 0)

#define IPV4_PROTOCOL (ETH_HLEN + 9)
#define IPV4_DST      (ETH_HLEN + 16)
#define IPV6_NEXT     (ETH_HLEN + 6)
#define IPV6_DST      (ETH_HLEN + 24)
#define IPV6_UDP      (ETH_HLEN + 40)
#define UDP_DPORT     2
#define UDP_QPN	      (BL_ROCE_UDP_LEN + 5)

/* What an interface sees of others' packets, or of a VLAN that nobody has set up, is not for this host. */
#define TO_THIS_HOST(n) LOAD(B, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)), SAME_OR_OUT(PACKET_HOST, n)

/*
 * UDP to that address, RoCE's port and these queue pairs. What else is wrong with a packet is seen when it is read, and
 * counted.
 */
static int filter_ipv4(int fd, const uint8_t *addr, uint8_t share)
{
	struct sock_filter code[] = {
		TO_THIS_HOST(10),
		LOAD(B, IPV4_PROTOCOL),
		SAME_OR_OUT(IPPROTO_UDP, 8),
		LOAD(W, IPV4_DST),
		SAME_OR_OUT(bl_be32(addr), 6),
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, ETH_HLEN),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, ETH_HLEN + UDP_DPORT),
		SAME_OR_OUT(BL_ROCE_UDP_PORT, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, ETH_HLEN + UDP_QPN),
		SAME_OR_OUT(share, 1),
		TAKE,
		LEAVE,
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int filter_ipv6(int fd, const uint8_t *addr, uint8_t share)
{
	struct sock_filter code[] = {
		TO_THIS_HOST(15),
		LOAD(B, IPV6_NEXT),	  SAME_OR_OUT(IPPROTO_UDP, 13),
		LOAD(W, IPV6_DST),	  SAME_OR_OUT(bl_be32(addr), 11),
		LOAD(W, IPV6_DST + 4),	  SAME_OR_OUT(bl_be32(addr + 4), 9),
		LOAD(W, IPV6_DST + 8),	  SAME_OR_OUT(bl_be32(addr + 8), 7),
		LOAD(W, IPV6_DST + 12),	  SAME_OR_OUT(bl_be32(addr + 12), 5),
		LOAD(H, IPV6_UDP + UDP_DPORT), SAME_OR_OUT(BL_ROCE_UDP_PORT, 3),
		LOAD(B, IPV6_UDP + UDP_QPN), SAME_OR_OUT(share, 1),
		TAKE,			  LEAVE,
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Before it is bound, so that nothing else gets in; own packets that go out are not to come back. */
static int prepare(struct bl_roce_ring *ring, const struct bl_roce_ring_attr *attr)
{
	struct tpacket_req req = {
		.tp_block_size = BLOCK_LEN,
		.tp_block_nr = RING_LEN / BLOCK_LEN,
		.tp_frame_size = (unsigned int)ring->frame,
		.tp_frame_nr = ring->nr,
	};
	int version = TPACKET_V2, one = 1;

	if (bl_roce_gid_is_ipv4(attr->gid) ? filter_ipv4(ring->fd, attr->gid + 12, attr->share)
					   : filter_ipv6(ring->fd, attr->gid, attr->share))
		return -errno;
	/* kernels before 4.20 do not know it; sockets of one protocol do not see what goes out in any case */
	setsockopt(ring->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	if (setsockopt(ring->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(ring->fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)))
		return -errno;
	return 0;
}

static int map(struct bl_roce_ring *ring)
{
	void *addr;
	int ret = 0;

	bl_fork_window_enter();
	addr = mmap(NULL, ring->len, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (addr == MAP_FAILED)
		ret = -errno;
	else if (madvise(addr, ring->len, MADV_DONTFORK))
		ret = -errno;
	bl_fork_window_leave();
	if (ret && addr != MAP_FAILED)
		munmap(addr, ring->len);
	if (!ret)
		ring->map = addr;
	return ret;
}

static int bind_to(const struct bl_roce_ring *ring, const struct bl_roce_ring_attr *attr)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(bl_roce_gid_is_ipv4(attr->gid) ? ETH_P_IP : ETH_P_IPV6),
		.sll_ifindex = attr->index,
	};

	return bind(ring->fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
}

static void size(struct bl_roce_ring *ring, uint32_t payload)
{
	/* the kernel's header and alignment, as it places them for Ethernet */
	size_t head = TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + TPACKET_ALIGNMENT;

	ring->frame = TPACKET_ALIGN(head + BL_ROCE_HEAD_ROOM + payload + BL_ROCE_TAIL_ROOM);
	ring->block = BLOCK_LEN;
	ring->per_block = (unsigned int)(BLOCK_LEN / ring->frame);
	ring->nr = ring->per_block * (RING_LEN / BLOCK_LEN);
	ring->len = RING_LEN;
}

int bl_roce_ring_open(struct bl_roce_ring *ring, const struct bl_roce_ring_attr *attr)
{
	int ret;

	*ring = (struct bl_roce_ring){.fd = -1};
	size(ring, attr->payload);
	bl_fork_window_enter();
	ring->fd = bl_shm_fd_own(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	bl_fork_window_leave();
	if (ring->fd < 0)
		return fail(-ring->fd, "packet socket: %s", strerror(-ring->fd));
	ret = prepare(ring, attr);
	if (!ret)
		ret = map(ring);
	if (!ret)
		ret = bind_to(ring, attr);
	if (ret) {
		bl_roce_ring_close(ring);
		return fail(-ret, "packet socket on interface %d with %u bytes: %s", attr->index, RING_LEN,
			    strerror(-ret));
	}
	return 0;
}

void bl_roce_ring_close(struct bl_roce_ring *ring)
{
	if (ring->map)
		munmap(ring->map, ring->len);
	bl_shm_fd_close(ring->fd);
	*ring = (struct bl_roce_ring){.fd = -1};
}

/* The mapping is not here. */
void bl_roce_ring_forget(struct bl_roce_ring *ring)
{
	bl_shm_fd_forget(ring->fd);
	*ring = (struct bl_roce_ring){.fd = -1};
}

static struct tpacket2_hdr *frame_at(const struct bl_roce_ring *ring)
{
	size_t off = ring->next / ring->per_block * ring->block + ring->next % ring->per_block * ring->frame;

	return (struct tpacket2_hdr *)(void *)(ring->map + off);
}

bool bl_roce_ring_next(struct bl_roce_ring *ring, struct bl_roce_frame *frame)
{
	struct tpacket2_hdr *head = frame_at(ring);
	const uint8_t *start = (const uint8_t *)head;
	uint32_t before;

	/* acquire: the frame is read after the status that the kernel set behind it */
	if (!(__atomic_load_n(&head->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return false;
	frame->bytes = start + head->tp_mac;
	frame->ip = start + head->tp_net;
	/* where the IP header begins: an interface of another kind may have none before it */
	before = head->tp_net > head->tp_mac ? (uint32_t)head->tp_net - head->tp_mac : 0;
	frame->cut = head->tp_len != head->tp_snaplen || before > head->tp_snaplen ||
		     head->tp_mac + head->tp_snaplen > ring->frame;
	frame->len = frame->cut ? 0 : head->tp_snaplen - before;
	return true;
}

void bl_roce_ring_done(struct bl_roce_ring *ring)
{
	/* release: the frame was read before the kernel may write it again */
	__atomic_store_n(&frame_at(ring)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	ring->next = ring->next + 1 == ring->nr ? 0 : ring->next + 1;
}

uint64_t bl_roce_ring_lost(struct bl_roce_ring *ring)
{
	struct tpacket_stats stats = {0};
	socklen_t len = sizeof(stats);

	if (getsockopt(ring->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len))
		return 0;
	return stats.tp_drops;
}
