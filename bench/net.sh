#!/bin/bash
# SPDX-License-Identifier: MIT
# net.sh - the programs of the network lane beside bare figures of the same machine, in one run and one table
set -u
export LC_ALL=C

usage() {
	cat <<-'EOT'
	usage: bench/net.sh [--check] [--out DIRECTORY] [--rows GROUP[,GROUP...]] [--seconds N] FOLDER

	FOLDER is a build directory, or a folder that has the programs side by side. Libraries are found by LD_LIBRARY_PATH.
	--out    keep the JSON and the text of every run there
	--check  exit status 1 when a target is missed; without it only when a program fails
	--rows   these only: litmus, lat (write_lat), copy (put_bw of long messages), rate (of short ones), forward; all of them
	         unless given
	--seconds  for all of it, 10 to 3600, 70 unless given: programs run again, up to three times, as long as that lasts
	The table goes to stdout, what is being run to stderr. On the emulated GPU (scripts/with-emu) it
	runs a few operations of each kind, and no figure is judged: they mean nothing.
	EOT
}

die() {
	echo "net.sh: $*" >&2
	exit 1
}

limit=70 spare=4 # seconds for all of it, and those of them in which a program that is told to has to end
groups='litmus lat copy rate forward' # and how many figures each has, below
check=0 out='' folder='' rows=$groups
while [ $# -gt 0 ]; do
	case $1 in
	--check) check=1 ;;
	--out)
		[ $# -gt 1 ] || die '--out needs a directory'
		out=$2
		shift
		;;
	--rows)
		[ $# -gt 1 ] || die '--rows needs groups'
		rows=${2//,/ }
		[ -n "${rows// /}" ] || die '--rows needs groups'
		for group in $rows; do
			[[ " $groups " == *" $group "* ]] || die "--rows $group: none of ${groups// /, }"
		done
		shift
		;;
	--seconds)
		[ $# -gt 1 ] || die '--seconds needs a number'
		[[ $2 =~ ^[1-9][0-9]{1,3}$ && $2 -le 3600 ]] || die "--seconds $2: not a number from 10 to 3600"
		limit=$2
		shift
		;;
	-h | --help)
		usage
		exit 0
		;;
	-*) die "$1: not an option" ;;
	*)
		[ -z "$folder" ] || die "$1: one folder is enough"
		folder=$1
		;;
	esac
	shift
done
[ -n "$folder" ] || die 'which folder has the programs? --help says more'
limit=$((limit - spare))
if [ -z "$out" ]; then
	out=$(mktemp -d) || exit 1
	trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out" || exit 1

# wants GROUP: whether its rows are asked for
wants() {
	[[ " $rows " == *" $1 "* ]]
}

# find_program NAME: where it is
find_program() {
	local dir

	for dir in "$folder" "$folder/tools/net" "$folder/tools" "$folder/bench" "$folder/bench/$1"; do
		[ -f "$dir/$1" ] && [ -x "$dir/$1" ] && echo "$dir/$1" && return
	done
	die "$folder has no program $1"
}

put=$(find_program gpunetio_verbs_put_bw) || exit 1
lat=$(find_program gpunetio_verbs_write_lat) || exit 1
peer=$(find_program gpunetio_forward_peer) || exit 1
find_program gpunetio_forward >/dev/null || exit 1
pplat=$(find_program gdrcopy_pplat) || exit 1
bare=$(find_program net_bare) || exit 1
litmus=$(find_program net_litmus) || exit 1

# a file: most runs are in a subshell
: >"$out/failures" || exit 1
: >"$out/figures"
missed=0
failed() {
	echo "FAILED: $*" | tee -a "$out/failures" >&2
}

# run NAME COMMAND...: stdout in NAME.txt, stderr in NAME.err; within what is left of the time
run() {
	local name=$1 left=$((limit - SECONDS)) rc

	shift
	if [ "$left" -lt 1 ]; then
		failed "${*##*/}: no time left"
		return 1
	fi
	echo "${*##*/}" >&2
	timeout -k 2 $((left < 25 ? left : 25)) "$@" >"$out/$name.txt" 2>"$out/$name.err" </dev/null
	rc=$?
	[ $rc = 0 ] && return
	[ $rc = 77 ] || failed "${*##*/}: status $rc: $(tail -n 1 "$out/$name.err")"
	return $rc
}

# value FILE KEY: first number, or word, of this name in a JSON file
value() {
	awk -v key="\"$2\":" '
		(at = index($0, key)) {
			text = substr($0, at + length(key))
			gsub(/^[ "]+|[",]+ *$/, "", text)
			print text
			exit
		}' "$1"
}

