// SPDX-License-Identifier: MIT
/* Objects by their numbers, protection domains and memory regions. */
#include <errno.h>
#include <stdlib.h>

#include "model.h"

/* One region of the software NIC for each key: what may be done by the one may not be by the other. */
struct region {
	struct region *next;
	struct ibv_mr *ibv;
	struct bl_snic_mr *local, *remote;
};

struct model_object *model_objects;
static struct model_domain *domains;
static struct region *regions;
static uint32_t last_domain = 0x300;

void model_add(struct model_object *object, struct ibv_context *ibv, enum model_kind kind, uint32_t number)
{
	*object = (struct model_object){ .next = model_objects, .ibv = ibv, .kind = kind, .number = number };
	model_objects = object;
	model_count(1);
}

bool model_remove(struct model_object *object, const char *call)
{
	struct model_object **place = &model_objects;

	while (*place && *place != object)
		place = &(*place)->next;
	if (!*place || object->users) {
		model_complain("%s: object 0x%x: %s", call, *place ? object->number : 0,
			       *place ? "it is in use" : "there is none");
		return false;
	}
	*place = object->next;
	model_count(-1);
	return true;
}

struct model_object *model_find(struct ibv_context *ibv, enum model_kind kind, uint32_t number, const char *what)
{
	for (struct model_object *object = model_objects; object; object = object->next) {
		if (object->number == number && object->kind == kind && object->ibv == ibv)
			return object;
	}
	model_complain("%s 0x%x: there is none of that kind", what, number);
	return NULL;
}

struct model_domain *model_domain_find(const struct ibv_context *ibv, uint32_t number)
{
	for (struct model_domain *domain = domains; domain; domain = domain->next) {
		if (domain->number == number && domain->ibv->context == ibv)
			return domain;
	}
	model_complain("domain 0x%x: there is none", number);
	return NULL;
}

struct model_domain *model_domain_of(struct ibv_pd *ibv)
{
	const struct model_port *port = model_port_of(ibv->context);
	struct model_domain *domain = domains;

	while (domain && domain->ibv != ibv)
		domain = domain->next;
	if (domain || !port)
		return domain;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	if (bl_snic_pd_create(port->snic, &domain->snic)) {
		free(domain);
		return NULL;
	}
	domain->ibv = ibv;
	domain->number = last_domain += 7;
	domain->next = domains;
	domains = domain;
	return domain;
}

void model_pd_gone(struct ibv_pd *ibv)
{
	struct model_domain **place = &domains, *domain;

	model_lock();
	while (*place && (*place)->ibv != ibv)
		place = &(*place)->next;
	domain = *place;
	if (domain) {
		*place = domain->next;
		if (domain->users || bl_snic_pd_destroy(domain->snic))
			model_complain("ibv_dealloc_pd: domain 0x%x is in use", domain->number);
	}
	model_unlock();
	free(domain);
}

int model_mr_made(struct ibv_mr *mr, unsigned char *bytes, uint64_t iova, int access)
{
	const struct bl_snic_mem mem = { .addr = bytes };
	struct model_domain *domain;
	struct region *region = NULL;
	int ret = 0;

	model_lock();
	domain = model_port_of(mr->context) ? model_domain_of(mr->pd) : NULL;
	if (!domain)
		goto unlock;
	region = calloc(1, sizeof(*region));
	ret = region ? 0 : -ENOMEM;
	if (!ret)
		ret = bl_snic_mr_create_as(domain->snic, &mem, iova, mr->length,
					   (unsigned int)access & BL_SNIC_LOCAL_WRITE,
					   mr->lkey, &region->local);
	if (ret)
		goto unlock;
	ret = bl_snic_mr_create_as(domain->snic, &mem, iova, mr->length, (unsigned int)access, mr->rkey,
				   &region->remote);
	if (ret) {
		bl_snic_mr_destroy(region->local);
		goto unlock;
	}
	region->ibv = mr;
	region->next = regions;
	regions = region;
	region = NULL;
unlock:
	model_unlock();
	free(region);
	return -ret;
}

void model_mr_gone(struct ibv_mr *mr)
{
	struct region **place = &regions, *region;

	model_lock();
	while (*place && (*place)->ibv != mr)
		place = &(*place)->next;
	region = *place;
	if (region) {
		*place = region->next;
		bl_snic_mr_destroy(region->local);
		bl_snic_mr_destroy(region->remote);
	}
	model_unlock();
	free(region);
}
