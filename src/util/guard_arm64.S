/* SPDX-License-Identifier: MIT */
/*
 * guard.h for arm64: places in code that the handler of faults knows.
 *
 * bl_guard_enter(fn, arg, sp_p): call @fn and note the stack in *@sp_p; the handler continues at bl_guard_leave with that
 * stack, where the registers of the caller lie, and with the value to return.
 */
#ifdef __aarch64__
	.text

	.macro	function name
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.balign	16
\name:
	.endm

	.macro	place name
	.globl	\name
	.hidden	\name
\name:
	.endm

	function bl_guard_enter
	.cfi_startproc
	stp	x29, x30, [sp, #-160]!
	.cfi_adjust_cfa_offset 160
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov	x29, sp
	stp	x19, x20, [sp, #16]
	.cfi_rel_offset x19, 16
	.cfi_rel_offset x20, 24
	stp	x21, x22, [sp, #32]
	.cfi_rel_offset x21, 32
	.cfi_rel_offset x22, 40
	stp	x23, x24, [sp, #48]
	.cfi_rel_offset x23, 48
	.cfi_rel_offset x24, 56
	stp	x25, x26, [sp, #64]
	.cfi_rel_offset x25, 64
	.cfi_rel_offset x26, 72
	stp	x27, x28, [sp, #80]
	.cfi_rel_offset x27, 80
	.cfi_rel_offset x28, 88
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	str	x29, [x2]
	mov	x9, x0
	mov	x0, x1
	blr	x9
	place	bl_guard_leave
	ldp	d14, d15, [sp, #144]
	ldp	d12, d13, [sp, #128]
	ldp	d10, d11, [sp, #112]
	ldp	d8, d9, [sp, #96]
	ldp	x27, x28, [sp, #80]
	ldp	x25, x26, [sp, #64]
	ldp	x23, x24, [sp, #48]
	ldp	x21, x22, [sp, #32]
	ldp	x19, x20, [sp, #16]
	ldp	x29, x30, [sp], #160
	.cfi_adjust_cfa_offset -160
	ret
	.cfi_endproc
	.size	bl_guard_enter, . - bl_guard_enter

	function bl_guard_load32
	.cfi_startproc
	place	bl_guard_at32
	ldar	w2, [x0]
	str	w2, [x1]
	mov	w0, #0
	ret
	.cfi_endproc
	.size	bl_guard_load32, . - bl_guard_load32

	function bl_guard_load64
	.cfi_startproc
	place	bl_guard_at64
	ldar	x2, [x0]
	str	x2, [x1]
	mov	w0, #0
	/* the handler continues here, with the value to return */
	place	bl_guard_miss
	ret
	.cfi_endproc
	.size	bl_guard_load64, . - bl_guard_load64
#endif
	.section .note.GNU-stack, "", %progbits