# median: of the numbers on stdin
median() {
	sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# ours NAME KEY COMMAND...: median of the runs of a program with --json; nothing when one fails. The first run is made in
# any case, the others only while the figures so far have taken no more than their part of the time.
ours() {
	local name=$1 key=$2 nth values='' turn

	shift 2
	echo "$name" >>"$out/figures"
	turn=$(wc -l <"$out/figures")
	for ((nth = 1; nth <= runs; nth++)); do
		[ $nth = 1 ] || [ $SECONDS -lt $((limit * turn / nr_figures)) ] || break
		run "$name-$nth" "$@" --timeout 10 --json "$out/$name-$nth.json" || return
		values+=$(value "$out/$name-$nth.json" "$key")$'\n'
	done
	printf '%s' "$values" | median
}

# copies KIND SIZE DEPTH COPIES: GB/s of CUDA's own copies, the middle one of five turns
copies() {
	run "bare-$1-$2" "$bare" "$@" || return
	awk '{ print $6 }' "$out/bare-$1-$2.txt"
}

# row FIGURE UNIT OURS BARE [OPERATOR TARGET]: compares OURS / BARE with a target, or OURS where BARE is -
row() {
	local verdict

	if [ -z "$3" ] || [ -z "$4" ]; then
		table+=$(printf '%-46s %s' "$1" 'FAILED: see the end')$'\n'
		return
	fi
	verdict=$(awk -v name="$1" -v unit="$2" -v ours="$3" -v bare="$4" -v op="${5-}" -v target="${6-}" -v emulated="$emulated" '
		BEGIN {
			ratio = bare == "-" ? ours : bare > 0 ? ours / bare : 0
			good = op == "<=" ? ratio <= target : ratio >= target
			verdict = op == "" ? "-" : emulated ? "emu" : good ? "met" : "MISSED"
			printf "%-46s %-6s %12.3f %12s %9s  %-8s %s\n", name, unit, ours,
				bare == "-" ? "-" : sprintf("%.3f", bare), bare == "-" ? "-" : sprintf("%.3f", ratio),
				op == "" ? "-" : op " " target, verdict
		}')
	table+=$verdict$'\n'
	case $verdict in
	*MISSED) missed=$((missed + 1)) ;;
	esac
}

table='' emulated='' runs=3 nr_figures=0
wants lat && nr_figures=$((nr_figures + 5))
wants copy && nr_figures=$((nr_figures + 4))
wants rate && nr_figures=$((nr_figures + 3))
wants forward && nr_figures=$((nr_figures + 10))

# ---- which machine, and the round trip of the CPU lane
run pplat "$pplat" -t 100 --json "$out/pplat.json" || die 'without gdrcopy_pplat there is nothing to compare with'
grep -q '"emu": *true' "$out/pplat.json" && emulated=1
if [ -n "$emulated" ]; then
	orders=50 runs=1 trip='200' lat_iters=20 rounds=2 echoes=50 large=65536 larger=131072 depth=32 qps=4 puts=256
else
	orders=20000 trip=20000 lat_iters=16384 rounds=16 echoes=10000 large=$((1 << 20)) larger=$((16 << 20)) depth=32 qps=32 puts=1048576
fi
run pplat "$pplat" -t $trip --json "$out/pplat.json" || die 'without gdrcopy_pplat there is nothing to compare with'
pplat_us=$(value "$out/pplat.json" p50_ns | awk '{ print $1 / 1000 }')

# the order that the rest counts on; not a figure
rows_litmus() {
	if run litmus "$litmus" -n $orders -l 20 --json "$out/litmus.json"; then
		table+="net_litmus: $(grep -c ' ok$' "$out/litmus.txt") cases of $orders runs, nothing forbidden"$'\n'
	else
		table+='net_litmus: FAILED: see the end'$'\n'
	fi
}

# round trips between GPU threads
rows_lat() {
	local us

	us=$(ours lat p50_us "$lat" --self -p 1 --size 8 -i $lat_iters)
	row 'write_lat 8 B, CPU proxy, round trip' us "$us" "$pplat_us" '<=' 3.6
	us=$(ours lat-inline p50_us "$lat" --self -p 1 --size 8 --inline -i $lat_iters)
	row 'write_lat 8 B, CPU proxy, inline' us "$us" "$pplat_us" '<=' 2.3
	us=$(runs=1 ours lat-two-nics p50_us "$lat" --self -p 1 --size 8 --inline --server-device soft1 -i $lat_iters)
	row 'write_lat 8 B, CPU proxy, inline, two NICs' us "$us" "$pplat_us"
	us=$(runs=1 ours lat-db p50_us "$lat" --self -p 2 --size 8 --inline -i $lat_iters)
	row 'write_lat 8 B, GPU doorbell, inline' us "$us" "$pplat_us"
	us=$(runs=1 ours lat-process p50_us "$lat" --self=process -p 1 --size 8 -i $((lat_iters / 80 + 2)))
	row 'write_lat 8 B, CPU proxy, two processes' us "$us" "$pplat_us"
}

# gbps NAME OPTIONS...: GB/s of put_bw, as many writes under way as there are threads
gbps() {
	local name=$1

	shift
	ours "$name" gbps "$put" --self --threads $depth "$@" | awk '{ print $1 / 8 }'
}

# copies to the host and within GPUs
rows_copy() {
	local bare_gb gb gpus

	bare_gb=$(copies d2h $large $depth $((depth * rounds)))
	gb=$(gbps put-host --size $large -i $((depth * rounds)))
	row "put_bw $((large >> 10)) KiB, GPU to host" GB/s "$gb" "$bare_gb" '>=' 0.8
	bare_gb=$(copies d2h $((large * 4)) $depth $((depth * rounds / 2)))
	gb=$(gbps put-host-large --size $((large * 4)) -i $((depth * rounds / 2)))
	row "put_bw $((large >> 8)) KiB, GPU to host" GB/s "$gb" "$bare_gb" '>=' 0.8
	bare_gb=$(copies d2d $larger $depth $((depth * rounds / 2)))
	gb=$(gbps put-gpu --size $larger --memory gpu -i $((depth * rounds / 2)))
	row "put_bw $((larger >> 10)) KiB, within one GPU" GB/s "$gb" "$bare_gb" '>=' 0.8
	gb=$(runs=1 BARLANE_SNIC_PLACE_WITHIN=host gbps put-gpu-host --size $larger --memory gpu -i $((depth * rounds / 2)))
	row "put_bw $((larger >> 10)) KiB, the same, by way of the host" GB/s "$gb" "$bare_gb"
	bare_gb=$(copies p2p $larger $depth $((depth * rounds / 2)))
	if [ -n "$bare_gb" ]; then
		mapfile -t gpus < <("$bare" gpus)
		gb=$(gbps put-two --size $larger --memory gpu -i $((depth * rounds / 2)) -g "${gpus[0]}" --server-gpu "${gpus[1]}")
		row "put_bw $((larger >> 10)) KiB, between two GPUs" GB/s "$gb" "$bare_gb" '>=' 0.8
	else
		table+='put_bw between two GPUs: not run: '$(tail -n 1 "$out/bare-p2p-$larger.err")$'\n'
	fi
}

# small puts, millions a second for each thread of a NIC; over all of them, the first ones included
rows_rate() {
	local threads=$((qps * 32)) how mpps target

	for how in '-e 1' '-e 1 --inline' '-e 0'; do
		# shellcheck disable=SC2086 # options
		mpps=$(ours "rate${how// /}" mpps_per_nic_thread "$put" --self --qps $qps --threads $threads -i $((puts / threads * threads)) \
			--size 8 $how)
		target=('>=' 3)
		[ "$how" = '-e 0' ] && target=()
		row "put_bw 8 B, $qps QPs, $how" M/s "$mpps" - "${target[@]}"
	done
}

# messages forwarded by a kernel, and by a CPU
rows_forward() {
	local size bare_us us goal

	for size in 64 8192; do
		bare_us=$(ours "echo-cpu-$size" p99_us "$peer" --self --echo cpu --size $size -i $echoes)
		us=$(ours "echo-gpu-$size" p99_us "$peer" --self --size $size -i $echoes)
		goal=1.6
		[ $size = 64 ] || goal=3
		row "forward $size B, p99" us "$us" "$bare_us" '<=' $goal
		us=$(runs=1 ours "echo-eight-$size" p99_us "$peer" --self --workers 8 --size $size -i $echoes)
		row "forward $size B, p99, eight workers" us "$us" "$bare_us"
		bare_us=$(runs=1 ours "echo-cpu-thread-$size" p99_us "$peer" --self=thread --echo cpu --size $size -i $echoes)
		us=$(runs=1 ours "echo-gpu-thread-$size" p99_us "$peer" --self=thread --size $size -i $echoes)
		row "forward $size B, p99, both ends in one process" us "$us" "$bare_us"
	done
}

wants litmus && rows_litmus
wants lat && rows_lat
wants copy && rows_copy
wants rate && rows_rate
wants forward && rows_forward

echo "# net.sh: $(value "$out/pplat.json" gpu), kernel $(value "$out/pplat.json" kernel), cpu $(value "$out/pplat.json" cpu)"
echo "# medians of up to $runs runs, of 1 where there is no target; bare: gdrcopy_pplat's round trip, CUDA's copies of the same size and depth, an echo by a CPU"
[ -n "$emulated" ] && echo '# EMULATED: these figures mean nothing, and none is judged'
printf '%-46s %-6s %12s %12s %9s  %-8s %s\n' figure unit ours bare ratio target verdict
printf '%s' "$table"
cat "$out/failures"
failures=$(wc -l <"$out/failures")
echo "# $missed targets missed, $failures runs failed, $SECONDS s"
[ "$failures" = 0 ] || exit 1
[ $check = 0 ] || [ "$missed" = 0 ]
