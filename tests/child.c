// SPDX-License-Identifier: MIT
#include "child.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

#define PATIENCE_MS 60000

static _Noreturn void be_child(void (*run)(const void *arg), const void *arg, const char *const *env, int out)
{
	int how;

	for (; env && env[0]; env += 2)
		setenv(env[0], env[1], 1);
	how = setjmp(tap_env);
	if (!how)
		run(arg);
	else if (write(out, tap_text, strlen(tap_text)) < 0)
		how = TAP_FAILED;
	_exit(how);
}

static void wait_for(pid_t pid, const char *text)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		tap_end(TAP_FAILED, "waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		tap_end(TAP_FAILED, "child: signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == TAP_SKIPPED)
		skip("%s", text);
	if (WEXITSTATUS(status))
		tap_end(TAP_FAILED, "child: exit %d: %s", WEXITSTATUS(status), text);
}

void child_run(void (*run)(const void *arg), const void *arg, const char *const *env)
{
	char text[900] = "";
	struct pollfd ready;
	int pipes[2];
	pid_t pid;

	fflush(NULL);
	if (pipe(pipes) || (pid = fork()) < 0)
		tap_end(TAP_FAILED, "fork: %s", strerror(errno));
	if (!pid) {
		close(pipes[0]);
		be_child(run, arg, env, pipes[1]);
	}
	close(pipes[1]);
	/* ends with the child's text, or with the end of file when it exits */
	ready = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	if (poll(&ready, 1, PATIENCE_MS) == 0) {
		kill(pid, SIGKILL);
		snprintf(text, sizeof(text), "did not end in time");
	} else if (read(pipes[0], text, sizeof(text) - 1) < 0) {
		snprintf(text, sizeof(text), "read: %s", strerror(errno));
	}
	close(pipes[0]);
	wait_for(pid, text);
}
