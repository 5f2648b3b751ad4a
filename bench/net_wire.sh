#!/bin/bash
# SPDX-License-Identifier: MIT
# net_wire.sh - frames that gpunetio_forward sends back over loopback, beside a plain echo on the same sockets, in one run
set -u
export LC_ALL=C

usage() {
	cat <<-'EOT'
	usage: bench/net_wire.sh [--repeats N] [--frames N] [--wire packet|udp6|udp4]... [--fifo] [--check] BUILD

	fpga_peer sends frames of 64 B and 8 KiB, one after the other, to gpunetio_forward on the emulated GPU, to net_echo, and to
	net_echo --relay, in turn; N times each (5). One table: the median of the medians, and of the 99 % values with their range,
	and the ratio of the latter to those of the plain echo.
	sleeps   fpga_peer and net_echo sleep in the kernel until there is a packet, as plain programs do
	polls    both poll all the time, as gpunetio_forward does in any case
	relay    an echo that polls, and hands each packet to another thread that polls, and gets it back: what a second thread costs
	         at least on these CPUs
	--frames how many for each run (5000)
	--wire   sockets; once for each (all three)
	--fifo   under SCHED_FIFO, so that what else runs on the machine does not count; needs root
	--check  exit status 1 when a target is missed in a row that sleeps
	Figures compare two programs of one machine in one run. They say nothing of hardware.
	EOT
}

die() {
	echo "net_wire.sh: $*" >&2
	exit 1
}

words=("$@")
repeats=5 frames=5000 fifo=0 check=0 build='' wires=()
while [ $# -gt 0 ]; do
	case $1 in
	--repeats | --frames)
		[[ ${2:-} =~ ^[1-9][0-9]{0,6}$ ]] || die "$1 needs a number"
		[ "$1" = --repeats ] && repeats=$2 || frames=$2
		shift
		;;
	--wire)
		[[ ${2:-} =~ ^(packet|udp6|udp4)$ ]] || die '--wire is packet, udp6 or udp4'
		wires+=("$2")
		shift
		;;
	--fifo) fifo=1 ;;
	--check) check=1 ;;
	-h | --help)
		usage
		exit 0
		;;
	-*) die "$1: not an option" ;;
	*)
		[ -z "$build" ] || die "$1: one build directory is enough"
		build=$1
		;;
	esac
	shift
