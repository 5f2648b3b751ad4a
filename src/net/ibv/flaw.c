// SPDX-License-Identifier: MIT
/* Why nothing may have come back: what this side's port, its network interface and the network say. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ask.h"
#include "link.h"
#include "softnic/roce/device.h"

/* Shortest headers around a payload of RoCE v2: IP, UDP, BTH and ICRC. */
#define LEAST_HEADERS 44
#define NS_PER_S      1000000000ULL

/**
 * struct interface - what a packet leaves by
 * @known: there is one, by its index
 * @gone:  it was there
 * @flaw:  why nothing can go out
 */
struct interface {
	bool known, gone;
	char name[IF_NAMESIZE];
	const char *flaw;
	uint32_t mtu;
};

/**
 * struct state - of this side
 * @asked: the device has told of its port
 */
struct state {
	bool asked;
	struct ibv_port_attr port;
	struct interface interface;
};

static void look_at_interface(int index, struct interface *interface)
{
	struct ifreq req = { .ifr_ifindex = index };
	int sock = index ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

	*interface = (struct interface){ .known = sock >= 0 };
	if (sock < 0)
		return;
	interface->gone = ioctl(sock, SIOCGIFNAME, &req) != 0;
	memcpy(interface->name, req.ifr_name, sizeof(interface->name));
	interface->name[sizeof(interface->name) - 1] = '\0';
	if (!interface->gone)
		interface->flaw = bl_roce_interface_flaw(sock, interface->name);
	if (!interface->gone && !ioctl(sock, SIOCGIFMTU, &req))
		interface->mtu = (uint32_t)req.ifr_mtu;
	close(sock);
}

static void look(const struct bl_carrier *carrier, struct state *state)
{
	const struct bl_snic_link *link = carrier->link;

	state->asked = carrier->port && !bl_ibv_ask_port(link->ibv, link->context, carrier->port, &state->port);
	look_at_interface(carrier->interface, &state->interface);
}

static uint32_t bytes_of(enum ibv_mtu mtu)
{
	return 128U << mtu;
}

/* The interface first: it says more. A device may go on telling of a port that it has not. */
static bool flaw_of(const struct bl_carrier *carrier, const struct state *state, char *text, size_t size)
{
	const struct interface *interface = &state->interface;
	uint32_t payload = bytes_of(carrier->mtu);

	if (interface->known && interface->gone)
		snprintf(text, size, "the interface of this side is gone");
	else if (interface->known && interface->flaw)
		snprintf(text, size, "interface %s of this side %s", interface->name, interface->flaw);
	else if (state->asked && state->port.state != IBV_PORT_ACTIVE)
		snprintf(text, size, "port %u of this side is not active", carrier->port);
	else if (interface->known && interface->mtu && interface->mtu < payload + LEAST_HEADERS)
		snprintf(text, size, "interface %s of this side has a smaller MTU (%u) than the connection (%u)",
			 interface->name, interface->mtu, payload);
	else if (state->asked && state->port.active_mtu < carrier->mtu)
		snprintf(text, size, "port %u of this side has a smaller MTU (%u) than the connection (%u)",
			 carrier->port, bytes_of(state->port.active_mtu), payload);
	else
		return false;
	return true;
}

const char *bl_ibv_flaw(struct bl_carrier *carrier)
{
	struct state state;

	if (!carrier->port)
		return NULL;
	look(carrier, &state);
	return flaw_of(carrier, &state, carrier->flaw, sizeof(carrier->flaw)) ? carrier->flaw : NULL;
}

static const char *state_name(enum ibv_port_state state)
{
	switch (state) {
	case IBV_PORT_ACTIVE:
		return "ACTIVE";
	case IBV_PORT_DOWN:
		return "DOWN";
	case IBV_PORT_INIT:
		return "INIT";
	case IBV_PORT_ARMED:
		return "ARMED";
	default:
		return "in no known state";
	}
}

/* Requests that the device has, and gives none of back: its own retries may go on. Or it has none: the peer's may not arrive. */
void bl_ibv_waits(struct bl_carrier *carrier, uint64_t ns, char *text, size_t size)
{
	unsigned int seconds = (unsigned int)(ns / NS_PER_S);
	struct state state;
	char flaw[BL_IBV_FLAW_LEN];
	const char *network;
	int len;

	look(carrier, &state);
	if (ns < NS_PER_S) {
		if (flaw_of(carrier, &state, flaw, sizeof(flaw)))
			snprintf(text, size, "%s", flaw);
		return;
	}
	len = snprintf(text, size, "no answer from %s for %u s", carrier->peer, seconds);
	if (len < 0 || (size_t)len >= size)
		return;
	text += len;
	size -= (size_t)len;
	if (flaw_of(carrier, &state, flaw, sizeof(flaw))) {
		snprintf(text, size, ": %s", flaw);
		return;
	}
	network = bl_ibv_ask_network(carrier);
	if (network)
		snprintf(text, size, ": %s", network);
	else if (state.asked && state.interface.known)
		snprintf(text, size, "; port %u %s, interface %s up, MTU %u", carrier->port,
			 state_name(state.port.state), state.interface.name, state.interface.mtu);
	else if (state.asked)
		snprintf(text, size, "; port %u %s", carrier->port, state_name(state.port.state));
}

/* Who the peer is, for texts; which interface packets to it leave by, as long as it is there to be found. */
void bl_ibv_meet(struct bl_carrier *carrier, const struct bl_snic_qp_mod *mod)
{
	const struct bl_snic_link *link = carrier->link;
	char gid[BL_ROCE_GID_TEXT];

	if (mod->no_grh)
		snprintf(carrier->peer, sizeof(carrier->peer), "LID %u", mod->dlid);
	else
		snprintf(carrier->peer, sizeof(carrier->peer), "%s", bl_roce_gid_text(mod->dest_gid, gid));
	memcpy(carrier->dest_gid, mod->dest_gid, sizeof(carrier->dest_gid));
	carrier->interface = bl_ibv_ask_interface(link->ibv, link->context, mod->port, mod->sgid_index, carrier->sgid);
}
