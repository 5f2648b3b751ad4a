# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Functions that scripts/demo and scripts/check share. Sourced, with $root set to the top of the source tree and $logs to
# where the output of commands goes.

: "${root:?}" "${logs:?}"
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
script=${0##*/}

die() {
	printf '%s: %s\n' "$script" "$*" >&2
	exit 1
}

say() {
	printf '%s: %s\n' "$script" "$*" >&2
}

# Packages that debian/control wants to build, to build and test, or, besides those, for one suite only: to make Debian
# packages and test them, or to build a debug kernel.
#   deb_packages build | all | packages | kernel-debug
deb_packages() {
	awk -v which="$1" '
		/^Build-Depends:/ { on = 1; sub(/^Build-Depends:/, "") }
		on && /^[^ \t]/ && !/^Build-Depends/ && NR > 1 && seen { exit }
		on {
			seen = 1
			n = split($0, item, ",")
			for (i = 1; i <= n; i++) {
				kind = "build"
				if (item[i] ~ /<!nocheck>/)
					kind = "all"
				if (item[i] ~ /<.*pkg\.barlane\.packages>/ || sub(/debhelper-compat/, "debhelper", item[i]) ||
				    item[i] ~ /dh-dkms/)
					kind = "packages"
				if (item[i] ~ /<.*pkg\.barlane\.kernel-debug>/)
					kind = "kernel-debug"
				gsub(/\([^)]*\)|<[^>]*>|\[[^]]*\]|[ \t]/, "", item[i])
				if (item[i] != "" && (kind == which || which == "all" && kind == "build"))
					print item[i]
			}
		}' "$root/debian/control"
}

compiles() {
	printf '%s\n' "$1" | cc -x c -fsyntax-only - 2>/dev/null
}

# Whether what a package is wanted for is there, however it came: by dpkg, by hand, by another package manager.
have() {
	case $1 in
	gcc) command -v cc >/dev/null && command -v gcc >/dev/null ;;
	g++) command -v g++ >/dev/null ;;
	libc6-dev) compiles '#include <stdio.h>' ;;
	meson) meson_new_enough ;;
	ninja-build) command -v ninja >/dev/null || command -v ninja-build >/dev/null ;;
	pkgconf | pkg-config) command -v pkg-config >/dev/null ;;
	libjson-c-dev) pkg-config --exists json-c 2>/dev/null ;;
	libibverbs-dev) pkg-config --exists libibverbs 2>/dev/null ;;
	liburing-dev) pkg-config --exists 'liburing >= 2.2' 2>/dev/null ;;
	libnuma-dev) pkg-config --exists numa 2>/dev/null ;;
	clang | codespell | cppcheck | shellcheck | mandoc | python3 | spin | tshark | valgrind) command -v "$1" >/dev/null ;;
	gcc-aarch64-linux-gnu) command -v aarch64-linux-gnu-gcc >/dev/null ;;
	libc6-dev-arm64-cross) [ -e /usr/aarch64-linux-gnu/include/stdio.h ] ;;
	libclang-rt-dev) [ -n "$(find "$(clang --print-runtime-dir 2>/dev/null)" -name '*fuzzer*' 2>/dev/null)" ] ;;
	qemu-system-x86) command -v qemu-system-x86_64 >/dev/null ;;
	busybox-static) command -v busybox >/dev/null && ! ldd "$(command -v busybox)" >/dev/null 2>&1 ;;
	bc | bison | cpio | flex) command -v "$1" >/dev/null ;;
	e2fsprogs) PATH=$PATH:/usr/sbin:/sbin command -v mkfs.ext4 >/dev/null ;;
	xfsprogs) PATH=$PATH:/usr/sbin:/sbin command -v mkfs.xfs >/dev/null ;;
	btrfs-progs) PATH=$PATH:/usr/sbin:/sbin command -v mkfs.btrfs >/dev/null ;;
	dmsetup) PATH=$PATH:/usr/sbin:/sbin command -v dmsetup >/dev/null ;;
	iproute2) PATH=$PATH:/usr/sbin:/sbin command -v ip >/dev/null && PATH=$PATH:/usr/sbin:/sbin command -v rdma >/dev/null ;;
	nftables) PATH=$PATH:/usr/sbin:/sbin command -v nft >/dev/null ;;
	kmod) [ -n "$(PATH=$PATH:/usr/sbin:/sbin command -v depmod)" ] ;;
	libelf-dev) compiles '#include <libelf.h>' ;;
	xz-utils) command -v xz >/dev/null ;;
	qemu-user-static) command -v qemu-aarch64-static >/dev/null || command -v qemu-aarch64 >/dev/null ;;
	*) dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed' ;;
	esac
}

