// SPDX-License-Identifier: MIT
/*
 * Owners of pins that fork, pass their descriptor on, or are killed at any moment, and modules that are to be unloaded while
 * they are used. Afterwards nothing is pinned.
 */
#include "gdrdrv_fixture.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	void *addr;
	uint64_t handle;
	int pipe[2];
	bool use_drv;
};

/* In the child: the address is not there, and the descriptor is of no use. */
static int child_cannot_use(void *arg)
{
	struct child *child = arg;
	struct gdrdrv_get_version version;
	uint64_t handle;
	uint32_t value;
	void *addr;

	if (load_signal(child->addr, &value) != SIGSEGV)
		return 1;
	if (try_request(drv, GDRDRV_IOC_GET_VERSION, &version) != -EACCES)
		return 2;
	if (try_map(drv, child->handle, 4096, &addr) != -EACCES)
		return 3;
	if (try_unpin(drv, child->handle) != -EACCES)
		return 4;
	return try_pin(drv, mem.va, mem.len, &handle) == -EACCES ? 0 : 5;
}

static void forks_inherit_nothing(void)
{
	struct child child = { 0 };
	uint32_t value;

	begin(PERSISTENT);
	child.handle = drv_pin(drv, &mem);
	child.addr = drv_map(drv, child.handle, mem.len);
	*(volatile uint32_t *)child.addr = 5;
	check_eq(in_child(child_cannot_use, &child), 0);
	check_eq(load_signal(child.addr, &value), 0);
	check_eq(value, 5);
	munmap(child.addr, mem.len);
	end();
}

/* MADV_DOFORK would give the mapping to children after all. */
static void fork_cannot_be_asked_for(void)
{
	void *addr;

	begin(PERSISTENT);
	addr = drv_map(drv, drv_pin(drv, &mem), mem.len);
	check_eq(madvise(addr, mem.len, MADV_DOFORK), -1);
	munmap(addr, mem.len);
	end();
}

static pid_t fork_sleeper(int *release)
{
	int fds[2];
	char byte;
	pid_t pid;

	check_eq(pipe(fds), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) == 1 ? 0 : 1);
	}
	close(fds[0]);
	*release = fds[1];
	return pid;
}

static void freed_while_fork_lives(void)
{
	int release, status;
	uint64_t handle;
	uint32_t value;
	void *addr;
	pid_t pid;

	begin(NOT_PERSISTENT);
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	*(volatile uint32_t *)addr = 5;
	pid = fork_sleeper(&release);
	gpu_free(gpu, &mem);
	check_eq(load_signal(addr, &value), SIGBUS);
	munmap(addr, mem.len);
	/* the child still has the file */
	check_eq(try_unpin(drv, handle), 0);
	check_eq(drv_nr_pins(), 0);
	check_eq(write(release, "x", 1), 1);
	check_eq(waitpid(pid, &status, 0), pid);
	close(release);
	end();
}

/* Pins, maps, starts a child of its own that keeps the descriptors, and dies. */
static int die_with_child(void *arg)
{
	struct child *child = arg;
	char byte;
	void *addr;

	gpu = gpu_open();
	drv = drv_open();
	mem = gpu_alloc(gpu, 2 * MIB);
	addr = drv_map(drv, drv_pin(drv, &mem), mem.len);
	*(volatile uint32_t *)addr = 5;
	if (!fork()) {
		close(child->pipe[1]);
		/* ends when the test closes its end */
		_exit(read(child->pipe[0], &byte, 1) == 0 ? 0 : 1);
	}
	raise(SIGKILL);
	return 1;
}

static void owner_is_killed(const char *parameters)
{
	struct child child = { 0 };

	begin(parameters);
	check_eq(pipe(child.pipe), 0);
	check_eq(in_child(die_with_child, &child), 128 + SIGKILL);
	/* nothing stays pinned although a grandchild holds the file */
	check_clean(gpu);
	close(child.pipe[1]);
	close(child.pipe[0]);
	end();
}

static void owner_is_killed_persistent(void)
{
	owner_is_killed(PERSISTENT);
}

static void owner_is_killed_otherwise(void)
{
	owner_is_killed(NOT_PERSISTENT);
}

/* Pins, maps, writes, unmaps, frees without end. */
static int work_for_ever(void *arg)
{
	(void)arg;
	gpu = gpu_open();
	drv = drv_open();
	for (;;) {
		struct gpu_mem one = gpu_alloc(gpu, 2 * MIB);
		uint64_t handle = drv_pin(drv, &one);
		void *addr = drv_map(drv, handle, one.len);

		for (size_t i = 0; i < one.len; i += 64 * KIB)
			*(volatile uint32_t *)((char *)addr + i) = 1;
		munmap(addr, one.len);
		if (try_unpin(drv, handle))
			_exit(1);
		gpu_free(gpu, &one);
	}
	return 0;
}

