#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cufile_compare.sh - two libcufiles on one machine, case by case in turn, and the ratios between them
#
# usage: bench/cufile_compare.sh [OPTIONS] CUFILE_BW OURS FILE DIRECTORY
#   --theirs PATH   the library to compare with; default: what ldconfig or /usr/local/cuda* has
#   --seconds N     time of one measurement, default 1, with --pairs 0.03
#   --rounds N      measurements per case and library, in turn, default 3, each in a process of its own
#   --pairs N       instead: one process for each library and one for the bare limits, all of which keep a case open and
#                   measure it in turn, N times each, the order reversed each time. What drifts meets all alike
#   --case PATTERN  only cases of this name, * and ? allowed; may be repeated
#   --size BYTES    of the file, default 1 GiB
#   --udev          root only: write the record of a udev database for the file's disk, which NVIDIA's library wants to
#                   see, and remove it afterwards
#
# CUFILE_BW is the program, OURS the library under test. Results go to DIRECTORY: theirs.csv, ours.csv and bare.csv with
# every measurement, table.txt with the medians. Bare limits are measured in the same turns. Ratios, and what is reached of a
# target, are those of measurements that followed each other: the median of them counts, and half of them lie between the two
# figures beside it. The exit status is 1 when a measurement failed; a target that was missed is shown, and no failure.
set -u
export LC_ALL=C

die() {
	echo "cufile_compare.sh: $*" >&2
	exit 2
}

theirs='' seconds='' rounds=3 pairs=0 size=1073741824 udev='' patterns=()
while [ $# -gt 0 ]; do
	case $1 in
	--theirs) theirs=${2-} && shift 2 ;;
	--seconds) seconds=${2-} && shift 2 ;;
	--rounds) rounds=${2-} && shift 2 ;;
	--pairs) pairs=${2-} && shift 2 ;;
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
[[ $pairs =~ ^[0-9]{1,2}$ ]] || die "--pairs $pairs: not a number from 1 to 99"
[ -n "$seconds" ] || { [ "$pairs" = 0 ] && seconds=1 || seconds=0.03; }
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
# shellcheck source=bench/cufile_pairs.sh
. "$(dirname "$(realpath "$0")")/cufile_pairs.sh"
trap 'pairs_kill; udev_record_remove' EXIT
trap 'exit 130' INT TERM
# a process that has died is noticed when it does not answer
trap : PIPE
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
# failed WHICH CASE
failed() {
	failures=$((failures + 1))
	echo "FAILED: $1 $2: $(tail -n 1 "$dir/log/$1.err")"
}

# measure WHICH CASE [LIBRARY [REPETITIONS]]: rows to WHICH.csv; where a library leaves its log is not this folder
measure() {
	local lib=()

	[ $# -lt 3 ] || lib=(--lib "$3")
	(cd "$dir/log" && CUFILE_LOGFILE_PATH=$dir/log/$1.log timeout 300 "$program" "${lib[@]}" --file "$file" \
		--case "$2" --seconds "$seconds" --size "$size" --reps "${4-5}") >"$dir/log/$1.out" 2>"$dir/log/$1.err" ||
		failed "$1" "$2"
	grep '^#' "$dir/log/$1.out" >"$dir/log/$1.head"
	grep -v '^#\|^case,' "$dir/log/$1.out" >>"$dir/$1.csv"
}

program=$(realpath "$program") file=$(realpath "$file") ours=$(realpath "$ours")
case $theirs in */*) theirs=$(realpath "$theirs") ;; esac
mkdir -p "$dir/log" || exit 2
: >"$dir/theirs.csv" && : >"$dir/ours.csv" && : >"$dir/bare.csv" || exit 2
list=$("$program" --list) || exit 2

in_rounds() {
	local name round

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
}

# First calls want a process each, and come first: they are few.
in_pairs() {
	local name round

	for ((round = 0; round < pairs && round < 3; round++)); do
		wanted first || break
		measure theirs first "$theirs" 1
		measure ours first "$ours" 1
	done
	for name in $list; do
		case $name in host-* | first) continue ;; esac
		wanted "$name" || continue
		case $name in
		copy-*) pairs_measure "$name" bare ;;
		read-* | write-*) pairs_measure "$name" theirs ours bare ;;
		*) pairs_measure "$name" theirs ours ;;
		esac
	done
	pairs_quit
}

if [ "$pairs" = 0 ]; then in_rounds; else in_pairs; fi

{
	cat "$dir/log/theirs.head" "$dir/log/ours.head"
	awk -F, -v bare="$dir/bare.csv" -v theirs="$dir/theirs.csv" -v ours="$dir/ours.csv" \
		-f "$(dirname "$(realpath "$0")")/cufile_compare.awk"
} | tee "$dir/table.txt"
echo "results are in $dir; $failures failed"
[ "$failures" = 0 ]
