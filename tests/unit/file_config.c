// SPDX-License-Identifier: MIT
/* cufile.json and the environment: every key, and what is said about what cannot be used. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/config_load.h"
#include "tap.h"
#include "temp_dir.h"
#include "util/log.h"

static struct bl_file_config config;
static char said[16384];
static enum bl_log_level worst;

static void listen(enum bl_log_level level, const char *text)
{
	size_t len = strlen(said);

	worst = level < worst ? level : worst;

	snprintf(said + len, sizeof(said) - len, "%s\n", text);
}

static const char *complaints(void)
{
	*said = '\0';
	worst = BL_LOG_TRACE;
	bl_log_set_level(BL_LOG_WARN);
	bl_log_set_sink(listen);
	bl_config_notes_log();
	bl_log_set_sink(NULL);
	return said;
}

/* Texts that were complained about once are not again: each test has a file of its own name. */
static int parse(const char *text, const char *name)
{
	bl_config_notes_drop();
	config = bl_config_defaults;
	return bl_config_parse(&config, text, strlen(text), name);
}

static void defaults_are_the_documented_ones(void)
{
	const struct bl_file_config *now = bl_file_config();

	check(now == &bl_config_defaults);
	check_eq(now->io_batchsize, 128);
	check_eq(now->max_io_queue_depth, 128);
	check_eq(now->max_io_threads, 4);
	check(now->parallel_io);
	check_eq(now->min_io_threshold_size_kb, 8192);
	check_eq(now->max_request_parallelism, 4);
	check_eq(now->max_direct_io_size_kb, 16384);
	check_eq(now->max_device_cache_size_kb, 131072);
	check_eq(now->per_buffer_cache_size_kb, 1024);
	check_eq(now->max_device_pinned_mem_size_kb, 33554432);
	check_eq(now->gpu_bounce_slabs.nr, 4);
	check_eq(now->posix_pool_slabs.nr, 3);
	check_eq(now->posix_pool_slabs.size_kb[2], 16384);
	check_eq(now->poll_mode_max_size_kb, 4);
	check(now->allow_compat_mode && !now->force_compat_mode && now->allow_system_memory && !now->use_pci_p2pdma);
	check_eq(now->max_batch_io_timeout_msecs, 5);
	check_eq(now->log_max_file_size_mb, 32);
	check_eq(now->log_to, BL_LOG_TO_STDERR);
	check_eq(now->path, BL_PATH_NR);
	check_eq(now->cufile_stats, 0);
}

