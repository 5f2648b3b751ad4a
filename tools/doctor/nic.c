// SPDX-License-Identifier: MIT
/* NICs of the network lane: what is there, and which one its programs would take. */
#include "doctor/nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "doctor/doctor.h"
#include "doctor/storage.h"

/* Queues and buffers of a modest program. */
#define LOCK_WANTED (1UL << 26)
#define CAP_IPC_LOCK 14

static bool may_lock_all(const struct doctor *doctor)
{
	char status[4096], *line;

	if (tool_tree_read(&doctor->tree, status, sizeof(status), "/proc/self/status") <= 0)
		return false;
	line = strstr(status, "CapEff:");
	return line && strtoull(line + strlen("CapEff:"), NULL, 16) >> CAP_IPC_LOCK & 1;
}

void doctor_nic_locks(struct doctor *doctor, const struct rlimit *limit)
{
	if (limit->rlim_cur == RLIM_INFINITY || may_lock_all(doctor))
		doctor_add(doctor, DOCTOR_OK, "locked memory", NULL, "no limit for what is registered with devices");
	else if (limit->rlim_cur < LOCK_WANTED)
		doctor_add(doctor, DOCTOR_WARN, "locked memory",
			   "ulimit -l unlimited, LimitMEMLOCK=infinity of a service, --ulimit memlock=-1 of a container",
			   "%llu KiB: registering host memory and queues with devices will fail",
			   (unsigned long long)limit->rlim_cur / 1024);
	else
		doctor_add(doctor, DOCTOR_INFO, "locked memory", NULL, "up to %llu MiB can be registered with devices",
			   (unsigned long long)limit->rlim_cur >> 20);
}

static const char *check_library(struct doctor *doctor, size_t nr)
{
	int ret = doctor->trials && doctor->trials->verbs ? doctor->trials->verbs() : 0;

	if (!ret)
		return NULL;
	doctor_add(doctor, nr ? DOCTOR_WARN : DOCTOR_INFO, "libibverbs",
		   "install libibverbs and its providers (Debian: libibverbs1, ibverbs-providers)",
		   "libibverbs.so.1 cannot be loaded");
	return "libibverbs cannot be loaded";
}

/* Why the library passes a device over; NULL: it does not. */
static const char *objection(const struct doctor_nic *nic, const char *library)
{
	if (library)
		return library;
	if (!*nic->verbs || nic->node_err)
		return "its node cannot be opened";
	if (!nic->active)
		return "port 1 is not active";
	return nic->gid.kind == DOCTOR_GID_NONE ? "it has no address" : NULL;
}

/* Devices that were passed over, and why, as long as there is room. */
struct passed {
	char text[400];
	size_t used;
};

static void pass_over(struct passed *passed, const char *device, const char *why)
{
	int len;

	if (passed->used >= sizeof(passed->text))
		return;
	len = snprintf(passed->text + passed->used, sizeof(passed->text) - passed->used, "%s%s (%s)",
		       passed->used ? ", " : "", device, why);
	passed->used += len > 0 ? (size_t)len : 0;
}

/* Of those of mlx5 that open with DevX. What is against a device is said when provider verbs passes it over as well. */
static const struct doctor_nic *best_of_mlx5(const struct doctor_nic *nics, size_t nr, const char *library)
{
	for (size_t i = 0; i < nr && doctor_nic_may("mlx5"); i++) {
		if (nics[i].mlx5 && !nics[i].devx && !objection(&nics[i], library))
			return &nics[i];
	}
	return NULL;
}

static const struct doctor_nic *best_of_verbs(const struct doctor_nic *nics, size_t nr, const char *library,
					      struct passed *passed)
{
	const char *why;

	for (size_t i = 0; i < nr; i++) {
		why = objection(&nics[i], library);
		if (!why && !doctor_nic_may("verbs"))
			why = doctor_nic_may("mlx5") && nics[i].mlx5 ? "no DevX, and BARLANE_NIC names mlx5" :
								       "BARLANE_NIC names another provider";
		if (!why)
			return &nics[i];
		pass_over(passed, nics[i].name, why);
	}
	return NULL;
}

/* As bl_net_open_best() goes. */
static void choose(struct doctor *doctor, const struct doctor_nic *nics, size_t nr, const char *library)
{
	struct passed passed = {.used = 0};
	const struct doctor_nic *nic = best_of_mlx5(nics, nr, library);

	if (nic) {
		doctor_add(doctor, DOCTOR_OK, "choice", NULL, "%s by provider mlx5: it reads what kernels post",
			   nic->name);
		return;
	}
	nic = best_of_verbs(nics, nr, library, &passed);
	if (nic)
		doctor_add(doctor, DOCTOR_OK, "choice", NULL,
			   "%s by provider verbs: a CPU hands it what kernels post%s%s", nic->name,
			   passed.used ? "; passed over: " : "", passed.text);
	else
		doctor_add(doctor, DOCTOR_INFO, "choice", NULL, "soft0 by provider soft, a NIC of software: %s",
			   passed.used ? passed.text : "there is no RDMA device");
}

void doctor_check_nics(struct doctor *doctor)
{
	static struct doctor_nic nics[DOCTOR_NICS];
	size_t nr = doctor_nics(&doctor->tree, nics, DOCTOR_NICS);
	const char *library = check_library(doctor, nr);
	struct rlimit limit;

	for (size_t i = 0; i < nr; i++)
		doctor_nic_ports(doctor, &nics[i]);
	doctor_nic_ways(doctor, nics, library ? 0 : nr);
	if (nr) {
		doctor_nic_gpus(doctor, nics, nr);
		if (!getrlimit(RLIMIT_MEMLOCK, &limit))
			doctor_nic_locks(doctor, &limit);
	}
	choose(doctor, nics, nr, library);
}
