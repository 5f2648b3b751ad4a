#!/bin/bash
# SPDX-License-Identifier: MIT
#
# cufile_tune.sh - this project's libcufile with other numbers than those of src/file/tune.h, case by case
#
# usage: bench/cufile_tune.sh [--seconds N] [--rounds N] CUFILE_BW LIBCUFILE FILE [SUBJECT]...
#
# CUFILE_BW is the program of that name, LIBCUFILE the library, FILE a file on the file system in question. A subject is
# one of those below, default all. Each prints its settings by case: the first is the default, which each is to be compared
# with, since all of them are measured in turn, --rounds times (3), and the median is shown. Columns: setting, case, GB/s,
# microseconds per call (p50), CPU seconds per GiB.
set -u
export LC_ALL=C

die() {
	echo "cufile_tune.sh: $*" >&2
	exit 2
}

seconds=0.3 rounds=3
while [ $# -gt 0 ]; do
	case $1 in
	--seconds) seconds=${2-} && shift 2 ;;
	--rounds) rounds=${2-} && shift 2 ;;
	-*) die "unknown option $1" ;;
	*) break ;;
	esac || die 'an option lacks its value'
done
[ $# -ge 3 ] || die 'usage: cufile_tune.sh [--seconds N] [--rounds N] CUFILE_BW LIBCUFILE FILE [SUBJECT]...'
program=$1 lib=$2 file=$3
shift 3
[ -x "$program" ] || die "$program: no such program"
[ -r "$lib" ] || die "$lib: no such library"

# subject | cases | settings: variables for env(1), "default" for none
subjects='bounce|read-cached-64K-t*|default BARLANE_FILE_TUNE=bounce=16K BARLANE_FILE_TUNE=bounce=32K BARLANE_FILE_TUNE=bounce=128K BARLANE_FILE_TUNE=bounce=256K
bounce-large|read-cached-1M-t*|BARLANE_FILE_PATH=mapped BARLANE_FILE_PATH=mapped,BARLANE_FILE_TUNE=bounce=32K BARLANE_FILE_PATH=mapped,BARLANE_FILE_TUNE=bounce=128K BARLANE_FILE_PATH=mapped,BARLANE_FILE_TUNE=bounce=256K
straight|read-cached-*-t*|default BARLANE_FILE_PATH=mapped,BARLANE_FILE_TUNE=straight_min=1;straight_max=32M
paths|read-cached-*-t*|default BARLANE_FILE_PATH=mapped BARLANE_FILE_PATH=staged BARLANE_FILE_PATH=plain
piece|read-cached-16M-t*|default BARLANE_FILE_TUNE=piece=256K BARLANE_FILE_TUNE=piece=1M
piece-small|read-cached-1M-t*|default BARLANE_FILE_TUNE=piece_small=64K BARLANE_FILE_TUNE=piece_small=128K BARLANE_FILE_TUNE=piece_small=512K
pair|read-cached-?[4M]*-t*|default BARLANE_FILE_PATH=mapped BARLANE_FILE_TUNE=pair_max=4M BARLANE_FILE_TUNE=pair_max=4M;pair_hot_us=100
many|read-cached-16M-t4|default BARLANE_FILE_TUNE=helpers_many=0 BARLANE_FILE_TUNE=helpers_many=1 BARLANE_FILE_TUNE=helpers_many=2 BARLANE_FILE_TUNE=straight_most=4 BARLANE_FILE_TUNE=helpers_many=1;straight_most=4
direct-read|read-direct-*-t*|default BARLANE_FILE_TUNE=direct_one=0 BARLANE_FILE_TUNE=direct_one=1M BARLANE_FILE_TUNE=direct_small=64K BARLANE_FILE_TUNE=direct_small=128K BARLANE_FILE_TUNE=direct_piece=1M;direct_small=512K BARLANE_FILE_TUNE=cpu_max=0 BARLANE_FILE_TUNE=cpu_max=128K
direct-read-1M|read-direct-1M-t*|default BARLANE_FILE_TUNE=direct_small=512K BARLANE_FILE_TUNE=direct_one=1M
doze|read-direct-1M-t*|default BARLANE_FILE_TUNE=doze_late_us=0;doze_late_many_us=0 BARLANE_FILE_TUNE=doze_late_us=60;doze_late_many_us=60 BARLANE_FILE_TUNE=doze_late_us=30 BARLANE_FILE_TUNE=doze_late_many_us=90
direct-write|write-direct-*-t*|default BARLANE_FILE_TUNE=direct_write_one=0 BARLANE_FILE_TUNE=direct_write_one=1M BARLANE_FILE_TUNE=direct_write_small=128K BARLANE_FILE_TUNE=direct_piece=1M;direct_write_small=512K
direct-write-one|write-direct-*-t1|default BARLANE_FILE_TUNE=direct_write_one=1M;load_max=4K BARLANE_FILE_TUNE=direct_write_one=32K;direct_write_small=32K BARLANE_FILE_TUNE=direct_write_small=512K;load_max=16K
write|write-cached-*-t*|default BARLANE_FILE_TUNE=land_max=0 BARLANE_FILE_TUNE=land_max=64K BARLANE_FILE_TUNE=piece_small=64K BARLANE_FILE_TUNE=piece_small=128K BARLANE_FILE_TUNE=piece_small=512K BARLANE_FILE_PATH=plain
write-first|write-cached-*-t1|default BARLANE_FILE_TUNE=load_max=4K;land_max=64K;write_first=64K BARLANE_FILE_TUNE=load_max=16K;write_first=128K BARLANE_FILE_TUNE=land_max=32K;write_first=32K
write-growth|write-cached-1*M-t1|default BARLANE_FILE_TUNE=write_growth=1024 BARLANE_FILE_TUNE=write_growth=4 BARLANE_FILE_TUNE=write_first=16K'

out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

# Within one variable ";" stands for the comma, which divides variables.
run_one() {
	local setting=$1 cases=$2 assignments=()

	if [ "$setting" != default ]; then
		IFS=, read -r -a assignments <<<"$setting"
	fi
	env "${assignments[@]//;/,}" "$program" --lib "$lib" --file "$file" --case "$cases" --seconds "$seconds" --reps 3 |
		awk -F, -v setting="$setting" '!/^#/ && $1 != "case" { print setting "|" $1 "|" $6 "|" $8 "|" $10 }' >>"$out"
}

show() {
	sort -t'|' -k2,2 -k1,1 "$out" | awk -F'|' -v rounds="$rounds" '
		function flush_key(   i, j, t) {
			for (i = 2; i <= nr; i++)
				for (j = i; j > 1 && gbps[j] < gbps[j - 1]; j--) {
					t = gbps[j]; gbps[j] = gbps[j - 1]; gbps[j - 1] = t
					t = rest[j]; rest[j] = rest[j - 1]; rest[j - 1] = t
				}
			if (nr)
				printf "%-26s %-52s %8.2f %s\n", name, setting, gbps[int((nr + 1) / 2)], rest[int((nr + 1) / 2)]
		}
		$1 "|" $2 != key { flush_key(); nr = 0; key = $1 "|" $2; setting = $1; name = $2 }
		{ gbps[++nr] = $3 + 0; rest[nr] = sprintf("%10.2f %8.4f", $4, $5) }
		END { flush_key() }'
}

failed=0
while IFS='|' read -r subject cases settings; do
	if [ $# -gt 0 ] && [[ " $* " != *" $subject "* ]]; then
		continue
	fi
	echo "# $subject: case, setting, GB/s, us p50, CPU s/GiB"
	: >"$out"
	read -r -a list <<<"$settings"
	for ((round = 0; round < rounds; round++)); do
		for setting in "${list[@]}"; do
			run_one "$setting" "$cases" || failed=1
		done
	done
	show
done <<<"$subjects"
exit "$failed"
