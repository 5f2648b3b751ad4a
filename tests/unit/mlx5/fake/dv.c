// SPDX-License-Identifier: MIT
/* What the library exports, but opening. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"

#define REG_FIRST  0x800
#define REG_SECOND 0x900
#define DEDICATED  (1U << 31)
#define LONG	   272
#define SHORT	   16
#define CAP_OUT	   (16 + 4096)

static uint32_t last_umem = 0x51000, last_page = 0x200;

/* Lengths of a command and its answer; false: no such command here. */
static bool lengths(uint16_t opcode, size_t *in_p, size_t *out_p)
{
	*in_p = opcode == 0x507 || opcode == 0x50a || opcode == 0x50b || opcode == 0x100 ? SHORT : LONG;
	*out_p = opcode == 0x100 ? CAP_OUT : opcode == 0x50b ? LONG : SHORT;
	return opcode == 0x100 || opcode == 0x400 || opcode == 0x500 || (opcode >= 0x502 && opcode <= 0x505) ||
	       opcode == 0x507 || opcode == 0x50a || opcode == 0x50b || opcode == 0x50e;
}

static void note(uint16_t opcode, const uint8_t *in, size_t in_len, size_t out_len)
{
	struct fake_command *command = &fake_mlx5.commands[fake_mlx5.nr_commands];

	if (fake_mlx5.nr_commands == FAKE_COMMANDS)
		return;
	fake_mlx5.nr_commands++;
	*command = (struct fake_command){ .opcode = opcode, .in_len = in_len, .out_len = out_len };
	memcpy(command->in, in, in_len < FAKE_COMMAND_MAX ? in_len : FAKE_COMMAND_MAX);
}

/* Before a command is carried out; not 0: its status. */
static uint8_t begin(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	size_t wanted_in, wanted_out;
	uint16_t opcode = in_len >= 4 ? (uint16_t)(get32(in, 0) >> 16) : 0;

	memset(out, 0, out_len);
	note(opcode, in, in_len, out_len);
	if (!lengths(opcode, &wanted_in, &wanted_out) || in_len != wanted_in || out_len != wanted_out) {
		model_complain("command 0x%x: %zu bytes, answer %zu", opcode, in_len, out_len);
		return STATUS_BAD_PARAM;
	}
	if (fake_mlx5.fail_opcode != opcode)
		return 0;
	fake_mlx5.fail_opcode = 0;
	put32(out, 4, fake_mlx5.fail_syndrome);
	return fake_mlx5.fail_status;
}

/* After it: what the kernel makes of its status. */
static int end(uint8_t status, uint8_t *out)
{
	out[0] = status;
	if (!status || fake_mlx5.fail_quietly)
		return 0;
	errno = EREMOTEIO;
	return EREMOTEIO;
}

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *ibv, const void *in, size_t in_len, void *out,
					       size_t out_len)
{
	struct mlx5dv_devx_obj *obj = NULL;
	uint8_t status;

	if (fake_fails("devx_obj_create"))
		return NULL;
	model_lock();
	status = begin(in, in_len, out, out_len);
	if (!status && get32(in, 0) >> 16 == 0x400)
		status = model_create_cq(ibv, in, out, &obj);
	else if (!status)
		status = model_create_qp(ibv, in, out, &obj);
	end(status, out);
	model_unlock();
	return obj;
}

int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t in_len, void *out, size_t out_len)
{
	uint8_t status;
	int ret;

	if (fake_fails("devx_obj_modify"))
		return errno;
	model_lock();
	status = begin(in, in_len, out, out_len);
	if (!status)
		status = obj->object.kind == MODEL_QP ? model_move((struct model_qp *)obj, in) : STATUS_BAD_RESOURCE;
	ret = end(status, out);
	model_unlock();
	return ret;
}

int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t in_len, void *out, size_t out_len)
{
	static const struct model_known words[] = { { 0x00, 0xffff0000 }, { 0x08, 0x00ffffff }, { 0, 0 } };
	uint8_t status;
	int ret;

	if (fake_fails("devx_obj_query"))
		return errno;
	model_lock();
	status = begin(in, in_len, out, out_len);
	if (!status && (!model_is_clean(in, in_len, words) || get32(in, 8) != obj->object.number))
		status = STATUS_BAD_RESOURCE;
	if (!status)
		status = model_query_qp((struct model_qp *)obj, out);
	ret = end(status, out);
	model_unlock();
	return ret;
}

int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	bool done;

	if (fake_fails("devx_obj_destroy"))
		return errno;
	model_lock();
	done = model_destroy_queue(obj);
	model_unlock();
	return done ? 0 : EBUSY;
}

int mlx5dv_devx_general_cmd(struct ibv_context *ibv, const void *in, size_t in_len, void *out, size_t out_len)
{
	uint8_t status;
	int ret;

	if (fake_fails("devx_general_cmd"))
		return errno;
	model_lock();
	status = begin(in, in_len, out, out_len);
	if (!status)
		model_query_cap(in, out);
	ret = end(status, out);
	model_unlock();
	return ret;
}