static void killed_at_any_point(const char *parameters)
{
	begin(parameters);
	for (unsigned int i = 0; i < 30; i++) {
		int status;
		pid_t pid = fork();

		check(pid >= 0);
		if (!pid)
			_exit(work_for_ever(NULL));
		usleep(2000 + i * 1337 % 20000);
		kill(pid, SIGKILL);
		check_eq(waitpid(pid, &status, 0), pid);
		check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	check_clean(gpu);
	end();
}

static void killed_at_any_point_persistent(void)
{
	killed_at_any_point(PERSISTENT);
}

static void killed_at_any_point_otherwise(void)
{
	killed_at_any_point(NOT_PERSISTENT);
}

static void send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 }, byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	check_eq(sendmsg(socket, &msg, 0), 1);
}

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(socket, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void fd_is_passed(void)
{
	int sockets[2], status;
	uint64_t handle;
	void *addr;
	pid_t pid;

	begin(PERSISTENT);
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	check_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		/* a process with GPU memory of its own */
		struct gpu_mem own;
		void *seen;

		gpu = gpu_open();
		own = gpu_alloc(gpu, 2 * MIB);
		close(drv);
		drv = receive_fd(sockets[1]);
		if (drv < 0 || try_map(drv, handle, 4096, &seen) != -EACCES)
			_exit(1);
		if (try_pin(drv, own.va, own.len, &handle) != -EACCES)
			_exit(2);
		_exit(close(drv) ? 3 : 0);
	}
	send_fd(sockets[0], drv);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	*(volatile uint32_t *)addr = 1;
	munmap(addr, mem.len);
	close(sockets[0]);
	close(sockets[1]);
	end();
}

/* The owner ends without having the file any more; the test has it. */
static void pins_end_with_the_last_descriptor(const char *parameters)
{
	int sockets[2], status, passed;
	pid_t pid;

	begin(parameters);
	check_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		int card = gpu_open(), file = drv_open();
		struct gpu_mem own = gpu_alloc(card, 2 * MIB);

		drv_pin(file, &own);
		send_fd(sockets[1], file);
		_exit(close(file) ? 1 : 0);
	}
	passed = receive_fd(sockets[0]);
	check(passed >= 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(drv_nr_pins(), 1);
	check_eq(close(passed), 0);
	close(sockets[0]);
	close(sockets[1]);
	end();
}

static void passed_on_persistent(void)
{
	pins_end_with_the_last_descriptor(PERSISTENT);
}

static void passed_on_otherwise(void)
{
	pins_end_with_the_last_descriptor(NOT_PERSISTENT);
}

static void modules_in_use_stay(void)
{
	void *addr;

	begin(PERSISTENT);
	check_eq(try_module_unload("gdrdrv"), -EAGAIN);
	addr = drv_map(drv, drv_pin(drv, &mem), mem.len);
	close(drv);
	/* the mapping alone keeps it; and the pin keeps the driver, whose own file is closed here */
	check_eq(try_module_unload("gdrdrv"), -EAGAIN);
	close(gpu);
	check_eq(try_module_unload("bl_card"), -EAGAIN);
	*(volatile uint32_t *)addr = 3;
	munmap(addr, mem.len);
	for (int i = 0; i < 100 && try_module_unload("gdrdrv") == -EAGAIN; i++)
		usleep(10000);
	check_eq(try_module_unload("gdrdrv"), -ENOENT);
	/* nobody holds the driver any more */
	check_eq(try_module_unload("bl_card"), 0);
	begin(PERSISTENT);
	end();
}

static void without_driver(void)
{
	struct gdrdrv_get_attr attr = { .attr = GDRDRV_ATTR_PERSISTENT };
	uint64_t handle;

	begin(PERSISTENT);
	end();
	check_eq(try_module_unload("bl_card"), 0);
	drv = drv_open();
	check_eq(try_pin(drv, mem.va, mem.len, &handle), -ENODEV);
	check_eq(try_request(drv, GDRDRV_IOC_GET_ATTR, &attr), 0);
	check_eq(attr.val, 1);
	check_eq(drv_nr_pins(), 0);
	close(drv);
	check_eq(try_module_load("bl_card", ""), 0);
}

static const struct tap_test tests[] = {
	{ "a_fork_inherits_neither_mapping_nor_use_of_the_file", forks_inherit_nothing },
	{ "a_mapping_cannot_be_made_inheritable", fork_cannot_be_asked_for },
	{ "memory_freed_while_a_fork_lives_is_revoked", freed_while_fork_lives },
	{ "a_killed_owner_leaves_no_persistent_pin_although_a_child_has_the_file", owner_is_killed_persistent },
	{ "a_killed_owner_leaves_no_pin_although_a_child_has_the_file", owner_is_killed_otherwise },
	{ "an_owner_killed_at_any_point_leaves_no_persistent_pin", killed_at_any_point_persistent },
	{ "an_owner_killed_at_any_point_leaves_no_pin", killed_at_any_point_otherwise },
	{ "a_passed_descriptor_is_of_no_use", fd_is_passed },
	{ "pins_whose_file_was_passed_on_end_with_the_last_descriptor_persistent", passed_on_persistent },
	{ "pins_whose_file_was_passed_on_end_with_the_last_descriptor", passed_on_otherwise },
	{ "modules_in_use_cannot_be_unloaded_and_unused_ones_can", modules_in_use_stay },
	{ "without_a_driver_a_pin_is_enodev", without_driver },
};

TAP_MAIN(tests)
