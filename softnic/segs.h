/* SPDX-License-Identifier: MIT */
/* segs.h - moving bytes between packets and the data segments of a request; keys are checked each time */
#ifndef SOFTNIC_SEGS_H
#define SOFTNIC_SEGS_H

#include "qp.h"

/*
 * Each returns BL_SYNDROME_NONE, or what is wrong; then it is noted in the request, which is not sent any further.
 * @off: into the data of the request
 */

/* Data to send into a packet. */
enum bl_syndrome bl_segs_gather(struct bl_snic_qp *qp, struct bl_wr *wr, uint64_t off, uint8_t *dst, uint32_t len);

/* What came back to where it belongs. */
enum bl_syndrome bl_segs_scatter(struct bl_snic_qp *qp, struct bl_wr *wr, uint64_t off, const uint8_t *src,
				 uint32_t len);

/* Whether all of the memory may be reached: BL_SNIC_LOCAL_WRITE for what comes back, 0 for what is sent. */
enum bl_syndrome bl_segs_check(struct bl_snic_qp *qp, struct bl_wr *wr, unsigned int access);

/**
 * struct bl_segs_part - a part of the data of a request that lies together
 * @mr, @off: where
 * @len: bytes
 */
struct bl_segs_part {
	struct bl_snic_mr *mr;
	uint64_t off;
	uint32_t len;
};

/* The part that begins at @off, of a request that has no data inside; BL_SNIC_LOCAL_WRITE or 0. */
enum bl_syndrome bl_segs_part(struct bl_snic_qp *qp, struct bl_wr *wr, uint64_t off, unsigned int access,
			      struct bl_segs_part *part);

/* For DUMP: reads the first and the last byte of each segment, and lets their owner catch up with earlier writes. */
enum bl_syndrome bl_segs_touch(struct bl_snic_qp *qp, struct bl_wr *wr);

/* A packet into a receive list. Return: as above; @bad_p receives the segment and @why_p the reason. */
enum bl_syndrome bl_segs_deliver(struct bl_snic_qp *qp, uint64_t off, const uint8_t *src, uint32_t len,
				 struct bl_rwqe_sge *bad_p, const char **why_p);

#endif
