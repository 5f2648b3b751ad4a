#!/bin/bash
# SPDX-License-Identifier: MIT
#
# pplat.sh - gdrcopy_pplat on a real GPU: the cost over a bare loop, all settings, and how a game ends early
#
# usage: bench/pplat.sh GDRCOPY_PPLAT DIRECTORY
#
# The JSON of every run goes to the directory. The exit status is 1 when a run fails, when a side that waits in vain does
# not end as it should, or when the median of five ratios to the bare loop is above 1.05. Under scripts/with-emu the
# ratio is printed and not judged, and a stopped program is not tried: it would stop the emulated GPU with it.
set -u
export LC_ALL=C

die() {
	echo "pplat.sh: $*" >&2
	exit 1
}

[ $# = 2 ] || die 'usage: pplat.sh GDRCOPY_PPLAT DIRECTORY'
[ -x "$1" ] || die "$1: no such program"
program=$1 dir=$2
mkdir -p "$dir" || exit 1
failures=0

failed() {
	failures=$((failures + 1))
	echo "FAILED: $*"
}

# run NAME OPTIONS...: the JSON in NAME.json, the text in NAME.txt
run() {
	local name=$1

	shift
	timeout 100 "$program" "$@" --json "$dir/$name.json" >"$dir/$name.txt" 2>&1 ||
		failed "$* : $(tail -n 1 "$dir/$name.txt")"
	sed -n "s/^Round-trip latency per iteration is /$* : /p" "$dir/$name.txt"
}

# ends EXPECTED-TEXT: a game that was cut short says so
ends() {
	grep -qE "$1" "$dir/end.txt" && tail -n 1 "$dir/end.txt" && return
	failed "no line matches $1: $(tail -n 1 "$dir/end.txt")"
}

ratios=$(for nth in 1 2 3 4 5; do
	timeout 100 "$program" -t "${PPLAT_ITERS:-100000}" --bare --json "$dir/bare-$nth.json" 2>&1 | tee "$dir/bare-$nth.txt" |
		sed -n 's/^Ratio of the medians: //p'
done | sort -n)
[ "$(wc -w <<<"$ratios")" = 5 ] || failed "--bare gave $(wc -w <<<"$ratios") of 5 ratios"
median=$(sed -n 3p <<<"$ratios")
grep -h '^Bare loop\|^Round-trip' "$dir"/bare-*.txt
echo "ratio of the medians to the bare loop: $(xargs <<<"$ratios"); median $median"
emulated=$(grep -l '^emu:' "$dir/bare-1.txt")
[ -n "$emulated" ] || awk -v ratio="$median" 'BEGIN { exit !(ratio > 0 && ratio <= 1.05) }' ||
	failed "the median ratio $median is above 1.05"

for mode in 0 1; do
	for gpu in gpumem hostmem; do
		for cpu in gpumem hostmem; do
			run "flags-$mode-$gpu-$cpu" -m $mode -G $gpu -C $cpu
		done
	done
	for data in gpumem hostmem; do
		for size in 4 4K 64K 1M; do
			run "data-$mode-$data-$size" -m $mode -D $data -s $size -t 200
		done
	done
	run "one-block-$mode" -m $mode -s 4K -B 1 -T 32
done

timeout 2 "$program" -u 0 -t 100000000 >"$dir/end.txt" 2>&1
ends 'interrupted by signal 15; GPU: stopped after [0-9]+ rounds'
if [ -z "$emulated" ]; then
	# the GPU waits for a CPU that does not run: its own time limit must end it
	"$program" -u 2 -t 100000000 >"$dir/end.txt" 2>&1 &
	pid=$!
	sleep 3
	kill -STOP $pid
	sleep 5
	kill -CONT $pid
	wait $pid
	ends 'has ended without an answer; GPU: timed out after [0-9]+ rounds'
fi
echo "results are in $dir; $failures failed"
[ "$failures" = 0 ]
