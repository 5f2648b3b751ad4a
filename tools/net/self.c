// SPDX-License-Identifier: MIT
/* --self: the program once more, as its own server, in a process or a thread of its own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/stats.h"
#include "net/self.h"
#include "net/wire.h"

#define MAX_ARGS 32

struct words {
	char path[4096];
	char text[MAX_ARGS][24];
	const char *argv[MAX_ARGS + 1];
	int nr;
};

static void add(struct words *words, const char *option, const char *value)
{
	words->argv[words->nr++] = option;
	words->argv[words->nr++] = value;
}

static void add_number(struct words *words, const char *option, long value)
{
	snprintf(words->text[words->nr], sizeof(words->text[0]), "%ld", value);
	add(words, option, words->text[words->nr]);
}

static void make_words(const struct net_options *options, int fd, struct words *words)
{
	words->argv[words->nr++] = options->program->server ? options->program->server : options->program->name;
	add_number(words, "--listen-fd", fd);
	add_number(words, "--timeout", options->timeout_s);
	add_number(words, "-p", options->handler);
	if (options->program->takes & NET_TAKES_DBR)
		add_number(words, "-r", options->dbr);
	if (options->inlined)
		words->argv[words->nr++] = "--inline";
	if (options->program->takes & NET_TAKES_MEMORY)
		add(words, "--memory", tool_value_name(options->memory, net_memories));
	if (options->program->takes & NET_TAKES_RATE) {
		add(words, "--echo", tool_value_name(options->echo, net_echoes));
		add_number(words, "--workers", options->workers);
	}
	if (options->gid >= 0)
		add_number(words, "-l", options->gid);
	if (options->mtu)
		add_number(words, "--mtu", options->mtu);
	if (options->server_device || options->device)
		add(words, "-d", options->server_device ? options->server_device : options->device);
	if (options->server_gpu || options->gpu)
		add(words, "-g", options->server_gpu ? options->server_gpu : options->gpu);
	add(words, "--qp-type", tool_value_name(options->uc, net_qp_types));
	words->argv[words->nr] = NULL;
}

/* This program, or the one beside it. */
static int find_server(const struct net_options *options, struct words *words)
{
	const char *name = options->program->server;
	ssize_t len = readlink("/proc/self/exe", words->path, sizeof(words->path));
	char *slash;

	if (len <= 0 || (size_t)len >= sizeof(words->path))
		return tool_fail(len < 0 ? errno : ENAMETOOLONG, "/proc/self/exe: %s", strerror(len < 0 ? errno : ENAMETOOLONG));
	words->path[len] = '\0';
	slash = strrchr(words->path, '/');
	if (!name)
		return 0;
	if (!slash || (size_t)(slash + 1 - words->path) + strlen(name) >= sizeof(words->path))
		return tool_fail(ENAMETOOLONG, "the program's path is too long");
	strcpy(slash + 1, name);
	return access(words->path, X_OK) ? tool_fail(errno, "%s: %s", words->path, strerror(errno)) : 0;
}

/* Only what may be called after a fork. */
static void become_server(const struct net_options *options, int fd, const struct words *words, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(NET_FAILED);
	fcntl(fd, F_SETFD, 0);
	/* stdout is for JSON */
	if (options->out == stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	execv(words->path, (char *const *)words->argv);
	_exit(NET_FAILED);
}

bool net_self_is_thread(const struct net_options *options)
{
	const char *gpu = options->gpu ? options->gpu : "";

	if (options->self != NET_SELF_AUTO)
		return options->self == NET_SELF_THREAD;
	/* another program has no kernel on this one's GPU, and another GPU has a context of its own anyway */
	return !options->program->server && (!options->server_gpu || net_same_gpu(options->server_gpu, gpu));
}

static int start_process(const struct net_options *options, int fd, struct net_self *self)
{
	struct words words = { .nr = 0 };
	pid_t parent = getpid();
	int err, ret = find_server(options, &words);

	if (ret) {
		close(fd);
		return ret;
	}
	make_words(options, fd, &words);
	fflush(NULL);
	self->pid = fork();
	err = errno;
	if (!self->pid)
		become_server(options, fd, &words, parent);
	close(fd);
	if (self->pid > 0)
		return 0;
	self->pid = 0;
	return tool_fail(err, "fork: %s", strerror(err));
}

int net_self_start(struct net_options *options, const struct net_part *server, struct net_self *self)
{
	int fd = net_listen(0, true);

	if (fd < 0)
		return fd;
	options->port = net_listen_port(fd);
	/* a process before there is a GPU: one that uses a GPU cannot be copied */
	return net_self_is_thread(options) ? net_self_thread_start(options, server, fd, self) : start_process(options, fd, self);
}

static int wait_process(const struct net_options *options, struct net_self *self, int status)
{
	uint64_t deadline = tool_now_ns() + (options->timeout_s + 15) * 1000000000ULL;
	const struct timespec pause = { .tv_nsec = 1000000 };
	int how = 0;

	while (!waitpid(self->pid, &how, WNOHANG)) {
		if (tool_now_ns() >= deadline)
			kill(self->pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
	if (WIFSIGNALED(how)) {
		fprintf(stderr, "%s: the server was ended by signal %d\n", options->program->name, WTERMSIG(how));
		return status ? status : NET_FAILED;
	}
	return WEXITSTATUS(how) > status ? WEXITSTATUS(how) : status;
}

int net_self_wait(const struct net_options *options, struct net_self *self, int status)
{
	if (self->thread)
		return net_self_thread_wait(options, self, status);
	return self->pid ? wait_process(options, self, status) : status;
}
