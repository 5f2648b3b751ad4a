# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Device "lab" of device-mapper over drive A, whose table tests change. Sourced, after files.sh, whose drive_a it uses.
lab=/dev/mapper/lab

# lab_table good | bad SECTOR | WORDS: a table that covers the drive: all of it linear; but for 128 sectors; another target,
# "flakey DRIVE 0 WORDS"
lab_table() {
	size=$(sectors "$drive_a")
	case $1 in
	good) echo "0 $size linear $drive_a 0" ;;
	bad)
		echo "0 $2 linear $drive_a 0"
		echo "$2 128 error"
		echo "$(($2 + 128)) $((size - $2 - 128)) linear $drive_a $(($2 + 128))"
		;;
	*)
		target=$1
		shift
		echo "0 $size $target $drive_a 0 $*"
		;;
	esac
}

lab_make() {
	lab_table "$@" | dmsetup create lab
}

# From now on; what is under way ends first.
lab_change() {
	lab_table "$@" | dmsetup reload lab && dmsetup suspend lab && dmsetup resume lab
}

lab_remove() {
	dmsetup remove --retry lab
}

drop_caches() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
}
