/* SPDX-License-Identifier: MIT */
/* place_spin.h - a kernel that fills a GPU: each block sets its byte, and spins until a word is set or time is over */
#ifndef BENCH_PLACE_SPIN_H
#define BENCH_PLACE_SPIN_H

static const char place_spin_ptx[] = ".version 6.4\n"
				     ".target sm_70\n"
				     ".address_size 64\n"
				     ".visible .entry bl_place_spin(.param .u64 word, .param .u64 bytes, .param .u64 ns)\n"
				     "{\n"
				     "	.reg .pred %p<4>;\n"
				     "	.reg .b32 %r<4>;\n"
				     "	.reg .b64 %d<8>;\n"
				     "	ld.param.u64 %d1, [word];\n"
				     "	ld.param.u64 %d2, [bytes];\n"
				     "	ld.param.u64 %d3, [ns];\n"
				     "	mov.u64 %d4, %globaltimer;\n"
				     "	mov.u32 %r1, %tid.x;\n"
				     "	setp.ne.u32 %p1, %r1, 0;\n"
				     "	@%p1 bra SPIN;\n"
				     "	mov.u32 %r2, %ctaid.x;\n"
				     "	cvt.u64.u32 %d5, %r2;\n"
				     "	add.u64 %d2, %d2, %d5;\n"
				     "	mov.u32 %r3, 1;\n"
				     "	st.volatile.global.u8 [%d2], %r3;\n"
				     "SPIN:\n"
				     "	ld.volatile.global.u32 %r3, [%d1];\n"
				     "	setp.ne.u32 %p2, %r3, 0;\n"
				     "	@%p2 bra END;\n"
				     "	mov.u64 %d6, %globaltimer;\n"
				     "	sub.u64 %d6, %d6, %d4;\n"
				     "	setp.lt.u64 %p3, %d6, %d3;\n"
				     "	@%p3 bra SPIN;\n"
				     "END:\n"
				     "	ret;\n"
				     "}\n";

/* How many of the first @blocks have set theirs. */
static inline unsigned int place_spin_running(const volatile unsigned char *bytes, unsigned int blocks)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < blocks; i++)
		nr += bytes[i];
	return nr;
}

#endif
