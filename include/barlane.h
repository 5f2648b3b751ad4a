/* SPDX-License-Identifier: MIT */
/**
 * DOC: barlane.h - native API of the core, libbarlane.so.0
 *
 * A context (bl_ctx_t) is served by one provider, see docs/providers.md. A pin (bl_pin_t) holds a range of GPU memory
 * and can have one CPU mapping at a time. Contexts and pins are numbers, not pointers: a stale one is -EINVAL.
 *
 * Functions that return int give 0 or a negative errno value. All are thread-safe. In a child that was forked after
 * bl_open() all give -EACCES, except bl_close(). Out pointers are written only on success unless said otherwise.
 */
#ifndef BARLANE_H
#define BARLANE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BL_API __attribute__((visibility("default")))

/** BL_GPU_PAGE_SIZE - granularity in which GPU memory is pinned, bytes */
#define BL_GPU_PAGE_SIZE 65536UL

typedef uint64_t bl_ctx_t; /* 0 is no context */
typedef uint64_t bl_pin_t; /* 0 is no pin */

/** enum bl_map_type - how the CPU reaches mapped GPU memory */
enum bl_map_type {
	BL_MAP_NONE = 0,   /* not mapped; as a wish: whatever the platform gives */
	BL_MAP_WC = 1,	   /* write-combining */
	BL_MAP_CACHED = 2, /* cached, coherent platforms */
	BL_MAP_DEVICE = 3, /* device memory type, some arm64 platforms */
};

/** enum bl_engine - who moves the bytes of a copy */
enum bl_engine {
	BL_ENGINE_AUTO = 0, /* the fastest for this size, direction and kind of host memory */
	BL_ENGINE_CPU = 1,  /* loads and stores of the CPU through the mapping */
	BL_ENGINE_CE = 2,   /* the GPU's copy engine, through CUDA */
	BL_ENGINE_PUSH = 3, /* reads only: a kernel that stays on the GPU, see bl_push_enable() */
};

/** enum bl_copy_dir - direction of a copy */
enum bl_copy_dir {
	BL_COPY_TO = 0,	  /* host memory to GPU memory */
	BL_COPY_FROM = 1, /* GPU memory to host memory */
};

/** BL_PIN_FORCE_PCIE - reach the memory over PCIe although a coherent link exists */
#define BL_PIN_FORCE_PCIE (1U << 0)

/**
 * struct bl_pin_info - what is known of a pin
 * @va:        device address of the first pinned byte
 * @len:       pinned bytes
 * @page_size: granularity of the pin, bytes
 * @type:      type of the mapping, BL_MAP_NONE while there is none
 * @addr:      CPU address of the mapping, NULL while there is none
 * @map_len:   mapped bytes, 0 while there is none
 * @released:  1 when the owner freed the memory under a pin that does not keep it
 * @tsc_khz:   rate of the counter of @pin_cycles; 0 unknown
 * @pin_cycles: CPU cycles spent pinning; 0 unknown
 * @sharers:   pins that share the mapping, this one included; 0 while there is none
 * @reserved:  0
 */
struct bl_pin_info {
	uint64_t va;
	uint64_t len;
	uint32_t page_size;
	uint32_t type;
	void *addr;
	uint64_t map_len;
	uint32_t released;
	uint32_t tsc_khz;
	uint64_t pin_cycles;
	uint32_t sharers;
	uint32_t reserved;
};

/**
 * struct bl_provider_info - one provider as it stands on this machine
 * @name:        "gdrdrv", "dmabuf", "rm"; valid for ever
 * @usable:      1: can serve, 0: cannot
 * @error:       0, or the negative errno value why not
 * @persistent:  1: a pin keeps the memory after its owner freed it
 * @force_pcie:  1: BL_PIN_FORCE_PCIE is honoured
 * @major:       version that it reports
 * @minor:       version that it reports
 * @reason:      why it can or cannot serve, in words
 */
struct bl_provider_info {
	const char *name;
	int usable;
	int error;
	int persistent;
	int force_pcie;
	uint32_t major;
	uint32_t minor;
	char reason[256];
};

/**
 * bl_version() - Version of the library
 * Return: "MAJOR.MINOR.PATCH", valid for ever.
 */
BL_API const char *bl_version(void);

