#!/bin/bash
# SPDX-License-Identifier: MIT
# What pins and mappings cost through gdrdrv, measured by gdrdrv_lat in one guest with a card of 8 GiB. docs/kernel-module.md
# has results; times of an emulated machine compare with nothing but one another.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
options=()
rounds=2000
persistent=1

usage() {
	cat <<-'EOT'
	usage: bench/gdrdrv.sh [--rounds N] [--persistent 0|1] [OPTION OF scripts/guest]...

	--rounds      of the smallest size; default 2000
	--persistent  parameter use_persistent_mapping of the module; default 1
	Exit status 1 when a limit is missed or the guest failed.
	EOT
}

while [ $# -gt 0 ]; do
	case $1 in
	--rounds | --persistent)
		[[ ${2-} =~ ^[0-9]+$ ]] || {
			printf 'gdrdrv.sh: %s needs a number\n' "$1" >&2
			exit 1
		}
		case $1 in
		--rounds) rounds=$2 ;;
		--persistent) persistent=$2 ;;
		esac
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

# memory that goes back is not filled with a pattern, which would take longer than all the rest
command="
export BARLANE_SYSCALLS=/usr/lib/x86_64-linux-gnu/libcuda.so.1 BARLANE_EMU_CARD=1 BARLANE_PROVIDER=gdrdrv
insmod /modules/bl_card.ko && insmod /modules/gdrdrv.ko use_persistent_mapping=$persistent || exit 1
echo 0 >/sys/kernel/debug/bl_card/poison_max_mib
echo \"# clock: \$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource); persistent pins: $persistent\"
/bench/gdrdrv_lat $rounds"
BARLANE_CARD_SIZE=${BARLANE_CARD_SIZE:-8G} exec "$root/scripts/guest" --deadline 600 "${options[@]}" -c "$command"
