// SPDX-License-Identifier: MIT
/* What can be asked of an exported queue pair, and told to kernels that use it. */
#define log_fmt(fmt) "qp: " fmt
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/export.h"
#include "net/fold.h"
#include "net/log.h"
#include "net/proxy.h"
#include "net/service.h"

const char *bl_net_syndrome_text(int syndrome)
{
	switch (syndrome) {
	case 0x00:
		return "no error";
	case 0x01:
		return "local length error";
	case 0x02:
		return "local queue pair operation error";
	case 0x04:
		return "local protection error";
	case 0x05:
		return "flushed: the queue pair failed before";
	case 0x06:
		return "memory window bind error";
	case 0x10:
		return "bad response";
	case 0x11:
		return "local access error";
	case 0x12:
		return "remote invalid request";
	case 0x13:
		return "remote access error";
	case 0x14:
		return "remote operation error";
	case 0x15:
		return "retries exceeded: the peer does not answer";
	case 0x16:
		return "RNR retries exceeded: the peer posts no receives";
	case 0x22:
		return "aborted by the peer";
	default:
		return "unknown syndrome";
	}
}

static int query(struct doca_gpu_verbs_qp *qp, struct bl_nic_qp_info *info, uint32_t *dest_p)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_GPU_QP, qp, &object);
	if (ret)
		return ret;
	*info = (struct bl_nic_qp_info){ 0 };
	ret = bl_qp_info(qp->qp, info);
	if (dest_p)
		*dest_p = bl_gpu_qp_of(qp)->verbs->mod.dest_qpn;
	bl_object_put(object);
	return ret;
}

doca_error_t doca_gpu_verbs_query_last_error(struct doca_gpu_verbs_qp *qp,
					     struct doca_gpu_verbs_qp_error_info *error_info)
{
	struct bl_nic_qp_info info;
	int ret;

	if (!error_info)
		return bl_net_doca(fail(EINVAL, "no place for the answer"));
	ret = query(qp, &info, NULL);
	if (ret)
		return bl_net_doca(ret);
	*error_info = (struct doca_gpu_verbs_qp_error_info){ .has_error = info.state == DOCA_VERBS_QP_STATE_ERR };
	if (error_info->has_error) {
		error_info->syndrome = info.syndrome;
		error_info->vendor_err_synd = info.vendor;
		error_info->hw_err_synd = info.hw;
		error_info->hw_synd_type = info.hw_type;
		error_info->wqe_counter = info.wqe_counter;
	}
	return DOCA_SUCCESS;
}

/* Kernels have posted, and nobody tells the NIC, or counts its completions. */
static void tell_proxy(struct bl_gpu_qp *qp, char *text, size_t size)
{
	const uint64_t *word;
	uint64_t posted = 0, served = 0;

	if (!qp->pub.cpu_proxy || bl_served_by(qp) != BL_NET_RINGER_PROGRAM)
		return;
	/* a word of the GPU's object stays as long as nobody serves */
	bl_proxy_hold(qp);
	word = qp->watched ? NULL : atomic_load(&qp->word);
	if (word) {
		posted = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		served = __atomic_load_n(&qp->pub.sq_wqe_pi_last, __ATOMIC_RELAXED);
	}
	bl_proxy_release(qp);
	if (posted != served)
		snprintf(text, size,
			 "no proxy thread: %llu blocks are posted, the NIC was told of %llu, and nobody but the program rings",
			 (unsigned long long)posted, (unsigned long long)served);
	else if (bl_fold_news(qp))
		snprintf(text, size, "no proxy thread: requests are complete, and nobody but the program counts them");
}

int bl_net_qp_error(struct doca_gpu_verbs_qp *qp, struct bl_net_qp_error *error)
{
	struct bl_nic_qp_info info;
	uint32_t dest;
	int ret;

	if (!error || error->sz < sizeof(*error))
		return fail(EINVAL, "no place for the answer, or one that is too small");
	ret = query(qp, &info, &dest);
	if (ret)
		return ret;
	*error = (struct bl_net_qp_error){ .sz = sizeof(*error), .qpn = qp->qp_cpu->sq_num, .dest_qpn = dest };
	if (info.state != DOCA_VERBS_QP_STATE_ERR) {
		snprintf(error->text, sizeof(error->text), "%s", info.text);
		if (!*error->text)
			tell_proxy(bl_gpu_qp_of(qp), error->text, sizeof(error->text));
		return 0;
	}
	error->has_error = 1;
	error->syndrome = info.syndrome;
	error->vendor = info.vendor;
	error->opcode = info.opcode;
	error->wqe_counter = info.wqe_counter;
	error->responder = info.responder;
	snprintf(error->text, sizeof(error->text), "%s", info.text[0] ? info.text : bl_net_syndrome_text(info.syndrome));
	return 0;
}

int bl_net_qp_stop(struct doca_gpu_verbs_qp *qp, uint32_t stop)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_GPU_QP, qp, &object);
	if (ret)
		return ret;
	/* what the caller stored before is seen by a kernel that sees this */
	__atomic_store_n(&bl_gpu_qp_of(qp)->control->stop, stop, __ATOMIC_RELEASE);
	bl_object_put(object);
	return 0;
}

enum bl_net_ringer bl_export_ringer(struct bl_gpu_qp *qp)
{
	bool emulated = qp->pub.send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED;

	/* a CPU may be there for the completions only */
	if (!bl_is_proxy(qp->begin.nic_handler) && !emulated)
		return BL_NET_RINGER_GPU;
	/* of words for each slot a CPU makes the one that the NIC looks at */
	return qp->watched && !qp->slots ? BL_NET_RINGER_NIC : bl_served_by(qp);
}

int bl_net_qp_path(struct doca_gpu_verbs_qp *qp, struct bl_net_qp_path *path)
{
	struct bl_gpu_qp *mine = bl_gpu_qp_of(qp);
	struct bl_object *object;
	int ret;

	if (!path || path->sz < sizeof(*path))
		return fail(EINVAL, "no place for the answer, or one that is too small");
	ret = bl_object_get(BL_GPU_QP, qp, &object);
	if (ret)
		return ret;
	*path = (struct bl_net_qp_path){
		.sz = sizeof(*path),
		.handler = mine->begin.nic_handler,
		.ringer = bl_export_ringer(mine),
		.sq_on_host = mine->sq_on_host,
		.cq_on_host = mine->cq_on_host,
		.timeout_ms = mine->begin.cq_sq.timeout_ms,
		.rings = atomic_load(&mine->rings),
	};
	memcpy(path->reason, mine->reason, sizeof(path->reason));
	bl_object_put(object);
	return 0;
}
