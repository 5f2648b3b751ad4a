// SPDX-License-Identifier: MIT
/* Kernel module gdrdrv while it is not loaded: whether there is one to load, and what would keep it out. */
#include <errno.h>
#include <string.h>

#include "doctor/dkms.h"
#include "doctor/doctor.h"
#include "doctor/modfile.h"
#include "doctor/module.h"
#include "doctor/security.h"

/* Enough for every release; one that does not fit names no directory. */
#define RELEASE_SIZE 128

static bool provider_serves(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->nr; i++) {
		if (!strcmp(doctor->rows[i].check, "provider") && doctor->rows[i].status == DOCTOR_OK)
			return true;
	}
	return false;
}

static void add_unsigned(struct doctor *doctor, const char *path)
{
	enum doctor_signing signing;
	char why[64];

	signing = doctor_signing(&doctor->tree, why, sizeof(why));
	if (signing == DOCTOR_SIGNING_FREE)
		doctor_add(doctor, DOCTOR_INFO, "gdrdrv", "modprobe gdrdrv, if provider gdrdrv is wanted",
			   "not loaded; %s is not signed, and nothing asks for that", path);
	else
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv",
			   "sign it with a key that mokutil --import enrolled (docs/troubleshooting.md, \"A module "
			   "does not load\"), or do without",
			   "not loaded; %s is not signed, and %s %s", path, why,
			   signing == DOCTOR_SIGNING_FORCED ? "keeps unsigned modules out"
							    : "may keep unsigned modules out");
}

static void add_file(struct doctor *doctor, const struct doctor_modfile *file)
{
	if (file->err == -EINVAL) {
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv", "install or build it again, then depmod",
			   "not loaded; %s is no kernel module", file->path);
		return;
	}
	if (file->err) {
		doctor_add(doctor, DOCTOR_INFO, "gdrdrv", "run as root to see whether it is signed",
			   "not loaded; %s cannot be read: %s", file->path, strerror(-file->err));
		return;
	}
	switch (file->signature) {
	case DOCTOR_SIGNATURE_NONE:
		add_unsigned(doctor, file->path);
		break;
	case DOCTOR_SIGNATURE_BAD:
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv", "install, or build and sign it again",
			   "not loaded; the signature of %s is damaged", file->path);
		break;
	case DOCTOR_SIGNATURE_THERE:
		doctor_add(doctor, DOCTOR_INFO, "gdrdrv",
			   "modprobe gdrdrv, if provider gdrdrv is wanted; should its key be rejected, mokutil "
			   "--import it",
			   "not loaded; %s is signed", file->path);
		break;
	case DOCTOR_SIGNATURE_UNSEEN:
		doctor_add(doctor, DOCTOR_INFO, "gdrdrv",
			   "modprobe gdrdrv, if provider gdrdrv is wanted; modinfo -F signer gdrdrv names who signed "
			   "it",
			   "not loaded; %s is compressed, its signature was not looked at", file->path);
		break;
	}
}

/* Whether DKMS was to have made a module for this kernel. */
static bool add_dkms(struct doctor *doctor, const char *release)
{
	/* ours, then GDRCopy's */
	static const char *const names[] = {"barlane-gdrdrv", "gdrdrv"};
	char cure[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		switch (doctor_dkms_state(&doctor->tree, names[i], release)) {
		case DOCTOR_DKMS_ABSENT:
			continue;
		case DOCTOR_DKMS_ADDED:
			snprintf(cure, sizeof(cure), "install the headers of kernel %s, then dkms autoinstall",
				 release);
			doctor_add(doctor, DOCTOR_WARN, "dkms", cure, "%s is not built for kernel %s", names[i],
				   release);
			return true;
		case DOCTOR_DKMS_FAILED:
			snprintf(cure, sizeof(cure),
				 "install the headers of kernel %s, then dkms autoinstall; the log is "
				 "/var/lib/dkms/%s/*/build/make.log",
				 release, names[i]);
			doctor_add(doctor, DOCTOR_WARN, "dkms", cure, "%s is not built for kernel %s: a build failed",
				   names[i], release);
			return true;
		case DOCTOR_DKMS_BUILT:
			doctor_add(doctor, DOCTOR_WARN, "dkms", "dkms autoinstall",
				   "%s is built for kernel %s, but not installed", names[i], release);
			return true;
		case DOCTOR_DKMS_INSTALLED:
			doctor_add(doctor, DOCTOR_WARN, "dkms", "dkms install --force, or dkms autoinstall",
				   "%s counts as installed for kernel %s, but its file is not there", names[i],
				   release);
			return true;
		}
	}
	return false;
}

void doctor_module_absent(struct doctor *doctor)
{
	struct doctor_modfile file;
	char release[RELEASE_SIZE];

	if (tool_tree_read(&doctor->tree, release, sizeof(release), "/proc/sys/kernel/osrelease") <= 0 ||
	    strchr(release, '/') || *release == '.') {
		doctor_add(doctor, DOCTOR_INFO, "gdrdrv", NULL,
			   "not loaded; which kernel runs cannot be read, nor whether there is a module for it");
		return;
	}
	if (!doctor_modfile_find(&doctor->tree, release, &file))
		add_file(doctor, &file);
	else if (add_dkms(doctor, release))
		return;
	else if (provider_serves(doctor))
		doctor_add(doctor, DOCTOR_INFO, "gdrdrv", NULL,
			   "not loaded, none found for kernel %s; only provider gdrdrv needs it", release);
	else
		doctor_add(doctor, DOCTOR_WARN, "gdrdrv",
			   "make provider rm work first (checks driver and node); else build and load gdrdrv on the "
			   "machine itself",
			   "not loaded, none found for kernel %s, and no provider serves", release);
}

void doctor_check_module(struct doctor *doctor)
{
	if (doctor->standin)
		doctor_add(doctor, DOCTOR_INFO, "gdrdrv", NULL,
			   "system calls go to \"%s\": no module of this machine is asked", doctor->standin);
	else if (doctor_module_loaded(&doctor->tree))
		doctor_module_live(doctor);
	else
		doctor_module_absent(doctor);
}
