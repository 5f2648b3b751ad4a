// SPDX-License-Identifier: MIT
#include "rm_abi.h"

#include <stdlib.h>

#define YES true
#define NO  false

/* clang-format off */
static const struct rm_abi branches[] = {
	/*     NVOS21  NVOS64    root  export        page  probed  FB     static exact query dup    wait  split bytes
	 * major status size st. params info  dmabuf size  ids     info   BAR1   mmap  dup   vers.  open  maps       */
	{ 515, 24,     40, 32,   108,  76,   2600,   4,    256,    436,   0,     NO,   NO,   NO,    NO,   NO,   NO  },
	{ 520, 24,     40, 32,   108,  76,   2600,   4,    256,    436,   0,     NO,   NO,   NO,    NO,   NO,   NO  },
	{ 525, 24,     40, 36,   108,  76,   2600,   4,    256,    436,   0,     YES,  YES,  NO,    NO,   NO,   NO  },
	{ 530, 24,     40, 36,   108,  76,   2600,   4,    256,    436,   0,     YES,  YES,  YES,   NO,   NO,   NO  },
	{ 535, 28,     48, 40,   108,  76,   2600,   8,    256,    436,   0,     YES,  YES,  YES,   NO,   NO,   NO  },
	{ 545, 28,     48, 40,   108,  80,   2600,   8,    256,    444,   0,     YES,  YES,  YES,   NO,   NO,   NO  },
	{ 550, 28,     48, 40,   108,  80,   2600,   8,    256,    444,   0,     YES,  YES,  YES,   YES,  NO,   NO  },
	{ 555, 28,     48, 40,   108,  80,   2600,   8,    256,    444,   0,     YES,  YES,  YES,   YES,  NO,   NO  },
	{ 560, 28,     48, 40,   108,  80,   2600,   8,    256,    460,   0,     YES,  YES,  YES,   YES,  NO,   NO  },
	{ 565, 28,     48, 40,   108,  80,   2600,   8,    256,    460,   16,    YES,  YES,  YES,   YES,  YES,  NO  },
	{ 570, 28,     48, 40,   120,  80,   2608,   8,    256,    460,   24,    YES,  YES,  YES,   YES,  YES,  NO  },
	{ 575, 28,     48, 40,   120,  80,   2608,   8,    256,    460,   24,    YES,  YES,  YES,   YES,  YES,  NO  },
	{ 580, 28,     48, 40,   120,  80,   2608,   8,    384,    1028,  24,    YES,  YES,  YES,   YES,  YES,  YES },
	{ 590, 28,     48, 40,   120,  80,   2608,   8,    384,    1028,  24,    YES,  YES,  YES,   YES,  YES,  YES },
	{ 595, 28,     48, 40,   120,  80,   2608,   8,    384,    1028,  24,    YES,  YES,  YES,   YES,  YES,  YES },
};
/* clang-format on */

#define NR_BRANCHES (sizeof(branches) / sizeof(branches[0]))

const struct rm_abi *rm_abi_find(const char *version)
{
	char *end;
	unsigned long major = strtoul(version, &end, 10);
	const struct rm_abi *found = &branches[0];

	if (end == version || *end != '.')
		return &branches[NR_BRANCHES - 1];
	for (size_t i = 0; i < NR_BRANCHES && branches[i].major <= major; i++)
		found = &branches[i];
	return found;
}
