// SPDX-License-Identifier: MIT
#include "link.h"

static uint32_t fault_max_payload(struct bl_snic_link *link)
{
	return link->ops->max_payload(link->below);
}

static int fault_path_state(struct bl_snic_path *path)
{
	return path->link->ops->path_state(path->below);
}

static void fault_kick(struct bl_snic_link *link)
{
	link->ops->kick(link->below);
}

static void fault_port(struct bl_snic_link *link, struct bl_snic_port *port)
{
	link->ops->port(link->below, port);
}

static int fault_gid(struct bl_snic_link *link, unsigned int index, uint8_t gid[16])
{
	return link->ops->gid(link->below, index, gid);
}

static void fault_flush(struct bl_snic_link *link)
{
	link->ops->flush(link->below);
}

static const char *fault_path_why(struct bl_snic_path *path)
{
	return path->link->ops->path_why(path->below);
}

static const char *fault_path_flaw(struct bl_snic_path *path)
{
	return path->link->ops->path_flaw(path->below);
}

static void fault_counts(struct bl_snic_link *link, uint64_t *counters)
{
	link->ops->counts(link->below, counters);
}

void bl_fault_pass(struct bl_snic_link *link)
{
	const struct bl_snic_transport_ops *ops = link->ops;
	struct bl_snic_transport_ops *table = &link->table;

	table->max_payload = fault_max_payload;
	table->path_state = fault_path_state;
	table->kick = fault_kick;
	table->port = ops->port ? fault_port : NULL;
	table->gid = ops->gid ? fault_gid : NULL;
	table->way_open = ops->way_open ? table->way_open : NULL;
	table->flush = ops->flush ? fault_flush : NULL;
	table->path_why = ops->path_why ? fault_path_why : NULL;
	table->path_flaw = ops->path_flaw ? fault_path_flaw : NULL;
	table->counts = ops->counts ? fault_counts : NULL;
}