static void every_key_sets_its_member(void)
{
	static const char text[] = "{ // all of them\n"
		"\"logging\": {\"dir\": \"/tmp/x\", \"level\": \"info\", \"max_file_size_mb\": -1},\n"
		"\"profile\": {\"nvtx\": true, \"cufile_stats\": 3, \"io_batchsize\": 77},\n"
		"\"execution\": {\"max_io_queue_depth\": 9, \"max_io_threads\": 0, \"parallel_io\": false,\n"
		"  \"min_io_threshold_size_kb\": 4, \"max_request_parallelism\": 8},\n"
		"\"properties\": {\"max_direct_io_size_kb\": 128, \"max_device_cache_size_kb\": 5,\n"
		"  \"per_buffer_cache_size_kb\": 64, \"max_device_pinned_mem_size_kb\": 65,\n"
		"  \"gpu_bounce_buffer_slab_config\": {\"slab_size_kb\": [1, 2], \"slab_count\": [3, 4]},\n"
		"  \"posix_pool_slab_size_kb\": [8], \"posix_pool_slab_count\": [9], \"use_poll_mode\": true,\n"
		"  \"poll_mode_max_size_kb\": 8, \"use_pci_p2pdma\": true, \"allow_compat_mode\": false,\n"
		"  \"force_compat_mode\": true, \"force_odirect_mode\": true, \"prefer_iouring\": true,\n"
		"  \"vanilla_posix_io_mode\": true, \"gds_fallback_io\": true, \"allow_system_memory\": false, \"io_priority\": \"MED\",\n"
		"  \"max_batch_io_timeout_msecs\": 1000, \"rdma_transport_type\": \"ext_rc_v1\",\n"
		"  \"barlane_path\": \"staged\", \"barlane_strict\": true},\n"
		"\"fs\": {\"generic\": {\"posix_unaligned_writes\": true}},\n"
		"\"miscellaneous\": {\"api_check_aggressive\": true, \"skip_topology_detection\": true,\n"
		"  \"stream_memops_bypass\": true},\n"
		"\"denylist\": {\"drivers\": [\"d\"], \"devices\": [\"/dev/e\"], \"mounts\": [\"/m\"],\n"
		"  \"filesystems\": [\"f\", \"g\"]}}";

	check_eq(parse(text, "all.json"), 0);
	check_str(complaints(), "");
	check_str(config.log_dir, "/tmp/x");
	check_eq(config.log_to, BL_LOG_TO_DIR);
	check_str(config.log_level, "INFO");
	check_eq(config.log_max_file_size_mb, -1);
	check(config.nvtx);
	check_eq(config.cufile_stats, 3);
	check_eq(config.io_batchsize, 77);
	check_eq(config.max_io_queue_depth, 9);
	check_eq(config.max_io_threads, 0);
	check(!config.parallel_io);
	check_eq(config.min_io_threshold_size_kb, 4);
	check_eq(config.max_request_parallelism, 8);
	check_eq(config.max_direct_io_size_kb, 128);
	check_eq(config.max_device_cache_size_kb, 5);
	check_eq(config.per_buffer_cache_size_kb, 64);
	check_eq(config.max_device_pinned_mem_size_kb, 65);
	check_eq(config.gpu_bounce_slabs.nr, 2);
	check_eq(config.gpu_bounce_slabs.size_kb[1], 2);
	check_eq(config.gpu_bounce_slabs.count[1], 4);
	check_eq(config.posix_pool_slabs.nr, 1);
	check_eq(config.posix_pool_slabs.count[0], 9);
	check(config.use_poll_mode);
	check_eq(config.poll_mode_max_size_kb, 8);
	check(config.use_pci_p2pdma && !config.allow_compat_mode && config.force_compat_mode);
	check(config.force_odirect_mode && config.prefer_iouring && config.vanilla_posix_io_mode);
	check(config.gds_fallback_io && !config.allow_system_memory);
	check_str(config.io_priority, "med");
	check_eq(config.max_batch_io_timeout_msecs, 1000);
	check_str(config.rdma_transport_type, "EXT_RC_V1");
	check_eq(config.path, BL_PATH_STAGED);
	check(config.strict && config.posix_unaligned_writes && config.api_check_aggressive);
	check(config.skip_topology_detection && config.stream_memops_bypass);
	check_str(config.deny[BL_DENY_DRIVERS].name[0], "d");
	check_str(config.deny[BL_DENY_DEVICES].name[0], "/dev/e");
	check_str(config.deny[BL_DENY_MOUNTS].name[0], "/m");
	check_eq(config.deny[BL_DENY_FILESYSTEMS].nr, 2);
}

static void keys_without_effect_are_known(void)
{
	static const char text[] = "{\"properties\": {\"io_batchsize\": 64, \"gds_rdma_write_support\": true,\n"
		"  \"rdma_dev_addr_list\": [\"1.2.3.4\"], \"rdma_dynamic_routing\": false,\n"
		"  \"rdma_dynamic_routing_order\": [\"GPU_MEM\"], \"rdma_peer_affinity_policy\": \"RoundRobin\"},\n"
		"\"fs\": {\"lustre\": {\"posix_gds_min_kb\": 0, \"rdma_dev_addr_list\": [], \"mount_table\": {\n"
		"    \"/lustre/a\": {\"rdma_dev_addr_list\": []}}}, \"weka\": {\"rdma_write_support\": false},\n"
		"  \"gpfs\": {\"gds_write_support\": false, \"gds_async_support\": true, \"use_pci_p2pdma\": false}},\n"
		"\"block\": {\"nvme\": {\"use_pci_p2pdma\": false}}, \"sparse\": {\"p2p_compat_enable\": true},\n"
		"\"blacklist\": {\"mounts\": [\"/old\"]},\n"
		"\"miscellaneous\": {\"enable_static_routing\": false}}";

	check_eq(parse(text, "stock.json"), 0);
	check_str(complaints(), "");
	check_eq(config.io_batchsize, 64);
	check_str(config.deny[BL_DENY_MOUNTS].name[0], "/old");
}

