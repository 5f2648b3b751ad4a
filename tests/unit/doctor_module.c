// SPDX-License-Identifier: MIT
/* What "barlane doctor" says of kernel module gdrdrv: loaded or not, its file, its node, and what keeps it out. */
#include "doctor/modfile.h"
#include "doctor_fixture.h"

#define RELEASE "6.12.0-1-amd64"
#define MODULE	"/sys/module/gdrdrv/"
#define PARAMS	"/proc/driver/gdrdrv/params"
#define LIBDIR	"/lib/modules/" RELEASE "/"
#define FILE_KO LIBDIR "updates/dkms/gdrdrv.ko"
#define DKMS	"/var/lib/dkms/barlane-gdrdrv/"
#define NODE	"/dev/gdrdrv"
#define BOOT	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define MARKER	"~Module signature appended~\n"

/* /dev/null, which stands for the node: a test need not be root to link to it. */
#define NULL_NUMBER "1:3\n"

static void begin_kernel(void)
{
	begin();
	fake_tree_text("/proc/sys/kernel/osrelease", RELEASE "\n");
}

static void begin_loaded(const char *version)
{
	begin_kernel();
	fake_tree_text(MODULE "initstate", "live\n");
	fake_tree_text(MODULE "version", version);
}

/* A provider that serves, as the check before this one leaves it. */
static void add_provider(void)
{
	doctor.check = "provider";
	doctor_add(&doctor, DOCTOR_OK, "rm", NULL, "yes");
	doctor.check = "module";
}

static void add_file(const char *path, bool is_signed)
{
	uint8_t bytes[512] = {0x7f, 'E', 'L', 'F'};
	const size_t marker = strlen(MARKER), at = sizeof(bytes) - marker;

	if (is_signed) {
		memcpy(bytes + at, MARKER, marker);
		bytes[at - 10] = 2;
		bytes[at - 1] = 200;
	}
	fake_tree_bytes(path, bytes, sizeof(bytes));
}

static void add_secure_boot(uint8_t value)
{
	fake_tree_bytes(BOOT, (const uint8_t[]){6, 0, 0, 0, value}, 5);
}

/* One row, with that status and fragment. */
static void check_only(enum doctor_status status, const char *fragment)
{
	doctor_check_module(&doctor);
	check_eq(doctor.nr, 1);
	check_has(doctor.rows[0].text, fragment);
	check_eq(doctor.rows[0].status, status);
	check_cures();
}

static void a_loaded_module_says_whose_it_is(void)
{
	begin_loaded("2.6\n");
	check_only(DOCTOR_OK, "loaded, GDRCopy's, version 2.6, persistent mapping not shown");
	begin_loaded("2.6\n");
	fake_tree_text(MODULE "parameters/node_mode", "438\n");
	fake_tree_text(PARAMS, "Version: 2.6\nUse persistent mapping: yes\n");
	check_only(DOCTOR_OK, "loaded, Barlane's, version 2.6, persistent mapping on");
	begin_loaded("2.4.1\n");
	fake_tree_text(PARAMS, "Use persistent mapping: no\n");
	check_only(DOCTOR_OK, "version 2.4, persistent mapping off");
}

static void a_module_that_is_not_live_is_warned_of(void)
{
	static const char *const states[] = {"coming\n", "going\n", "", "\x01\xff nonsense"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		begin_loaded("2.6\n");
		fake_tree_text(MODULE "initstate", states[i]);
		check_only(DOCTOR_WARN, "is not ready");
	}
	begin_loaded("2.6\n");
	fake_tree_text(MODULE "initstate", "coming\n");
	check_only(DOCTOR_WARN, "it is being loaded");
}

static void versions_that_do_not_fit_are_warned_of(void)
{
	static const char *const odd[] = {"", "two", "2", "-2.6", "2.-6", "2.6x", "999999.1", " 2.6"};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		begin_loaded(odd[i]);
		check_only(DOCTOR_WARN, "cannot be understood");
	}
	begin_loaded("1.3\n");
	check_only(DOCTOR_WARN, "version 1.3: provider gdrdrv speaks");
	begin_loaded("3.0\n");
	check_only(DOCTOR_WARN, "version 3.0: provider gdrdrv speaks");
	begin_kernel();
	fake_tree_dir(MODULE "holders");
	check_only(DOCTOR_WARN, "shows no version");
}

