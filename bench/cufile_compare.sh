#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cufile_compare.sh - two libcufiles on one machine, case by case in turn, and the ratios between them
#
# usage: bench/cufile_compare.sh [OPTIONS] CUFILE_BW OURS FILE DIRECTORY
#   --theirs PATH   the library to compare with; default: what ldconfig or /usr/local/cuda* has
#   --seconds N     time of one measurement, default 1
#   --rounds N      measurements per case and library, in turn, default 3; the median counts
#   --case PATTERN  only cases of this name, * and ? allowed; may be repeated
#   --size BYTES    of the file, default 1 GiB
#   --udev          root only: write the record of a udev database for the file's disk, which NVIDIA's library wants to
#                   see, and remove it afterwards
#
# CUFILE_BW is the program, OURS the library under test. Results go to DIRECTORY: theirs.csv, ours.csv and bare.csv with
# every measurement, table.txt with the medians. Bare limits are measured in the same turns. The exit status is 1 when a
# measurement failed; a target that was missed is shown, and no failure.
set -u
export LC_ALL=C

die() {
	echo "cufile_compare.sh: $*" >&2
	exit 2
}

theirs='' seconds=1 rounds=3 size=1073741824 udev='' patterns=()
while [ $# -gt 0 ]; do
	case $1 in
	--theirs) theirs=${2-} && shift 2 ;;
	--seconds) seconds=${2-} && shift 2 ;;
	--rounds) rounds=${2-} && shift 2 ;;
	--case) patterns+=("${2-}") && shift 2 ;;
	--size) size=${2-} && shift 2 ;;
	--udev) udev=1 && shift ;;
	-*) die "unknown option $1" ;;
	*) break ;;
	esac || die 'an option lacks its value'
done
[ $# = 4 ] || die 'usage: cufile_compare.sh [OPTIONS] CUFILE_BW OURS FILE DIRECTORY'
program=$1 ours=$2 file=$3 dir=$4
[ -x "$program" ] || die "$program: no such program"
[ -r "$ours" ] || die "$ours: no such library"
[[ $rounds =~ ^[1-9][0-9]?$ ]] || die "--rounds $rounds: not a number from 1 to 99"
mkdir -p "$dir" || exit 2
dir=$(realpath "$dir")

find_theirs() {
	local found

	found=$(ldconfig -p 2>/dev/null | sed -n 's/^\tlibcufile\.so\.0 .* => //p' | head -n 1)
	[ -n "$found" ] || found=$(find /usr/local/cuda*/ -name 'libcufile.so.0' 2>/dev/null | head -n 1)
	echo "$found"
}
[ -n "$theirs" ] || theirs=$(find_theirs)
[ -n "$theirs" ] || die 'no libcufile.so.0 to compare with: name it with --theirs'
[ -r "$theirs" ] || die "$theirs: no such library"

# shellcheck source=bench/udev_record.sh
. "$(dirname "$(realpath "$0")")/udev_record.sh"
trap udev_record_remove EXIT
trap 'exit 130' INT TERM
if [ -n "$udev" ]; then
	udev_record_write "$(dirname "$file")" || exit 2
fi

# wanted NAME: whether a case was asked for
wanted() {
	local pattern

	[ ${#patterns[@]} -gt 0 ] || return 0
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $1 == $pattern ]] && return 0
	done
	return 1
}

failures=0
# measure WHICH CASE [LIBRARY]: rows to WHICH.csv; where a library leaves its log is not this folder
measure() {
	local lib=()

	[ $# -lt 3 ] || lib=(--lib "$3")
	(cd "$dir/log" && CUFILE_LOGFILE_PATH=$dir/log/$1.log timeout 300 "$program" "${lib[@]}" --file "$file" \
		--case "$2" --seconds "$seconds" --size "$size") >"$dir/log/$1.out" 2>"$dir/log/$1.err" || {
		failures=$((failures + 1))
		echo "FAILED: $1 $2: $(tail -n 1 "$dir/log/$1.err")"
	}
	grep '^#' "$dir/log/$1.out" >"$dir/log/$1.head"
	grep -v '^#\|^case,' "$dir/log/$1.out" >>"$dir/$1.csv"
}

program=$(realpath "$program") file=$(realpath "$file") ours=$(realpath "$ours")
case $theirs in */*) theirs=$(realpath "$theirs") ;; esac
mkdir -p "$dir/log" || exit 2
: >"$dir/theirs.csv" && : >"$dir/ours.csv" && : >"$dir/bare.csv" || exit 2
list=$("$program" --list) || exit 2
for name in $list; do
	wanted "$name" || continue
	case $name in host-* | copy-*) continue ;; esac
	for ((round = 0; round < rounds; round++)); do
		measure theirs "$name" "$theirs"
		measure ours "$name" "$ours"
		case $name in read-* | write-*) measure bare "host-$name" ;; esac
	done
done
for name in $list; do
	case $name in copy-*) ;; *) continue ;; esac
	wanted "$name" || continue
	for ((round = 0; round < rounds; round++)); do
		measure bare "$name"
	done
done

{
	cat "$dir/log/theirs.head" "$dir/log/ours.head"
	awk -F, -v bare="$dir/bare.csv" -v theirs="$dir/theirs.csv" -v ours="$dir/ours.csv" \
		-f "$(dirname "$(realpath "$0")")/cufile_compare.awk"
} | tee "$dir/table.txt"
echo "results are in $dir; $failures failed"
[ "$failures" = 0 ]
