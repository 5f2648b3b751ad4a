// SPDX-License-Identifier: MIT
/* file_quota DEVICE UID KIB: no more than that for a user's files on a mounted file system. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/quota.h>

int main(int argc, char **argv)
{
	struct dqblk limits = { 0 };

	if (argc != 4) {
		fprintf(stderr, "usage: file_quota DEVICE UID KIB\n");
		return 2;
	}
	limits.dqb_bhardlimit = strtoull(argv[3], NULL, 0);
	limits.dqb_bsoftlimit = limits.dqb_bhardlimit;
	limits.dqb_valid = QIF_BLIMITS;
	/* usage is counted since it was mounted; limits are what has to be turned on */
	if (quotactl(QCMD(Q_QUOTAON, USRQUOTA), argv[1], 0, NULL) && errno != EBUSY && errno != EEXIST) {
		fprintf(stderr, "file_quota: %s: quotas cannot be turned on: %s\n", argv[1], strerror(errno));
		return 1;
	}
	if (quotactl(QCMD(Q_SETQUOTA, USRQUOTA), argv[1], atoi(argv[2]), (void *)&limits)) {
		fprintf(stderr, "file_quota: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	return 0;
}
