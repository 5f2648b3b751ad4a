// SPDX-License-Identifier: MIT
/* What the library says of itself. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "gdscheck/gdscheck.h"

extern char **environ;

void gdscheck_heading(const char *text)
{
	int len = (int)strlen(text);

	printf(" %.*s\n %s\n %.*s\n", len, "========================", text, len, "========================");
}

void gdscheck_versions(const struct doctor *doctor, const struct tool_cufile *lib)
{
	struct utsname machine;
	char module[64];
	int version = 0;

	if (lib->cuFileGetVersion(&version).err)
		version = 0;
	printf(" GDS release version: %d.%d\n", version / 1000, version % 1000 / 10);
	if (tool_tree_read(&doctor->tree, module, sizeof(module), "/proc/driver/nvidia-fs/version") > 0)
		printf(" nvidia_fs version: %s\n", strncmp(module, "version:", 8) ? module : module + 8);
	printf(" libcufile: %s\n", lib->path);
	if (!uname(&machine))
		printf(" Platform: %s\n", machine.machine);
}

void gdscheck_environment(const char *own)
{
	gdscheck_heading("ENVIRONMENT:");
	for (char **var = environ; *var; var++) {
		const char *value = strchr(*var, '=');

		if (value && own && !strncmp(*var, own, strlen(own)) && (*var)[strlen(own)] == '=')
			continue;
		if (value && (!strncmp(*var, "CUFILE_", 7) || !strncmp(*var, "BARLANE_", 8)))
			printf(" %.*s : %s\n", (int)(value - *var), *var, value + 1);
	}
}

/*
 * What the original calls P2PDMA is direct I/O of memory with struct pages, which no module has a say in: the GPU's driver has
 * made the pages or it has not, and the library goes that way when it is told to.
 */
static const char *pages_status(const struct doctor *doctor, const struct tool_cufile *lib)
{
	bool on = false, there = false;

	for (size_t i = 0; i < doctor->nr; i++)
		there |= !strcmp(doctor->rows[i].check, "pin") && !strncmp(doctor->rows[i].text, "device pages: yes", 17);
	if (!there || !lib->cuFileGetParameterBool || lib->cuFileGetParameterBool(CUFILE_PARAM_USE_PCIP2PDMA, &on).err)
		return "Unsupported";
	return on ? "Supported" : "Supported, but properties.use_pci_p2pdma is off";
}

void gdscheck_drivers(const struct doctor *doctor, const struct tool_cufile *lib)
{
	static const struct {
		const char *name;
		int bit;
	} kinds[] = {
		{ "NVMe P2PDMA", CU_FILE_NVME_P2P_SUPPORTED },
		{ "NVMe", CU_FILE_NVME_SUPPORTED },
		{ "NVMeOF", CU_FILE_NVMEOF_SUPPORTED },
		{ "SCSI", CU_FILE_SCSI_SUPPORTED },
		{ "ScaleFlux CSD", CU_FILE_SCALEFLUX_CSD_SUPPORTED },
		{ "NVMesh", CU_FILE_NVMESH_SUPPORTED },
		{ "DDN EXAScaler", CU_FILE_LUSTRE_SUPPORTED },
		{ "IBM Spectrum Scale", CU_FILE_GPFS_SUPPORTED },
		{ "NFS", CU_FILE_NFS_SUPPORTED },
		{ "BeeGFS", CU_FILE_BEEGFS_SUPPORTED },
		{ "ScaTeFS", CU_FILE_SCATEFS_SUPPORTED },
		{ "VIRTIOFS", CU_FILE_VIRTIOFS_SUPPORTED },
		{ "WekaFS", CU_FILE_WEKAFS_SUPPORTED },
	};
	CUfileDrvProps_t props;

	gdscheck_heading("DRIVER CONFIGURATION:");
	memset(&props, 0, sizeof(props));
	if (lib->cuFileDriverGetProperties(&props).err)
		printf(" not known: the library does not give its properties\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *status = props.nvfs.dstatusflags & 1U << kinds[i].bit ? "Supported" : "Unsupported";

		if (kinds[i].bit == CU_FILE_NVME_P2P_SUPPORTED && *status == 'U')
			status = pages_status(doctor, lib);
		printf(" %-18s : %s\n", kinds[i].name, status);
	}
}

