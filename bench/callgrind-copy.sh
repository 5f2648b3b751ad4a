#!/bin/sh
# SPDX-License-Identifier: MIT
#
# callgrind-copy.sh - count the instructions of one copy, fence included
#
# usage: bench/callgrind-copy.sh COPY_ONCE [RESULT]
#
# COPY_ONCE is the program that bench/copy_once.c becomes. Without RESULT the table goes to the standard output.
# Valgrind does not know AVX-512, so the routines are those of AVX2 (BARLANE_CPU_ISA chooses others that it knows).
# The last two columns go through libgdrapi to a mapping: run this under scripts/with-emu where there is no GPU.
set -eu

die() {
	echo "callgrind-copy.sh: $*" >&2
	exit 1
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	die "usage: callgrind-copy.sh COPY_ONCE [RESULT]"
fi
[ -x "$1" ] || die "$1: no such program"
command -v valgrind >/dev/null || die "valgrind is not installed"

once=$1
BARLANE_CPU_ISA=${BARLANE_CPU_ISA:-avx2}
export BARLANE_CPU_ISA
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Instructions of one call; the function that makes it is the only thing that is counted.
count() {
	valgrind --tool=callgrind --callgrind-out-file="$work/out" --collect-atstart=no \
		--toggle-collect=bench_copy_once "$once" "$1" "$2" >"$work/stdout" 2>"$work/log" ||
		die "$1 $2: $(tail -1 "$work/log")"
	used=$(cat "$work/stdout")
	[ "$used" = "$BARLANE_CPU_ISA" ] || die "routines of $used were used instead of $BARLANE_CPU_ISA"
	sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' "$work/log"
}

table() {
	cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)
	echo "# instructions of one aligned copy, fence included, call and return excluded; the last two columns are those of"
	echo "# gdr_copy_to_mapping() and gdr_copy_from_mapping(): handle, bounds and fork checks, and passing the handle"
	echo "# command: BARLANE_CPU_ISA=$BARLANE_CPU_ISA scripts/with-emu bench/callgrind-copy.sh COPY_ONCE"
	echo "# machine: ${cpu:-unknown CPU}, $(uname -m); $(valgrind --version)"
	echo "# bytes         to       from     gdr-to   gdr-from"
	call=$(count none 8)
	[ "${call:-0}" -gt 0 ] || die "nothing was counted"
	for len in 8 64 1024 4096; do
		printf '  %5d' "$len"
		for mode in to from gdr-to gdr-from; do
			printf ' %10d' "$(($(count "$mode" "$len") - call))"
		done
		echo
	done
}

if [ $# -eq 2 ]; then
	table >"$work/table"
	mkdir -p "$(dirname "$2")"
	cp "$work/table" "$2"
else
	table
fi
