// SPDX-License-Identifier: MIT
/* Two processes on two hosts, with NICs that have threads, in real time; and what a child inherits: nothing. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net.h"
#include "snic/world.h"
#include "softnic/cq.h"
#include "tap.h"
#include "util/clock.h"
#include "util/fork.h"
#include "util/log.h"

#define DEADLINE_NS 30000000000ULL
#define ROUNDS	    (TAP_TSAN ? 50 : 300)
#define FLAG	    8192
/* Who spins in place of it may keep the kernel from what a new packet socket waits for, for many seconds. */
#define NAP_US	    20
#define SOURCE	    16384

/* What one end has to know of the other. */
struct greeting {
	uint8_t gid[BL_SNIC_GID_LEN];
	uint32_t qpn;
	uint32_t key;
	uint64_t iova;
};

/**
 * struct end - of a connection between two processes
 * @peer: memory of the other one, as far as requests need it
 * @peer_qpn: number of the other one's queue pair
 * @late: the child begins when it is told which numbers to take
 * @floor_ns: least time-out of both; 0: the usual one
 */
struct end {
	struct world_options options;
	struct world_side side;
	struct world_side peer;
	uint32_t peer_qpn;
	bool late;
	uint64_t floor_ns;
	int in, out;
	pid_t pid;
};

static bool wait_word(const void *at, uint64_t value)
{
	uint64_t until = bl_now_ns() + DEADLINE_NS;

	while (__atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE) != value) {
		if (bl_now_ns() > until)
			return false;
		usleep(NAP_US);
	}
	return true;
}

static bool wait_cqe(struct world_side *side, struct world_cqe *cqe)
{
	uint64_t until = bl_now_ns() + DEADLINE_NS;

	while (!world_poll(&side->send, cqe)) {
		if (bl_now_ns() > until)
			return false;
		usleep(NAP_US);
	}
	return true;
}

static void meet(struct end *end, int host, enum net_gid gid)
{
	struct greeting mine = {.qpn = 0}, other;

	world_side_make(&end->side, &end->options, host);
	check_eq(bl_snic_gid_at(end->side.nic, gid, mine.gid), 0);
	mine.qpn = bl_snic_qp_num(end->side.qp);
	mine.key = end->side.key;
	mine.iova = end->side.iova;
	check_eq(write(end->out, &mine, sizeof(mine)), sizeof(mine));
	check_eq(read(end->in, &other, sizeof(other)), sizeof(other));
	end->peer.key = other.key;
	end->peer.iova = other.iova;
	end->peer_qpn = other.qpn;
	world_side_connect(&end->side, &end->options, gid, other.gid, other.qpn);
	/* nobody sends before both are ready: a byte each way */
	check_eq(write(end->out, "r", 1), 1);
	check_eq(read(end->in, &other, 1), 1);
}

static void send_round(struct world_side *side, struct world_side *peer, uint64_t round)
{
	fill(side->mem + SOURCE, 5000, (unsigned int)round);
	memcpy(side->mem + SOURCE + FLAG, &round, sizeof(round));
	post_write(side, peer, 0, SOURCE, 5000);
	post_write(side, peer, FLAG, SOURCE + FLAG, 8);
	bl_snic_kick(side->nic);
}

/* Answers each round, until the last. Return: exit status. */
static int echo(struct end *end, uint64_t rounds)
{
	struct world_cqe cqe;

	for (uint64_t round = 1; round <= rounds; round++) {
		if (!wait_word(end->side.mem + FLAG, round) || !is_filled(end->side.mem, 5000, (unsigned int)round))
			return 1;
		send_round(&end->side, &end->peer, round);
		for (int i = 0; i < 2; i++) {
			if (!wait_cqe(&end->side, &cqe) || cqe.syndrome)
				return 2;
		}
	}
	/* so that the last acknowledgement is not asked for in vain */
	return read(end->in, &cqe, 1) == 1 ? 0 : 3;
}

static void check_round(struct end *end, uint64_t round)
{
	struct world_cqe cqe;

	for (int n = 0; n < 2; n++) {
		check(wait_cqe(&end->side, &cqe));
		check_eq(cqe.syndrome, 0);
	}
	check(wait_word(end->side.mem + FLAG, round));
	check(is_filled(end->side.mem, 5000, (unsigned int)round));
}

static void drive(struct end *end, uint64_t rounds)
{
	for (uint64_t round = 1; round <= rounds; round++) {
		send_round(&end->side, &end->peer, round);
		check_round(end, round);
	}
}

