// SPDX-License-Identifier: MIT
/* A real pin and mapping on every GPU: written by the CPU, read back by CUDA. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "barlane.h"
#include "common/error.h"
#include "common/memory.h"
#include "doctor/doctor.h"
#include "util/vmpages.h"

#define TRIAL_SIZE BL_GPU_PAGE_SIZE

/* An access through a bad mapping must end the trial, not the program. */
static sigjmp_buf fault_env;

static void on_fault(int sig)
{
	siglongjmp(fault_env, sig);
}

static int store(bl_pin_t pin, void *to, const void *from, size_t len)
{
	struct sigaction action = {.sa_handler = on_fault}, old_bus, old_segv;
	int sig, ret;

	sigaction(SIGBUS, &action, &old_bus);
	sigaction(SIGSEGV, &action, &old_segv);
	sig = sigsetjmp(fault_env, 1);
	if (!sig)
		ret = bl_copy_to(pin, to, from, len);
	else
		ret = tool_fail(EFAULT, "access through the mapping: %s", strsignal(sig));
	sigaction(SIGBUS, &old_bus, NULL);
	sigaction(SIGSEGV, &old_segv, NULL);
	return ret;
}

static int lib_fail(int ret, const char *what)
{
	return tool_fail(-ret, "%s: %s", what, bl_last_error(NULL));
}

static int write_and_compare(const struct tool_mem *mem, bl_pin_t pin, char *addr)
{
	unsigned char want[256], got[256] = {0};
	int ret;

	for (size_t i = 0; i < sizeof(want); i++)
		want[i] = (unsigned char)(0xa5 ^ i * 7);
	ret = store(pin, addr, want, sizeof(want));
	if (ret == -EFAULT)
		return ret;
	if (ret)
		return lib_fail(ret, "copy");
	ret = tool_cuda(mem->cu->cuMemcpyDtoH(got, mem->ptr, sizeof(got)), "cuMemcpyDtoH");
	if (ret)
		return ret;
	return memcmp(got, want, sizeof(want))
		       ? tool_fail(EIO, "CUDA does not read what the CPU wrote through the mapping")
		       : 0;
}

static int use_pin(bl_ctx_t ctx, const struct tool_mem *mem, bl_pin_t pin, bool *pages_p)
{
	void *addr = NULL;
	int ret, ret2;

	ret = bl_map(ctx, pin, TRIAL_SIZE, BL_MAP_NONE, &addr);
	if (ret)
		return lib_fail(ret, "map");
	ret = write_and_compare(mem, pin, addr);
	*pages_p = !ret && bl_vm_has_pages(addr);
	ret2 = bl_unmap(ctx, pin, addr, TRIAL_SIZE);
	if (!ret && ret2)
		ret = lib_fail(ret2, "unmap");
	return ret;
}

/*
 * Pin, map, write, compare with a provider, or with the one that is chosen, which @name receives. @pages_p: whether the
 * kernel has pages behind the mapping.
 */
static int try_provider(const struct tool_mem *mem, const char *provider, char *name, size_t size, bool *pages_p)
{
	struct bl_provider_info info;
	bl_ctx_t ctx;
	bl_pin_t pin;
	int ret, ret2;

	ret = bl_open(provider, &ctx);
	if (ret)
		return lib_fail(ret, "open");
	ret = bl_pin(ctx, mem->ptr, TRIAL_SIZE, 0, 0, 0, &pin);
	if (ret) {
		ret = lib_fail(ret, "pin");
		goto close;
	}
	if (!bl_ctx_provider(ctx, &info))
		snprintf(name, size, "%s", info.name);
	ret = use_pin(ctx, mem, pin, pages_p);
	ret2 = bl_unpin(ctx, pin);
	if (!ret && ret2)
		ret = lib_fail(ret2, "unpin");
close:
	bl_close(ctx);
	return ret;
}

