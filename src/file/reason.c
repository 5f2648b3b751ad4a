// SPDX-License-Identifier: MIT
#include "reason.h"

#include <pthread.h>
#include <string.h>

#define MAX_REASONS 64

const char *bl_reason_keep(const char *text)
{
	static pthread_mutex_t keep_lock = PTHREAD_MUTEX_INITIALIZER;
	static char *kept[MAX_REASONS];
	const char *found = "it does not serve this file: barlane doctor says why";

	pthread_mutex_lock(&keep_lock);
	for (int i = 0; i < MAX_REASONS; i++) {
		if (!kept[i])
			kept[i] = strdup(text);
		if (!kept[i])
			break;
		if (!strcmp(kept[i], text)) {
			found = kept[i];
			break;
		}
	}
	pthread_mutex_unlock(&keep_lock);
	return found;
}
