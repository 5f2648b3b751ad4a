/* SPDX-License-Identifier: MIT */
/* capture.h - what stream captures forbid; see queue.h for their state */
#ifndef EMU_CUDA_CAPTURE_H
#define EMU_CUDA_CAPTURE_H

#include "state.h"

struct emu_stream;

/* Whether work may be put on a stream now; queue lock held. Work that breaks a capture invalidates it. */
CUresult emu_capture_check_submit(struct emu_stream *stream);

/* Whether the host may wait for a stream, or ask about it; queue lock held. */
CUresult emu_capture_check_wait(struct emu_stream *stream);

/* Whether a callback may be added to a stream: one that is captured is invalidated by it. */
CUresult emu_capture_check_callback(struct emu_ctx *ctx, CUstream handle);

/* Whether the host may wait for a whole context. */
CUresult emu_capture_check_ctx(struct emu_ctx *ctx);

/* Whether the calling thread may make a call that CUDA calls potentially unsafe during capture, such as cuMemAlloc. */
CUresult emu_capture_check_unsafe(void);

#endif
