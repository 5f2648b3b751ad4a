// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/queue: " fmt
#include <inttypes.h>
#include <string.h>

#include "objects.h"

#define OWN_ALIGN 4096
#define RING_ALIGN 64
#define DBR_ALIGN 8
#define DBR_LEN	  8

static int check_range(const struct doca_verbs_umem *umem, const char *what, uint64_t off, size_t len, uint64_t align)
{
	if (off % align)
		return fail(EINVAL, "%s: off 0x%" PRIx64 " is no multiple of %" PRIu64, what, off, align);
	if (off > umem->size || len > umem->size - off)
		return fail(EINVAL, "%s: off 0x%" PRIx64 " len 0x%zx is more than the 0x%zx bytes of the umem", what, off,
			    len, umem->size);
	return 0;
}

static int get_external(struct bl_context *context, const struct bl_queue_mem_attr *attr, struct bl_queue_mem *mem)
{
	int ret;

	ret = bl_umem_get(attr->ring, context, &mem->ring);
	if (ret)
		return ret;
	ret = bl_umem_get(attr->dbr, context, &mem->dbr);
	if (ret)
		goto put_ring;
	ret = check_range(mem->ring, "queue", attr->ring_off, attr->len, RING_ALIGN);
	if (!ret)
		ret = check_range(mem->dbr, "doorbell record", attr->dbr_off, DBR_LEN, DBR_ALIGN);
	if (ret)
		goto put_dbr;
	mem->nic_ring = mem->ring->nic_umem;
	mem->ring_off = attr->ring_off;
	mem->nic_dbr = mem->dbr->nic_umem;
	mem->dbr_off = attr->dbr_off;
	mem->ring_addr = (char *)mem->ring->addr + attr->ring_off;
	mem->dbr_addr = (char *)mem->dbr->addr + attr->dbr_off;
	return 0;
put_dbr:
	bl_object_put(&mem->dbr->object);
put_ring:
	bl_object_put(&mem->ring->object);
	return ret;
}

/* Ring, and the records at the next line behind it. */
static int make_own(struct bl_context *context, size_t len, struct bl_queue_mem *mem)
{
	size_t dbr_off = (len + RING_ALIGN - 1) & ~(size_t)(RING_ALIGN - 1);
	size_t size = (dbr_off + RING_ALIGN + OWN_ALIGN - 1) & ~(size_t)(OWN_ALIGN - 1);
	struct bl_nic_memory memory = { .len = size, .access = IBV_ACCESS_LOCAL_WRITE, .dmabuf_fd = -1 };
	uint32_t id;
	int ret;

	mem->own = aligned_alloc(OWN_ALIGN, size);
	if (!mem->own)
		return fail(ENOMEM, "0x%zx bytes for a queue: out of memory", size);
	memset(mem->own, 0, size);
	memory.addr = mem->own;
	ret = context->ops->umem_create(context->nic, &memory, &mem->nic_own, &id);
	if (ret) {
		free(mem->own);
		return ret;
	}
	mem->nic_ring = mem->nic_own;
	mem->nic_dbr = mem->nic_own;
	mem->dbr_off = dbr_off;
	mem->ring_addr = mem->own;
	mem->dbr_addr = (char *)mem->own + dbr_off;
	return 0;
}

int bl_queue_mem_get(struct bl_context *context, const struct bl_queue_mem_attr *attr, struct bl_queue_mem *mem)
{
	*mem = (struct bl_queue_mem){ 0 };
	if (!attr->ring != !attr->dbr)
		return fail(EINVAL, "memory of the caller for the %s and none for the %s: both or none",
			    attr->ring ? "queue" : "doorbell records", attr->ring ? "doorbell records" : "queue");
	return attr->ring ? get_external(context, attr, mem) : make_own(context, attr->len, mem);
}

void bl_queue_mem_put(struct bl_context *context, struct bl_queue_mem *mem)
{
	if (mem->ring) {
		bl_object_put(&mem->dbr->object);
		bl_object_put(&mem->ring->object);
		return;
	}
	/* what the provider has to say it has logged; where it still holds the memory, it has to stay */
	if (!context->ops->umem_destroy(context->nic, mem->nic_own))
		free(mem->own);
}
