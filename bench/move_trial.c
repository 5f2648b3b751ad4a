// SPDX-License-Identifier: MIT
/*
 * move_trial: what of the kernel of move.ptx, and of loading it, only hardware can show
 *
 *	move_trial [GPU [SECONDS]]
 *
 * A line for each question of move_steps.c: ok, wrong bytes, or the call that does not come back; and what the calls
 * took. Each question is a process of its own that has 3 s. One that is stuck by then is let go on, which tells
 * whether what it had stopped was the reason. After SECONDS, by default 58, everything ends, whatever has been
 * answered.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/device.h"
#include "common/error.h"
#include "common/stats.h"
#include "move_trial.h"

#define MS	    1000000ULL
#define SET_UP_MS   8000
#define PATIENCE_MS 3000
#define AFTER_MS    2000
#define LIMIT_S	    58

static volatile pid_t child;

static void over(int signal)
{
	static const char text[] = "the time is over\n";

	(void)signal;
	if (child > 0)
		kill(child, SIGKILL);
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

static _Noreturn void ask(const struct move_step *step, struct move_share *share, int ordinal)
{
	struct tool_device device;
	int right;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (tool_device_open(ordinal, &device))
		tool_die("%s", tool_why());
	right = step->run(device.cu, share);
	fflush(stdout);
	_exit(right ? 0 : 1);
}

/* Whether the process has ended by then. */
static int ended(uint64_t ms, int *status, const atomic_int *unless)
{
	uint64_t end = tool_now_ns() + ms * MS;

	do {
		if (waitpid(child, status, WNOHANG) == child)
			return 1;
		if (unless && atomic_load(unless))
			return 0;
		usleep(200);
	} while (tool_now_ns() < end);
	return 0;
}

static int tell(const struct move_step *step, const struct move_share *share, int nr, int ok, const char *how)
{
	printf("%s %d - %s:%s %s\n", ok ? "ok" : "not ok", nr, step->name, share->times, how);
	fflush(stdout);
	return !ok;
}

static int watch(const struct move_step *step, struct move_share *share, int nr)
{
	char how[160] = "bytes are right";
	const char *stuck;
	int status = 0, ok;

	if (ended(SET_UP_MS, &status, &share->ready) || ended(PATIENCE_MS, &status, NULL)) {
		ok = WIFEXITED(status) && !WEXITSTATUS(status);
		if (!ok)
			snprintf(how, sizeof(how), "wrong, status 0x%x, at %s", (unsigned int)status,
				 atomic_load(&share->at));
		return tell(step, share, nr, ok, how);
	}
	stuck = atomic_load(&share->at);
	atomic_store(&share->gate, 1);
	ok = ended(AFTER_MS, &status, NULL);
	if (!ok) {
		kill(child, SIGKILL);
		waitpid(child, &status, WNOHANG);
	}
	ok = ok && WIFEXITED(status) && !WEXITSTATUS(status);
	snprintf(how, sizeof(how), "%s waited for %d ms, %s", stuck, PATIENCE_MS,
		 ok ? "and went on when the stream was let go on" : "and did not go on");
	return tell(step, share, nr, ok && step->may_wait, how);
}

static int run_step(const struct move_step *step, int nr, int ordinal)
{
	struct move_share *share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
					0);

	if (share == MAP_FAILED)
		tool_die("out of memory");
	atomic_store(&share->at, "set-up");
	fflush(stdout);
	child = fork();
	if (!child)
		ask(step, share, ordinal);
	if (child < 0)
		tool_die("fork failed");
	return watch(step, share, nr);
}

int main(int argc, char **argv)
{
	int bad = 0;

	signal(SIGALRM, over);
	alarm(argc > 2 ? (unsigned int)atoi(argv[2]) : LIMIT_S);
	printf("# move_trial; ms\n");
	for (unsigned int i = 0; i < nr_move_steps; i++)
		bad += run_step(&move_steps[i], (int)i + 1, argc > 1 ? atoi(argv[1]) : 0);
	printf("# %d of %u failed\n", bad, nr_move_steps);
	return bad != 0;
}
