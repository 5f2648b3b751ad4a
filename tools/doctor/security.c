// SPDX-License-Identifier: MIT
/* Kernel lockdown and secure boot: no hindrance to provider rm, but to modules that are not signed. */
#include "doctor/security.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor/doctor.h"

#define LOCKDOWN    "/sys/kernel/security/lockdown"
#define SIG_ENFORCE "/sys/module/module/parameters/sig_enforce"
#define SECURE_BOOT "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

int doctor_lockdown_parse(const char *text, char *mode, size_t size)
{
	const char *start = strchr(text, '['), *end;

	mode[0] = '\0';
	if (!start)
		return -EINVAL;
	start++;
	end = strchr(start, ']');
	if (!end || end == start || (size_t)(end - start) >= size)
		return -EINVAL;
	memcpy(mode, start, (size_t)(end - start));
	mode[end - start] = '\0';
	return 0;
}

int doctor_secure_boot_parse(const uint8_t *bytes, size_t len)
{
	return len == 5 && bytes[4] <= 1 ? bytes[4] : -EINVAL;
}

/* 1 on, 0 off, -EINVAL not to be understood, or another -errno. */
static int read_secure_boot(const struct tool_tree *tree)
{
	uint8_t bytes[16];
	int len = tool_tree_bytes(tree, bytes, sizeof(bytes), SECURE_BOOT);

	return len < 0 ? len : doctor_secure_boot_parse(bytes, (size_t)len);
}

enum doctor_signing doctor_signing(const struct tool_tree *tree, char *why, size_t size)
{
	char text[128], mode[32];

	why[0] = '\0';
	if (tool_tree_read(tree, text, sizeof(text), SIG_ENFORCE) > 0 && !strcmp(text, "Y")) {
		snprintf(why, size, "kernel parameter module.sig_enforce");
		return DOCTOR_SIGNING_FORCED;
	}
	if (tool_tree_read(tree, text, sizeof(text), LOCKDOWN) > 0 &&
	    !doctor_lockdown_parse(text, mode, sizeof(mode))) {
		if (!strcmp(mode, "none"))
			return DOCTOR_SIGNING_FREE;
		snprintf(why, size, "kernel lockdown (%s)", mode);
		return DOCTOR_SIGNING_FORCED;
	}
	if (read_secure_boot(tree) != 1)
		return DOCTOR_SIGNING_FREE;
	snprintf(why, size, "Secure Boot");
	return DOCTOR_SIGNING_UNSURE;
}

void doctor_check_security(struct doctor *doctor)
{
	char text[128], mode[32];
	int on;

	if (tool_tree_read(&doctor->tree, text, sizeof(text), LOCKDOWN) < 0)
		doctor_add(doctor, DOCTOR_INFO, "lockdown", NULL,
			   "not shown here (no lockdown, or securityfs is hidden)");
	else if (doctor_lockdown_parse(text, mode, sizeof(mode)))
		doctor_add(doctor, DOCTOR_INFO, "lockdown", NULL, "cannot be understood: \"%s\"", text);
	else
		doctor_add(doctor, DOCTOR_INFO, "lockdown", NULL, "%s%s", mode,
			   strcmp(mode, "none") ? ": kernel modules must be signed; provider rm needs none" : "");
	on = read_secure_boot(&doctor->tree);
	doctor_add(doctor, DOCTOR_INFO, "secure boot", NULL, "%s",
		   on == -EINVAL ? "the firmware's answer cannot be understood"
		   : on < 0	 ? "not shown here (no EFI, or it is hidden)"
		   : on		 ? "on: kernel modules must be signed (mokutil --import); provider rm needs none"
				 : "off");
	if (tool_tree_read(&doctor->tree, text, sizeof(text), SIG_ENFORCE) > 0)
		doctor_add(doctor, DOCTOR_INFO, "sig_enforce", NULL, "%s",
			   !strcmp(text, "Y")	? "on: kernel modules must be signed; provider rm needs none"
			   : !strcmp(text, "N") ? "off"
						: "cannot be understood");
}
