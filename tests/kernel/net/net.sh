# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Networks and RDMA devices of a guest, for the tests of the network lane on them. Sourced, after tap.sh.
#
# The GPU is the emulated one of the process, so its memory is the process' own; network interfaces and rdma_rxe are the
# kernel's.
export BARLANE_SYSCALLS=/usr/lib/x86_64-linux-gnu/libcuda.so.1 BARLANE_EMU_VRAM=256M DOCA_GPUNETIO_LOG=4
export PATH="$PATH:/tests"
# busybox has another one
ip=/sbin/ip
export put=gpunetio_verbs_put_bw write=gpunetio_verbs_write_bw lat=gpunetio_verbs_write_lat
# everything takes longer here
limit=60
port=2000

# The drivers; those that do not load are missed by who uses them.
net_load() {
	while read -r module; do
		insmod "/lib/modules/$module" 2>/dev/null
	done </lib/modules/net
}

# net_need TOOL...: ends the test as skipped when one is missing, or the programs
net_need() {
	missing=
	for tool in $put /sbin/ip "$@"; do
		command -v "$tool" >/dev/null || missing="$missing $tool"
	done
	[ -e /usr/lib/x86_64-linux-gnu/gpunetio_kernels.so ] || missing="$missing gpunetio_kernels.so"
	[ -e /etc/libibverbs.d/rxe.driver ] || missing="$missing ibverbs-providers"
	[ -z "$missing" ] && return
	tap_skip 'networks' "not there:$missing"
	net_end
}

# Two interfaces that are one cable, with an RDMA device each.
net_make() {
	$ip link add v0 type veth peer name v1 &&
		$ip addr add 10.1.1.1/24 dev v0 && $ip addr add 10.1.1.2/24 dev v1 &&
		$ip -6 addr add fd01::1/64 dev v0 nodad && $ip -6 addr add fd01::2/64 dev v1 nodad &&
		$ip link set v0 mtu 9000 up && $ip link set v1 mtu 9000 up &&
		/sbin/rdma link add rxe0 type rxe netdev v0 && /sbin/rdma link add rxe1 type rxe netdev v1
}

# The kernel takes the short way between two addresses of its own: send it over the cable, both ways. The devices cannot
# be reached by themselves any more.
net_apart() {
	for device in v0 v1; do
		echo 1 >/proc/sys/net/ipv4/conf/$device/accept_local
		echo 0 >/proc/sys/net/ipv4/conf/$device/rp_filter
		$ip rule add pref 10 dev $device lookup local
	done
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
	$ip rule add pref 11 to 127.0.0.0/8 lookup local && $ip rule del pref 0 &&
		$ip route add 10.1.1.2/32 dev v0 src 10.1.1.1 && $ip route add 10.1.1.1/32 dev v1 src 10.1.1.2 &&
		$ip neigh add 10.1.1.2 dev v0 lladdr "$(cat /sys/class/net/v1/address)" nud permanent &&
		$ip neigh add 10.1.1.1 dev v1 lladdr "$(cat /sys/class/net/v0/address)" nud permanent
}

# says PATTERN: the last program's output has such a line
says() {
	grep -qE "$1" /tmp/net.out && return
	echo "# no line matches $1:"
	sed 's/^/# /' /tmp/net.out | head -n 20
	return 1
}

# both NAME COMMAND...: a program that starts its server too, validates and ends well
both() {
	name=$1
	shift
	timeout $((2 * limit)) "$@" --self --timeout $limit >/tmp/net.out 2>&1 </dev/null
	rc=$?
	[ $rc = 0 ] || echo "# status $rc: $*"
	[ $rc = 0 ] && says '^Validation successful!'
	tap_result $? "$name"
}

