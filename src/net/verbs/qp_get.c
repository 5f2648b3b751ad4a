// SPDX-License-Identifier: MIT
/* What does not change while a queue pair lives. */
#include "qp.h"

/* A getter's way in: the queue pair, or NULL with a line in the log. */
static struct doca_verbs_qp *look(const struct doca_verbs_qp *key)
{
	struct doca_verbs_qp *qp;

	return bl_qp_get((struct doca_verbs_qp *)(uintptr_t)key, &qp) ? NULL : qp;
}

void doca_verbs_qp_get_wq(const struct doca_verbs_qp *key, void **sq_buf, uint32_t *sq_num_entries, void **rq_buf,
			  uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes)
{
	struct doca_verbs_qp *qp = look(key);

	if (!qp)
		return;
	if (sq_buf)
		*sq_buf = qp->size.sq_blocks ? qp->mem.ring_addr + qp->size.rq_len : NULL;
	if (sq_num_entries)
		*sq_num_entries = qp->size.sq_blocks;
	if (rq_buf)
		*rq_buf = qp->size.rq_nr ? qp->mem.ring_addr : NULL;
	if (rq_num_entries)
		*rq_num_entries = qp->size.rq_nr;
	if (rwqe_size_bytes)
		*rwqe_size_bytes = qp->size.rq_sges * BL_WQE_SEG;
	bl_qp_put(qp);
}

void *doca_verbs_qp_get_dbr_addr(const struct doca_verbs_qp *key)
{
	struct doca_verbs_qp *qp = look(key);
	void *addr = NULL;

	if (qp) {
		addr = qp->mem.dbr_addr;
		bl_qp_put(qp);
	}
	return addr;
}

void *doca_verbs_qp_get_uar_addr(const struct doca_verbs_qp *key)
{
	struct doca_verbs_qp *qp = look(key);
	void *addr = NULL;

	if (qp) {
		addr = qp->init.send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT ? qp->uar_info.no_dbrec_db :
											   qp->uar_info.db;
		bl_qp_put(qp);
	}
	return addr;
}

uint32_t doca_verbs_qp_get_qpn(const struct doca_verbs_qp *key)
{
	struct doca_verbs_qp *qp = look(key);
	uint32_t num = 0;

	if (qp) {
		num = qp->num;
		bl_qp_put(qp);
	}
	return num;
}

enum doca_verbs_qp_send_dbr_mode doca_verbs_qp_get_send_dbr_mode(const struct doca_verbs_qp *key)
{
	struct doca_verbs_qp *qp = look(key);
	enum doca_verbs_qp_send_dbr_mode mode = DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID;

	if (qp) {
		mode = qp->init.send_dbr_mode;
		bl_qp_put(qp);
	}
	return mode;
}

bool doca_verbs_qp_get_emulate_no_dbr_ext(const struct doca_verbs_qp *key)
{
	struct doca_verbs_qp *qp = look(key);
	bool emulate = false;

	if (qp) {
		emulate = qp->init.emulate_no_dbr_ext;
		bl_qp_put(qp);
	}
	return emulate;
}
