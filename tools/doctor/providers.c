// SPDX-License-Identifier: MIT
/* Providers as they stand, before any of them is tried. */
#include <stdlib.h>

#include "barlane.h"
#include "common/error.h"
#include "doctor/doctor.h"

void doctor_check_providers(struct doctor *doctor)
{
	size_t nr = bl_provider_list(NULL, 0), usable = 0;
	struct bl_provider_info *infos = calloc(nr ? nr : 1, sizeof(*infos));
	char version[32];

	if (!infos)
		tool_die("out of memory");
	bl_provider_list(infos, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct bl_provider_info *info = &infos[i];

		usable += info->usable != 0;
		snprintf(version, sizeof(version), "%u.%u", info->major, info->minor);
		doctor_add(doctor, info->usable ? DOCTOR_OK : DOCTOR_INFO, info->name, NULL, "%s (%s): %s",
			   info->usable ? "yes" : "no", info->major || info->minor ? version : "no version",
			   info->reason);
	}
	if (!usable)
		doctor_add(doctor, DOCTOR_FAIL, "any", "see to the failing lines of driver and node first",
			   "no provider can serve: GPU memory cannot be mapped");
	free(infos);
}
