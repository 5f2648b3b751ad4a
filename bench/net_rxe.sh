#!/bin/bash
# SPDX-License-Identifier: MIT
# The software NIC on a network beside rdma_rxe, in one guest: the same programs, the same two CPUs, turn by turn.
# docs/softnic-roce.md says what the figures mean; times of an emulated machine compare with nothing but one another.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
options=()
turns=5
writes=512
trips=300

usage() {
	cat <<-'EOT'
	usage: bench/net_rxe.sh [--turns N] [--writes N] [--trips N] [OPTION OF scripts/guest]...

	--turns   of each pair; default 5
	--writes  of 64 KiB in each turn, a multiple of 32; default 512
	--trips   of 8 bytes in each turn; default 300
	Prints each turn, then the medians and their ratios. Exit status 1 when the guest or a program failed.
	EOT
}

while [ $# -gt 0 ]; do
	case $1 in
	--turns | --writes | --trips)
		[[ ${2-} =~ ^[1-9][0-9]*$ ]] || {
			printf 'net_rxe.sh: %s needs a number\n' "$1" >&2
			exit 1
		}
		printf -v "${1#--}" '%s' "$2"
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

# In the guest. Both ends of the rdma_rxe pair share a namespace, since it has no other; those of the software NICs have one
# each. Packets of both go over a pair of interfaces with an MTU of 9000.
read -r -d '' guest <<'EOT'
. /tests/tap.sh
. /tests/net.sh
net_load
mkdir -p /run && net_make && net_apart || exit 1
# rdma_rxe takes RoCE's port on all addresses of its namespace
for side in 0 1; do
	$ip netns add soft$side && $ip netns exec soft$side $ip link set lo up || exit 1
done
$ip link add s0 mtu 9000 netns soft0 type veth peer name s1 mtu 9000 netns soft1 || exit 1
for side in 0 1; do
	$ip netns exec soft$side $ip addr add 10.3.3.1$side/24 dev s$side
	$ip netns exec soft$side $ip link set s$side up
done
failed=0

# turn PAIR PROGRAM KEY OPTION...: a server and a client; the client's figure
turn() {
	pair=$1 program=$2 key=$3
	shift 3
	port=$((port + 1))
	case $pair in
	rxe) here='' there='' server=rxe1 client=rxe0 host=127.0.0.1 gid=10.1.1.2 own=10.1.1.1 ;;
	soft)
		here="$ip netns exec soft0" there="$ip netns exec soft1"
		server=soft_s1 client=soft_s0 host=10.3.3.11 gid=10.3.3.11 own=10.3.3.10
		;;
	esac
	BARLANE_NET_GID=$gid timeout 100 $there $program -d $server --port $port --timeout $limit >/tmp/server.out 2>&1 </dev/null &
	rm -f /tmp/net.json
	BARLANE_NET_GID=$own timeout 100 $here $program -d $client -c $host --port $port --timeout $limit "$@" --json /tmp/net.json \
		>/tmp/net.out 2>&1 </dev/null
	rc=$?
	wait $!
	value=$(sed -n "s/.*\"$key\": *\([0-9.]*\).*/\1/p" /tmp/net.json 2>/dev/null | head -n 1)
	if [ $rc != 0 ] || [ -z "$value" ]; then
		failed=1
		cat /tmp/net.out /tmp/server.out
	fi
	echo "$pair $key $value"
}

echo "# kernel $(uname -r)"
for nth in $(seq "$turns"); do
	for pair in soft rxe; do
		turn $pair $write gbps --size 65536 --threads 32 -i "$writes"
		turn $pair $lat p50_us --size 8 -i "$trips"
	done
done
exit $failed
EOT

out=$("$root/scripts/guest" --deadline 900 "${options[@]}" -c "turns=$turns writes=$writes trips=$trips
$guest")
rc=$?
printf '# net_rxe.sh: %d turns of %d writes of 64 KiB and %d round trips of 8 bytes\n' "$turns" "$writes" "$trips"
printf '# %s, TCG, two CPUs of kind %s, on %s, load %s\n' "$(qemu-system-x86_64 --version | head -n 1 | cut -d '(' -f 1)" \
	"${BARLANE_GUEST_CPU:-max}" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(cut -d ' ' -f 1 /proc/loadavg)"
printf '%s\n' "$out"
# median PAIR KEY
median() {
	sed -n "s/^$1 $2 //p" <<<"$out" | sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
for key in gbps p50_us; do
	printf '%s\n' "$key $(median soft $key) $(median rxe $key)"
done | awk '{ printf "# %s: software NIC %s, rdma_rxe %s, ratio %.2f\n", $1 == "gbps" ? "write 64 KiB, Gbit/s" : "round trip 8 B, us", $2, $3, $3 ? $2 / $3 : 0 }'
exit $rc
