// SPDX-License-Identifier: MIT
#include "card.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int module_load(const char *name)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

bool card_unload(void)
{
	for (int i = 0; i < 50 && module_unload("bl_card"); i++)
		usleep(100000);
	return access("/sys/module/bl_card", F_OK) != 0;
}

bool modules_unload(int card, int client)
{
	close(card);
	close(client);
	return !module_unload("bl_p2ptest") && card_unload() && !module_unload("bl_edu");
}

static FILE *knob_open(const char *name, const char *mode)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/kernel/debug/bl_card/%s", name);
	file = fopen(path, mode);
	if (!file) {
		perror(path);
		abort();
	}
	return file;
}

void knob(const char *name, uint64_t value)
{
	FILE *file = knob_open(name, "we");

	fprintf(file, "%llu\n", (unsigned long long)value);
	if (fclose(file)) {
		perror(name);
		abort();
	}
}

uint64_t knob_value(const char *name)
{
	FILE *file = knob_open(name, "re");
	char text[32] = "";

	if (!fgets(text, sizeof(text), file))
		abort();
	fclose(file);
	return strtoull(text, NULL, 0);
}

int request(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

int card_open(void)
{
	int fd = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int object_new(int card, uint64_t size, struct object *object)
{
	struct bl_card_alloc arg = { .size = size };
	int ret = request(card, BL_CARD_IOC_ALLOC, &arg);

	*object = (struct object){ .handle = arg.handle, .off = arg.offset, .size = arg.size };
	return ret;
}

int object_bind(int card, struct object *object, uint64_t va)
{
	struct bl_card_bind arg = { .va = va, .len = object->size, .handle = object->handle };

	object->va = va;
	return request(card, BL_CARD_IOC_BIND, &arg);
}

int object_bound(int card, uint64_t size, struct object *object)
{
	static uint64_t next = FIRST_VA;
	int ret = object_new(card, size, object);

	if (ret)
		return ret;
	next += object->size + BLOCK;
	return object_bind(card, object, next - object->size - BLOCK);
}

int object_free(int card, const struct object *object)
{
	struct bl_card_free arg = { .handle = object->handle };

	return request(card, BL_CARD_IOC_FREE, &arg);
}

volatile uint8_t *object_map(int card, const struct object *object)
{
	void *at = mmap(NULL, object->size, PROT_READ | PROT_WRITE, MAP_SHARED, card, (off_t)object->off);

	return at == MAP_FAILED ? NULL : at;
}

struct bl_card_counters counters(int card, bool verify)
{
	struct bl_card_counters counts = { .flags = verify ? BL_CARD_COUNTERS_VERIFY : 0 };
	int ret = request(card, BL_CARD_IOC_COUNTERS, &counts);

	if (ret) {
		fprintf(stderr, "counters: error %d\n", -ret);
		abort();
	}
	return counts;
}

static sigjmp_buf bus_error;

static void on_bus_error(int signal)
{
	siglongjmp(bus_error, 1);
}

bool read_is_sigbus(const volatile uint8_t *at)
{
	struct sigaction catch = { .sa_handler = on_bus_error }, before;
	volatile bool raised = false;

	sigaction(SIGBUS, &catch, &before);
	if (sigsetjmp(bus_error, 1))
		raised = true;
	else
		(void)*at;
	sigaction(SIGBUS, &before, NULL);
	return raised;
}

int client_open(void)
{
	int fd = open(P2PTEST_PATH, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int client_get(int client, uint32_t slot, uint32_t flags, uint64_t va, uint64_t len)
{
	struct p2ptest_get arg = { .slot = slot, .flags = flags, .va = va, .len = len };

	return request(client, P2PTEST_IOC_GET, &arg);
}

int client_put(int client, uint32_t slot, uint32_t flags, uint64_t va)
{
	struct p2ptest_put arg = { .slot = slot, .how = flags & P2PTEST_PERSISTENT, .va = va };

	return request(client, P2PTEST_IOC_PUT, &arg);
}

uint32_t client_called(int client, uint32_t slot)
{
	struct p2ptest_state arg = { .slot = slot };

	return request(client, P2PTEST_IOC_STATE, &arg) ? UINT32_MAX : arg.called;
}

int in_child(int (*run)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}