static void forget_nothing(void)
{
}

static void set_options(struct end *end, enum net_gid gid)
{
	end->options = (struct world_options){
		.names = {"soft_va", "soft_vb"},
		.sgid = {gid, gid},
		.enter = net_enter,
		.thread = true,
		.floor_ns = end->floor_ns,
	};
	world_defaults(&end->options);
}

/* Numbers that begin with a byte that comes, and no others. */
static void wait_for_share(const struct end *end)
{
	char text[8];
	uint8_t share;

	if (read(end->in, &share, 1) != 1)
		_exit(4);
	snprintf(text, sizeof(text), "%u", share);
	setenv("BARLANE_SNIC_SHARE", text, 1);
}

/* A child on @host that echoes @rounds as soon as it is met. Before there are threads: ThreadSanitizer allows no other. */
static void start(struct end *end, int host, enum net_gid gid, uint64_t rounds, bool no_packet_sockets)
{
	int to[2], from[2];

	net_need(4300);
	signal(SIGPIPE, SIG_IGN);
	check_eq(bl_fork_init(forget_nothing), 0);
	*end = (struct end){.late = end->late, .floor_ns = end->floor_ns};
	set_options(end, gid);
	check_eq(pipe2(to, O_CLOEXEC), 0);
	check_eq(pipe2(from, O_CLOEXEC), 0);
	end->pid = fork();
	check(end->pid >= 0);
	if (!end->pid) {
		close(to[1]);
		close(from[0]);
		end->in = to[0];
		end->out = from[1];
		if (end->late)
			wait_for_share(end);
		net_enter(host);
		if (no_packet_sockets)
			net_give_up_packet_sockets();
		meet(end, host, gid);
		_exit(echo(end, rounds));
	}
	close(to[0]);
	close(from[1]);
	end->in = from[0];
	end->out = to[1];
}

static void begin(struct end *end, enum net_gid gid, uint64_t rounds, bool no_packet_sockets)
{
	end->late = false;
	end->floor_ns = 0;
	start(end, 1, gid, rounds, no_packet_sockets);
	meet(end, 0, gid);
}

static void finish(struct end *end, int wanted)
{
	int status;

	/* it is gone already, or goes now */
	(void)!write(end->out, "e", 1);
	close(end->out);
	check_eq(waitpid(end->pid, &status, 0), end->pid);
	close(end->in);
	world_side_drop(&end->side);
	check_eq(status, wanted);
}

static void two_processes_talk(void)
{
	static const char *const wires[] = {"packet", "udp"};

	for (int i = 0; i < 2; i++) {
		for (enum net_gid gid = NET_LINK_LOCAL; gid <= NET_IPV4; gid++) {
			struct end end;

			setenv("BARLANE_SNIC_WIRE", wires[i], 1);
			begin(&end, gid, ROUNDS, false);
			drive(&end, ROUNDS);
			finish(&end, 0);
		}
	}
}

static void faults_of_the_wire_are_mended_in_real_time(void)
{
	struct bl_snic_fault fault = {.seed = 7, .drop = 20000, .reorder = 20000, .duplicate = 20000};
	struct world_options options = {.names = {"soft_va", "soft_vb"}, .sgid = {NET_IPV6, NET_IPV6},
					.enter = net_enter, .thread = true, .floor_ns = 5 * WORLD_MS, .fault = &fault};
	struct world_cqe cqe;
	struct world *w;

	setenv("BARLANE_SNIC_WIRE", "packet", 1);
	net_need(4300);
	w = world_begin(&options);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		send_round(&w->a, &w->b, round);
		check(wait_word(w->b.mem + FLAG, round));
		check(is_filled(w->b.mem, 5000, (unsigned int)round));
		/* what the next packet writes is after this: ThreadSanitizer does not see it through the kernel */
		world_query(&w->b);
		for (int i = 0; i < 2; i++) {
			check(wait_cqe(&w->a, &cqe));
			check_eq(cqe.syndrome, 0);
		}
	}
	check(world_counter(&w->b, BL_SNIC_FAULT_DROPPED) > 0);
	world_end(w);
}

static char last_info[256];

static void keep_infos(enum bl_log_level level, const char *text)
{
	if (level == BL_LOG_INFO)
		snprintf(last_info, sizeof(last_info), "%s", text);
}

