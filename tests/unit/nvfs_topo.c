// SPDX-License-Identifier: MIT
/*
 * Places of devices on PCI Express, as nvidia-fs.ko and "barlane doctor" understand them, over configuration space that
 * the test makes. SEED=N is a seed for random machines.
 */
#include "tap.h"
#include "topo.h"

#include <linux/pci_regs.h>
#include <string.h>
#include <time.h>

#define MAX_DEVS 64
#define EXPRESS	 0x40
#define ACS	 0x140

/* A function: its space, and how much of it can be read. */
struct space {
	__u32 word[1024];
	__u32 len;
};

static struct space spaces[MAX_DEVS];
static struct bl_topo_dev devs[MAX_DEVS];
static struct bl_topo topo = { .dev = devs };
static unsigned long long state;

static __u32 draw(__u32 nr)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (__u32)(state % nr);
}

static __u32 read_space(const void *arg, __u32 off)
{
	const struct space *space = arg;

	check(!(off % 4) && off + 4 <= space->len);
	return space->word[off / 4];
}

static bool read_dev(struct bl_topo_dev *dev, const struct space *space)
{
	const struct bl_topo_config config = { .read = read_space, .arg = space, .len = space->len };

	return bl_topo_read(dev, &config);
}

static void put16(struct space *space, __u32 off, __u32 value)
{
	__u32 shift = 8 * (off & 2), *word = &space->word[off / 4];

	*word = (*word & ~(0xffffU << shift)) | value << shift;
}

/* One with a PCI Express capability and no other. */
static void make_space(struct space *space, __u32 id, __u32 class, int type, int speed, int width)
{
	*space = (struct space){ .len = 4096 };
	space->word[0] = id;
	put16(space, PCI_STATUS, PCI_STATUS_CAP_LIST);
	space->word[2] = class << 8 | 1;
	space->word[PCI_CAPABILITY_LIST / 4] = EXPRESS;
	space->word[EXPRESS / 4] = PCI_CAP_ID_EXP;
	put16(space, EXPRESS + PCI_EXP_FLAGS, (__u32)type << 4 | 2);
	put16(space, EXPRESS + PCI_EXP_LNKSTA, (__u32)width << 4 | (__u32)speed);
}

static void set_acs(struct space *space, __u32 bits)
{
	space->word[PCI_CFG_SPACE_SIZE / 4] = PCI_EXT_CAP_ID_ERR | 1U << 16 | ACS << 20;
	space->word[ACS / 4] = PCI_EXT_CAP_ID_ACS | 1U << 16;
	put16(space, ACS + PCI_ACS_CTRL, bits);
}

static void begin(void)
{
	topo.nr = 0;
}

/* Adds a function at domain:bus:devfn, read from its space as it is now. */
static __u32 add(__u32 domain, __u32 bus, __u32 slot, int node)
{
	__u32 nr = topo.nr++;

	check(nr < MAX_DEVS);
	check(read_dev(&devs[nr], &spaces[nr]));
	devs[nr].domain = domain;
	devs[nr].bus = (__u8)bus;
	devs[nr].devfn = (__u8)(slot << 3);
	devs[nr].node = node;
	return nr;
}

static __u32 add_host(__u32 domain, __u32 bus, __u32 id)
{
	make_space(&spaces[topo.nr], id, 0x060000, PCI_EXP_TYPE_RC_END, 0, 0);
	return add(domain, bus, 0, 0);
}

static __u32 add_bridge_in(__u32 domain, __u32 bus, __u32 slot, int type, __u32 first, __u32 last, __u32 acs)
{
	struct space *space = &spaces[topo.nr];

	make_space(space, 0x12348086, 0x060400, type, 4, 16);
	space->word[PCI_HEADER_TYPE / 4] |= PCI_HEADER_TYPE_BRIDGE << 16;
	space->word[PCI_PRIMARY_BUS / 4] = bus | first << 8 | last << 16;
	if (acs)
		set_acs(space, acs);
	return add(domain, bus, slot, -1);
}

static __u32 add_bridge(__u32 bus, __u32 slot, int type, __u32 first, __u32 last, __u32 acs)
{
	return add_bridge_in(0, bus, slot, type, first, last, acs);
}

static __u32 add_end(__u32 bus, __u32 slot, __u32 id, __u32 class, int node)
{
	make_space(&spaces[topo.nr], id, class, PCI_EXP_TYPE_ENDPOINT, 4, 16);
	return add(0, bus, slot, node);
}

static __u32 add_gpu(__u32 bus, int node)
{
	return add_end(bus, 0, 0x233010de, 0x030200, node);
}