static const char *cure_of(int err)
{
	switch (err) {
	case EACCES:
	case EPERM:
		return "see the lines of check node: this user cannot open them";
	case ENODEV:
		return "see the lines of checks driver and node; the GPU's own /dev/nvidiaN must be here too";
	case ENOMEM:
		return "end programs that map much of this GPU, or enable Resizable BAR in the firmware (check bar1)";
	case EMFILE:
		return "raise the limit of open files (ulimit -n)";
	case EFAULT:
		return "the GPU may have been reset or fallen off the bus: dmesg | grep -i -e xid -e pcie";
	case EPROTO:
	case EOPNOTSUPP:
		return "docs/troubleshooting.md, \"A pin is refused\"; BARLANE_LOG=debug shows the steps";
	default:
		return "docs/troubleshooting.md; BARLANE_LOG=debug with gdrcopy_sanity -v shows the steps";
	}
}

/* The other usable providers by name. Return: the first that serves, or NULL. */
static const char *try_others(struct doctor *doctor, const struct tool_mem *mem, const char *subject,
			      const char *chosen, const char *reason)
{
	struct bl_provider_info infos[16];
	char each[48], unused[32];
	size_t nr = bl_provider_list(infos, 16);
	const char *serves = NULL;
	bool pages;

	for (size_t i = 0; i < nr && i < 16; i++) {
		if (!infos[i].usable || !strcmp(infos[i].name, chosen))
			continue;
		snprintf(each, sizeof(each), "%s %s", subject, infos[i].name);
		if (!try_provider(mem, infos[i].name, unused, sizeof(unused), &pages)) {
			doctor_add(doctor, DOCTOR_OK, each, NULL, "serves as well");
			serves = serves ? serves : infos[i].name;
		} else if (strcmp(tool_why(), reason)) {
			doctor_add(doctor, DOCTOR_INFO, each, NULL, "does not serve: %s", tool_why());
		}
	}
	return serves;
}

/* What path devicepages of libcufile stands on. */
static void tell_pages(struct doctor *doctor, const struct doctor_gpu *gpu, const char *subject, const char *provider)
{
	char each[48];

	snprintf(each, sizeof(each), "%s pages", subject);
	if (gpu->pages)
		doctor_add(doctor, DOCTOR_INFO, each, NULL,
			   "device pages: yes, behind mappings of provider %s: files can go by path devicepages "
			   "(use_pci_p2pdma)",
			   provider);
	else
		doctor_add(doctor, DOCTOR_INFO, each, NULL,
			   "device pages: no, the kernel has none behind mappings of provider %s: no path devicepages",
			   provider);
}

static void try_all(struct doctor *doctor, struct doctor_gpu *gpu, const struct tool_mem *mem, const char *subject)
{
	char name[32] = "", reason[512] = "";
	size_t index = doctor->nr;
	const char *serves;
	int ret;

	ret = try_provider(mem, NULL, name, sizeof(name), &gpu->pages);
	if (ret) {
		snprintf(reason, sizeof(reason), "%s", tool_why());
		*name = '\0';
		doctor_add(doctor, DOCTOR_FAIL, subject, cure_of(-ret), "%s", reason);
	} else {
		doctor_add(doctor, DOCTOR_OK, subject, NULL, "pinned, mapped and written through provider %s", name);
		tell_pages(doctor, gpu, subject, name);
	}
	serves = try_others(doctor, mem, subject, name, reason);
	if (ret && serves)
		snprintf(doctor->rows[index].cure, sizeof(doctor->rows[index].cure),
			 "BARLANE_PROVIDER=%s takes the provider that works", serves);
}

void doctor_check_trial(struct doctor *doctor)
{
	struct tool_mem mem;
	char subject[32];

	for (int i = 0; i < doctor->nr_gpus; i++) {
		struct doctor_gpu *gpu = &doctor->gpus[i];

		snprintf(subject, sizeof(subject), "GPU %d", gpu->device.ordinal);
		if (tool_cuda(gpu->device.cu->cuCtxSetCurrent(gpu->device.ctx), "cuCtxSetCurrent") ||
		    tool_mem_alloc(&gpu->device, TOOL_MEM_ALLOC, TRIAL_SIZE, &mem)) {
			doctor_add(doctor, DOCTOR_FAIL, subject, "free GPU memory: nvidia-smi shows who holds it",
				   "no memory for a trial pin: %s", tool_why());
			continue;
		}
		try_all(doctor, gpu, &mem, subject);
		if (tool_mem_free(&mem))
			doctor_add(doctor, DOCTOR_WARN, subject, "dmesg shows what happened to the GPU", "%s",
				   tool_why());
	}
}
