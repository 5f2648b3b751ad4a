#!/bin/bash
# SPDX-License-Identifier: MIT
#
# udev_record.sh - the record of a udev database for one disk, where there is no udev; to be sourced
#
# NVIDIA's libcufile asks udev for the file system of a file's device and refuses the file (5027) when nothing is known.
# A record that exists is left alone; one that was written here goes again with udev_record_remove().

udev_record_file='' udev_record_made=()

# udev_record_write FOLDER: say what a probe of the folder's disk would, that there is a file system, and which
udev_record_write() {
	local dev number name type folder

	dev=$(stat -c %d "$1") || return 1
	number=$((dev >> 8 & 0xfff)):$((dev & 0xff | dev >> 12 & 0xfff00))
	name=/run/udev/data/b$number
	[ ! -e "$name" ] || return 0
	if [ "$(id -u)" != 0 ]; then
		echo 'udev record: writing one needs root' >&2
		return 1
	fi
	type=$(awk -v dev="$number" '$3 == dev { for (i = 7; i < NF; i++) if ($i == "-") { print $(i + 1); exit } }' \
		/proc/self/mountinfo)
	if [ -z "$type" ]; then
		echo "udev record: no mount of device $number" >&2
		return 1
	fi
	# the deepest first, as they are removed
	for folder in /run/udev/data /run/udev; do
		[ -d "$folder" ] || udev_record_made+=("$folder")
	done
	mkdir -p /run/udev/data || return 1
	udev_record_file=$name
	printf 'E:ID_FS_USAGE=filesystem\nE:ID_FS_TYPE=%s\n' "$type" >"$name"
}

udev_record_remove() {
	[ -z "$udev_record_file" ] || rm -f "$udev_record_file"
	[ ${#udev_record_made[@]} = 0 ] || rmdir "${udev_record_made[@]}" 2>/dev/null
	udev_record_file='' udev_record_made=()
}
