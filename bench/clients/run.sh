#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh - unmodified programs on NVIDIA's libcufile and on this project's, and the results side by side
#
# usage: bench/clients/run.sh [OPTIONS] LIBDIR OUT
#   --client NAME   torch, kvikio or fastsafetensors, default all; may be repeated. One that is not installed is skipped
#   --files FOLDER  where files are read and written, default OUT; its file system decides what is measured
#   --theirs PATH   NVIDIA's libcufile.so.0; default: the one that the client finds by itself
#   --no-udev       write no record of a udev database for the folder's disk; without one NVIDIA's library refuses the
#                   files, and writing one needs root
#   -- ARGUMENT...  for every client, as --seconds N or --size BYTES
#
# LIBDIR has libcufile.so.0, what it needs (libbarlane.so.0, libjson-c.so.5 where the machine has none), and, where
# requests are to be told by path, barlane with libgdrapi.so.2. Each client runs once with either library; the Python is
# PYTHON, default python3. OUT gets theirs-CLIENT.json, ours-CLIENT.json, their messages and table.txt. The exit status
# is 0 when every client that is installed ran on both libraries and all bytes were right.
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
here=$(dirname "$(realpath "$0")")
python=${PYTHON:-python3}

die() {
	echo "run.sh: $*" >&2
	exit 2
}

clients=() files='' theirs='' udev=1
while [ $# -gt 0 ]; do
	case $1 in
	--client) clients+=("${2-}") && shift 2 ;;
	--files) files=${2-} && shift 2 ;;
	--theirs) theirs=${2-} && shift 2 ;;
	--no-udev) udev='' && shift ;;
	-*) die "unknown option $1" ;;
	*) break ;;
	esac || die 'an option lacks its value'
done
[ $# -ge 2 ] || die 'usage: run.sh [OPTIONS] LIBDIR OUT [-- ARGUMENT...]'
[ -r "$1/libcufile.so.0" ] || die "$1: no libcufile.so.0 in it"
ours=$(realpath "$1")
mkdir -p "$2" || exit 2
out=$(realpath "$2")
shift 2
[ "${1-}" != -- ] || shift
[ ${#clients[@]} -gt 0 ] || clients=(torch kvikio fastsafetensors)
files=${files:-$out}
[ -d "$files" ] || die "$files: no such folder"
files=$(realpath "$files")
if [ -n "$theirs" ]; then
	[ -r "$theirs" ] || die "$theirs: no such library"
	theirs=$(realpath "$theirs")
fi

# shellcheck source=bench/udev_record.sh
. "$here/../udev_record.sh"
trap 'udev_record_remove; rm -rf "$out/lib"' EXIT
trap 'exit 130' INT TERM
if [ -n "$udev" ]; then
	udev_record_write "$files" || die 'no record for the disk: be root, or say --no-udev'
fi

# both libraries count calls, of which the clients tell
echo '{ "profile": { "cufile_stats": 1 } }' >"$out/cufile.json" || exit 2

# fastsafetensors asks for libcudart.so, a name that the wheel of the CUDA runtime lacks
link_cudart() {
	local found

	mkdir -p "$out/lib" || exit 2
	found=$("$python" -c '
import glob, importlib.util
spec = importlib.util.find_spec("nvidia")
roots = spec.submodule_search_locations if spec else []
print(*[name for root in roots for name in glob.glob(root + "/**/libcudart.so.*", recursive=True)], sep="\n")
' | head -n 1)
	[ -z "$found" ] || ln -sfn "$found" "$out/lib/libcudart.so"
}
link_cudart

installed() {
	"$python" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec(sys.argv[1]))' "$1"
}

failures=0
# measure WHICH CLIENT PRELOAD PATH [ARGUMENT...]
measure() {
	local which=$1 client=$2 preload=$3 path=$4 name=$out/$1-$2

	shift 4
	echo "$which: $client"
	(
		cd "$out" || exit 1
		unset LD_PRELOAD
		[ -z "$preload" ] || export LD_PRELOAD=$preload
		export LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
		export CUFILE_ENV_PATH_JSON=$out/cufile.json CUFILE_LOGFILE_PATH=$name.log
		if [ "$which" = ours ] && [ -x "$ours/barlane" ]; then
			export BARLANE_TOOL=$ours/barlane
		fi
		exec timeout -k 10 300 "$python" "$here/client_$client.py" --dir "$files" "$@"
	) >"$name.json" 2>"$name.err" || {
		failures=$((failures + 1))
		echo "FAILED: $which $client: $(tail -n 1 "$name.err")"
	}
}

done=()
for client in "${clients[@]}"; do
	[ -r "$here/client_$client.py" ] || die "--client $client: no such client"
	if ! installed "$client"; then
		echo "SKIP $client: $python has no module of this name"
		continue
	fi
	measure theirs "$client" "$theirs" "$out/lib" "$@"
	measure ours "$client" "$ours/libcufile.so.0" "$ours:$out/lib" "$@"
	done+=("$client")
done
[ ${#done[@]} -gt 0 ] || die 'none of the clients is installed'
"$python" "$here/compare.py" "$out" "$ours" "${done[@]}" | tee "$out/table.txt"
[ "${PIPESTATUS[0]}" = 0 ] || failures=$((failures + 1))
echo "results are in $out; $failures failed"
[ "$failures" = 0 ]
