/* SPDX-License-Identifier: MIT */
/*
 * guard.h for x86-64: places in code that the handler of faults knows. A load is acquire here.
 *
 * bl_guard_enter(fn, arg, sp_p): call @fn and note the stack in *@sp_p; the handler continues at bl_guard_leave with that
 * stack, where the registers of the caller lie, and with the value to return.
 */
#ifdef __x86_64__
	.text

	.macro	function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
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
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	/* calls want the stack aligned to 16 bytes */
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, (%rdx)
	movq	%rdi, %rax
	movq	%rsi, %rdi
	call	*%rax
	place	bl_guard_leave
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r15
	.cfi_adjust_cfa_offset -8
	popq	%r14
	.cfi_adjust_cfa_offset -8
	popq	%r13
	.cfi_adjust_cfa_offset -8
	popq	%r12
	.cfi_adjust_cfa_offset -8
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	bl_guard_enter, . - bl_guard_enter

	function bl_guard_load32
	.cfi_startproc
	place	bl_guard_at32
	movl	(%rdi), %eax
	movl	%eax, (%rsi)
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	bl_guard_load32, . - bl_guard_load32

	function bl_guard_load64
	.cfi_startproc
	place	bl_guard_at64
	movq	(%rdi), %rax
	movq	%rax, (%rsi)
	xorl	%eax, %eax
	/* the handler continues here, with the value to return */
	place	bl_guard_miss
	ret
	.cfi_endproc
	.size	bl_guard_load64, . - bl_guard_load64
#endif
	.section .note.GNU-stack, "", %progbits