static __u32 add_drive(__u32 bus, int node)
{
	return add_end(bus, 0, 0xa80a144d, 0x010802, node);
}

static void functions_are_understood(void)
{
	struct bl_topo_dev dev;
	struct space space;

	make_space(&space, 0x233010de, 0x030200, PCI_EXP_TYPE_ENDPOINT, 5, 16);
	check(read_dev(&dev, &space));
	check_eq(dev.kind, BL_TOPO_GPU);
	check_eq(dev.vendor, 0x10de);
	check_eq(dev.device, 0x2330);
	check_eq(dev.class, 0x030200);
	check_eq(dev.port, PCI_EXP_TYPE_ENDPOINT);
	check_eq(dev.speed, 5);
	check_eq(dev.width, 16);
	check_eq(dev.acs, 0);
	check_eq(dev.up, -1);
	set_acs(&space, 0x1d);
	check(read_dev(&dev, &space));
	check_eq(dev.acs, 0x1d);
	check(bl_topo_is_acs_on(&dev));
	set_acs(&space, 0xff80);
	check(read_dev(&dev, &space));
	check(!bl_topo_is_acs_on(&dev));
}

static __u8 kind_of(__u32 id, __u32 class)
{
	struct bl_topo_dev dev;
	struct space space;

	make_space(&space, id, class, PCI_EXP_TYPE_ENDPOINT, 1, 1);
	check(read_dev(&dev, &space));
	return dev.kind;
}

static void kinds_are_told_by_class_and_vendor(void)
{
	check_eq(kind_of(0x233010de, 0x030000), BL_TOPO_GPU);
	check_eq(kind_of(0x233010de, 0x040300), BL_TOPO_OTHER);
	check_eq(kind_of(0x23301a03, 0x030000), BL_TOPO_OTHER);
	check_eq(kind_of(0x1234144d, 0x010802), BL_TOPO_NVME);
	check_eq(kind_of(0x1234144d, 0x010801), BL_TOPO_STORAGE);
	check_eq(kind_of(0x12341000, 0x010400), BL_TOPO_STORAGE);
	check_eq(kind_of(0x101715b3, 0x020000), BL_TOPO_NETWORK);
	check_eq(kind_of(0x101715b3, 0x020700), BL_TOPO_NETWORK);
	check_eq(kind_of(0x101715b3, 0x028000), BL_TOPO_OTHER);
	check_eq(kind_of(0x12378086, 0x060000), BL_TOPO_HOST);
	check_eq(kind_of(0x12378086, 0x060100), BL_TOPO_OTHER);
}

static void what_is_not_there_is_no_device(void)
{
	struct bl_topo_dev dev;
	struct space space;

	memset(&space, 0xff, sizeof(space));
	space.len = 4096;
	check(!read_dev(&dev, &space));
	space.len = 0;
	check(!read_dev(&dev, &space));
	memset(&space, 0, sizeof(space));
	space.len = 4096;
	check(!read_dev(&dev, &space));
}

/* Without rights 64 bytes can be read: nothing is known then, and nothing is made up. */
static void what_cannot_be_read_is_not_known(void)
{
	struct bl_topo_dev dev;
	struct space space;

	make_space(&space, 0x12348086, 0x060400, PCI_EXP_TYPE_DOWNSTREAM, 4, 8);
	space.word[PCI_HEADER_TYPE / 4] |= PCI_HEADER_TYPE_BRIDGE << 16;
	space.word[PCI_PRIMARY_BUS / 4] = 0x050201;
	set_acs(&space, PCI_ACS_RR);
	space.len = 64;
	check(read_dev(&dev, &space));
	check_eq(dev.first, 2);
	check_eq(dev.last, 5);
	check_eq(dev.port, -1);
	check_eq(dev.acs, -1);
	check_eq(dev.width, 0);
	space.len = 256;
	check(read_dev(&dev, &space));
	check_eq(dev.port, PCI_EXP_TYPE_DOWNSTREAM);
	check_eq(dev.width, 8);
	check_eq(dev.acs, -1);
	/* one that has gone in between */
	space.len = 4096;
	put16(&space, EXPRESS + PCI_EXP_LNKSTA, 0xffff);
	space.word[PCI_CFG_SPACE_SIZE / 4] = ~0U;
	check(read_dev(&dev, &space));
	check_eq(dev.width, 0);
	check_eq(dev.acs, 0);
}