/**
 * bl_provider_list() - Look at every provider
 * @infos: receives the first @nr of them, in the order in which bl_open() tries them
 * @nr:    entries of @infos
 *
 * Makes no CUDA call.
 * Return: number of providers that exist, which may be more than @nr.
 */
BL_API size_t bl_provider_list(struct bl_provider_info *infos, size_t nr);

/**
 * bl_last_error() - Why the last failing call of this thread failed
 * @code_p: receives the positive errno value, 0 if no call of this thread failed yet; may be NULL
 *
 * Return: text, never NULL, owned by the library and valid until the next call of this thread. Where there was no memory
 * for it, it is the system's text of *@code_p.
 */
BL_API const char *bl_last_error(int *code_p);

/**
 * bl_open() - Open a context
 * @provider: name that forces the choice, or NULL: BARLANE_PROVIDER, then GDRCOPY_PROVIDER, then the first usable
 * @ctx_p:    receives the context, to be closed with bl_close()
 *
 * Cheap: looks at device nodes and versions, makes no CUDA call and opens no GPU.
 * Return: 0, -EINVAL (unknown provider name), -ENODEV (no provider can serve, or the forced one cannot; each reason
 * is in bl_last_error()), -ENOMEM, -EMFILE.
 */
BL_API int bl_open(const char *provider, bl_ctx_t *ctx_p);

/**
 * bl_close() - Close a context; unmaps, unpins and frees what is left on it
 * @ctx: from bl_open()
 *
 * In a forked child it only closes the child's copies of descriptors. A pin that a batch of copies still uses after
 * BARLANE_CE_TIMEOUT_MS is given back when that batch ends: -ETIMEDOUT.
 * Return: 0, -EINVAL (unknown context), or the first error on the way; the context is closed in every case but -EINVAL.
 */
BL_API int bl_close(bl_ctx_t ctx);

/**
 * bl_ctx_provider() - What serves a context
 * @ctx:  from bl_open()
 * @info: receives the answer
 *
 * Return: 0, -EINVAL, -EACCES.
 */
BL_API int bl_ctx_provider(bl_ctx_t ctx, struct bl_provider_info *info);

/**
 * bl_pin() - Pin GPU memory
 * @ctx:   from bl_open()
 * @va:    device address, any alignment
 * @len:   bytes, > 0
 * @flags: BL_PIN_*
 * @token: p2p token (low) for kernel drivers that want one, else 0
 * @space: va-space token, else 0
 * @pin_p: receives the pin
 *
 * The pin covers the request rounded out to GPU pages, clipped to the allocation. May block for tens of microseconds
 * (longer the first time on a GPU, when the self-test runs).
 * Return: 0, -EINVAL (no device memory, overflow, across allocations), -EOPNOTSUPP (memory that cannot be pinned:
 * the reason and the cure are in bl_last_error()), -ENOMEM, -EMFILE, -ENODEV (also when the GPU's node is missing),
 * -EPROTO (what the driver answers does not add up), -EIO, -EACCES.
 */
BL_API int bl_pin(bl_ctx_t ctx, uint64_t va, size_t len, uint32_t flags, uint64_t token, uint32_t space,
		  bl_pin_t *pin_p);

/**
 * bl_unpin() - Give pinned memory back; unmaps it first if needed
 * @ctx: the context that pinned it
 * @pin: from bl_pin(); invalid afterwards
 *
 * Waits for batches of copies that use the pin, as bl_unmap(), bl_free() and bl_close() do.
 * Return: 0, -EINVAL (also a pin of bl_alloc(), which bl_free() takes), -EIO, -EACCES, -ETIMEDOUT (a batch has not
 * ended within BARLANE_CE_TIMEOUT_MS: nothing was done).
 */
BL_API int bl_unpin(bl_ctx_t ctx, bl_pin_t pin);

/**
 * bl_pin_info() - Describe a pin
 * @ctx:  the context that pinned it
 * @pin:  from bl_pin()
 * @info: receives the description
 *
 * Return: 0, -EINVAL, -EACCES.
 */
BL_API int bl_pin_info(bl_ctx_t ctx, bl_pin_t pin, struct bl_pin_info *info);

