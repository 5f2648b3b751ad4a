/* SPDX-License-Identifier: MIT */
/*
 * object.h - what the network lane has given out
 *
 * Programs hold pointers, of libibverbs' types and of doca_verbs.h's. Each is looked up before it is used, by its value
 * alone, so that one that is stale or somebody else's is an error and not a crash. An object that is in use, by a call
 * under way or by another object, cannot be destroyed.
 */
#ifndef BL_NET_OBJECT_H
#define BL_NET_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

enum bl_object_kind {
	BL_CONTEXT,
	BL_PD,
	BL_MR,
	BL_UMEM,
	BL_UAR,
	BL_CQ,
	BL_QP,
	BL_SRQ,
	BL_GPU,
	BL_GPU_QP,
	BL_GPU_ARRAY,
	BL_GPU_FLAT_LIST,
	BL_GPU_QP_HL,
	BL_GPU_GROUP_HL,
	BL_GPU_SERVICE,
};

/**
 * struct bl_object - first member of everything that is given out
 * @key:    the pointer that the program has
 * @kind:   what it is
 * @refs:   users
 * @forks:  of bl_object_forks(), when it was made
 * @parent: object that it uses as long as it lives, referenced; NULL: none
 * @next:   in the table
 */
struct bl_object {
	const void *key;
	enum bl_object_kind kind;
	unsigned int refs;
	unsigned int forks;
	struct bl_object *parent;
	struct bl_object *next;
};

/* "queue pair" and so on, for messages. */
const char *bl_object_name(enum bl_object_kind kind);

/* Give an object out. @parent, whose reference the caller holds, keeps one more until bl_object_free_parent(). */
void bl_object_add(struct bl_object *object, enum bl_object_kind kind, const void *key, struct bl_object *parent);

/**
 * bl_object_get() - Look a pointer up, and use the object until bl_object_put()
 * @kind:     what it should be
 * @key:      pointer of the program
 * @object_p: receives the object
 *
 * Return: 0, -EINVAL (no such object), -EACCES (made before this process was forked); with the reason.
 */
int bl_object_get(enum bl_object_kind kind, const void *key, struct bl_object **object_p);
void bl_object_put(struct bl_object *object);

/* One more user of an object that the caller uses. */
void bl_object_hold(struct bl_object *object);

/**
 * bl_object_take() - Take a pointer back, for the object to be destroyed
 * @kind:     what it should be
 * @key:      pointer of the program
 * @object_p: receives the object, which nobody else finds any more
 *
 * In a child an object of the parent may be taken with @inherited: its users do not exist here.
 * Return: 0, -EINVAL, -EBUSY (in use), -EACCES; with the reason.
 */
int bl_object_take(enum bl_object_kind kind, const void *key, bool inherited, struct bl_object **object_p);

/* A destruction failed: as before bl_object_take(). */
void bl_object_untake(struct bl_object *object);

/* The object is gone: its parent has one user less. */
void bl_object_free_parent(struct bl_object *object);

/* How many forks lie between the first process and this one. */
unsigned int bl_object_forks(void);

#endif
