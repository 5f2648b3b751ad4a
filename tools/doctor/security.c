// SPDX-License-Identifier: MIT
/* Kernel lockdown and secure boot: no hindrance to provider rm, but to modules that are not signed. */
#include "doctor/security.h"

#include <errno.h>
#include <string.h>

#include "doctor/doctor.h"

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

void doctor_check_security(struct doctor *doctor)
{
	char text[128], mode[32];
	uint8_t bytes[16];
	int len, on;

	if (tool_tree_read(&doctor->tree, text, sizeof(text), "/sys/kernel/security/lockdown") < 0)
		doctor_add(doctor, DOCTOR_INFO, "lockdown", NULL,
			   "not shown here (no lockdown, or securityfs is hidden)");
	else if (doctor_lockdown_parse(text, mode, sizeof(mode)))
		doctor_add(doctor, DOCTOR_INFO, "lockdown", NULL, "cannot be understood: \"%s\"", text);
	else
		doctor_add(doctor, DOCTOR_INFO, "lockdown", NULL, "%s%s", mode,
			   strcmp(mode, "none") ? ": kernel modules must be signed; provider rm needs none" : "");
	len = tool_tree_bytes(&doctor->tree, bytes, sizeof(bytes), SECURE_BOOT);
	on = len < 0 ? -EINVAL : doctor_secure_boot_parse(bytes, (size_t)len);
	doctor_add(doctor, DOCTOR_INFO, "secure boot", NULL, "%s",
		   len < 0  ? "not shown here (no EFI, or it is hidden)"
		   : on < 0 ? "the firmware's answer cannot be understood"
		   : on	    ? "on: kernel modules must be signed (mokutil --import); provider rm needs none"
			    : "off");
}