# serve COMMAND...: a server, in the background, on a port of its own; waits until it listens. busybox' timeout becomes it
serve() {
	port=$((port + 1))
	DOCA_GPUNETIO_LOG=6 timeout $((2 * limit)) "$@" --port $port --timeout $limit >/tmp/server.out 2>&1 </dev/null &
	server=$!
	for _ in $(seq 300); do
		grep -q 'Listening for incoming connections' /tmp/server.out && return
		sleep 0.1
	done
	sed 's/^/# server: /' /tmp/server.out
	return 1
}

# client COMMAND...: of the last server; its output and status are kept
client() {
	timeout $((2 * limit)) "$@" -c 127.0.0.1 --port $port --timeout $limit >/tmp/net.out 2>&1 </dev/null
	rc=$?
}

net_end() {
	plan "$tap_nr"
	finish
}

# Network namespaces: rdma_rxe has this one, a software NIC the other one, "far", and a cable of its own tells both what
# comes next, so that it does not suffer from what is done to the cable of the packets.
far="$ip netns exec far"
wire_make() {
	mkdir -p /run && $ip netns add far && $ip link add v0 type veth peer name v1 netns far &&
		$ip link add c0 type veth peer name c1 netns far && $far $ip link set lo up &&
		$ip addr add 10.1.1.1/24 dev v0 && $ip -6 addr add fd01::1/64 dev v0 nodad && $ip addr add 10.2.2.1/24 dev c0 &&
		$far $ip addr add 10.1.1.2/24 dev v1 && $far $ip -6 addr add fd01::2/64 dev v1 nodad &&
		$far $ip addr add 10.2.2.2/24 dev c1 && $ip link set v0 mtu 9000 up && $far $ip link set v1 mtu 9000 up &&
		$ip link set c0 up && $far $ip link set c1 up && /sbin/rdma link add rxe0 type rxe netdev v0
}

# breaks WHO NAME PROGRAM CAUSE COMMAND...: the software NIC's (soft) or rdma_rxe's (rxe) program is at work when the command is
# run. It ends within its deadline, with a line that matches CAUSE; so does the other end, whatever it says.
breaks() {
	who=$1 name=$2 program=$3 cause=$4
	shift 4
	if [ "$who" = soft ]; then
		serve "${program%% *}" -d rxe0
		here=$far device=soft_v1 host=10.2.2.1
	else
		# shellcheck disable=SC2086 # a command and its arguments
		serve $far "${program%% *}" -d soft_v1
		here='' device=rxe0 host=10.2.2.2
	fi
	# shellcheck disable=SC2086
	DOCA_GPUNETIO_LOG=6 timeout $((2 * limit)) $here $program -d $device -c $host --port $port --timeout $limit >/tmp/net.out 2>&1 \
		</dev/null &
	client=$!
	for _ in $(seq 100); do
		grep -q 'Launching' /tmp/net.out && break
		sleep 0.3
	done
	sleep 2
	began=$(date +%s)
	"$@"
	wait $client
	rc=$?
	took=$(($(date +%s) - began))
	[ $rc = 1 ] && [ $took -lt $((limit + 10)) ]
	tap_result $? "$name: the client on $device ends by itself, in time"
	says "$cause"
	tap_result $? "$name: and says why"
	echo "# $took s, status $rc"
	grep -hE '^(barlane: error|gpunetio_verbs_[a-z_]*): ' /tmp/net.out | tail -n 2 | sed 's/^/# /'
	wait $server
	rc=$?
	took=$(($(date +%s) - began))
	[ $rc != 0 ] && [ $took -lt $((2 * limit)) ]
	tap_result $? "$name: the server ends too"
	echo "# the server: $took s, status $rc"
}

# netem PLACE DEVICE WORD...: what becomes of packets that leave there; PLACE is "" or $far
netem() {
	netem_place=$1 netem_device=$2
	shift 2
	$netem_place /sbin/tc qdisc replace dev "$netem_device" root netem limit 5000 "$@"
}

netem_end() {
	/sbin/tc qdisc del dev v0 root 2>/dev/null
	$far /sbin/tc qdisc del dev v1 root 2>/dev/null
	true
}