/**
 * bl_map() - Map a pin into this process
 * @ctx:    the context that pinned it
 * @pin:    from bl_pin(), not mapped
 * @len:    bytes from the start of the pin, > 0, at most its length; rounded up to CPU pages
 * @type:   wanted type, or BL_MAP_NONE
 * @addr_p: receives the CPU address of the pin's first byte
 *
 * The mapping is not inherited over fork(). Pins of a context whose bytes are in one memory object may share one: it goes
 * with the last of them. Each is still to be unmapped by itself.
 * Return: 0, -EINVAL (length; a pin whose requested address did not start on a page: the original's rule, kept),
 * -EAGAIN (already mapped), -EOPNOTSUPP or, where the original gives it, -EINVAL (type), -ENOMEM (BAR1 exhausted),
 * -EMFILE, -EPROTO (what the driver answers does not add up), -EACCES, -EIO.
 */
BL_API int bl_map(bl_ctx_t ctx, bl_pin_t pin, size_t len, enum bl_map_type type, void **addr_p);

/**
 * bl_map_byte() - Map a pin from the byte on that was asked for
 * @ctx:    the context that pinned it
 * @pin:    from bl_pin(), not mapped
 * @len:    bytes from the address that was given to bl_pin(), > 0, at most to the end of the pin
 * @type:   wanted type, or BL_MAP_NONE
 * @addr_p: receives the CPU address of the byte whose device address was given to bl_pin()
 *
 * As bl_map(), for addresses of any alignment. The mapping begins with the pin's first byte, which may lie before:
 * bl_pin_info() and offsets of bl_copy() and bl_pin_find() count from there.
 * Return: as bl_map(); and -EOPNOTSUPP where the address did not start on a page and provider gdrdrv serves, whose
 * kernel module does not map such a pin.
 */
BL_API int bl_map_byte(bl_ctx_t ctx, bl_pin_t pin, size_t len, enum bl_map_type type, void **addr_p);

/**
 * bl_unmap() - Remove a mapping, or leave it to the pins that share it
 * @ctx:  the context that pinned it
 * @pin:  mapped pin
 * @addr: from bl_map() or bl_map_byte()
 * @len:  as given there
 *
 * Return: 0, -EINVAL (not mapped, other address or length), -EBUSY (the kernel did not remove it: the handle counts as
 * unmapped, and the GPU memory stays allocated until the process ends), -EIO, -EACCES, -ETIMEDOUT (as bl_unpin()). Of
 * pins that share, the last one is told of -EBUSY and -EIO.
 */
BL_API int bl_unmap(bl_ctx_t ctx, bl_pin_t pin, void *addr, size_t len);

/**
 * bl_pin_find() - Find the pin whose mapping holds a CPU address
 * @addr:  any address
 * @pin_p: receives the pin; of any context, and of libgdrapi too. Of pins that share a mapping: the one, or one of
 *         those, that reach furthest behind @addr
 * @off_p: receives the bytes from the start of the pin to @addr; may be NULL
 *
 * Walks the table of pins under its lock, O(n) in the largest number of pins that existed at a time: not for hot paths.
 * The answer is true when it is given; the caller keeps others from unmapping for as long as it matters.
 * Return: 0, -ENOENT (no mapping holds it; not logged), -EINVAL (@pin_p), -EACCES.
 */
BL_API int bl_pin_find(const void *addr, bl_pin_t *pin_p, uint64_t *off_p);

/**
 * struct bl_alloc - GPU memory that the CPU reaches from birth
 * @va:   device address, multiple of BL_GPU_PAGE_SIZE
 * @addr: CPU address of the same byte
 * @size: bytes; the request rounded up to the driver's granularity (2 MiB on current GPUs)
 * @pin:  its pin, mapped as a whole; for bl_copy_to() and all others, and for bl_free()
 */
struct bl_alloc {
	uint64_t va;
	void *addr;
	size_t size;
	bl_pin_t pin;
};

/**
 * bl_alloc() - Allocate GPU memory, pinned and mapped
 * @ctx:    from bl_open()
 * @device: CUDA ordinal of the GPU; cuInit() was called
 * @size:   bytes, > 0
 * @out:    receives the memory
 *
 * The memory is VMM memory that can be exported (POSIX descriptor), readable and writable by its GPU, in no CUDA
 * context, not cleared. cuMemRetainAllocationHandle() gives a handle of it. It lives until bl_free() or bl_close(). May
 * block as the first bl_pin() does. Needs no current context; leaves the thread's, and stream captures, alone.
 * Return: 0, -EINVAL (stale context, size 0, no @out), -ENODEV (no such device, CUDA not initialised), -EOPNOTSUPP (no
 * CUDA, no exportable VMM memory, or the provider cannot pin it), -ENOMEM (GPU memory or BAR1 exhausted), or as
 * bl_pin() and bl_map(). On an error nothing is left behind.
 */