static void taint_is_put_into_words(void)
{
	begin_loaded("2.6\n");
	fake_tree_text(MODULE "taint", "POE\n");
	doctor_check_module(&doctor);
	check_eq(row("taints the kernel: proprietary, out of tree, unsigned")->status, DOCTOR_INFO);
	begin_loaded("2.6\n");
	fake_tree_text(MODULE "taint", "OFE\n");
	doctor_check_module(&doctor);
	check_eq(row("it was built for another kernel")->status, DOCTOR_WARN);
	begin_loaded("2.6\n");
	fake_tree_text(MODULE "taint", "123");
	doctor_check_module(&doctor);
	check_eq(row("letters that are not known")->status, DOCTOR_INFO);
	begin_loaded("2.6\n");
	fake_tree_text(MODULE "taint", "\n");
	check_only(DOCTOR_OK, "loaded");
}

static void a_module_for_the_other_flavour_is_warned_of(void)
{
	static const struct {
		const char *built;
		enum doctor_flavour driver;
		bool ours, warned;
	} cases[] = {{"opensource", DOCTOR_FLAVOUR_PROPRIETARY, true, true},
		     {"opensource", DOCTOR_FLAVOUR_PROPRIETARY, false, false},
		     {"opensource", DOCTOR_FLAVOUR_OPEN, true, false},
		     {"opensource", DOCTOR_FLAVOUR_UNKNOWN, true, false},
		     {"proprietary", DOCTOR_FLAVOUR_PROPRIETARY, true, false},
		     {"opensources", DOCTOR_FLAVOUR_PROPRIETARY, true, false}};
	char text[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_loaded("2.6\n");
		if (cases[i].ours)
			fake_tree_text(MODULE "parameters/node_mode", "438\n");
		snprintf(text, sizeof(text), "Version: 2.6\nBuilt for NVIDIA driver flavor: %s\n", cases[i].built);
		fake_tree_text(PARAMS, text);
		doctor.driver.flavour = cases[i].driver;
		doctor_check_module(&doctor);
		check_eq(doctor.nr, cases[i].warned ? 2 : 1);
		if (cases[i].warned)
			check_eq(row("pins will be refused")->status, DOCTOR_WARN);
		check_cures();
	}
}

static void a_module_that_is_nowhere_is_a_note_while_a_provider_serves(void)
{
	begin_kernel();
	add_provider();
	doctor_check_module(&doctor);
	check_eq(doctor.nr, 2);
	check_eq(row("none found for kernel " RELEASE)->status, DOCTOR_INFO);
	begin_kernel();
	check_only(DOCTOR_WARN, "no provider serves");
	check(!doctor_failed(&doctor));
}

static void a_kernel_that_does_not_say_its_release_is_not_judged(void)
{
	static const char *const odd[] = {"", "\n", "../../etc", "..", "a/b"};

	begin();
	check_only(DOCTOR_INFO, "which kernel runs cannot be read");
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		begin();
		fake_tree_text("/proc/sys/kernel/osrelease", odd[i]);
		check_only(DOCTOR_INFO, "which kernel runs cannot be read");
	}
}

static void files_are_found_where_packages_put_them(void)
{
	static const char *const places[] = {"updates/dkms",	    "updates", "extra/dkms",  "extra", "extra/gdrcopy",
					     "kernel/drivers/misc", "misc",    "weak-updates"};
	char path[160];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		begin_kernel();
		snprintf(path, sizeof(path), LIBDIR "%s/gdrdrv.ko", places[i]);
		add_file(path, true);
		check_only(DOCTOR_INFO, path);
		check_has(doctor.rows[0].cure, "modprobe gdrdrv");
	}
	begin_kernel();
	add_file("/lib/modules/6.1.0-1-amd64/updates/dkms/gdrdrv.ko", true);
	check_only(DOCTOR_WARN, "none found");
}

