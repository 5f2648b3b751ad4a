/* SPDX-License-Identifier: MIT */
/* look.h - what this process, or another, shows */
#ifndef TESTS_UNIT_NETSTAT_LOOK_H
#define TESTS_UNIT_NETSTAT_LOOK_H

#include "netstat/netstat.h"

/* All that a process shows; freed by the next call. Fails the test when nothing can be seen. */
const struct netstat_all *look(pid_t pid);

/* The NIC of that name, a queue pair and a completion queue of it; a test fails where there is none. */
const struct netstat_nic *look_nic(const struct netstat_all *all, const char *name);
const struct bl_shown_qp *look_qp(const struct netstat_nic *nic, uint32_t qpn);
const struct bl_shown_cq *look_cq(const struct netstat_nic *nic, uint32_t cqn);

/* All hints of a queue pair in one text. */
const char *look_hints(const struct bl_shown_qp *qp);

/* Descriptors of this process that are shown to others. */
unsigned int look_fds(void);

#endif