static void chains_that_bite_their_tail_end(void)
{
	struct bl_topo_dev dev;
	struct space space;

	make_space(&space, 0x12348086, 0x060400, PCI_EXP_TYPE_DOWNSTREAM, 4, 8);
	space.word[EXPRESS / 4] = 0x05 | 0x60 << 8;
	space.word[0x60 / 4] = 0x05 | EXPRESS << 8;
	check(read_dev(&dev, &space));
	check_eq(dev.port, -1);
	space.word[0x60 / 4] = PCI_CAP_ID_EXP | 0x60 << 8;
	space.word[PCI_CFG_SPACE_SIZE / 4] = PCI_EXT_CAP_ID_ERR | ACS << 20;
	space.word[ACS / 4] = PCI_EXT_CAP_ID_ERR | (__u32)PCI_CFG_SPACE_SIZE << 20;
	check(read_dev(&dev, &space));
	check_eq(dev.acs, 0);
	/* and one that leads out of the space */
	space.word[ACS / 4] = PCI_EXT_CAP_ID_ERR | 0xffcU << 20;
	check(read_dev(&dev, &space));
	check_eq(dev.acs, 0);
}

static void random_space_is_survived(void)
{
	static const __u32 lens[] = { 0, 4, 64, 68, 256, 260, 4092, 4096 };
	struct bl_topo_dev dev;
	struct space space;

	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < 1024; i++)
			space.word[i] = draw(2) ? draw(~0U) : draw(0x10000) << 4;
		space.word[0] = 0x12348086;
		put16(&space, PCI_STATUS, PCI_STATUS_CAP_LIST);
		space.len = lens[draw(8)];
		if (read_dev(&dev, &space))
			check(dev.acs >= -1 && dev.acs <= 0x7f && dev.speed <= 15 && dev.width <= 63);
	}
}

/* The machine of the guest lab, and a second host bridge. */
enum { HOST, RP0, UP0, DP0, DP1, GPU, DRIVE, RP1, FAR, FUNC, HOST2, RP2, OTHER, ON_ROOT };

static void make_machine(__u32 host, __u32 up_acs, __u32 down_acs)
{
	begin();
	add_host(0, 0, host);
	add_bridge(0, 4, PCI_EXP_TYPE_ROOT_PORT, 1, 4, 0x1d);
	add_bridge(1, 0, PCI_EXP_TYPE_UPSTREAM, 2, 4, up_acs);
	add_bridge(2, 0, PCI_EXP_TYPE_DOWNSTREAM, 3, 3, 0);
	add_bridge(2, 1, PCI_EXP_TYPE_DOWNSTREAM, 4, 4, down_acs);
	add_gpu(3, 0);
	add_drive(4, 0);
	add_bridge(0, 5, PCI_EXP_TYPE_ROOT_PORT, 5, 5, 0x1d);
	add_drive(5, 0);
	add_end(3, 1, 0x101715b3, 0x020000, 0);
	add_host(0, 0x80, host);
	add_bridge(0x80, 1, PCI_EXP_TYPE_ROOT_PORT, 0x81, 0x81, 0);
	add_drive(0x81, 1);
	add_end(0, 7, 0xa80a144d, 0x010802, 0);
	bl_topo_link(&topo);
}

static void bridges_above_are_found(void)
{
	make_machine(0x29c08086, 0, 0);
	check_eq(devs[GPU].up, DP0);
	check_eq(devs[DP0].up, UP0);
	check_eq(devs[UP0].up, RP0);
	check_eq(devs[RP0].up, -1);
	check_eq(devs[FAR].up, RP1);
	check_eq(devs[OTHER].up, RP2);
	check_eq(devs[ON_ROOT].up, -1);
	check_eq(bl_topo_find(&topo, 0, 4, 0), DRIVE);
	check_eq(bl_topo_find(&topo, 1, 4, 0), -1);
	/* a virtual function's bus is in the range of its port, and no bridge begins with it */
	begin();
	add_bridge(0, 1, PCI_EXP_TYPE_ROOT_PORT, 1, 3, 0);
	add_drive(3, 0);
	/* another domain has the same numbers */
	add_bridge_in(7, 0, 1, PCI_EXP_TYPE_ROOT_PORT, 3, 3, 0);
	/* and one that was not set up has none */
	add_bridge(0, 2, PCI_EXP_TYPE_ROOT_PORT, 0, 0, 0);
	bl_topo_link(&topo);
	check_eq(devs[1].up, 0);
}