/* One has packet sockets, the other does not: it is chosen, and said. */
static void who_may_not_use_packet_sockets_uses_udp(void)
{
	struct end end;
	int status;
	pid_t pid;

	unsetenv("BARLANE_SNIC_WIRE");
	for (enum net_gid gid = NET_LINK_LOCAL; gid <= NET_IPV4; gid++) {
		begin(&end, gid, ROUNDS, true);
		drive(&end, ROUNDS);
		finish(&end, 0);
	}
	pid = fork();
	if (!pid) {
		struct bl_snic *nic;

		net_enter(0);
		net_give_up_packet_sockets();
		bl_log_set_level(BL_LOG_INFO);
		bl_log_set_sink(keep_infos);
		if (bl_snic_open(&(struct bl_snic_attr){.name = "soft_va", .transport = &bl_snic_roce, .manual = true},
				 &nic))
			_exit(1);
		if (!strstr(last_info, "UDP sockets: packet sockets need CAP_NET_RAW"))
			_exit(2);
		bl_snic_close(nic);
		setenv("BARLANE_SNIC_WIRE", "packet", 1);
		bl_log_set_level(BL_LOG_OFF);
		_exit(bl_snic_open(&(struct bl_snic_attr){.name = "soft_va", .transport = &bl_snic_roce,
							   .manual = true},
				   &nic) == -EPERM
			      ? 0
			      : 3);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
}

/* Four NICs on an address of the first host, two on one of the second, and each gets what is its own. */
static void several_processes_share_an_address(void)
{
	struct end ends[3] = {{.late = false}};

	setenv("BARLANE_SNIC_WIRE", "packet", 1);
	for (int i = 0; i < 3; i++)
		start(&ends[i], i < 2, NET_IPV4, ROUNDS, false);
	for (int i = 0; i < 3; i++)
		meet(&ends[i], 0, NET_IPV4);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (int i = 0; i < 3; i++)
			send_round(&ends[i].side, &ends[i].peer, round);
		for (int i = 0; i < 3; i++)
			check_round(&ends[i], round);
	}
	for (int i = 0; i < 3; i++) {
		check_eq(world_counter(&ends[i].side, BL_SNIC_RX_UNKNOWN_QP), 0);
		finish(&ends[i], 0);
	}
}

static unsigned int nr_errors;

static void count_errors(enum bl_log_level level, const char *text)
{
	/* by the NIC's thread, and read when that has ended */
	if (level == BL_LOG_ERROR)
		__atomic_fetch_add(&nr_errors, 1, __ATOMIC_RELAXED);
}

static void a_peer_that_is_killed_ends_what_waits_for_it(void)
{
	static const char *const wires[] = {"packet", "udp"};

	for (int i = 0; i < 2; i++) {
		struct bl_snic_qp_info info;
		struct world_cqe cqe;
		struct end end;

		setenv("BARLANE_SNIC_WIRE", wires[i], 1);
		begin(&end, NET_IPV4, UINT64_MAX, false);
		drive(&end, 10);
		nr_errors = 0;
		bl_log_set_level(BL_LOG_ERROR);
		bl_log_set_sink(count_errors);
		check_eq(kill(end.pid, SIGKILL), 0);
		for (uint64_t round = 11; round < 40; round++) {
			send_round(&end.side, &end.peer, round);
			if (!wait_cqe(&end.side, &cqe) || cqe.syndrome)
				break;
			if (!wait_cqe(&end.side, &cqe) || cqe.syndrome)
				break;
		}
		check_eq(cqe.syndrome, 0x15);
		check_eq(bl_snic_qp_query(end.side.qp, &info), 0);
		check_has(info.error.text, "no NIC is open at 10.77.0.2");
		finish(&end, SIGKILL);
		bl_log_set_sink(NULL);
		check_eq(nr_errors, 1);
	}
}

/*
 * Three processes on an address, one of which is killed at work. No daemon stands between them that would have to notice:
 * the others go on, who talked to it is told in time, and its numbers are free for the next.
 */