int mlx5dv_devx_query_eqn(struct ibv_context *ibv, uint32_t vector, uint32_t *eqn)
{
	if (fake_fails("devx_query_eqn"))
		return errno;
	*eqn = FAKE_EQN;
	return vector ? EINVAL : 0;
}

static struct mlx5dv_devx_umem *add_umem(struct ibv_context *ibv, struct model_umem *umem)
{
	model_lock();
	umem->dv.umem_id = last_umem += 3;
	model_add(&umem->object, ibv, MODEL_UMEM, umem->dv.umem_id);
	model_unlock();
	return &umem->dv;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *ibv, struct mlx5dv_devx_umem_in *in)
{
	bool dmabuf = in->comp_mask & MLX5DV_UMEM_MASK_DMABUF;
	struct model_umem *umem;

	if (fake_fails("devx_umem_reg_ex"))
		return NULL;
	if (!in->size || in->comp_mask & ~(uint64_t)MLX5DV_UMEM_MASK_DMABUF || !(in->access & IBV_ACCESS_LOCAL_WRITE) ||
	    in->pgsz_bitmap != (uint64_t)sysconf(_SC_PAGESIZE))
		model_complain("mlx5dv_devx_umem_reg_ex: size %zu access 0x%x pages 0x%llx", in->size, in->access,
			       (unsigned long long)in->pgsz_bitmap);
	if (dmabuf && fake_mlx5.no_umem_dmabuf) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!dmabuf && in->addr == fake_ibv.refuse) {
		errno = EFAULT;
		return NULL;
	}
	umem = calloc(1, sizeof(*umem));
	if (!umem)
		return NULL;
	umem->bytes = in->addr;
	umem->len = in->size;
	if (dmabuf && fake_map_dmabuf(in->dmabuf_fd, (uintptr_t)in->addr, in->size, &umem->map)) {
		free(umem);
		return NULL;
	}
	if (dmabuf) {
		umem->bytes = umem->map.bytes;
		fake_mlx5.umem_dmabufs++;
	}
	return add_umem(ibv, umem);
}

/* As old releases have it; nobody who has the other one should need it. */
struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *ibv, void *addr, size_t size, uint32_t access)
{
	model_complain("mlx5dv_devx_umem_reg: instead of the one that says how large pages are");
	return NULL;
}

int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *dv)
{
	struct model_umem *umem = (struct model_umem *)dv;
	bool done;

	if (fake_fails("devx_umem_dereg"))
		return errno;
	model_lock();
	done = model_remove(&umem->object, "mlx5dv_devx_umem_dereg");
	model_unlock();
	if (!done)
		return EBUSY;
	fake_unmap_dmabuf(&umem->map);
	free(umem);
	return 0;
}

struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *ibv, uint32_t flags)
{
	struct model_uar *uar;
	char *page;

	if (fake_fails("devx_alloc_uar"))
		return NULL;
	if (flags > MLX5DV_UAR_ALLOC_TYPE_NC && flags != DEDICATED)
		model_complain("mlx5dv_devx_alloc_uar: flags 0x%x", flags);
	if (flags == DEDICATED && fake_mlx5.no_dedicated) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uar = page == MAP_FAILED ? NULL : calloc(1, sizeof(*uar));
	if (!uar)
		return NULL;
	model_lock();
	uar->dv.base_addr = page;
	uar->dv.page_id = ++last_page;
	/* a page has two registers, and which of them it is must not matter */
	uar->dv.reg_addr = page + (last_page & 1 ? REG_FIRST : REG_SECOND);
	model_add(&uar->object, ibv, MODEL_UAR, uar->dv.page_id);
	model_unlock();
	return &uar->dv;
}

void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *dv)
{
	struct model_uar *uar = (struct model_uar *)dv;
	bool done;

	model_lock();
	done = model_remove(&uar->object, "mlx5dv_devx_free_uar");
	model_unlock();
	if (!done)
		return;
	munmap(uar->dv.base_addr, 4096);
	free(uar);
}

static int init_pd(const struct mlx5dv_obj *obj)
{
	struct model_domain *domain;

	model_lock();
	domain = model_domain_of(obj->pd.in);
	if (domain)
		obj->pd.out->pdn = domain->number;
	model_unlock();
	return domain ? 0 : ENOMEM;
}

/* The vector stays until the next one of this thread. */
static int init_ah(const struct mlx5dv_obj *obj)
{
	static _Thread_local struct mlx5_wqe_av av;
	const struct fake_ah *ah = (struct fake_ah *)obj->ah.in;

	memset(&av, 0, sizeof(av));
	model_mac(ah->attr.grh.dgid.raw, av.rmac);
	obj->ah.out->av = &av;
	return 0;
}

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	if (fake_fails(type == MLX5DV_OBJ_AH ? "init_obj_ah" : "init_obj_pd"))
		return errno;
	if (type == MLX5DV_OBJ_PD)
		return init_pd(obj);
	if (type == MLX5DV_OBJ_AH)
		return init_ah(obj);
	model_complain("mlx5dv_init_obj: type 0x%llx", (unsigned long long)type);
	return EINVAL;
}