static void an_unknown_key_is_named_once(void)
{
	static const char text[] = "{\"properties\": {\"max_direct_io_sizes_kb\": 4, \"io_batchsize\": 5}, \"extra\": {\"x\": 1}}";

	check_eq(parse(text, "once.json"), 0);
	check_has(complaints(), "once.json: properties.max_direct_io_sizes_kb: no such key");
	check_eq(worst, BL_LOG_WARN);
	check_has(said, "once.json: extra: no such key");
	check(!strstr(said, "extra.x"));
	check_eq(config.io_batchsize, 5);
	check_eq(parse(text, "once.json"), 0);
	check_str(complaints(), "");
}

static void a_value_of_the_wrong_kind_is_named_with_what_stays(void)
{
	static const char text[] = "{\"properties\": {\"use_poll_mode\": 1, \"io_batchsize\": \"many\", \"max_direct_io_size_kb\": 64.5,\n"
		"\"allow_compat_mode\": null}, \"logging\": {\"level\": 3, \"dir\": [\"/a\"]}, \"execution\": 7,\n"
		"\"denylist\": {\"mounts\": \"/a\", \"drivers\": [1, \"ok\", \"\"]}}";

	check_eq(parse(text, "kinds.json"), 0);
	complaints();
	check_has(said, "kinds.json: properties.use_poll_mode: is int, not true or false; false stays");
	check_has(said, "kinds.json: properties.io_batchsize: is string, not a whole number; 128 stays");
	check_has(said, "kinds.json: properties.max_direct_io_size_kb: is double, not a whole number; 16384 stays");
	check_has(said, "kinds.json: properties.allow_compat_mode: is null, not true or false; true stays");
	check_has(said, "kinds.json: logging.level: is int, not a text; \"\" stays");
	check_has(said, "kinds.json: logging.dir: is array, not a text");
	check_has(said, "kinds.json: execution: is int, not a section; ignored");
	check_has(said, "kinds.json: denylist.mounts: not a list of texts");
	check_has(said, "kinds.json: denylist.drivers: item 0 is no text");
	check_has(said, "kinds.json: denylist.drivers: item 2 is no text");
	check_eq(config.deny[BL_DENY_DRIVERS].nr, 1);
	check_eq(config.log_to, BL_LOG_TO_STDERR);
}

static void a_number_out_of_range_is_named_with_its_range(void)
{
	static const struct {
		const char *text, *complaint;
	} cases[] = {
		{"{\"properties\":{\"io_batchsize\":257}}", "257 is not in 1 to 256; 128 stays"},
		{"{\"properties\":{\"io_batchsize\":0}}", "0 is not in 1 to 256"},
		{"{\"properties\":{\"max_direct_io_size_kb\":100}}", "100 is not in 64 to 16384 in steps of 64; 16384 stays"},
		{"{\"properties\":{\"max_direct_io_size_kb\":99999999999999999999}}", "is not in 64 to 16384"},
		{"{\"properties\":{\"max_device_pinned_mem_size_kb\":-1}}", "-1 is not in 64 to"},
		{"{\"execution\":{\"max_io_threads\":33}}", "33 is not in 0 to 32; 4 stays"},
		{"{\"profile\":{\"cufile_stats\":4}}", "4 is not in 0 to 3; 0 stays"},
		{"{\"logging\":{\"max_file_size_mb\":-2}}", "-2 is not in -1 to"},
		{"{\"logging\":{\"level\":\"LOUD\"}}", "\"LOUD\" is no such word"},
		{"{\"properties\":{\"barlane_path\":\"fast\"}}", "\"fast\" is none of nvfs, devicepages, mapped, staged, plain; the best path stays"},
		{"{\"properties\":{\"posix_pool_slab_size_kb\":[]}}", "not a list of 1 to 16 numbers"},
		{"{\"properties\":{\"posix_pool_slab_size_kb\":[4,0,3]}}", "item 1 is no number from 1 on"},
		{"{\"properties\":{\"posix_pool_slab_size_kb\":[4,5]}}", "2 sizes and 3 counts; what there is stays"},
		{"{\"properties\":{\"posix_pool_slab_count\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}}", "1 to 16 numbers"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "range%zu.json", i);
		check_eq(parse(cases[i].text, name), 0);
		check_has(complaints(), cases[i].complaint);
		check_has(said, name);
		check_eq(memcmp(&config.posix_pool_slabs, &bl_config_defaults.posix_pool_slabs, sizeof(config.posix_pool_slabs)), 0);
		check_eq(config.io_batchsize, 128);
		check_eq(config.max_direct_io_size_kb, 16384);
	}
}

