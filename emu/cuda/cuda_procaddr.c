// SPDX-License-Identifier: MIT
#include <string.h>

#include "api.h"
#include "env.h"
#include "state.h"

enum { FOUND = 0, NO_SYMBOL = 1, VERSION_TOO_OLD = 2 };

static const struct {
	int since;
	const char *name;
	void (*fn)(void);
} entries[] = {
#define ENTRY(since, name, symbol, params) { since, name, (void (*)(void))symbol },
	EMU_API_ALL(ENTRY)
};

static int look_up(const char *name, int version, void **fn)
{
	int best = 0, status = NO_SYMBOL;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (strcmp(entries[i].name, name))
			continue;
		if (status == NO_SYMBOL)
			status = VERSION_TOO_OLD;
		if (entries[i].since > version || entries[i].since < best)
			continue;
		best = entries[i].since;
		memcpy(fn, &entries[i].fn, sizeof(*fn));
		status = FOUND;
	}
	return status;
}

static int arguments_ok(const char *name, void **fn, int version, cuuint64_t flags)
{
	return name && fn && flags <= 2 && version <= emu_env()->cuda_version;
}

/* A symbol that is not there is no error here: *fn is NULL then, and *status says why. */
CUresult cuGetProcAddress_v2(const char *name, void **fn, int version, cuuint64_t flags, int *status)
{
	void *found = NULL;
	int how;

	emu_enter();
	if (!arguments_ok(name, fn, version, flags))
		return CUDA_ERROR_INVALID_VALUE;
	how = look_up(name, version, &found);
	*fn = found;
	if (status)
		*status = how;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **fn, int version, cuuint64_t flags)
{
	emu_enter();
	if (!arguments_ok(name, fn, version, flags))
		return CUDA_ERROR_INVALID_VALUE;
	return look_up(name, version, fn) == FOUND ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
