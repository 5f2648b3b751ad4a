// SPDX-License-Identifier: MIT
/* By itself, so that programs that only look do not need libnuma. */
#include "common/numa.h"

#include <errno.h>
#include <string.h>
#ifdef HAVE_NUMA
#include <numa.h>
#endif

#include "common/error.h"

#ifdef HAVE_NUMA
int tool_numa_bind(int node)
{
	if (numa_available() < 0)
		return tool_fail(EOPNOTSUPP, "bind to NUMA node %d: the kernel has no NUMA support", node);
	if (numa_run_on_node(node))
		return tool_fail(EINVAL, "bind to NUMA node %d: %s (no processor of it is allowed?)", node,
				 strerror(errno));
	numa_set_preferred(node);
	return 0;
}
#else
int tool_numa_bind(int node)
{
	return tool_fail(EOPNOTSUPP, "bind to NUMA node %d: built without libnuma; use numactl -N %d -m %d", node, node,
			 node);
}
#endif
