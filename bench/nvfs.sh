#!/bin/bash
# SPDX-License-Identifier: MIT
# What nvidia-fs.ko takes of the CPU and of memory, measured by nvfs_cost in one guest with a card of 8 GiB and a drive.
# docs/nvidia-fs.md has results; times of an emulated machine compare with nothing but one another.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
options=()
rounds=60
only=

usage() {
	cat <<-'EOT'
	usage: bench/nvfs.sh [--rounds N] [--only NAME] [OPTION OF scripts/guest]...

	--rounds  of 32 MiB, for each size of reads; default 60
	--only    maps, allocs, memory or cpu: one measurement instead of all
	Exit status 1 when a limit is missed or the guest failed.
	EOT
}

while [ $# -gt 0 ]; do
	case $1 in
	--rounds)
		[[ ${2-} =~ ^[0-9]+$ ]] || {
			printf 'nvfs.sh: %s needs a number\n' "$1" >&2
			exit 1
		}
		rounds=$2
		shift
		;;
	--only)
		[[ ${2-} =~ ^(maps|allocs|memory|cpu)$ ]] || {
			printf 'nvfs.sh: %s needs the name of a measurement\n' "$1" >&2
			exit 1
		}
		only=$2
		shift
		;;
	--help | -h)
		usage
		exit 0
		;;
	*) options+=("$1") ;;
	esac
	shift
done

# memory that goes back is not filled with a pattern, which would take longer than all the rest; and the drive's file gets
# its blocks, so that reads of it are alike
command="
insmod /modules/bl_card.ko && rmmod nvme && insmod /modules/nvme-nvfs.ko && insmod /modules/nvidia-fs.ko || exit 1
echo 0 >/sys/kernel/debug/bl_card/poison_max_mib
for i in \$(seq 100); do
	[ -b /dev/nvme0n1 ] && break
	sleep 0.1
done
dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=300 oflag=direct 2>/dev/null
echo \"# clock: \$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)\"
/bench/nvfs_cost $rounds $only"
BARLANE_CARD_SIZE=${BARLANE_CARD_SIZE:-8G} exec "$root/scripts/guest" --deadline 600 "${options[@]}" -c "$command"
