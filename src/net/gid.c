// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/gid: " fmt
#include "gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "net/log.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* Text of an address as the table has it. Return: 1: there is one, 0: none is named, -EINVAL. */
static int named_gid(union ibv_gid *gid)
{
	const char *text = getenv("BARLANE_NET_GID");

	if (!text || !*text)
		return 0;
	if (inet_pton(AF_INET6, text, gid->raw) == 1)
		return 1;
	memcpy(gid->raw, mapped, sizeof(mapped));
	if (inet_pton(AF_INET, text, gid->raw + sizeof(mapped)) == 1)
		return 1;
	return fail(EINVAL, "BARLANE_NET_GID %s: not an IPv4 or IPv6 address", text);
}

/* The more, the better; 0: no address at all. */
static int value_of(const union ibv_gid *gid, enum bl_nic_gid_type type, const union ibv_gid *named)
{
	static const union ibv_gid none;
	int value;

	if (!memcmp(gid, &none, sizeof(none)) || (named && memcmp(gid, named, sizeof(*named)) != 0))
		return 0;
	if (!memcmp(gid->raw, mapped, sizeof(mapped)))
		value = 3;
	else
		value = is_link_local(gid) ? 1 : 2;
	return type == BL_NIC_GID_ROCE_V1 ? value : value + 3;
}

int bl_gid_choose(struct ibv_context *context, uint8_t port, int nr, union ibv_gid *gid, uint8_t *index_p)
{
	enum bl_nic_gid_type type;
	union ibv_gid named, gid_now;
	int best = 0, value, is_named, ret;

	is_named = named_gid(&named);
	if (is_named < 0)
		return is_named;
	for (int i = 0; i < nr && i <= UINT8_MAX; i++) {
		ret = bl_context_gid(context, port, i, &gid_now, &type);
		if (ret == -EACCES || ret == -EOPNOTSUPP)
			return ret;
		value = ret ? 0 : value_of(&gid_now, type, is_named ? &named : NULL);
		if (value <= best)
			continue;
		best = value;
		*gid = gid_now;
		*index_p = (uint8_t)i;
	}
	if (best)
		return 0;
	return is_named ? fail(ENODEV, "port %u has no address %s (BARLANE_NET_GID)", port, getenv("BARLANE_NET_GID")) :
			  fail(ENODEV, "port %u has no address: is its network interface up?", port);
}
