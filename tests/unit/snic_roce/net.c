// SPDX-License-Identifier: MIT
#include "net.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static int hosts[2] = {-1, -1};
static unsigned int present_mtu;

void net_enter(int host)
{
	check_eq(setns(hosts[host], CLONE_NEWNET), 0);
}

bool net_do(int host, const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	net_enter(host);
	return system(command) == 0;
}

static void write_file(const char *path, const char *fmt, unsigned int id)
{
	char text[64];
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	snprintf(text, sizeof(text), fmt, id);
	check(fd >= 0 && write(fd, text, strlen(text)) > 0);
	close(fd);
}

/* Others than root are root in a namespace of users of their own, where that is allowed. */
static void become_root(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (uid == 0 && !unshare(CLONE_NEWNET))
		return;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		skip("network namespaces are not allowed: %s", strerror(errno));
	write_file("/proc/self/setgroups", "deny", 0);
	write_file("/proc/self/uid_map", "0 %u 1", uid);
	write_file("/proc/self/gid_map", "0 %u 1", gid);
}

static int own_namespace(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	check(fd >= 0);
	return fd;
}

/* The other one is made by a child, and stays when the child ends. */
static int other_namespace(void)
{
	char path[64];
	int pipes[2], fd, status;
	pid_t pid;

	check_eq(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		status = unshare(CLONE_NEWNET) ? errno : 0;
		if (write(pipes[1], &status, sizeof(status)) == sizeof(status))
			pause();
		_exit(1);
	}
	check(pid > 0);
	check_eq(read(pipes[0], &status, sizeof(status)), sizeof(status));
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
	check_eq(status, 0);
	check(fd >= 0);
	return fd;
}

/* An interface that is set up is ready a little later. */
static void wait_for_carrier(int host, const char *name)
{
	struct ifreq ifreq = {.ifr_flags = 0};
	int sock;

	net_enter(host);
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	strcpy(ifreq.ifr_name, name);
	for (int i = 0; i < 5000 && !(ifreq.ifr_flags & IFF_RUNNING); i++) {
		usleep(1000);
		check_eq(ioctl(sock, SIOCGIFFLAGS, &ifreq), 0);
	}
	close(sock);
	check(ifreq.ifr_flags & IFF_RUNNING);
}

static void lay_cable(unsigned int mtu)
{
	static const char *const names[] = {"va", "vb"};

	/* the other namespace by a descriptor that the command inherits */
	fcntl(hosts[1], F_SETFD, 0);
	check(net_do(0, "ip link add va mtu %u type veth peer name vb mtu %u", mtu, mtu));
	check(net_do(0, "ip link set vb netns /proc/self/fd/%d", hosts[1]));
	fcntl(hosts[1], F_SETFD, FD_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		/* hosts answer each time, and not once in a second */
		check(net_do(i, "echo 0 >/proc/sys/net/ipv4/icmp_ratelimit && echo 0 >/proc/sys/net/ipv6/icmp/ratelimit"));
		check(net_do(i, "ip link set lo up && ip link set %s addrgenmode none", names[i]));
		check(net_do(i, "ip link set %s up", names[i]));
		check(net_do(i, "ip addr add fe80::%d/64 dev %s nodad", i + 1, names[i]));
		check(net_do(i, "ip addr add fd77::%d/64 dev %s nodad", i + 1, names[i]));
		check(net_do(i, "ip addr add 10.77.0.%d/24 dev %s", i + 1, names[i]));
	}
	for (int i = 0; i < 2; i++)
		wait_for_carrier(i, names[i]);
}

void net_need(unsigned int mtu)
{
	if (present_mtu == mtu)
		return;
	if (system("ip -V >/dev/null 2>&1"))
		skip("ip (iproute2) is not installed");
	if (hosts[0] < 0)
		become_root();
	else
		check_eq(unshare(CLONE_NEWNET), 0);
	for (int i = 0; i < 2; i++) {
		if (hosts[i] >= 0)
			close(hosts[i]);
	}
	hosts[0] = own_namespace();
	hosts[1] = other_namespace();
	if (!net_do(0, "ip link add type veth 2>/dev/null && ip link del veth0"))
		skip("the kernel makes no pairs of interfaces (veth)");
	lay_cable(mtu);
	present_mtu = mtu;
}

void net_give_up_packet_sockets(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	check_eq(syscall(SYS_capget, &head, data), 0);
	data[0].effective &= ~(1U << CAP_NET_RAW);
	check_eq(syscall(SYS_capset, &head, data), 0);
}