static void distances_are_those_of_the_original(void)
{
	make_machine(0x29c08086, 0, 0);
	check_eq(bl_topo_distance(&topo, GPU, DRIVE), 3);
	check_eq(bl_topo_distance(&topo, GPU, FUNC), 1);
	check_eq(bl_topo_distance(&topo, GPU, FAR), 127 + 3 + 1 + 1);
	check_eq(bl_topo_distance(&topo, GPU, OTHER), 254 + 3 + 1 + 1);
	check_eq(bl_topo_distance(&topo, GPU, ON_ROOT), 127 + 3 + 0 + 1);
	devs[OTHER].node = -1;
	check_eq(bl_topo_distance(&topo, GPU, OTHER), 254 + 5);
	devs[GPU].node = -1;
	check_eq(bl_topo_distance(&topo, GPU, OTHER), 127 + 5);
	/* two on root buses have nothing in common */
	check_eq(bl_topo_distance(&topo, ON_ROOT, ON_ROOT), 127 + 1);
}

static void access_control_of_the_common_bridge_adds_its_way_up(void)
{
	make_machine(0x29c08086, 0x1d, 0);
	check_eq(bl_topo_distance(&topo, GPU, DRIVE), 3 + 2);
	/* not when it is the GPU's own port */
	check_eq(bl_topo_distance(&topo, GPU, FUNC), 1);
	make_machine(0x29c08086, 0, 0x1d);
	check_eq(bl_topo_distance(&topo, GPU, DRIVE), 3);
}

static void nearer_comes_first_and_then_the_faster(void)
{
	struct bl_topo_dev fast = { .speed = 5, .width = 16 }, slow = { .speed = 1, .width = 1 };
	struct bl_topo_dev huge = { .speed = 6, .width = 32 };

	check_eq(bl_topo_rank(3, &fast), 3 << 16 | 80);
	check_eq(bl_topo_rank(3, &slow), 3 << 16 | 159);
	check_eq(bl_topo_rank(3, &huge), 3 << 16);
	check(bl_topo_rank(3, &slow) < bl_topo_rank(4, &huge));
	check_eq(bl_topo_rank(BL_TOPO_NO_DISTANCE, &fast), BL_TOPO_NO_DISTANCE);
}

static void names_and_words_are_those_that_tools_read(void)
{
	struct bl_topo_dev dev = { .domain = 0x10000, .bus = 0xab, .devfn = 0xff };
	char name[BL_TOPO_NAME];

	bl_topo_name(&dev, name);
	check_str(name, "10000:ab:1f.7");
	dev = (struct bl_topo_dev){ .kind = BL_TOPO_NVME };
	bl_topo_name(&dev, name);
	check_str(name, "0000:00:00.0");
	check_str(bl_topo_class(&dev), "nvme");
	dev.kind = BL_TOPO_NETWORK;
	check_str(bl_topo_class(&dev), "network");
	dev.kind = BL_TOPO_STORAGE;
	check_str(bl_topo_class(&dev), "x");
}

static const char *text;

static bool works(__u32 gpu, __u32 peer, bool translated, bool cpu)
{
	const struct bl_topo_env env = { .translated = translated, .cpu_forwards = cpu };
	static char words[200];
	struct bl_topo_route route;

	bl_topo_route(&topo, gpu, peer, &env, &route);
	bl_topo_route_text(&topo, &route, words, sizeof(words));
	check(strlen(words) < sizeof(words) - 1);
	text = words;
	return route.works;
}

static void a_switch_turns_requests_around(void)
{
	make_machine(0x29c08086, 0x1d, 0);
	check(works(GPU, DRIVE, false, false));
	check_str(text, "direct: one switch or root port leads to both");
}

static void a_root_complex_must_be_known_to_forward(void)
{
	make_machine(0x29c08086, 0, 0);
	check(!works(GPU, FAR, false, false));
	check_str(text, "through the root complex: they are below different root ports; 8086:29c0 is not known to forward "
			"between ports");
	check(works(GPU, FAR, false, true));
	check(works(GPU, ON_ROOT, false, true));
	check(!works(GPU, OTHER, false, false));
	check(strstr(text, "8086:29c0 and 8086:29c0 are not known"));
	make_machine(0x09a28086, 0, 0);
	check(works(GPU, FAR, false, false));
	check(works(GPU, OTHER, false, false));
	check(strstr(text, "8086:09a2 and 8086:09a2 are known"));
	/* an older one forwards among its own ports only */
	make_machine(0x2f008086, 0, 0);
	check(works(GPU, FAR, false, false));
	check(!works(GPU, OTHER, false, false));
	/* a root bus whose first device cannot be seen */
	devs[HOST].devfn = 8;
	check(!works(GPU, FAR, false, false));
	check(strstr(text, "an unseen host bridge is not known"));
}

