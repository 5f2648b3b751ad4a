// SPDX-License-Identifier: MIT
/*
 * run.c - run one test in a process of its own
 */
#include "sanity/sanity.h"
#include "sanity/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/stats.h"

#define NS_PER_S 1000000000ULL
#define LOOK_MS	 50 /* how often to look whether the test ended while something it started still holds the pipe */

int sanity_reason_fd = STDERR_FILENO;

/**
 * struct run - a test on its way
 * @pid:    its process, and its process group
 * @fd:     its reasons
 * @reason: text so far
 * @size:   bytes of @reason
 * @used:   bytes in use
 */
struct run {
	pid_t pid;
	int fd;
	char *reason;
	size_t size;
	size_t used;
};

static void __attribute__((noreturn)) child(const struct sanity_test *test, int fd)
{
	sanity_reason_fd = fd;
	setpgid(0, 0);
	/* a runner that is killed leaves no test behind */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	test->run(test->kind);
	exit(SANITY_PASSED);
}

/* Return: 0 at end of file. */
static int take(struct run *run)
{
	char spill[256];
	size_t room = run->size - 1 - run->used;
	ssize_t got;

	got = room ? read(run->fd, run->reason + run->used, room) : read(run->fd, spill, sizeof(spill));
	if (got <= 0)
		return got < 0 && errno == EINTR;
	if (room)
		run->used += (size_t)got;
	run->reason[run->used] = '\0';
	return 1;
}

/* Return: the wait status, or -1 when the time is up. */
static int watch(struct run *run)
{
	uint64_t end = tool_now_ns() + sanity_options.timeout_s * NS_PER_S;
	bool open = true;
	int status;

	for (;;) {
		struct pollfd pollfd = { .fd = open ? run->fd : -1, .events = POLLIN };
		int ready = poll(&pollfd, 1, open ? LOOK_MS : 1);

		if (ready > 0)
			open = take(run);
		if (waitpid(run->pid, &status, WNOHANG) == run->pid)
			break;
		if (tool_now_ns() > end)
			return -1;
	}
	/* what it wrote last; another process may still hold the other end, so take no more than there is */
	fcntl(run->fd, F_SETFL, O_NONBLOCK);
	while (open && take(run))
		;
	return status;
}

static enum sanity_status judge(int status, char *reason, size_t size)
{
	reason[strcspn(reason, "\n")] = '\0'; /* the first reason counts */
	if (WIFSIGNALED(status)) {
		snprintf(reason, size, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
		return SANITY_FAILED;
	}
	if (WEXITSTATUS(status) == SANITY_PASSED && !*reason)
		return SANITY_PASSED;
	if (WEXITSTATUS(status) == SANITY_WAIVED)
		return SANITY_WAIVED;
	if (!*reason)
		snprintf(reason, size, "exit status %d", WEXITSTATUS(status));
	return SANITY_FAILED;
}

enum sanity_status sanity_run(const struct sanity_test *test, char *reason, size_t size)
{
	struct run run = { .reason = reason, .size = size };
	enum sanity_status result;
	int fds[2];
	int status;

	reason[0] = '\0';
	if (pipe2(fds, O_CLOEXEC)) {
		snprintf(reason, size, "pipe: %s", strerror(errno));
		return SANITY_FAILED;
	}
	fflush(NULL);
	run.pid = fork();
	if (run.pid < 0) {
		snprintf(reason, size, "fork: %s", strerror(errno));
		close(fds[0]);
		close(fds[1]);
		return SANITY_FAILED;
	}
	if (!run.pid) {
		close(fds[0]);
		child(test, fds[1]);
	}
	setpgid(run.pid, run.pid);
	close(fds[1]);
	run.fd = fds[0];
	status = watch(&run);
	kill(-run.pid, SIGKILL);
	if (status == -1) {
		waitpid(run.pid, &status, 0);
		snprintf(reason, size, "not done after %u s", sanity_options.timeout_s);
		result = SANITY_FAILED;
	} else {
		result = judge(status, reason, size);
	}
	close(run.fd);
	return result;
}
