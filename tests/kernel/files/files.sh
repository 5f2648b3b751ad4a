# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Block devices and file systems of a guest, for the tests of libcufile on them. Sourced, after tap.sh.
#
# The GPU is the emulated one of the process, so its memory is the process' own; file systems, page cache and block layer
# are the kernel's. Drive A is an NVMe drive with sectors of 512 bytes, drive B a virtio drive with sectors of 4096.
export BARLANE_SYSCALLS=/usr/lib/x86_64-linux-gnu/libcuda.so.1 BARLANE_EMU_VRAM=256M BARLANE_LOG=off
export PATH="$PATH:/tests"
# there is no udev: device nodes come from the kernel's devtmpfs, and dmsetup makes its own
export DM_DISABLE_UDEV=1
drive_a=/dev/nvme0n1
drive_b=/dev/vda
at=/tmp/files
mkdir -p $at

# The drivers that a test needs; those that do not load are missed by who uses them.
files_load() {
	while read -r module; do
		insmod "/lib/modules/$module" 2>/dev/null
	done </lib/modules/files
}

# lacks TOOL...: prints what is not there
lacks() {
	for tool; do
		command -v "$tool" >/dev/null || echo "$tool"
	done
}

# files_need TOOL...: ends the test as skipped when one is missing, or libcufile
files_need() {
	missing=$(lacks emu_file_rw layer_bad "$@")
	[ -z "$missing" ] && return
	tap_skip 'file systems' "not there: $(echo $missing)"
	files_end
}

# make_fs TYPE DEVICE FOLDER [OPTION...]: an empty file system, mounted; options are mkfs's
make_fs() {
	type=$1 device=$2 folder=$3
	shift 3
	case $type in
	ext4) mkfs.ext4 -q -F "$@" "$device" ;;
	xfs) mkfs.xfs -q -f "$@" "$device" ;;
	btrfs) mkfs.btrfs -q -f "$@" "$device" ;;
	esac >/tmp/mkfs.out 2>&1 || {
		sed 's/^/# /' /tmp/mkfs.out
		return 1
	}
	mkdir -p "$folder" && mount -t "$type" "$device" "$folder"
}

# free_again FOLDER: it is unmounted. The kernel lets go of the files of an io_uring some time after its process has ended.
free_again() {
	for _ in $(seq 100); do
		umount "$1" 2>/dev/null && return
		sleep 0.1
	done
	umount "$1"
}

# sectors DEVICE: its size in units of 512 bytes, as device-mapper has them
sectors() {
	echo $(($(blockdev --getsize64 "$1") / 512))
}

# A program's results become those of this test: part PREFIX FOLDER COMMAND...
part() {
	part_prefix=$1 part_folder=$2
	shift 2
	part_bad=0
	(cd "$part_folder" && exec "$@") >/tmp/part.out 2>&1 </dev/null
	part_status=$?
	while IFS= read -r part_line; do
		case $part_line in
		'ok '*) tap_result 0 "$part_prefix: ${part_line#* - }" ;;
		'not ok '*)
			part_bad=1
			tap_result 1 "$part_prefix: ${part_line#* - }"
			;;
		1..*) ;;
		'#'*) echo "$part_line" ;;
		*) echo "# $part_line" ;;
		esac
	done </tmp/part.out
	[ $part_status = 0 ] || [ $part_bad = 1 ] || tap_result 1 "$part_prefix: $1 ends well (status $part_status)"
}

# files_end: the plan, when all results are known
files_end() {
	plan "$tap_nr"
	finish
}
