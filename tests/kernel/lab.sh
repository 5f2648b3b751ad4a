# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What tests/kernel/run and scripts/guest share: the parts of a guest and its machine. Sourced, with $root set.

: "${root:?}"
# modprobe is there, which needs no root
export PATH=$PATH:/usr/sbin:/sbin
lab_script=${0##*/}
# shellcheck disable=SC2034 # who sources this reads it
lab_iommus='off on pt'
# 4096 bytes at 448 MiB that cannot be read, nor written after the first try
lab_bad_drive='if=none,id=vd0,driver=raw,file.driver=blkdebug,file.image.driver=file,file.inject-error.0.event=read_aio'
lab_bad_drive+=',file.inject-error.0.errno=5,file.inject-error.0.sector=917504,file.inject-error.0.once=off'
# the same for a second NVMe drive, which comes when a test asks for it
lab_second_drive=${lab_bad_drive/id=vd0/id=nv1}
# gdrcopy_sanity needs as much
lab_card_size=${BARLANE_CARD_SIZE:-256M}
# where the NVMe drive is: "switch", beside the card, or "root", below a root port of its own
lab_drive=${BARLANE_GUEST_DRIVE:-switch}
lab_cpu=${BARLANE_GUEST_CPU:-max}

lab_die() {
	printf '%s: %s\n' "$lab_script" "$*" >&2
	exit 1
}

# Programs that a guest is made with; prints the first that is missing.
lab_missing() {
	local tool

	for tool in qemu-system-x86_64 busybox cpio modprobe xz flock; do
		command -v "$tool" >/dev/null || {
			printf '%s\n' "$tool"
			return
		}
	done
}

# A size such as 64M, 4G or 4096 in bytes.
lab_bytes() {
	numfmt --from=iec "$1" 2>/dev/null || lab_die "$1 is no size"
}

# lab_prepare VERSION BUILD WORK: modules, initramfs and empty memory and disk in the folder WORK
lab_prepare() {
	local version=$1 build=$2 work=$3 modules=$2/kernel-modules/$1

	mkdir -p "$work" "$modules" || lab_die "$work cannot be made"
	"$root/tests/kernel/build-modules" "$version" "$modules" >"$work/modules.log" 2>&1 || {
		cat "$work/modules.log" >&2
		return 1
	}
	"$root/tests/kernel/initramfs" "$version" "$build" "$modules/modules" "$work/initramfs.cpio" || return
	# sparse: only what is touched costs memory or disk
	rm -f "$work/card.bin" "$work"/nvme{,1}.img "$work/virtio.img" "$work/monitor.in" "$work/monitor.out"
	truncate -s "$(lab_bytes "$lab_card_size")" "$work/card.bin" && truncate -s 512M "$work/nvme.img" "$work/nvme1.img" "$work/virtio.img"
}

# lab_machine VERSION IOMMU WORK COMMAND-LINE: sets the array machine to the command of the emulator, but for the serial
# lines. The card and one drive lie behind one switch, the DMA engine and the drive with 4 KiB sectors behind root
# ports of their own.
# shellcheck disable=SC2034,SC2054 # who sources this reads machine; the commas are the emulator's
lab_machine() {
	local version=$1 iommu=$2 work=$3 line=$4 image drive_bus

	image=$("$root/scripts/kernels" image "$version") || return
	# never KVM: a node that looks right may still fail in the guest
	machine=(qemu-system-x86_64 -no-reboot -nodefaults -display none -monitor none -M q35 -accel tcg,thread=multi
		-cpu "$lab_cpu" -smp 2 -m "${BARLANE_GUEST_MEMORY:-1G}" -kernel "$image" -initrd "$work/initramfs.cpio")
	line="console=ttyS0 quiet printk.time=1 panic=-1 log_buf_len=4M pty.legacy_count=0 mitigations=off $line"
	case $version in
	*-debug) line="kasan_multi_shot=1 kmemleak=on $line" ;;
	esac
	case $iommu in
	on) line="intel_iommu=on iommu.strict=1 $line" ;;
	pt) line="intel_iommu=on iommu=pt $line" ;;
	esac
	case $lab_drive in
	switch) drive_bus=dp1 ;;
	root) drive_bus=rp3 ;;
	*) lab_die "BARLANE_GUEST_DRIVE is switch or root, not $lab_drive" ;;
	esac
	[ $drive_bus = dp1 ] || machine+=(-device pcie-root-port,id=rp3,chassis=6,slot=6,bus=pcie.0,addr=7)
	[ "$iommu" = off ] || machine+=(-device intel-iommu,intremap=off)
	# the kernel's own hotplug of PCI Express and not the firmware's
	machine+=(-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off)
	machine+=(
		-device pcie-root-port,id=rp0,chassis=1,slot=1,bus=pcie.0,addr=4
		-device x3130-upstream,id=up0,bus=rp0
		-device xio3130-downstream,id=dp0,bus=up0,chassis=2,slot=2
		-device xio3130-downstream,id=dp1,bus=up0,chassis=3,slot=3
		-device xio3130-downstream,id=dp2,bus=up0,chassis=8,slot=8
		-object "memory-backend-file,id=vram,mem-path=$work/card.bin,size=$(lab_bytes "$lab_card_size"),share=on"
		-device ivshmem-plain,id=card,memdev=vram,bus=dp0
		-drive "if=none,id=nv0,file=$work/nvme.img,format=raw" -device "nvme,serial=lab0,drive=nv0,bus=$drive_bus"
		-device pcie-root-port,id=rp1,chassis=4,slot=4,bus=pcie.0,addr=5
		-device edu,id=edu0,bus=rp1,dma_mask=0xffffffffffffffff
		-device pcie-root-port,id=rp2,chassis=5,slot=5,bus=pcie.0,addr=6
		-drive "$lab_bad_drive,file.image.filename=$work/virtio.img"
		-device virtio-blk-pci,drive=vd0,bus=rp2,logical_block_size=4096,physical_block_size=4096
		-append "$line bl.env.LAB_KERNEL=$version bl.env.LAB_IOMMU=$iommu bl.env.LAB_DRIVE=$lab_drive"
	)
}
