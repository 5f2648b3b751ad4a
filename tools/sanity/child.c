// SPDX-License-Identifier: MIT
/*
 * child.c - further processes of a test, and how they talk
 */
#include "sanity/sanity.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void st_fork(void (*body)(int sock, void *arg), void *arg, struct st_child *child)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks))
		st_fail("socketpair: %s", strerror(errno));
	child->pid = fork();
	if (child->pid < 0)
		st_fail("fork: %s", strerror(errno));
	if (!child->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(socks[0]);
		body(socks[1], arg);
		/* no exit handlers: those of the parent's CUDA driver must not run here */
		_exit(SANITY_PASSED);
	}
	close(socks[1]);
	child->sock = socks[0];
}

void st_join(struct st_child *child)
{
	int status;

	close(child->sock);
	if (waitpid(child->pid, &status, 0) != child->pid)
		st_fail("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		st_fail("the child process was ended by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	/* the child has given its reason */
	if (WEXITSTATUS(status) == SANITY_WAIVED)
		st_waive("the child process waived the test");
	if (WEXITSTATUS(status) != SANITY_PASSED)
		st_fail("the child process failed");
}

/* The other side says why it ended; wait so that its reason comes first. */
static void __attribute__((noreturn)) peer_gone(void)
{
	int status;

	if (wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == SANITY_WAIVED)
		st_waive("the child process waived the test");
	st_fail("the other process of this test ended early");
}

void st_send(int sock, const void *data, size_t len)
{
	const char *bytes = data;

	while (len) {
		ssize_t sent = send(sock, bytes, len, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			peer_gone();
		bytes += sent;
		len -= (size_t)sent;
	}
}

void st_recv(int sock, void *data, size_t len)
{
	char *bytes = data;

	while (len) {
		ssize_t got = recv(sock, bytes, len, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			peer_gone();
		bytes += got;
		len -= (size_t)got;
	}
}

void st_signal(int sock)
{
	st_send(sock, "", 1);
}

void st_await(int sock)
{
	char byte;

	st_recv(sock, &byte, 1);
}

/* Call @each for every descriptor but the one that this takes itself. */
static void walk(void (*each)(int fd, void *arg), void *arg)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		st_fail("/proc/self/fd: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		fd = atoi(entry->d_name);
		if (fd != dirfd(dir))
			each(fd, arg);
	}
	closedir(dir);
}

static void count_one(int fd, void *arg)
{
	++*(size_t *)arg;
}

size_t st_fds_count(void)
{
	size_t nr = 0;

	walk(count_one, &nr);
	return nr;
}

static void add_one(int fd, void *arg)
{
	struct st_fds *fds = arg;

	if (fds->nr == sizeof(fds->fd) / sizeof(fds->fd[0]))
		st_fail("more than %zu descriptors", fds->nr);
	fds->fd[fds->nr++] = fd;
}

void st_fds_now(struct st_fds *fds)
{
	fds->nr = 0;
	walk(add_one, fds);
}

static bool has(const struct st_fds *fds, int fd)
{
	for (size_t i = 0; i < fds->nr; i++) {
		if (fds->fd[i] == fd)
			return true;
	}
	return false;
}

void st_fds_new(const struct st_fds *before, struct st_fds *fds)
{
	struct st_fds now;

	st_fds_now(&now);
	fds->nr = 0;
	for (size_t i = 0; i < now.nr; i++) {
		if (!has(before, now.fd[i]))
			fds->fd[fds->nr++] = now.fd[i];
	}
}

#define CONTROL_SPACE CMSG_SPACE(sizeof(((struct st_fds *)NULL)->fd))

void st_send_fds(int sock, const struct st_fds *fds)
{
	_Alignas(struct cmsghdr) char control[CONTROL_SPACE] = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)&fds->nr, .iov_len = sizeof(fds->nr) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (fds->nr) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(fds->nr * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(fds->nr * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds->fd, fds->nr * sizeof(int));
	}
	if (sendmsg(sock, &msg, MSG_NOSIGNAL) != (ssize_t)sizeof(fds->nr))
		st_fail("sendmsg with %zu descriptors: %s", fds->nr, strerror(errno));
}

void st_recv_fds(int sock, struct st_fds *fds)
{
	_Alignas(struct cmsghdr) char control[CONTROL_SPACE];
	struct iovec iov = { .iov_base = &fds->nr, .iov_len = sizeof(fds->nr) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL) != (ssize_t)sizeof(fds->nr))
		peer_gone();
	if (!fds->nr)
		return;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS || cmsg->cmsg_len != CMSG_LEN(fds->nr * sizeof(int)))
		st_fail("the descriptors did not arrive");
	memcpy(fds->fd, CMSG_DATA(cmsg), fds->nr * sizeof(int));
}
