// SPDX-License-Identifier: MIT
#include "look.h"

#include <dirent.h>
#include <unistd.h>

#include "common/error.h"
#include "tap.h"

const struct netstat_all *look(pid_t pid)
{
	static struct netstat_all all;
	struct netstat_process process;

	netstat_free(&all);
	check_str(netstat_open(pid, &process) ? tool_why() : "", "");
	check_str(netstat_load(&process, true, &all) ? tool_why() : "", "");
	netstat_close(&process);
	return &all;
}

const struct netstat_nic *look_nic(const struct netstat_all *all, const char *name)
{
	for (unsigned int i = 0; i < all->nr; i++) {
		if (!strcmp(all->nics[i].port.name, name))
			return &all->nics[i];
	}
	tap_end(TAP_FAILED, "NIC %s is not shown", name);
}

const struct bl_shown_qp *look_qp(const struct netstat_nic *nic, uint32_t qpn)
{
	for (uint32_t i = 0; i < nic->nr_qps; i++) {
		if (nic->qps[i].num == qpn)
			return &nic->qps[i];
	}
	tap_end(TAP_FAILED, "queue pair 0x%x is not shown", qpn);
}

const struct bl_shown_cq *look_cq(const struct netstat_nic *nic, uint32_t cqn)
{
	for (uint32_t i = 0; i < nic->nr_cqs; i++) {
		if (nic->cqs[i].num == cqn)
			return &nic->cqs[i];
	}
	tap_end(TAP_FAILED, "completion queue 0x%x is not shown", cqn);
}

const char *look_hints(const struct bl_shown_qp *qp)
{
	static char text[8 * NETSTAT_HINT];
	char hints[8][NETSTAT_HINT];
	unsigned int nr = netstat_qp_hints(qp, NULL, hints, 8);

	*text = '\0';
	for (unsigned int i = 0; i < nr; i++) {
		strcat(text, hints[i]);
		strcat(text, "\n");
	}
	return text;
}

unsigned int look_fds(void)
{
	char path[300], link[300];
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;
	ssize_t len;

	check(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		len = readlink(path, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = '\0';
		nr += strstr(link, BL_SHOWN_NAME " (deleted)") != NULL;
	}
	closedir(dir);
	return nr;
}