static void put_number(const struct tool_cufile *lib, const char *name, CUFileSizeTConfigParameter_t param)
{
	size_t value;

	if (lib->cuFileGetParameterSizeT && !lib->cuFileGetParameterSizeT(param, &value).err)
		printf(" %s : %zu\n", name, value);
}

static void put_bool(const struct tool_cufile *lib, const char *name, CUFileBoolConfigParameter_t param)
{
	bool value;

	if (lib->cuFileGetParameterBool && !lib->cuFileGetParameterBool(param, &value).err)
		printf(" %s : %s\n", name, value ? "true" : "false");
}

/* How many kinds there are is known to the library alone, which wants to be asked with the right number. */
static void put_slabs(const struct tool_cufile *lib)
{
	size_t sizes[16], counts[16];
	int nr = 0;

	for (int i = 1; i <= 16 && !nr && lib->cuFileGetParameterPosixPoolSlabArray; i++) {
		if (!lib->cuFileGetParameterPosixPoolSlabArray(sizes, counts, i).err)
			nr = i;
	}
	if (!nr)
		return;
	printf(" properties.posix_pool_slab_size_kb :");
	for (int i = 0; i < nr; i++)
		printf(" %zu", sizes[i]);
	printf("\n properties.posix_pool_slab_count :");
	for (int i = 0; i < nr; i++)
		printf(" %zu", counts[i]);
	putchar('\n');
}

void gdscheck_config(const struct tool_cufile *lib)
{
	gdscheck_heading("CUFILE CONFIGURATION:");
	put_bool(lib, "properties.use_pci_p2pdma", CUFILE_PARAM_USE_PCIP2PDMA);
	put_bool(lib, "properties.use_compat_mode", CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE);
	put_bool(lib, "properties.force_compat_mode", CUFILE_PARAM_FORCE_COMPAT_MODE);
	put_bool(lib, "properties.force_odirect_mode", CUFILE_PARAM_FORCE_ODIRECT_MODE);
	put_bool(lib, "properties.prefer_iouring", CUFILE_PARAM_PREFER_IO_URING);
	put_bool(lib, "properties.use_poll_mode", CUFILE_PARAM_PROPERTIES_USE_POLL_MODE);
	put_number(lib, "properties.poll_mode_max_size_kb", CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB);
	put_number(lib, "properties.max_batch_io_size", CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE);
	put_number(lib, "properties.max_batch_io_timeout_msecs", CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS);
	put_number(lib, "properties.max_direct_io_size_kb", CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB);
	put_number(lib, "properties.max_device_cache_size_kb", CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB);
	put_number(lib, "properties.per_buffer_cache_size_kb", CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB);
	put_number(lib, "properties.max_device_pinned_mem_size_kb", CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB);
	put_slabs(lib);
	put_number(lib, "execution.max_io_queue_depth", CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH);
	put_number(lib, "execution.max_io_threads", CUFILE_PARAM_EXECUTION_MAX_IO_THREADS);
	put_bool(lib, "execution.parallel_io", CUFILE_PARAM_EXECUTION_PARALLEL_IO);
	put_number(lib, "execution.min_io_threshold_size_kb", CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB);
	put_number(lib, "execution.max_request_parallelism", CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM);
	put_bool(lib, "profile.nvtx", CUFILE_PARAM_PROFILE_NVTX);
	put_number(lib, "profile.cufile_stats", CUFILE_PARAM_PROFILE_STATS);
	put_bool(lib, "miscellaneous.api_check_aggressive", CUFILE_PARAM_FS_MISC_API_CHECK_AGGRESSIVE);
}