static void comments_are_allowed_everywhere(void)
{
	static const char *const texts[] = {
		"// first\n{\"properties\": // after a brace\n{\"io_batchsize\": /* inside */ 5 // \"}\n}} // last",
		"/* 1 */{/* 2 \n */\"properties\"/**/:/***/{\"io_batchsize\":5}}/* end",
		"{\"properties\":{\"io_batchsize\":5},\"logging\":{\"dir\":\"//x/*y*/\\\"//\"}}//",
		"\xef\xbb\xbf{\"properties\":{\"io_batchsize\":5}}\r\n",
		"{\"properties\":{\"io_batchsize\":5,\n//\"io_batchsize\":6,\n}}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		check_eq(parse(texts[i], "comments.json"), 0);
		check_str(complaints(), "");
		check_eq(config.io_batchsize, 5);
	}
	check_eq(parse(texts[2], "comments.json"), 0);
	check_str(config.log_dir, "//x/*y*/\"//");
}

static void a_file_that_is_no_configuration_changes_nothing(void)
{
	static const struct {
		const char *text, *complaint;
	} cases[] = {
		{"", ":1: "},
		{"  \n ", ":2: "},
		{"[]", "no object in braces"},
		{"5", "no object in braces"},
		{"{\"properties\":{\"io_batchsize\":5}", "; the file is ignored"},
		{"{\"properties\":{\"io_batchsize\":5 // ends here", "; the file is ignored"},
		{"{\"properties\":{\"io_batchsize\":5}} x", "text behind the end"},
		{"{\"properties\":\n{\"io_batchsize\":5,\n  io_batchsize: 6}}", ":3: "},
		{"{\"properties\":{\"io_batchsize\":5, \"dir\": \"", "; the file is ignored"},
	};
	static const char nul[] = "{\"properties\":{\"io_batchsize\":5}}\0";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "broken%zu.json", i);
		check_eq(parse(cases[i].text, name), -EINVAL);
		check_has(complaints(), name);
		check_has(said, cases[i].complaint);
		check_eq(worst, BL_LOG_ERROR);
		check_eq(memcmp(&config, &bl_config_defaults, sizeof(config)), 0);
	}
	config = bl_config_defaults;
	check_eq(bl_config_parse(&config, nul, sizeof(nul), "nul.json"), -EINVAL);
	check_has(complaints(), "nul.json: has NUL bytes");
}