BL_API int bl_alloc(bl_ctx_t ctx, int device, size_t size, struct bl_alloc *out);

/**
 * bl_free() - Give memory of bl_alloc() back: unmap, unpin, free
 * @ctx: the context that allocated it
 * @pin: from bl_alloc(); invalid afterwards, and so are both addresses
 *
 * Work of the GPU that uses the memory must have ended. Take this call and not bl_unpin(), which refuses such a pin.
 * Return: 0, -EINVAL (stale, of another context, not from bl_alloc()), -EBUSY (the kernel did not remove the mapping:
 * the memory stays allocated until the process ends), -EIO, -EACCES, -ETIMEDOUT (as bl_unpin()). The pin is gone but
 * for -EINVAL, -EACCES and -ETIMEDOUT.
 */
BL_API int bl_free(bl_ctx_t ctx, bl_pin_t pin);

/** BL_EXPORT_FORCE_PCIE - devices reach the dma-buf over PCIe although a coherent link exists */
#define BL_EXPORT_FORCE_PCIE (1U << 0)

/**
 * struct bl_dmabuf - GPU memory as a dma-buf
 * @fd:   descriptor, close-on-exec, to be closed by the caller
 * @off:  bytes from the start of the dma-buf to the first byte that was asked for, less than a CPU page
 * @size: bytes of the dma-buf, whole CPU pages
 */
struct bl_dmabuf {
	int fd;
	uint64_t off;
	uint64_t size;
};

/**
 * bl_pin_export() - Make a dma-buf of pinned memory, for other drivers
 * @ctx:   the context that pinned it
 * @pin:   from bl_pin() or bl_alloc(); need not be mapped
 * @off:   bytes from the start of the pin
 * @len:   bytes, > 0, inside the pin and inside the allocation of the address that was pinned
 * @flags: BL_EXPORT_*
 * @out:   receives the dma-buf
 *
 * CUDA makes it, whatever provider serves, of whole CPU pages: it may hold bytes around those asked for, of the same
 * process. It must be the memory that was pinned: CUDA's id of it is compared before and after. (Provider gdrdrv asks
 * CUDA for no id when it pins: with a module that keeps freed memory, the id is compared only after a bl_copy() by
 * BL_ENGINE_CE.) The dma-buf holds the memory by itself: it may outlive the pin, the context, and cuMemFree(). The
 * descriptor is an ordinary one, which a forked child inherits.
 * Return: 0, -EINVAL (stale handles, range, unknown flags, no @out, memory that was freed), -EOPNOTSUPP (no CUDA; the
 * device, driver or kind of memory has no dma-bufs; range outside the allocation: the cure is in bl_last_error()),
 * -ENODEV (CUDA not initialised), -ENOMEM, -EACCES, -EIO.
 */
BL_API int bl_pin_export(bl_ctx_t ctx, bl_pin_t pin, uint64_t off, size_t len, uint32_t flags, struct bl_dmabuf *out);

/**
 * bl_copy_to() - Copy host memory to mapped GPU memory with the CPU
 * @pin: mapped pin
 * @dst: address inside the mapping
 * @src: host memory, any alignment
 * @len: bytes
 *
 * No system call, no lock, no allocation, no CUDA call. Naturally aligned 1, 2, 4, 8 bytes are a single store. Ends
 * with a store fence on write-combining mappings. The caller keeps the mapping alive during the call.
 * Return: 0, -EINVAL (stale or unmapped pin, outside the mapping), -EACCES.
 */
BL_API int bl_copy_to(bl_pin_t pin, void *dst, const void *src, size_t len);

/**
 * bl_copy_from() - Copy mapped GPU memory to host memory with the CPU
 * @pin: mapped pin
 * @dst: host memory, any alignment
 * @src: address inside the mapping
 * @len: bytes
 *
 * As bl_copy_to(); ends with a fence that orders these loads before later ones.
 */
BL_API int bl_copy_from(bl_pin_t pin, void *dst, const void *src, size_t len);