static void a_process_that_is_killed_takes_nobody_with_it(void)
{
	/* who shall go on is not to be given up because others have the CPUs */
	struct end ends[3] = {{.late = false}, {.floor_ns = 1000 * WORLD_MS}, {.late = true, .floor_ns = 1000 * WORLD_MS}};
	struct end *killed = &ends[0], *other = &ends[1], *next = &ends[2];
	struct bl_snic_qp_info info;
	struct world_cqe cqe;
	uint64_t round = 1;
	uint8_t share;
	int status;

	setenv("BARLANE_SNIC_WIRE", "packet", 1);
	for (int i = 0; i < 3; i++)
		start(&ends[i], 1, NET_IPV4, i ? ROUNDS : UINT64_MAX, false);
	meet(killed, 0, NET_IPV4);
	meet(other, 0, NET_IPV4);
	for (; round <= 20; round++) {
		send_round(&killed->side, &killed->peer, round);
		send_round(&other->side, &other->peer, round);
		check_round(killed, round);
		check_round(other, round);
	}
	/* both are at work */
	send_round(&killed->side, &killed->peer, round);
	send_round(&other->side, &other->peer, round);
	check_eq(kill(killed->pid, SIGKILL), 0);
	check_round(other, round++);
	bl_log_set_level(BL_LOG_OFF);
	for (int n = 0; n < 4; n++)
		post_write(&killed->side, &killed->peer, 0, SOURCE, 100);
	bl_snic_kick(killed->side.nic);
	check_eq(waitpid(killed->pid, &status, 0), killed->pid);
	check_eq(status, SIGKILL);

	/* the address is still in use, and the numbers are free: they are given to who asks for them */
	share = (uint8_t)(killed->peer_qpn >> 16);
	check(share != other->peer_qpn >> 16);
	check_eq(write(next->out, &share, 1), 1);
	meet(next, 0, NET_IPV4);
	check_eq(next->peer_qpn >> 16, share);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		send_round(&next->side, &next->peer, i);
		if (round <= ROUNDS)
			send_round(&other->side, &other->peer, round);
		check_round(next, i);
		if (round <= ROUNDS)
			check_round(other, round++);
	}
	while (wait_cqe(&killed->side, &cqe) && !cqe.syndrome)
		;
	check_eq(cqe.syndrome, 0x15);
	check_eq(bl_snic_qp_query(killed->side.qp, &info), 0);
	check_has(info.error.text, "no answer from 10.77.0.2");
	close(killed->out);
	close(killed->in);
	world_side_drop(&killed->side);
	finish(other, 0);
	finish(next, 0);
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}

static void a_child_inherits_nothing_and_its_parent_goes_on(void)
{
	static const char *const wires[] = {"packet", "udp"};

	net_need(4300);
	check_eq(bl_fork_init(forget_nothing), 0);
	for (int i = 0; i < 2; i++) {
		struct world_options options = {.names = {"soft_va", "soft_vb"}, .sgid = {2, 2}, .enter = net_enter};
		int before = count_fds(), status;
		struct world *w;
		pid_t pid;

		setenv("BARLANE_SNIC_WIRE", wires[i], 1);
		w = world_begin(&options);
		check(count_fds() > before);
		pid = fork();
		if (!pid) {
			bl_log_set_level(BL_LOG_OFF);
			if (count_fds() != before || bl_snic_progress(w->a.nic) != -EACCES)
				_exit(1);
			bl_snic_close(w->a.nic);
			bl_snic_close(w->b.nic);
			_exit(count_fds() == before ? 0 : 2);
		}
		check_eq(waitpid(pid, &status, 0), pid);
		check_eq(status, 0);
		fill(w->a.mem, 5000, 1);
		post_write(&w->a, &w->b, 0, 0, 5000);
		for (int n = 0; n < 1000 && !is_filled(w->b.mem, 5000, 1); n++)
			world_run(w);
		check(is_filled(w->b.mem, 5000, 1));
		world_end(w);
		check_eq(count_fds(), before);
	}
}

static const struct tap_test tests[] = {
	{"two_processes_talk", two_processes_talk},
	{"faults_of_the_wire_are_mended_in_real_time", faults_of_the_wire_are_mended_in_real_time},
	{"who_may_not_use_packet_sockets_uses_udp", who_may_not_use_packet_sockets_uses_udp},
	{"several_processes_share_an_address", several_processes_share_an_address},
	{"a_peer_that_is_killed_ends_what_waits_for_it", a_peer_that_is_killed_ends_what_waits_for_it},
	{"a_process_that_is_killed_takes_nobody_with_it", a_process_that_is_killed_takes_nobody_with_it},
	{"a_child_inherits_nothing_and_its_parent_goes_on", a_child_inherits_nothing_and_its_parent_goes_on},
};

TAP_MAIN(tests)