static void a_complaint_is_one_line_and_has_an_end(void)
{
	char text[40000] = "{", *at = text + 1;

	check_eq(parse("{\"a\\nbarlane: error: b\\u001b[31m\": 1}", "lines.json"), 0);
	check_str(complaints(), "file/config: lines.json: a?barlane: error: b?[31m: no such key; ignored\n");
	for (int i = 0; i < 300; i++)
		at += sprintf(at, "%s\"k%d%.*s\": 1", i ? "," : "", i, i, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	strcpy(at, "}");
	check_eq(parse(text, "many.json"), 0);
	check_has(complaints(), "236 more complaints");
	check_eq(worst, BL_LOG_WARN);
	strcpy(at, ",\"denylist\":{\"mounts\":1}}");
	check_eq(parse(text, "more.json"), 0);
	check_has(complaints(), "237 more complaints");
	check_eq(worst, BL_LOG_ERROR);
}

/* Who forbids something, and is not understood, is to know it. */
static void what_is_left_out_of_a_denylist_is_an_error(void)
{
	char text[1024] = "{\"denylist\":{\"mounts\":[", *at = text + strlen(text);

	for (int i = 0; i <= BL_NAMES; i++)
		at += sprintf(at, "%s\"/m%d\"", i ? "," : "", i);
	strcpy(at, "]}}");
	check_eq(parse(text, "deny.json"), 0);
	check_has(complaints(), "deny.json: denylist.mounts: item 32: only 32 are kept; left out");
	check_eq(worst, BL_LOG_ERROR);
	check_eq(config.deny[BL_DENY_MOUNTS].nr, BL_NAMES);
	check_eq(parse("{\"denylist\":{\"mounts\":\"/a\"}}", "deny2.json"), 0);
	check_has(complaints(), "not a list of texts");
	check_eq(worst, BL_LOG_ERROR);
}

static char dir[] = "/tmp/barlane-config-XXXXXX";

static void gather(void)
{
	bl_config_notes_drop();
	config = bl_config_defaults;
	bl_config_file(&config);
	bl_config_environment(&config);
}

static void the_environment_names_the_file(void)
{
	char path[300];

	setenv("CUFILE_ENV_PATH_JSON", temp_file("a.json", "{\"properties\":{\"io_batchsize\":31}}"), 1);
	gather();
	check_str(complaints(), "");
	check_eq(config.io_batchsize, 31);
	snprintf(path, sizeof(path), "%s/none.json", dir);
	setenv("CUFILE_ENV_PATH_JSON", path, 1);
	gather();
	check_has(complaints(), "none.json: No such file or directory; no file is read");
	check_eq(worst, BL_LOG_ERROR);
	check_eq(config.io_batchsize, 128);
	setenv("CUFILE_ENV_PATH_JSON", dir, 1);
	gather();
	check_has(complaints(), "Invalid argument; no file is read");
	snprintf(path, sizeof(path), "%s/fifo", dir);
	check(!mkfifo(path, 0600));
	setenv("CUFILE_ENV_PATH_JSON", path, 1);
	gather();
	check_has(complaints(), "fifo: Invalid argument");
	unsetenv("CUFILE_ENV_PATH_JSON");
}

static void a_file_that_is_too_large_is_not_read(void)
{
	const char *path = temp_file("large.json", "{");

	check(!truncate(path, (1 << 20) + 1));
	setenv("CUFILE_ENV_PATH_JSON", path, 1);
	gather();
	check_has(complaints(), "large.json: File too large");
	unsetenv("CUFILE_ENV_PATH_JSON");
}

static void variables_come_before_the_file(void)
{
	setenv("CUFILE_ENV_PATH_JSON", temp_file("b.json", "{\"properties\":{\"force_compat_mode\":true,\"barlane_path\":\"plain\"},"
						       "\"logging\":{\"level\":\"ERROR\",\"dir\":\"/a\"}}"), 1);
	setenv("CUFILE_FORCE_COMPAT_MODE", "off", 1);
	setenv("CUFILE_ALLOW_COMPAT_MODE", "FALSE", 1);
	setenv("CUFILE_USE_PCIP2PDMA", "1", 1);
	setenv("CUFILE_SKIP_TOPOLOGY_DETECTION", "yes", 1);
	setenv("CUFILE_NVTX", "true", 1);
	setenv("CUFILE_LOGGING_LEVEL", "trace", 1);
	setenv("CUFILE_LOGFILE_MAX_SIZE_MB", "7", 1);
	setenv("CUFILE_LOGFILE_PATH", "/tmp/x.log", 1);
	setenv("BARLANE_FILE_PATH", "mapped", 1);
	setenv("BARLANE_FILE_STRICT", "1", 1);
	gather();
	check_str(complaints(), "");
	check(!config.force_compat_mode && !config.allow_compat_mode && config.use_pci_p2pdma);
	check(config.skip_topology_detection && config.nvtx && config.strict);
	check_str(config.log_level, "TRACE");
	check_eq(config.log_max_file_size_mb, 7);
	check_eq(config.log_to, BL_LOG_TO_FILE);
	check_str(config.log_file, "/tmp/x.log");
	check_eq(config.path, BL_PATH_MAPPED);
	setenv("CUFILE_LOGFILE_PATH", "", 1);
	setenv("CUFILE_NVTX", "maybe", 1);
	setenv("CUFILE_LOGFILE_MAX_SIZE_MB", "7 MB", 1);
	gather();
	check_has(complaints(), "CUFILE_NVTX: \"maybe\" is neither true nor false; false stays");
	check_has(said, "CUFILE_LOGFILE_MAX_SIZE_MB: \"7 MB\" is no number; 32 stays");
	check_eq(config.log_to, BL_LOG_TO_NONE);
}

static void the_denylist_knows_what_lies_below_a_mount(void)
{
	setenv("CUFILE_ENV_PATH_JSON", temp_file("c.json", "{\"denylist\":{\"mounts\":[\"/data/\",\"/x\"],\"filesystems\":[\"nfs\"]}}"), 1);
	check_eq(bl_config_open(), 0);
	check(bl_config_denies(BL_DENY_MOUNTS, "/data"));
	check(bl_config_denies(BL_DENY_MOUNTS, "/data/set/a"));
	check(!bl_config_denies(BL_DENY_MOUNTS, "/database"));
	check(bl_config_denies(BL_DENY_MOUNTS, "/x"));
	check(bl_config_denies(BL_DENY_FILESYSTEMS, "nfs"));
	check(!bl_config_denies(BL_DENY_FILESYSTEMS, "nfs4"));
	check(!bl_config_denies(BL_DENY_DRIVERS, "nvme"));
	bl_logfile_stop();
	unsetenv("CUFILE_ENV_PATH_JSON");
}

static bool no_parser;

struct json_tokener *__real_json_tokener_new(void);
struct json_tokener *__wrap_json_tokener_new(void);

struct json_tokener *__wrap_json_tokener_new(void)
{
	return no_parser ? NULL : __real_json_tokener_new();
}

static void a_file_that_there_is_no_memory_for_is_named(void)
{
	setenv("CUFILE_ENV_PATH_JSON", temp_file("f.json", "{\"properties\":{\"io_batchsize\":31}}"), 1);
	no_parser = true;
	gather();
	no_parser = false;
	check_has(complaints(), "f.json: out of memory; the file is ignored");
	check_eq(config.io_batchsize, 128);
	unsetenv("CUFILE_ENV_PATH_JSON");
}

static const struct tap_test tests[] = {
	{"defaults are the documented ones", defaults_are_the_documented_ones},
	{"every key sets its member", every_key_sets_its_member},
	{"keys without effect are known", keys_without_effect_are_known},
	{"an unknown key is named once", an_unknown_key_is_named_once},
	{"a value of the wrong kind is named with what stays", a_value_of_the_wrong_kind_is_named_with_what_stays},
	{"a number out of range is named with its range", a_number_out_of_range_is_named_with_its_range},
	{"comments are allowed everywhere", comments_are_allowed_everywhere},
	{"a file that is no configuration changes nothing", a_file_that_is_no_configuration_changes_nothing},
	{"a complaint is one line and has an end", a_complaint_is_one_line_and_has_an_end},
	{"what is left out of a denylist is an error", what_is_left_out_of_a_denylist_is_an_error},
	{"the environment names the file", the_environment_names_the_file},
	{"a file that is too large is not read", a_file_that_is_too_large_is_not_read},
	{"variables come before the file", variables_come_before_the_file},
	{"a file that there is no memory for is named", a_file_that_there_is_no_memory_for_is_named},
	{"the denylist knows what lies below a mount", the_denylist_knows_what_lies_below_a_mount},
};

int main(int argc, char **argv)
{
	if (temp_dir_make(dir))
		return 2;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
