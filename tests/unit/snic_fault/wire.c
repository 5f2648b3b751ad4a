// SPDX-License-Identifier: MIT
#include "wire.h"

#include "tap.h"

struct bed bed;

static void wire_close(struct bl_snic_link *link)
{
	link->closed++;
}

static void wire_forget(struct bl_snic_link *link)
{
	link->forgotten++;
}

static uint32_t wire_max_payload(struct bl_snic_link *link)
{
	return 12345;
}

static int wire_path_open(struct bl_snic_link *link, const uint8_t gid[16], struct bl_snic_path **path_p)
{
	if (gid[0] == 0xff)
		return -ENOTCONN;
	link->path.link = link;
	link->path.room = true;
	link->path.refs++;
	*path_p = &link->path;
	return 0;
}

static void wire_path_close(struct bl_snic_path *path)
{
	path->refs--;
}

static void *wire_reserve(struct bl_snic_path *path, size_t len)
{
	return path->room && len <= sizeof(path->payload) ? path->payload : NULL;
}

static void wire_commit(struct bl_snic_path *path, const struct bl_packet *packet)
{
	path->link->out[path->link->nr_out++] = *packet;
}

static int wire_poll(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget)
{
	unsigned int nr = 0;

	while (nr < budget && link->taken < link->nr_in) {
		struct bl_packet *packet = &link->in[link->taken++];

		fn(arg, link->no_gid ? NULL : link->gid, packet, &packet->psn);
		nr++;
	}
	return (int)nr;
}

static int wire_path_state(struct bl_snic_path *path)
{
	return -ECONNRESET;
}

static void wire_wait(struct bl_snic_link *link, uint64_t timeout_ns)
{
	link->waits++;
	link->waited_ns = timeout_ns;
}

static void wire_kick(struct bl_snic_link *link)
{
	link->kicks++;
}

const struct bl_snic_transport_ops wire_ops = {
	.name = "wire",
	.close = wire_close,
	.max_payload = wire_max_payload,
	.path_open = wire_path_open,
	.path_close = wire_path_close,
	.reserve = wire_reserve,
	.commit = wire_commit,
	.poll = wire_poll,
	.path_state = wire_path_state,
	.wait = wire_wait,
	.kick = wire_kick,
	.forget = wire_forget,
};

static void receive(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	struct bed *to = arg;

	if (packet->len != 4 || memcmp(payload, &packet->psn, 4) || (!gid != to->wire.no_gid) ||
	    (gid && memcmp(gid, to->wire.gid, 16)))
		to->wrong++;
	to->seen[to->nr_seen++] = *packet;
}

void bed_make(const struct bl_snic_fault *fault, unsigned int nr)
{
	memset(&bed, 0, sizeof(bed));
	bed.wire.gid[3] = 7;
	bed.wire.nr_in = nr;
	for (unsigned int i = 0; i < nr; i++)
		bed.wire.in[i] = (struct bl_packet){
			.opcode = BL_PKT_WRITE_ONLY,
			.dest_qpn = 20,
			.src_qpn = 10,
			.psn = i,
			.len = 4,
		};
	check_eq(bl_snic_fault_open(&wire_ops, &bed.wire, fault, bed.counts, &bed.ops, &bed.link), 0);
}

void bed_free(void)
{
	bed.ops->close(bed.link);
	check_eq(bed.wire.closed, 1);
	check_eq(bed.wire.path.refs, 0);
	check_eq(bed.wrong, 0);
}

int poll_once(unsigned int budget)
{
	unsigned int before = bed.nr_seen;
	int nr = bed.ops->poll(bed.link, receive, &bed, budget);

	check_eq(bed.nr_seen - before, nr);
	check((unsigned int)nr <= budget);
	return nr;
}

void poll_all(unsigned int budget)
{
	for (int quiet = 0; quiet < 200; quiet++) {
		if (poll_once(budget))
			quiet = 0;
	}
	check_eq(bed.wire.taken, bed.wire.nr_in);
}
