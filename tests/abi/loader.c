// SPDX-License-Identifier: MIT
/* loader LIBRARY CORE - load a libgdrapi by path as programs with plug-ins do; it must bring CORE along, and work */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static const char *const symbols[] = {
	"gdr_open",	       "gdr_close",	      "gdr_pin_buffer",		 "gdr_pin_buffer_v2",
	"gdr_unpin_buffer",    "gdr_get_callback_flag", "gdr_get_info",		 "gdr_get_info_v2",
	"gdr_map",	       "gdr_map_v2",	      "gdr_unmap",		 "gdr_copy_to_mapping",
	"gdr_copy_from_mapping", "gdr_runtime_get_version", "gdr_driver_get_version", "gdr_get_attribute",
	"gdr_get_mapping_type_string",
};

static int find_core(struct dl_phdr_info *info, size_t size, void *core)
{
	return info->dlpi_name && !strcmp(info->dlpi_name, core);
}

int main(int argc, char **argv)
{
	void (*version)(int *major, int *minor);
	int major = 0, minor = 0;
	void *lib;

	if (argc != 3)
		return 2;
	lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (!dlsym(lib, symbols[i])) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	if (!dl_iterate_phdr(find_core, argv[2])) {
		fprintf(stderr, "%s was not loaded\n", argv[2]);
		return 1;
	}
	*(void **)&version = dlsym(lib, "gdr_runtime_get_version");
	version(&major, &minor);
	return major == 2 && minor == 6 ? 0 : 1;
}
