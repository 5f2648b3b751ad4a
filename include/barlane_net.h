/* SPDX-License-Identifier: MIT */
/**
 * DOC: barlane_net.h - NICs, domains and memory for the network lane, libdoca_gpunetio_host.so.2
 *
 * The devices here are served by this library; soft0 and soft1 are software NICs, docs/softnic.md, the others are RDMA
 * devices, docs/network-providers.md. What they give are the types of libibverbs, so that a program written for it needs
 * other names of functions. A context goes where doca_verbs.h wants one. Functions of libibverbs itself must not be called on
 * these objects: those that go through a context's table are EOPNOTSUPP, others may do anything.
 *
 * As in libibverbs a pointer is NULL on failure, with errno set; an int is 0 or a positive errno value. Why the last
 * call of a thread failed is in bl_last_error() of barlane.h. Thread-safe. In a child that was forked since the device
 * was opened everything is EACCES but bl_net_close_device(), which frees memory only; a child may open devices itself.
 */
#ifndef BARLANE_NET_H
#define BARLANE_NET_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * bl_net_device_list() - Devices of all providers that can serve
 * @nr_p: receives their number; may be NULL
 *
 * BARLANE_NIC names the one provider that is asked.
 * Return: devices, ended by NULL, to be freed with bl_net_free_device_list(); NULL: ENOMEM, EINVAL (BARLANE_NIC names
 * no provider).
 */
struct ibv_device **bl_net_device_list(int *nr_p);

/**
 * bl_net_free_device_list() - Free a list of devices
 * @list: of bl_net_device_list(), or NULL; the devices themselves, and contexts opened on them, stay
 */
void bl_net_free_device_list(struct ibv_device **list);

/**
 * bl_net_device_name() - Name of a device
 * @device: of bl_net_device_list()
 *
 * Return: such as "soft0"; valid for ever. NULL: EINVAL, the device is not of this library.
 */
const char *bl_net_device_name(struct ibv_device *device);

/**
 * bl_net_open_device() - Open a device by its name
 * @name: exactly as bl_net_device_name() says
 *
 * Opening one twice gives two contexts of one port.
 * Return: context, to be closed with bl_net_close_device(). NULL: EINVAL, ENODEV (no such device: the log has those
 * that exist, and why providers cannot serve), ENOMEM, or why the provider failed.
 */
struct ibv_context *bl_net_open_device(const char *name);

/**
 * bl_net_open_best() - Open the best device there is
 * @text: receives the steps to it, a line each, cut where they do not fit: who cannot serve and why, devices that were passed
 *        over and why, and the one that was taken; NULL: nobody wants to know
 * @size: bytes of @text
 *
 * Providers are asked in the order of bl_net_provider_list(), which begins with those that need the least of CPUs. The
 * first device whose port 1 is active and has an address is taken; its name is that of context->device. What is in @text
 * is logged at INFO too. BARLANE_NIC names the one provider that is asked.
 * Return: as bl_net_open_device().
 */
struct ibv_context *bl_net_open_best(char *text, size_t size);

/**
 * bl_net_close_device() - Close a device
 * @context: of bl_net_open_device()
 *
 * Return: 0, EINVAL (not, or no longer, of this library), EBUSY (something made with it is left).
 */
int bl_net_close_device(struct ibv_context *context);

struct doca_verbs_async_event;

/**
 * bl_net_get_async_event() - Wait for an event of a device
 * @context:    of bl_net_open_device()
 * @timeout_ms: longest wait; 0: none, < 0: for ever
 * @event:      receives it; of gpunetio/host/doca_verbs_bridge.h, and to be given to doca_verbs_ack_async_event()
 *
 * As doca_verbs_get_async_event(), whatever context->async_fd was set to.
 * Return: 0, EAGAIN (@timeout_ms is 0), ETIMEDOUT, EINTR, ESHUTDOWN (bl_net_stop_async_events()), EINVAL, EOPNOTSUPP,
 * EACCES.
 */
int bl_net_get_async_event(struct ibv_context *context, int timeout_ms, struct doca_verbs_async_event *event);

/**
 * bl_net_stop_async_events() - End all waits for events of a context, those to come included
 * @context: of bl_net_open_device()
 *
 * For the end of a program's thread that waits. Return: 0, EINVAL, EOPNOTSUPP, EACCES.
 */
int bl_net_stop_async_events(struct ibv_context *context);

