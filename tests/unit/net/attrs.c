// SPDX-License-Identifier: MIT
/* Every setter and getter of attributes: what is set is what is got, and NULL is an error. */
#include "barlane.h"
#include "barlane_net.h"
#include "fake_nic.h"
#include "gpunetio/host/doca_verbs.h"
#include "tap.h"

static struct ibv_context *context;

static void *const some = (void *)0x1234;

/* Set, get; NULL for the object; a new object has 0. */
#define BOTH(obj, field, value)                                                                                        \
	do {                                                                                                           \
		check_eq((uintptr_t)doca_verbs_##obj##_get_##field(obj), 0);                                           \
		check_eq(doca_verbs_##obj##_set_##field(obj, value), DOCA_SUCCESS);                                    \
		check_eq((uintptr_t)doca_verbs_##obj##_get_##field(obj), (uintptr_t)(value));                          \
		check_eq(doca_verbs_##obj##_set_##field(NULL, value), DOCA_ERROR_INVALID_VALUE);                       \
		check_eq((uintptr_t)doca_verbs_##obj##_get_##field(NULL), 0);                                          \
		check_has(bl_last_error(NULL), "doca_verbs_" #obj "_get_" #field);                                     \
	} while (0)

#define SET_ONLY(obj, field, value)                                                                                    \
	do {                                                                                                           \
		check_eq(doca_verbs_##obj##_set_##field(obj, value), DOCA_SUCCESS);                                    \
		check_eq(doca_verbs_##obj##_set_##field(NULL, value), DOCA_ERROR_INVALID_VALUE);                       \
		check_has(bl_last_error(NULL), "doca_verbs_" #obj "_set_" #field);                                     \
	} while (0)

#define SET_UMEM(obj, field)                                                                                           \
	do {                                                                                                           \
		check_eq(doca_verbs_##obj##_set_##field(obj, some, 64), DOCA_SUCCESS);                                 \
		check_eq(doca_verbs_##obj##_set_##field(NULL, some, 64), DOCA_ERROR_INVALID_VALUE);                    \
	} while (0)

#define GET_UMEM(obj)                                                                                                  \
	do {                                                                                                           \
		struct doca_verbs_umem *umem = NULL;                                                                   \
		uint64_t off = 0;                                                                                      \
		check_eq(doca_verbs_##obj##_set_external_umem(obj, some, 0x4000000040), DOCA_SUCCESS);                 \
		check_eq(doca_verbs_##obj##_get_external_umem(obj, &umem, &off), DOCA_SUCCESS);                        \
		check(umem == some && off == 0x4000000040);                                                            \
		check_eq(doca_verbs_##obj##_set_external_umem(NULL, some, 0), DOCA_ERROR_INVALID_VALUE);               \
		check_eq(doca_verbs_##obj##_get_external_umem(NULL, &umem, &off), DOCA_ERROR_INVALID_VALUE);           \
		check_eq(doca_verbs_##obj##_get_external_umem(obj, NULL, &off), DOCA_ERROR_INVALID_VALUE);             \
		check_eq(doca_verbs_##obj##_get_external_umem(obj, &umem, NULL), DOCA_ERROR_INVALID_VALUE);            \
	} while (0)

static void qp_init_attributes_keep_what_they_are_given(void)
{
	struct doca_verbs_qp_init_attr *qp_init_attr = NULL;
	struct doca_verbs_uar *uar = NULL;

	check_eq(doca_verbs_qp_init_attr_create(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_init_attr_create(&qp_init_attr), DOCA_SUCCESS);
	BOTH(qp_init_attr, pd, some);
	BOTH(qp_init_attr, send_cq, some);
	BOTH(qp_init_attr, receive_cq, some);
	BOTH(qp_init_attr, srq, some);
	BOTH(qp_init_attr, qp_context, some);
	BOTH(qp_init_attr, sq_sig_all, 1);
	BOTH(qp_init_attr, sq_wr, 0x80000001U);
	BOTH(qp_init_attr, rq_wr, 0x80000002U);
	BOTH(qp_init_attr, send_max_sges, 0x80000003U);
	BOTH(qp_init_attr, receive_max_sges, 0x80000004U);
	BOTH(qp_init_attr, max_inline_data, 0x80000005U);
	BOTH(qp_init_attr, user_index, 0xffffffU);
	BOTH(qp_init_attr, qp_type, DOCA_VERBS_QP_TYPE_UC);
	BOTH(qp_init_attr, core_direct_master, 1);
	BOTH(qp_init_attr, send_dbr_mode, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
	BOTH(qp_init_attr, emulate_no_dbr_ext, true);
	SET_ONLY(qp_init_attr, external_datapath_en, 1);
	GET_UMEM(qp_init_attr);
	SET_UMEM(qp_init_attr, external_dbr_umem);
	SET_UMEM(qp_init_attr, external_umem_dbr);
	SET_ONLY(qp_init_attr, external_uar, some);
	check_eq(doca_verbs_qp_init_attr_get_external_uar(qp_init_attr, &uar), DOCA_SUCCESS);
	check(uar == some);
	check_eq(doca_verbs_qp_init_attr_get_external_uar(NULL, &uar), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_init_attr_get_external_uar(qp_init_attr, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_init_attr_destroy(qp_init_attr), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
}

static void setters_refuse_what_can_never_be(void)
{
	struct doca_verbs_qp_init_attr *init = NULL;
	struct doca_verbs_cq_attr *cq_attr = NULL;

	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	check_eq(doca_verbs_cq_attr_create(&cq_attr), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_user_index(init, 0x1000000), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_init_attr_set_core_direct_master(init, 2), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_init_attr_set_external_datapath_en(init, 2), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_cq_attr_set_cq_collapsed(cq_attr, 2), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_cq_attr_set_external_datapath_en(cq_attr, 2), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_cq_attr_set_entry_size(cq_attr, 128), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_init_attr_get_user_index(init), 0);
	check_eq(doca_verbs_qp_init_attr_get_core_direct_master(init), 0);
	doca_verbs_cq_attr_destroy(cq_attr);
	doca_verbs_qp_init_attr_destroy(init);
}

static void qp_attributes_keep_what_they_are_given(void)
{
	struct doca_verbs_qp_attr *qp_attr = NULL;

	check_eq(doca_verbs_qp_attr_create(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_qp_attr_create(&qp_attr), DOCA_SUCCESS);
	BOTH(qp_attr, next_state, DOCA_VERBS_QP_STATE_RTS);
	BOTH(qp_attr, current_state, DOCA_VERBS_QP_STATE_ERR);
	BOTH(qp_attr, path_mtu, DOCA_VERBS_MTU_SIZE_4K_BYTES);
	BOTH(qp_attr, rq_psn, 0x80000001U);
	BOTH(qp_attr, sq_psn, 0x80000002U);
	BOTH(qp_attr, dest_qp_num, 0x80000003U);
	BOTH(qp_attr, allow_remote_write, 1);
	BOTH(qp_attr, allow_remote_read, 1);
	BOTH(qp_attr, allow_remote_atomic, DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES);
	BOTH(qp_attr, ah_attr, some);
	BOTH(qp_attr, pkey_index, 0x8001);
	BOTH(qp_attr, port_num, 0x8002);
	BOTH(qp_attr, ack_timeout, 0x8003);
	BOTH(qp_attr, retry_cnt, 0x8004);
	BOTH(qp_attr, rnr_retry, 0x8005);
	BOTH(qp_attr, min_rnr_timer, 0x8006);
	SET_ONLY(qp_attr, max_rd_atomic, 16);
	SET_ONLY(qp_attr, max_dest_rd_atomic, 16);
	SET_ONLY(qp_attr, atomic_mode, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	check_eq(doca_verbs_qp_attr_get_allow_remote_atomic(qp_attr), DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	check_eq(doca_verbs_qp_attr_destroy(qp_attr), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_attr_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
}

/* Getters of these have names of their own. */
#define AH(field, value)                                                                                               \
	do {                                                                                                           \
		check_eq(doca_verbs_ah_attr_set_##field(ah, value), DOCA_SUCCESS);                                     \
		check_eq(doca_verbs_ah_get_##field(ah), value);                                                        \
		check_eq(doca_verbs_ah_attr_set_##field(NULL, value), DOCA_ERROR_INVALID_VALUE);                       \
		check_eq(doca_verbs_ah_get_##field(NULL), 0);                                                          \
	} while (0)

static void address_attributes_keep_what_they_are_given(void)
{
	struct doca_verbs_gid gid = { { 1, 2, 3 } }, none = { { 0 } }, got;
	struct doca_verbs_ah_attr *ah = NULL;

	check_eq(doca_verbs_ah_attr_create(context, &ah), DOCA_SUCCESS);
	AH(addr_type, DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
	AH(dlid, 0x80000001U);
	AH(sl, 0x81);
	AH(sgid_index, 0x82);
	AH(static_rate, 0x83);
	AH(hop_limit, 0x84);
	AH(traffic_class, 0x85);
	check_eq(doca_verbs_ah_attr_set_gid(ah, gid), DOCA_SUCCESS);
	got = doca_verbs_ah_get_gid(ah);
	check(!memcmp(&got, &gid, sizeof(gid)));
	check_eq(doca_verbs_ah_attr_set_gid(NULL, gid), DOCA_ERROR_INVALID_VALUE);
	got = doca_verbs_ah_get_gid(NULL);
	check(!memcmp(&got, &none, sizeof(none)));
	check_eq(doca_verbs_ah_attr_destroy(ah), DOCA_SUCCESS);
	check_eq(doca_verbs_ah_attr_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
}

static void address_attributes_are_for_devices_of_this_library(void)
{
	struct ibv_context foreign = { .num_comp_vectors = 1 };
	struct doca_verbs_ah_attr *ah = some;

	check_eq(doca_verbs_ah_attr_create(&foreign, &ah), DOCA_ERROR_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "devices of other libraries are not served");
	check_eq(doca_verbs_ah_attr_create(NULL, &ah), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_ah_attr_create(context, NULL), DOCA_ERROR_INVALID_VALUE);
	check(ah == some);
}

static void cq_attributes_can_be_set(void)
{
	struct doca_verbs_cq_attr *cq_attr = NULL;

	check_eq(doca_verbs_cq_attr_create(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_cq_attr_create(&cq_attr), DOCA_SUCCESS);
	SET_ONLY(cq_attr, cq_size, 4096);
	SET_ONLY(cq_attr, cq_context, some);
	SET_ONLY(cq_attr, external_uar, some);
	SET_ONLY(cq_attr, cq_overrun, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	SET_ONLY(cq_attr, cq_collapsed, 1);
	SET_ONLY(cq_attr, entry_size, DOCA_VERBS_CQ_ENTRY_SIZE_64);
	SET_ONLY(cq_attr, external_datapath_en, 1);
	SET_UMEM(cq_attr, external_umem);
	SET_UMEM(cq_attr, external_dbr_umem);
	SET_UMEM(cq_attr, external_umem_dbr);
	check_eq(doca_verbs_cq_attr_destroy(cq_attr), DOCA_SUCCESS);
	check_eq(doca_verbs_cq_attr_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
}

static void srq_attributes_keep_what_they_are_given(void)
{
	struct doca_verbs_srq_init_attr *srq_init_attr = NULL;

	check_eq(doca_verbs_srq_init_attr_create(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_srq_init_attr_create(&srq_init_attr), DOCA_SUCCESS);
	BOTH(srq_init_attr, srq_wr, 0x80000001U);
	BOTH(srq_init_attr, receive_max_sges, 0x80000002U);
	BOTH(srq_init_attr, type, DOCA_VERBS_SRQ_TYPE_CONTIGUOUS);
	BOTH(srq_init_attr, pd, some);
	GET_UMEM(srq_init_attr);
	check_eq(doca_verbs_srq_init_attr_destroy(srq_init_attr), DOCA_SUCCESS);
	check_eq(doca_verbs_srq_init_attr_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
}

static void device_attributes_are_the_device_s(void)
{
	struct doca_verbs_device_attr *attr = NULL;

	check_eq(doca_verbs_query_device(context, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_query_device(NULL, &attr), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_query_device(context, &attr), DOCA_SUCCESS);
	check_eq(doca_verbs_device_attr_get_max_qp(attr), 1001);
	check_eq(doca_verbs_device_attr_get_max_qp_wr(attr), 4096);
	check_eq(doca_verbs_device_attr_get_max_sge(attr), 30);
	check_eq(doca_verbs_device_attr_get_max_cq(attr), 1002);
	check_eq(doca_verbs_device_attr_get_max_cqe(attr), 65536);
	check_eq(doca_verbs_device_attr_get_max_mr(attr), 1003);
	check_eq(doca_verbs_device_attr_get_max_pd(attr), 1004);
	check_eq(doca_verbs_device_attr_get_max_ah(attr), 1005);
	check_eq(doca_verbs_device_attr_get_max_srq(attr), 1006);
	check_eq(doca_verbs_device_attr_get_max_srq_wr(attr), 1007);
	check_eq(doca_verbs_device_attr_get_max_srq_sge(attr), 31);
	check_eq(doca_verbs_device_attr_get_max_pkeys(attr), 3);
	check_eq(doca_verbs_device_attr_get_max_qp_rd_atom(attr), 16);
	check_eq(doca_verbs_device_attr_get_max_qp_init_rd_atom(attr), 8);
	check_eq(doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext(attr), 1);
	check_eq(doca_verbs_device_attr_get_max_qp(NULL), 0);
	check_eq(doca_verbs_device_attr_get_is_qp_type_supported(attr, DOCA_VERBS_QP_TYPE_RC), DOCA_SUCCESS);
	check_eq(doca_verbs_device_attr_get_is_qp_type_supported(attr, DOCA_VERBS_QP_TYPE_UC), DOCA_SUCCESS);
	check_eq(doca_verbs_device_attr_get_is_qp_type_supported(attr, 2), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_verbs_device_attr_get_is_qp_type_supported(NULL, 0), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_device_attr_free(attr), DOCA_SUCCESS);
	check_eq(doca_verbs_device_attr_free(NULL), DOCA_ERROR_INVALID_VALUE);
}

static void errors_have_names_and_words(void)
{
	check_str(doca_error_get_name(DOCA_SUCCESS), "DOCA_SUCCESS");
	check_str(doca_error_get_name(DOCA_ERROR_DEVICE_FATAL_ERROR), "DOCA_ERROR_DEVICE_FATAL_ERROR");
	check_str(doca_error_get_name((doca_error_t)32), "DOCA_ERROR_UNKNOWN");
	check_str(doca_error_get_name((doca_error_t)-1), "DOCA_ERROR_UNKNOWN");
	for (int i = 0; i < 32; i++) {
		check(doca_error_get_name((doca_error_t)i) && doca_error_get_descr((doca_error_t)i));
		for (int k = 0; k < i; k++)
			check(strcmp(doca_error_get_descr((doca_error_t)i), doca_error_get_descr((doca_error_t)k)));
	}
}

static const struct tap_test tests[] = {
	{ "qp_init_attributes_keep_what_they_are_given", qp_init_attributes_keep_what_they_are_given },
	{ "setters_refuse_what_can_never_be", setters_refuse_what_can_never_be },
	{ "qp_attributes_keep_what_they_are_given", qp_attributes_keep_what_they_are_given },
	{ "address_attributes_keep_what_they_are_given", address_attributes_keep_what_they_are_given },
	{ "address_attributes_are_for_devices_of_this_library", address_attributes_are_for_devices_of_this_library },
	{ "cq_attributes_can_be_set", cq_attributes_can_be_set },
	{ "srq_attributes_keep_what_they_are_given", srq_attributes_keep_what_they_are_given },
	{ "device_attributes_are_the_device_s", device_attributes_are_the_device_s },
	{ "errors_have_names_and_words", errors_have_names_and_words },
};

int main(int argc, char **argv)
{
	int ret;

	fake_reset();
	context = bl_net_open_device("fake0");
	if (!context)
		return 1;
	ret = tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
	return bl_net_close_device(context) ? 1 : ret;
}