/**
 * bl_flush() - Wait until what this thread wrote to a mapping has reached the GPU's memory
 * @pin: mapped pin
 *
 * A fence, and a load from the mapping that is answered behind the writes: one round trip to the GPU. Covers copies by
 * the CPU and plain stores, of this thread. No system call, no lock, no allocation, no CUDA call. The caller keeps the
 * mapping alive during the call. docs/memory-model.md says what a GPU thread may rely on afterwards.
 * Return: 0, -EINVAL (stale or unmapped pin), -EACCES.
 */
BL_API int bl_flush(bl_pin_t pin);

/**
 * bl_publish() - Write data, then a flag that tells a GPU thread of it
 * @pin:      mapped pin
 * @data_dst: where the data goes, inside the mapping
 * @data_src: host memory, any alignment
 * @len:      bytes of data; 0: none, and @data_dst does not matter
 * @flag_dst: where the flag goes, inside the same mapping, aligned to 8 bytes, outside the data
 * @flag:     its new value
 *
 * A GPU thread that reads the flag with acquire at system scope and sees @flag also sees the data, and all that this
 * thread stored before. The flag is one store of 8 bytes. Does not wait for either to arrive: no round trip. No system
 * call, no lock, no allocation, no CUDA call. Threads may publish to one mapping at the same time, each to a flag of its
 * own. On a mapping of libgdrapi the CPU writes, whatever GDRCOPY_ENGINE says. The caller keeps the mapping alive during
 * the call.
 * Return: 0, -EINVAL (stale or unmapped pin, outside the mapping, alignment, flag in the data), -EACCES; on an error
 * nothing was written.
 */
BL_API int bl_publish(bl_pin_t pin, void *data_dst, const void *data_src, size_t len, uint64_t *flag_dst,
		      uint64_t flag);

/**
 * bl_copy() - Copy between host memory and mapped GPU memory with an engine of choice
 * @pin:    mapped pin
 * @off:    bytes from the start of the pin
 * @host:   host memory, any alignment; only read when @dir is BL_COPY_TO, else written, also by a copy that fails
 * @len:    bytes
 * @dir:    direction
 * @engine: who copies
 *
 * The copy is complete when the call returns. It comes after all copies by this library that were complete before,
 * whatever engine did them. BL_ENGINE_CPU is as bl_copy_to() and bl_copy_from(). The others may call CUDA, take
 * locks and block, and must not be used in a CUDA host function. The first large copy with BL_ENGINE_AUTO on a GPU
 * measures the engines, for up to 50 ms, and 10 ms more where push is enabled; BL_ENGINE_AUTO uses the CPU where the
 * copy engine cannot be used.
 * BL_ENGINE_PUSH reads at most 64 KiB, where bl_push_enable() allows it; BL_ENGINE_AUTO never uses it elsewhere. By
 * name it may wait for running kernels, the first time in a CUDA context, see there.
 * The caller keeps the mapping alive during the call.
 * Return: 0; -EINVAL (stale or unmapped pin, outside the mapping, no such direction or engine; with BL_ENGINE_CE and
 * BL_ENGINE_PUSH also memory that CUDA does not have any more), -EACCES; and, not from BL_ENGINE_CPU, -EIO (device
 * error), -ETIMEDOUT (no completion in time: the GPU may still use the host memory); and, from BL_ENGINE_CE and
 * BL_ENGINE_PUSH only, -EBUSY (a copy that timed out has still not ended; the kernel of push does not begin because
 * the GPU is full of others), -ENOMEM (no pinned memory), -EOPNOTSUPP (no CUDA, or the range leaves the allocation; for
 * BL_ENGINE_PUSH: a write, more than 64 KiB, not enabled), -ENODEV (CUDA not initialised).
 */
BL_API int bl_copy(bl_pin_t pin, uint64_t off, void *host, size_t len, enum bl_copy_dir dir, enum bl_engine engine);