static void a_port_that_redirects_is_named(void)
{
	make_machine(0x29c08086, 0, PCI_ACS_RR);
	check(!works(GPU, DRIVE, false, false));
	check_str(text, "through the root complex: port 0000:02:01.0 redirects peer requests (ACS); 8086:29c0 is not known "
			"to forward between ports");
	/* in either direction */
	check(!works(DRIVE, GPU, false, false));
	check(works(GPU, DRIVE, false, true));
	/* bits that redirect nothing */
	make_machine(0x29c08086, 0, PCI_ACS_SV | PCI_ACS_TB | PCI_ACS_UF);
	check(works(GPU, DRIVE, false, false));
}

static void translated_addresses_go_to_the_root(void)
{
	make_machine(0x29c08086, 0, 0);
	check(!works(GPU, DRIVE, true, false));
	check(strstr(text, "an IOMMU translates"));
	check(works(GPU, DRIVE, true, true));
	make_machine(0x09a28086, 0, 0);
	check(works(GPU, DRIVE, true, false));
}

static void ports_that_cannot_be_read_are_counted(void)
{
	const struct bl_topo_env env = { .translated = false };
	struct bl_topo_route route;

	make_machine(0x29c08086, 0, 0);
	devs[DP0].acs = -1;
	devs[DP1].acs = -1;
	bl_topo_route(&topo, GPU, DRIVE, &env, &route);
	check(route.works);
	check_eq(route.unsure, 2);
}

static void bus_numbers_that_lead_in_circles_lead_nowhere(void)
{
	begin();
	add_bridge(5, 0, PCI_EXP_TYPE_DOWNSTREAM, 6, 6, 0);
	add_bridge(6, 0, PCI_EXP_TYPE_DOWNSTREAM, 5, 5, 0);
	add_gpu(6, 0);
	add_drive(5, 0);
	bl_topo_link(&topo);
	check_eq(bl_topo_distance(&topo, 2, 3), BL_TOPO_NO_DISTANCE);
	check(!works(2, 3, false, true));
	check_str(text, "bus numbers above them make no sense");
}

/* A tree that is made by hand, whose ends know their parents: the same must come out of bus numbers. */
static void random_trees_are_recovered(void)
{
	for (int round = 0; round < 300; round++) {
		__s32 up[MAX_DEVS];
		__u32 bus = 1, at = 0;

		begin();
		/* root ports with chains of bridges, each of which has an end */
		while (topo.nr < 50 && bus < 200) {
			__u32 depth = 1 + draw(5), first = topo.nr;

			for (__u32 i = 0; i < depth; i++) {
				up[topo.nr] = i ? (__s32)topo.nr - 1 : -1;
				add_bridge(i ? bus + i - 1 : 0, at++ % 32, PCI_EXP_TYPE_DOWNSTREAM, bus + i, bus + depth, 0);
			}
			up[topo.nr] = (__s32)(first + draw(depth));
			add_drive(devs[up[topo.nr]].first, 0);
			bus += depth + 1;
		}
		bl_topo_link(&topo);
		for (__u32 i = 0; i < topo.nr; i++)
			check_eq(devs[i].up, up[i]);
		for (int i = 0; i < 50; i++) {
			__u32 a = draw(topo.nr), b = draw(topo.nr);

			check_eq(bl_topo_distance(&topo, a, b), bl_topo_distance(&topo, b, a));
		}
	}
}

#define TEST(name)     \
	{              \
		#name, name \
	}

static const struct tap_test tests[] = {
	TEST(functions_are_understood),
	TEST(kinds_are_told_by_class_and_vendor),
	TEST(what_is_not_there_is_no_device),
	TEST(what_cannot_be_read_is_not_known),
	TEST(chains_that_bite_their_tail_end),
	TEST(random_space_is_survived),
	TEST(bridges_above_are_found),
	TEST(distances_are_those_of_the_original),
	TEST(access_control_of_the_common_bridge_adds_its_way_up),
	TEST(nearer_comes_first_and_then_the_faster),
	TEST(names_and_words_are_those_that_tools_read),
	TEST(a_switch_turns_requests_around),
	TEST(a_root_complex_must_be_known_to_forward),
	TEST(a_port_that_redirects_is_named),
	TEST(translated_addresses_go_to_the_root),
	TEST(ports_that_cannot_be_read_are_counted),
	TEST(bus_numbers_that_lead_in_circles_lead_nowhere),
	TEST(random_trees_are_recovered),
};

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED");

	state = seed ? strtoull(seed, NULL, 0) : (unsigned long long)time(NULL);
	printf("# seed %llu; SEED=N repeats it\n", state);
	state = state * 0x9e3779b97f4a7c15ULL + 1;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