/**
 * bl_net_query_device() - What a device can do
 * @context: device
 * @attr:    receives the answer
 *
 * Return: 0, EINVAL, EACCES.
 */
int bl_net_query_device(struct ibv_context *context, struct ibv_device_attr *attr);

/**
 * bl_net_query_port() - State of a port
 * @context: device
 * @port:    1 is the first
 * @attr:    receives the answer
 *
 * Return: 0, EINVAL (also a port that it has not), EACCES.
 */
int bl_net_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);

/**
 * bl_net_query_gid() - Address of a port
 * @context: device
 * @port:    1 is the first
 * @index:   0 is the first address
 * @gid:     receives it
 *
 * Return: 0, EINVAL (also a port or an index that it has not), EACCES, or why that place of the table cannot be read.
 */
int bl_net_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid);

/**
 * bl_net_alloc_pd() - New protection domain
 * @context: device
 *
 * Return: domain, to be freed with bl_net_dealloc_pd(). NULL: EINVAL, ENOMEM, EACCES.
 */
struct ibv_pd *bl_net_alloc_pd(struct ibv_context *context);

/**
 * bl_net_dealloc_pd() - Free a protection domain
 * @pd: domain
 *
 * Return: 0, EINVAL, EBUSY (memory or a queue pair is left in it), EACCES.
 */
int bl_net_dealloc_pd(struct ibv_pd *pd);

/**
 * bl_net_reg_mr() - Register memory, host's or GPU's
 * @pd:     domain whose queue pairs may use it
 * @addr:   address, also of GPU memory
 * @len:    bytes, > 0
 * @access: IBV_ACCESS_*; IBV_ACCESS_OPTIONAL_RANGE is accepted and means nothing
 *
 * GPU memory is pinned and reached by the CPU lane (barlane.h), by the fastest engine: no kernel module is needed.
 * Return: region, to be freed with bl_net_dereg_mr(); its lkey and rkey are in host order. NULL: EINVAL (arguments,
 * range, remote write or atomic without local write), EFAULT (host memory that is not there, or cannot be written),
 * ENOMEM, EACCES, EOPNOTSUPP (access, GPU memory that cannot be reached) and other reasons of bl_pin() and bl_map().
 */
struct ibv_mr *bl_net_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access);

/**
 * bl_net_reg_mr_iova() - Register memory under another address
 * @pd:     domain
 * @addr:   address, also of GPU memory
 * @len:    bytes, > 0
 * @iova:   address that work requests use for the first byte
 * @access: IBV_ACCESS_*
 *
 * Return: as bl_net_reg_mr().
 */
struct ibv_mr *bl_net_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, int access);

/**
 * bl_net_reg_dmabuf_mr() - Register memory of a dma-buf
 * @pd:     domain
 * @off:    bytes into the dma-buf
 * @len:    bytes, > 0
 * @iova:   address that work requests use for the first byte
 * @fd:     dma-buf; may be closed afterwards
 * @access: IBV_ACCESS_*
 *
 * A software NIC cannot have a dma-buf do DMA. Where @iova is the address of the memory itself, as most programs have
 * it, it is reached as by bl_net_reg_mr(); else the dma-buf must be one that a CPU can map.
 * Return: region; NULL: as bl_net_reg_mr(), and EBADF (no descriptor), EOPNOTSUPP (cannot be mapped).
 */
struct ibv_mr *bl_net_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t off, size_t len, uint64_t iova, int fd, int access);

/**
 * bl_net_dereg_mr() - Undo the registration of memory
 * @mr: region; its memory is not touched any more when this returns
 *
 * Return: 0, EINVAL, EACCES.
 */
int bl_net_dereg_mr(struct ibv_mr *mr);

/**
 * struct bl_net_provider_info - one provider of NICs as it stands on this machine
 * @name:   "soft"; valid for ever
 * @usable: 1: can serve, 0: cannot
 * @error:  0, or the negative errno value why not
 * @reason: why it can or cannot serve, in words
 */
struct bl_net_provider_info {
	const char *name;
	int usable;
	int error;
	char reason[256];
};

/**
 * bl_net_provider_list() - Look at every provider of NICs
 * @infos: receives the first @nr of them, in the order in which they are asked
 * @nr:    entries of @infos
 *
 * Return: number of providers that exist, which may be more than @nr.
 */
size_t bl_net_provider_list(struct bl_net_provider_info *infos, size_t nr);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