/**
 * bl_copy_cost() - Estimate what a copy by bl_copy() takes
 * @pin:      mapped pin; says which GPU
 * @len:      bytes, > 0; may be larger than the pin
 * @dir:      direction
 * @pinned:   not 0: the host memory is pinned by CUDA (cuMemHostAlloc() or cuMemHostRegister())
 * @engine:   who would copy
 * @ns_p:     receives nanoseconds
 * @engine_p: receives the engine: for BL_ENGINE_AUTO the one that it would take; may be NULL
 *
 * From what was measured on this GPU: medians at powers of two from 32 bytes to 2 MiB, straight lines between them and
 * beyond the last one. It holds for a thread that copies alone, with warm caches. The kind of host memory is a flag and
 * no address, so that one can plan before there is memory. The first call on a GPU, of this or of bl_copy() with
 * BL_ENGINE_AUTO, measures, and may block for 50 ms; another thread waits for it. Later calls look the answer up; only
 * the first one for a pin calls CUDA. BL_ENGINE_PUSH is measured when it is enabled and has a channel in the context of
 * the memory, see bl_push_enable(), for up to 10 ms more; the answer is for a kernel that is on the GPU. Must not be
 * used in a CUDA host function.
 * Return: 0; -EINVAL (stale or unmapped pin, length, direction, engine, no @ns_p; memory that CUDA does not have any
 * more), -EACCES; -EOPNOTSUPP (the engine cannot be used, or no CUDA), -ENODATA (nothing that the answer could be
 * derived from was measured: time ran out, there was no memory for it, or push has no channel), -EAGAIN (another
 * thread's measurement does not end), -ENODEV (CUDA not initialised); with the reason in bl_last_error().
 */
BL_API int bl_copy_cost(bl_pin_t pin, size_t len, enum bl_copy_dir dir, int pinned, enum bl_engine engine,
			uint64_t *ns_p, enum bl_engine *engine_p);

/**
 * struct bl_engine_stats - what an engine did in this process
 * @calls: copies, by enum bl_copy_dir
 * @bytes: their bytes, by enum bl_copy_dir
 */
struct bl_engine_stats {
	uint64_t calls[2];
	uint64_t bytes[2];
};

/**
 * bl_engine_stats() - Ask what an engine did
 * @engine: BL_ENGINE_CPU, BL_ENGINE_CE or BL_ENGINE_PUSH
 * @stats:  receives the sums over all threads
 *
 * Counted are copies by bl_copy(), and those of libgdrapi on mappings made with GDRCOPY_ENGINE, when they begin or, for
 * BL_ENGINE_CE and BL_ENGINE_PUSH, succeed. bl_copy_to() and bl_copy_from() are not counted.
 * Return: 0, -EINVAL.
 */
BL_API int bl_engine_stats(enum bl_engine engine, struct bl_engine_stats *stats);

/**
 * bl_push_enable() - Let engine push read the memory of a GPU
 * @device:  CUDA ordinal of the GPU; cuInit() was called
 * @idle_us: microseconds without a read after which its kernel leaves the GPU, at most 1000000; 0: the default,
 *           BARLANE_PUSH_IDLE_US or 1000
 *
 * For the whole process. Nothing is launched here: the first read by push in a CUDA context launches a kernel of two
 * blocks there, and while that is resident whatever waits for the whole device (cuCtxSynchronize(), cuMemFree(), the
 * end of the context) waits until it leaves, which reads that come at shorter intervals put off. A second call changes
 * the idle time. BARLANE_PUSH=1 in the environment is the same for all GPUs.
 *
 * A context needs a channel, and to make one waits for the kernels that run in the context, for ever if one of those
 * waits for this thread. It is made here if the calling thread's current context is one of @device, by each mapping of
 * its memory from now on, and by a read with BL_ENGINE_PUSH; each does so once per context. BL_ENGINE_AUTO makes none:
 * without a channel it takes another engine. So call this, or map, before kernels that stay. That no channel could be
 * made fails neither this call nor a mapping; it is logged.
 * Context: may block while a read is under way, and for running kernels; thread-safe; not in a CUDA host function.
 * Return: 0, -EINVAL (@idle_us), -ENODEV (no CUDA, not initialised, no such device), -EACCES.
 */
BL_API int bl_push_enable(int device, unsigned int idle_us);

/**
 * bl_push_disable() - Take the permission of bl_push_enable() back
 * @device: CUDA ordinal of the GPU
 *
 * A kernel that is resident is told to leave, which takes microseconds; it is not waited for.
 * Context: as bl_push_enable().
 * Return: 0, also when it was not enabled; -ENODEV, -EACCES.
 */
BL_API int bl_push_disable(int device);

#ifdef __cplusplus
}
#endif

#endif