static void an_unsigned_file_is_a_note_where_nothing_asks_for_a_signature(void)
{
	begin_kernel();
	add_file(FILE_KO, false);
	check_only(DOCTOR_INFO, "is not signed, and nothing asks for that");
	begin_kernel();
	add_file(FILE_KO, false);
	add_secure_boot(0);
	check_only(DOCTOR_INFO, "nothing asks");
	begin_kernel();
	add_file(FILE_KO, false);
	add_secure_boot(1);
	fake_tree_text("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	fake_tree_text("/sys/module/module/parameters/sig_enforce", "N\n");
	check_only(DOCTOR_INFO, "nothing asks");
}

static void an_unsigned_file_is_warned_of_where_signatures_are_asked_for(void)
{
	begin_kernel();
	add_file(FILE_KO, false);
	fake_tree_text("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	check_only(DOCTOR_WARN, "kernel lockdown (confidentiality) keeps unsigned modules out");
	check_has(doctor.rows[0].cure, "mokutil --import");
	begin_kernel();
	add_file(FILE_KO, false);
	fake_tree_text("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	fake_tree_text("/sys/module/module/parameters/sig_enforce", "Y\n");
	check_only(DOCTOR_WARN, "module.sig_enforce keeps unsigned modules out");
	begin_kernel();
	add_file(FILE_KO, false);
	add_secure_boot(1);
	check_only(DOCTOR_WARN, "Secure Boot may keep unsigned modules out");
	begin_kernel();
	add_file(FILE_KO, false);
	add_secure_boot(1);
	fake_tree_text("/sys/kernel/security/lockdown", "[[[");
	check_only(DOCTOR_WARN, "Secure Boot may keep");
}

static void a_signed_file_passes_lockdown_as_far_as_can_be_seen(void)
{
	begin_kernel();
	add_file(FILE_KO, true);
	fake_tree_text("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	check_only(DOCTOR_INFO, "gdrdrv.ko is signed");
}

static void a_damaged_signature_is_warned_of(void)
{
	begin_kernel();
	fake_tree_text(FILE_KO, "\x7f"
				"ELF and nothing else " MARKER);
	check_only(DOCTOR_WARN, "is damaged");
}

static void files_that_are_no_modules_are_warned_of(void)
{
	static const struct {
		const char *suffix, *text;
	} cases[] = {{"", ""},
		     {"", "\x7f"
			  "EL"},
		     {"", "<html>"},
		     {".xz", "\x7f"
			     "ELF...."},
		     {".zst", "("},
		     {".gz", ""}};
	char path[160];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_kernel();
		snprintf(path, sizeof(path), FILE_KO "%s", cases[i].suffix);
		fake_tree_text(path, cases[i].text);
		check_only(DOCTOR_WARN, "is no kernel module");
	}
}

static void compressed_files_are_not_looked_into(void)
{
	begin_kernel();
	fake_tree_bytes(LIBDIR "extra/gdrdrv.ko.xz",
			"\xfd"
			"7zXZ\0 and more",
			15);
	check_only(DOCTOR_INFO, "gdrdrv.ko.xz is compressed, its signature was not looked at");
	begin_kernel();
	fake_tree_text(LIBDIR "extra/gdrdrv.ko.zst", "\x28\xb5\x2f\xfd and more");
	check_only(DOCTOR_INFO, "gdrdrv.ko.zst is compressed");
	begin_kernel();
	fake_tree_text(LIBDIR "extra/gdrdrv.ko.gz", "\x1f\x8b and more");
	check_only(DOCTOR_INFO, "gdrdrv.ko.gz is compressed");
}

static int refused;

static int refuse(const char *path, int flags)
{
	errno = refused;
	return -1;
}

/* All but the kernel's release is closed to this user. */
static int refuse_modules(const char *path, int flags)
{
	return strstr(path, "/lib/modules/") ? refuse(path, flags) : tool_tree_machine.open(path, flags);
}

static void a_file_that_cannot_be_read_is_said(void)
{
	begin_kernel();
	add_file(FILE_KO, true);
	refused = EACCES;
	doctor.tree.open = refuse_modules;
	check_only(DOCTOR_INFO, "cannot be read: Permission denied");
	check_has(doctor.rows[0].cure, "root");
	begin_kernel();
	fake_tree_dir(FILE_KO);
	check_only(DOCTOR_INFO, "cannot be read: Is a directory");
}

static void dkms_without_a_build_for_this_kernel_names_autoinstall(void)
{
	begin_kernel();
	fake_tree_text(DKMS "0.1.0/source/dkms.conf", "");
	fake_tree_dir(DKMS "0.1.0/6.1.0-1-amd64");
	fake_tree_link(DKMS "kernel-6.1.0-1-amd64-x86_64", "0.1.0/6.1.0-1-amd64/x86_64");
	fake_tree_link(DKMS "kernel-" RELEASE "-rt-x86_64", "0.1.0/" RELEASE "-rt/x86_64");
	add_provider();
	doctor_check_module(&doctor);
	check_eq(row("barlane-gdrdrv is not built for kernel " RELEASE)->status, DOCTOR_WARN);
	check_has(row("barlane-gdrdrv is not built")->cure, "dkms autoinstall");
	check_has(row("barlane-gdrdrv is not built")->cure, "headers of kernel " RELEASE);
	begin_kernel();
	fake_tree_text("/var/lib/dkms/gdrdrv/2.6/source/dkms.conf", "");
	check_only(DOCTOR_WARN, "gdrdrv is not built for kernel");
	begin_kernel();
	fake_tree_text(DKMS "0.1.0/source/dkms.conf", "");
	add_file(FILE_KO, true);
	check_only(DOCTOR_INFO, "is signed");
}

static void the_other_states_of_dkms_are_told_apart(void)
{
	begin_kernel();
	fake_tree_text(DKMS "0.1.0/source/dkms.conf", "");
	fake_tree_text(DKMS "0.1.0/build/make.log", "error");
	check_only(DOCTOR_WARN, "a build failed");
	check_has(doctor.rows[0].cure, "/var/lib/dkms/barlane-gdrdrv/*/build/make.log");
	begin_kernel();
	fake_tree_dir(DKMS "0.1.0/" RELEASE "/x86_64");
	check_only(DOCTOR_WARN, "but not installed");
	begin_kernel();
	fake_tree_dir(DKMS "0.1.0/" RELEASE "/x86_64");
	fake_tree_link(DKMS "kernel-" RELEASE "-x86_64", "0.1.0/" RELEASE "/x86_64");
	check_only(DOCTOR_WARN, "its file is not there");
	begin_kernel();
	fake_tree_text(DKMS "kernel-", "");
	fake_tree_text(DKMS "dkms_dbversion", "");
	check_only(DOCTOR_WARN, "none found");
}

static void a_stand_in_has_no_modules(void)
{
	begin_loaded("2.6\n");
	doctor.standin = "emulated GPU";
	check_only(DOCTOR_INFO, "\"emulated GPU\": no module of this machine is asked");
}

static void the_node_must_have_the_number_of_the_module(void)
{
	static const struct {
		const char *path, *text;
		const char *wrong; /* what the row has where it does not match */
	} cases[] = {
		{"/sys/class/gdrdrv/gdrdrv/dev", NULL_NUMBER, NULL},
		{"/sys/class/gdrdrv/gdrdrv/dev", "240:0\n", "1:3, but the module's is 240:0"},
		{"/sys/class/misc/gdrdrv/dev", "10:123\n", "the module's is 10:123"},
		{"/proc/devices", "Character devices:\n  1 mem\n240 gdrdrv\n\nBlock devices:\n", "is 240:0"},
		{"/proc/devices", "garbage", NULL},
		{"/sys/class/gdrdrv/gdrdrv/dev", "banana", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_loaded("2.6\n");
		fake_tree_link(NODE, "/dev/null");
		fake_tree_text(cases[i].path, cases[i].text);
		doctor_check_module_node(&doctor);
		check_eq(doctor.nr, 1);
		check_eq(doctor.rows[0].status, cases[i].wrong ? DOCTOR_WARN : DOCTOR_OK);
		check_has(doctor.rows[0].text, cases[i].wrong ? cases[i].wrong : "mode 666");
		check_cures();
	}
	check_has(row(NODE)->text, "opens");
}

static void a_node_that_is_missing_is_made_by_its_number(void)
{
	begin_loaded("2.6\n");
	fake_tree_text("/proc/devices", "Character devices:\n  1 mem\n237 gdrdrv\n\nBlock devices:\n");
	doctor_check_module_node(&doctor);
	check_eq(row(NODE)->status, DOCTOR_WARN);
	check_has(row(NODE)->cure, "mknod -m 666 /dev/gdrdrv c 237 0");
	begin_loaded("2.6\n");
	doctor_check_module_node(&doctor);
	check_has(row("although the module is loaded")->cure, "load the module again");
	begin();
	doctor_check_module_node(&doctor);
	check_eq(row("does not exist; only provider gdrdrv")->status, DOCTOR_INFO);
}

static void a_node_without_a_module_is_left_over(void)
{
	static const int errors[] = {ENXIO, ENODEV};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		begin();
		fake_tree_link(NODE, "/dev/null");
		refused = errors[i];
		doctor.tree.open = refuse;
		doctor_check_module_node(&doctor);
		check_eq(row("is left over")->status, DOCTOR_INFO);
	}
	begin(); /* where the module is hidden it still counts that the node opens */
	fake_tree_link(NODE, "/dev/null");
	doctor_check_module_node(&doctor);
	check_eq(row(NODE)->status, DOCTOR_OK);
}

static void a_node_that_is_a_file_is_warned_of(void)
{
	begin_loaded("2.6\n");
	fake_tree_text(NODE, "a file");
	doctor_check_module_node(&doctor);
	check_eq(row("is no character device")->status, DOCTOR_WARN);
	check_cures();
}

static void a_node_that_does_not_open_says_why_and_is_no_failure(void)
{
	static const struct {
		int err;
		const char *cure;
	} cases[] = {{EACCES, "node_mode=0666"}, {EPERM, "--device /dev/gdrdrv"}, {EMFILE, "ulimit"}, {ENXIO, "dmesg"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_loaded("2.6\n");
		fake_tree_link(NODE, "/dev/null");
		refused = cases[i].err;
		doctor.tree.open = refuse;
		doctor_check_module_node(&doctor);
		check_eq(row(NODE)->status, DOCTOR_WARN);
		check_has(row(NODE)->text, strerror(cases[i].err));
		check_has(row(NODE)->cure, cases[i].cure);
	}
}

#define TEST(name)                                                                                                     \
	{                                                                                                              \
#name, name                                                                                            \
	}

static const struct tap_test tests[] = {
	TEST(a_loaded_module_says_whose_it_is),
	TEST(a_module_that_is_not_live_is_warned_of),
	TEST(versions_that_do_not_fit_are_warned_of),
	TEST(taint_is_put_into_words),
	TEST(a_module_for_the_other_flavour_is_warned_of),
	TEST(a_module_that_is_nowhere_is_a_note_while_a_provider_serves),
	TEST(a_kernel_that_does_not_say_its_release_is_not_judged),
	TEST(files_are_found_where_packages_put_them),
	TEST(an_unsigned_file_is_a_note_where_nothing_asks_for_a_signature),
	TEST(an_unsigned_file_is_warned_of_where_signatures_are_asked_for),
	TEST(a_signed_file_passes_lockdown_as_far_as_can_be_seen),
	TEST(a_damaged_signature_is_warned_of),
	TEST(files_that_are_no_modules_are_warned_of),
	TEST(compressed_files_are_not_looked_into),
	TEST(a_file_that_cannot_be_read_is_said),
	TEST(dkms_without_a_build_for_this_kernel_names_autoinstall),
	TEST(the_other_states_of_dkms_are_told_apart),
	TEST(a_stand_in_has_no_modules),
	TEST(the_node_must_have_the_number_of_the_module),
	TEST(a_node_that_is_missing_is_made_by_its_number),
	TEST(a_node_without_a_module_is_left_over),
	TEST(a_node_that_is_a_file_is_warned_of),
	TEST(a_node_that_does_not_open_says_why_and_is_no_failure),
};

TAP_MAIN(tests)