meson_new_enough() {
	local version

	version=$(meson --version 2>/dev/null) || return 1
	[ "${version%%.*}" -ge 1 ]
}

# Packages of the given list that are missing, one a line.
missing_packages() {
	local package

	for package in $(deb_packages "$1"); do
		have "$package" || printf '%s\n' "$package"
	done
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		return 1
	fi
}

# Install what is missing of a list; quiet and without network when nothing is.
#   install_packages build | all | packages | kernel-debug
# shellcheck disable=SC2034 # its callers read $install_problem
# Return: 0 all there, 1 something is still missing; $still_missing names it and $install_problem says why.
install_packages() {
	local missing

	still_missing=$(missing_packages "$1" | xargs)
	install_problem=
	[ -z "$still_missing" ] && return 0
	if ! command -v apt-get >/dev/null; then
		install_problem='there is no apt-get here; install them with the system'\''s own package manager'
		return 1
	fi
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		install_problem='installing needs root or sudo'
		return 1
	fi
	# sudo asks for a password here, where it can be seen, and not behind a progress line
	if [ "$(id -u)" != 0 ] && ! sudo -v; then
		install_problem='sudo did not let us install them'
		return 1
	fi
	missing=$still_missing
	mkdir -p "$logs"
	# a mirror moves on: lists are fetched when there are none, or when installing with the old ones fails
	# shellcheck disable=SC2086 # a list of words
	{ have_lists && step "install $missing" apt_install $missing; } ||
		step "refresh the package lists and install $missing" apt_refresh_install $missing ||
		install_problem="apt-get failed, see $step_log"
	still_missing=$(missing_packages "$1" | xargs)
	[ -z "$still_missing" ]
}

apt_install() {
	as_root apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" </dev/null
}

# One package that cannot be had must not keep the others away.
apt_refresh_install() {
	local package rc=0

	as_root apt-get -o DPkg::Lock::Timeout=300 update </dev/null || return
	apt_install "$@" && return
	for package; do
		apt_install "$package" || rc=1
	done
	return $rc
}

have_lists() {
	compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null
}

# Run a command with its output in a log. A terminal shows one line that counts the seconds, else a line is printed.
#   step TEXT COMMAND...
step() {
	local text=$1 log pid start=$SECONDS rc

	shift
	mkdir -p "$logs"
	log=$logs/$(printf '%.60s' "$text" | tr -cs 'A-Za-z0-9\n' '-').log
	if [ -t 2 ]; then
		"$@" >"$log" 2>&1 </dev/null &
		pid=$!
		# a background command of a script does not get the terminal's ^C
		# shellcheck disable=SC2064 # the process that runs now
		trap "kill $pid 2>/dev/null; exit 130" INT TERM
		while kill -0 "$pid" 2>/dev/null; do
			printf '\r\033[K%s: %s (%d s)' "$script" "$text" $((SECONDS - start)) >&2
			sleep 0.2
		done
		wait "$pid"
		rc=$?
		trap - INT TERM
		printf '\r\033[K' >&2
	else
		say "$text"
		"$@" >"$log" 2>&1 </dev/null
		rc=$?
	fi
	step_log=$log
	[ $rc = 0 ] || say "failed after $((SECONDS - start)) s: $text"
	return $rc
}

show_log() {
	say "last lines of $step_log:"
	tail -n 30 "$step_log" >&2
}

# Whether barlane-demo finds a GPU that is no stand-in. $gpu_found is its name, or why there is none.
#   real_gpu BUILD-DIRECTORY
real_gpu() {
	if ! [ -e /dev/nvidiactl ]; then
		gpu_found='there is no /dev/nvidiactl'
		return 1
	fi
	gpu_found=$(env -u BARLANE_SYSCALLS "$1/tools/demo/barlane-demo" --probe 2>&1) || return 1
	case $gpu_found in
	*emulated*) return 1 ;;
	esac
}
