// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/srq: " fmt
#include "attr.h"

BL_ATTR_CREATE(srq_init_attr)
BL_ATTR_DESTROY(srq_init_attr)

BL_ATTR(srq_init_attr, srq_wr, uint32_t)
BL_ATTR(srq_init_attr, receive_max_sges, uint32_t)
BL_ATTR(srq_init_attr, type, enum doca_verbs_srq_type)
BL_ATTR(srq_init_attr, pd, struct ibv_pd *)
BL_ATTR_SET_UMEM(srq_init_attr, external_umem, external_umem)
BL_ATTR_GET_UMEM(srq_init_attr)
