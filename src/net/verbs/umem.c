// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/umem: " fmt
#include "objects.h"

#define umem_of(obj) ((struct doca_verbs_umem *)(obj)) /* the object is its first member */

int bl_umem_get(struct doca_verbs_umem *key, const struct bl_context *context, struct doca_verbs_umem **umem_p)
{
	struct bl_object *object;
	int ret;

	ret = bl_object_get(BL_UMEM, key, &object);
	if (ret)
		return ret;
	if (context && umem_of(object)->context->nic != context->nic) {
		bl_object_put(object);
		return fail(EINVAL, "umem %p: of another device", (void *)key);
	}
	*umem_p = umem_of(object);
	return 0;
}

static int create(struct bl_context *context, const struct bl_nic_memory *memory, struct doca_verbs_umem **umem_p)
{
	struct doca_verbs_umem *umem = calloc(1, sizeof(*umem));
	int ret;

	if (!umem)
		return fail(ENOMEM, "out of memory");
	ret = context->ops->umem_create(context->nic, memory, &umem->nic_umem, &umem->id);
	if (ret) {
		free(umem);
		return ret;
	}
	umem->context = context;
	umem->addr = memory->addr;
	umem->size = memory->len;
	bl_object_add(&umem->object, BL_UMEM, umem, &context->object);
	*umem_p = umem;
	return 0;
}

/* The original's mark for "no dma-buf" is all bits set in 32 bits, which is -1 as well. */
doca_error_t doca_verbs_umem_create(struct ibv_context *ibv, void *address, size_t size, uint32_t access_flags,
				    int dmabuf_fd, size_t dmabuf_offset, struct doca_verbs_umem **umem_p)
{
	const struct bl_nic_memory memory = {
		.addr = address,
		.len = size,
		.access = access_flags,
		.dmabuf_fd = dmabuf_fd < 0 ? -1 : dmabuf_fd,
		.dmabuf_off = dmabuf_offset,
	};
	struct bl_context *context;
	int ret;

	if (!umem_p || (!address && dmabuf_fd < 0))
		return bl_doca_null(__func__, !umem_p ? "place for the umem" : "address");
	if (!size)
		return bl_doca_error(fail(EINVAL, "address %p: size 0", address));
	ret = bl_context_get(ibv, &context);
	if (ret)
		return bl_doca_error(ret);
	ret = create(context, &memory, umem_p);
	bl_context_put(context);
	return bl_doca_error(ret);
}

doca_error_t doca_verbs_umem_destroy(struct doca_verbs_umem *key)
{
	struct bl_object *object;
	struct doca_verbs_umem *umem;
	int ret;

	ret = bl_object_take(BL_UMEM, key, false, &object);
	if (ret)
		return bl_doca_error(ret);
	umem = umem_of(object);
	ret = umem->context->ops->umem_destroy(umem->context->nic, umem->nic_umem);
	if (ret) {
		bl_object_untake(object);
		return bl_doca_error(ret);
	}
	bl_object_free_parent(object);
	free(umem);
	return DOCA_SUCCESS;
}

/* What a getter takes a value from, when there is a place for it. */
static doca_error_t look(const char *function, const struct doca_verbs_umem *key, const void *place,
			 struct doca_verbs_umem *copy)
{
	struct doca_verbs_umem *umem;
	int ret;

	if (!place)
		return bl_doca_null(function, "place for the answer");
	ret = bl_umem_get((struct doca_verbs_umem *)(uintptr_t)key, NULL, &umem);
	if (ret)
		return bl_doca_error(ret);
	*copy = *umem;
	bl_object_put(&umem->object);
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_umem_get_id(const struct doca_verbs_umem *key, uint32_t *umem_id)
{
	struct doca_verbs_umem umem = { 0 };
	doca_error_t ret = look(__func__, key, umem_id, &umem);

	if (!ret)
		*umem_id = umem.id;
	return ret;
}

doca_error_t doca_verbs_umem_get_size(const struct doca_verbs_umem *key, size_t *umem_size)
{
	struct doca_verbs_umem umem = { 0 };
	doca_error_t ret = look(__func__, key, umem_size, &umem);

	if (!ret)
		*umem_size = umem.size;
	return ret;
}

doca_error_t doca_verbs_umem_get_address(const struct doca_verbs_umem *key, void **umem_address)
{
	struct doca_verbs_umem umem = { 0 };
	doca_error_t ret = look(__func__, key, umem_address, &umem);

	if (!ret)
		*umem_address = umem.addr;
	return ret;
}
