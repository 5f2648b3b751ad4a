// SPDX-License-Identifier: MIT
/* Ports of an RDMA device: whether they carry anything, from which address, in packets of which size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor.h"
#include "doctor/nic.h"

#define ACTIVE 4

static void check_node(struct doctor *doctor, const struct doctor_nic *nic)
{
	if (!*nic->verbs)
		doctor_add(doctor, DOCTOR_WARN, nic->name, "modprobe ib_uverbs",
			   "no node in /dev/infiniband is its: programs cannot open it");
	else if (nic->node_err)
		doctor_add(doctor, DOCTOR_WARN, nic->name,
			   nic->node_err == ENOENT ? "in a container pass it on: --device /dev/infiniband; outside, udev makes it" :
						     "let this user open it (chmod 666, or udev); in a container --device passes it on",
			   "/dev/infiniband/%s: %s", nic->verbs, strerror(nic->node_err));
}

static const char *cure_of_port(const struct doctor_nic *nic, int state, char *cure, size_t size)
{
	if (!nic->ethernet)
		snprintf(cure, size, "%s",
			 state == 2 || state == 3 ? "start a subnet manager (opensm), or have the switch's on" :
						    "plug the cable in, at both ends; look at the switch's port");
	else if (*nic->netdev)
		snprintf(cure, size, "ip link set %s up; is the cable plugged in, and the switch's port on?", nic->netdev);
	else
		snprintf(cure, size, "set its network interface up; is the cable plugged in?");
	return cure;
}

static void check_state(struct doctor *doctor, const struct doctor_nic *nic, const char *port)
{
	char state[64] = "", phys[64] = "", rate[64] = "", cure[128];
	const char *word = "unknown", *phys_word = "unknown";
	int number;

	tool_tree_read(&doctor->tree, state, sizeof(state), "/sys/class/infiniband/%s/ports/%s/state", nic->name, port);
	tool_tree_read(&doctor->tree, phys, sizeof(phys), "/sys/class/infiniband/%s/ports/%s/phys_state", nic->name, port);
	tool_tree_read(&doctor->tree, rate, sizeof(rate), "/sys/class/infiniband/%s/ports/%s/rate", nic->name, port);
	number = doctor_port_state(state, &word);
	doctor_port_state(phys, &phys_word);
	if (number == ACTIVE)
		doctor_add(doctor, DOCTOR_OK, nic->name, NULL, "port %s is ACTIVE, %s, %s", port,
			   nic->ethernet ? "Ethernet" : "InfiniBand", *rate ? rate : "of unknown rate");
	else
		doctor_add(doctor, DOCTOR_WARN, nic->name, cure_of_port(nic, number, cure, sizeof(cure)),
			   "port %s is not active: %s, %s", port, word, phys_word);
}

struct ports {
	struct doctor *doctor;
	const struct doctor_nic *nic;
};

static int look_at_port(const char *name, void *arg)
{
	struct ports *ports = arg;

	check_state(ports->doctor, ports->nic, name);
	return 0;
}

static void check_gid(struct doctor *doctor, const struct doctor_nic *nic)
{
	static const char *const kinds[] = {
		[DOCTOR_GID_LINK] = "of the link alone", [DOCTOR_GID_GLOBAL] = "IPv6", [DOCTOR_GID_IPV4] = "IPv4"};

	if (nic->gid.kind == DOCTOR_GID_NONE) {
		doctor_add(doctor, DOCTOR_WARN, nic->name,
			   nic->ethernet ? "give its network interface an address (ip addr add), and set it up" :
					   "start a subnet manager (opensm)",
			   "port 1 has no address that can be read");
		return;
	}
	if (!nic->gid.v2)
		doctor_add(doctor, DOCTOR_WARN, nic->name,
			   "give its network interface an IP address; older cards: cma_roce_mode, or firmware",
			   "best address %s, index %d: of RoCE v1, which routers do not forward", nic->gid.text,
			   nic->gid.index);
	else
		doctor_add(doctor, DOCTOR_OK, nic->name, NULL, "address %s, index %d, %s%s", nic->gid.text, nic->gid.index,
			   nic->ethernet ? "RoCE v2, " : "", nic->ethernet ? kinds[nic->gid.kind] : "InfiniBand");
}

static void check_mtu(struct doctor *doctor, const struct doctor_nic *nic)
{
	char cure[128];
	int path;
	long mtu;

	if (!nic->ethernet || !*nic->netdev ||
	    tool_tree_number(&doctor->tree, &mtu, "/sys/class/net/%s/mtu", nic->netdev))
		return;
	path = doctor_path_mtu(mtu);
	if (path == 4096) {
		doctor_add(doctor, DOCTOR_OK, nic->name, NULL, "%s has MTU %ld: packets of 4096 bytes", nic->netdev, mtu);
		return;
	}
	snprintf(cure, sizeof(cure), "ip link set %s mtu 4200 or more, at both ends and in between", nic->netdev);
	doctor_add(doctor, path ? DOCTOR_INFO : DOCTOR_WARN, nic->name, cure, "%s has MTU %ld: packets of %d bytes of 4096",
		   nic->netdev, mtu, path);
}

void doctor_nic_ports(struct doctor *doctor, struct doctor_nic *nic)
{
	struct ports ports = {doctor, nic};
	char path[128];

	check_node(doctor, nic);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports", nic->name);
	if (tool_tree_each(&doctor->tree, path, look_at_port, &ports) <= 0)
		doctor_add(doctor, DOCTOR_WARN, nic->name, "dmesg says what its driver met", "it has no port");
	check_gid(doctor, nic);
	check_mtu(doctor, nic);
}
