// SPDX-License-Identifier: MIT
/* Devices of mlx5: which way down from doorbells of the GPU the library would go with each, and why. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor.h"
#include "doctor/nic.h"
#include "doctor/storage.h"

#define NEVER_RUN "; this provider has never run on hardware, BARLANE_NIC=verbs leaves it out"

static const char *forced_provider(void)
{
	const char *name = getenv("BARLANE_NIC");

	return name && *name ? name : NULL;
}

bool doctor_nic_may(const char *provider)
{
	const char *forced = forced_provider();

	return !forced || !strcmp(forced, provider);
}

static void say_who_rings(struct doctor *doctor, const struct doctor_nic *nic)
{
	char params[4096];

	if (tool_tree_read(&doctor->tree, params, sizeof(params), "/proc/driver/nvidia/params") <= 0)
		doctor_add(doctor, DOCTOR_INFO, nic->name, NULL,
			   "by provider mlx5; whether a GPU rings its doorbell or a CPU is not known without NVIDIA's "
			   "driver" NEVER_RUN);
	else if (strstr(params, "PeerMappingOverride=1"))
		doctor_add(doctor, DOCTOR_INFO, nic->name, NULL,
			   "by provider mlx5, and GPUs ring its doorbell: they may map it "
			   "(PeerMappingOverride=1)" NEVER_RUN);
	else
		doctor_add(doctor, DOCTOR_INFO, nic->name,
			   "option NVreg_RegistryDwords=\"PeerMappingOverride=1;\" of module nvidia",
			   "by provider mlx5, and a CPU rings its doorbell where the driver keeps GPUs from mapping "
			   "it" NEVER_RUN);
}

static const char *cure_of(int err)
{
	switch (err) {
	case ENOENT:
		return "install libmlx5 (Debian: ibverbs-providers)";
	case EPERM:
	case EACCES:
		return "CAP_NET_RAW, and /dev/infiniband that this user may open; in a container --cap-add NET_RAW "
		       "--device /dev/infiniband";
	default:
		return "a driver, firmware and libmlx5 that have DevX";
	}
}

static void look_at(struct doctor *doctor, struct doctor_nic *nic)
{
	nic->devx = doctor->trials && doctor->trials->devx ? doctor->trials->devx(nic->name) : -EOPNOTSUPP;
	if (!nic->devx)
		say_who_rings(doctor, nic);
	else
		doctor_add(doctor, DOCTOR_INFO, nic->name, cure_of(-nic->devx), "%s: %s%s",
			   doctor_nic_may("verbs") ? "by provider verbs, through a CPU"
						   : "not served, as BARLANE_NIC names mlx5",
			   nic->devx == -ENOENT ? "libmlx5.so.1 cannot be loaded" : "it does not open with DevX: ",
			   nic->devx == -ENOENT ? "" : strerror(-nic->devx));
}

void doctor_nic_ways(struct doctor *doctor, struct doctor_nic *nics, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		nics[i].devx = -EOPNOTSUPP;
		if (!nics[i].mlx5 || !*nics[i].verbs || nics[i].node_err)
			continue;
		if (doctor_nic_may("mlx5"))
			look_at(doctor, &nics[i]);
		else
			doctor_add(doctor, DOCTOR_INFO, nics[i].name, NULL,
				   "not by provider mlx5: BARLANE_NIC names %s", forced_provider());
	}
}