done
[ -n "$build" ] || die 'which build directory? --help says more'
[ ${#wires[@]} -gt 0 ] || wires=(packet udp6 udp4)
peer=$build/tools/net/fpga/fpga_peer
forward=$build/tools/net/gpunetio_forward
echo=$build/bench/net_echo
for program in "$peer" "$forward" "$echo"; do
	[ -x "$program" ] || die "$program is not built"
done
with_emu=$(dirname "$0")/../scripts/with-emu
first=(timeout 120)
if [ $fifo = 1 ]; then
	chrt -f 1 true 2>/dev/null || die '--fifo: chrt is missing, or not allowed'
	first+=(chrt -f 1)
fi
# UDP sockets of two processes need two addresses: a network namespace has a loopback interface that may have them
if [ "${NET_WIRE_INSIDE:-}" = '' ]; then
	PATH=$PATH:/usr/sbin:/sbin
	command -v ip >/dev/null || die 'ip (iproute2) is not installed'
	for as in -n -rn; do
		unshare $as true 2>/dev/null && NET_WIRE_INSIDE=yes exec unshare $as "$0" "${words[@]}"
	done
	die 'a network namespace is needed, and not allowed'
fi
if ! { ip link set lo up && ip addr add 127.0.0.2/8 dev lo && ip addr add fd42::2/128 dev lo nodad; }; then
	die 'the loopback interface of a network namespace takes no addresses'
fi
temp=$(mktemp -d) || exit 1
trap 'rm -rf "$temp"' EXIT
# below those that the kernel gives to clients
port=$((10000 + $$ % 9000))
# measure WIRE SIZE POLL NAME SERVER...: one run; its 50 % and 99 % go to a file of that name
measure() {
	local wire=$1 size=$2 poll=$3 name=$4 index server pair

	shift 4
	index=$([ "$wire" = udp6 ] && echo 0 || echo 2)
	port=$((port + 1))
	BARLANE_SNIC_WIRE=${wire%[46]} "$@" -d soft_lo -l $((index + 1)) --port $port --timeout 20 >"$temp/server" 2>&1 </dev/null &
	server=$!
	BARLANE_SNIC_WIRE=${wire%[46]} "${first[@]}" "$peer" -d soft_lo -l "$index" -c 127.0.0.1 --port $port --timeout 20 \
		--size "$size" -i "$frames" --max-lost 0 ${poll:+"$poll"} >"$temp/out" 2>"$temp/err" </dev/null ||
		die "$name, $wire, $size bytes: $(tail -n 1 "$temp/err"); server: $(tail -n 1 "$temp/server")"
	wait $server || die "$name, $wire, $size bytes, server: $(tail -n 1 "$temp/server")"
	pair=$(awk -v size="$size" '$1 == size && NF == 12 { print $8, $9 }' "$temp/out")
	[ -n "$pair" ] || die "$name: fpga_peer printed no figures"
	echo "$pair" >>"$temp/$name.$wire.$size.${poll:-sleep}"
}

# figures NAME.WIRE.SIZE.POLL: median of the 50 %, median, least and largest of the 99 %
figures() {
	local middle=$((($(wc -l <"$temp/$1") + 1) / 2))

	echo "$(cut -d' ' -f1 "$temp/$1" | sort -g | sed -n ${middle}p)" \
		"$(cut -d' ' -f2 "$temp/$1" | sort -g | sed -n "${middle}p;1p;\$p" | sort -g | awk '{ v[NR] = $1 }
			END { if (NR == 1) print v[1], v[1], v[1]; else if (NR == 2) print v[1], v[1], v[2]; else print v[2], v[1], v[3] }')"
}

model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "# net_wire.sh: $(nproc) CPUs ${model:-$(uname -m)}, kernel $(uname -r | cut -d- -f1), load $(cut -d' ' -f1 /proc/loadavg)," \
	"$repeats times $frames frames, $([ $fifo = 1 ] && echo SCHED_FIFO || echo 'ordinary priority'); emu; round trips in us"
export BARLANE_BUILD=$build
for ((turn = 1; turn <= repeats; turn++)); do
	for wire in "${wires[@]}"; do
		for size in 64 8192; do
			for poll in '' --spin; do
				echo "net_wire.sh: $turn of $repeats, $wire, $size bytes ${poll:-sleeping}" >&2
				measure "$wire" $size "$poll" forward "${first[@]}" "$with_emu" "$forward"
				measure "$wire" $size "$poll" echo "${first[@]}" "$echo" ${poll:+"$poll"}
				measure "$wire" $size "$poll" relay "${first[@]}" "$echo" --spin --relay
			done
		done
	done
done

missed=0
printf '# %-7s %6s %-7s %-8s %9s %9s %21s %7s %7s\n' wire bytes peer server p50 p99 'p99 of all turns' ratio target
for wire in "${wires[@]}"; do
	for size in 64 8192; do
		for poll in sleep --spin; do
			read -r _ base _ <<<"$(figures "echo.$wire.$size.$poll")"
			for name in forward echo relay; do
				read -r p50 p99 least most <<<"$(figures "$name.$wire.$size.$poll")"
				target=$([ $size = 64 ] && echo 1.6 || echo 3.0)
				ratio=$(awk -v a="$p99" -v b="$base" 'BEGIN { printf "%.2f", a / b }')
				verdict=
				if [ $name = forward ]; then
					verdict="$target $(awk -v a="$ratio" -v b="$target" 'BEGIN { print a <= b ? "met" : "missed" }')"
					[ $poll = sleep ] && [ "${verdict#* }" = missed ] && missed=1
				fi
				printf '  %-7s %6d %-7s %-8s %9.2f %9.2f %21s %7s %7s\n' "$wire" $size \
					"$([ $poll = sleep ] && echo sleeps || echo polls)" $name "$p50" "$p99" "$least to $most" "$ratio" "$verdict"
			done
		done
	done
done
[ $check = 0 ] || exit $missed
