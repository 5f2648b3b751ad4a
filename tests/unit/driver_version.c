// SPDX-License-Identifier: MIT
#include "gpu/driver_version.h"

#include <errno.h>

#include "fake_sys.h"
#include "tap.h"

static void good(const char *text, unsigned int major, unsigned int minor, const char *word)
{
	struct bl_driver_version version;

	memset(&version, 0xff, sizeof(version));
	check_eq(bl_driver_version_parse(text, &version), 0);
	check_eq(version.major, major);
	check_eq(version.minor, minor);
	check_str(version.text, word);
}

static void bad(const char *text)
{
	struct bl_driver_version version;

	memset(&version, 0xff, sizeof(version));
	if (bl_driver_version_parse(text, &version) != -EINVAL)
		tap_end(TAP_FAILED, "\"%s\" is taken for version %s", text, version.text);
	check_eq(version.major, 0);
	check_eq(version.minor, 0);
	check_str(version.text, "");
}

static void versions_are_understood(void)
{
	good("580.159.04", 580, 159, "580.159.04");
	good("565.77", 565, 77, "565.77");
	good("515.43.04\n", 515, 43, "515.43.04");
	good(" \t 470.256.02", 470, 256, "470.256.02");
	good("1000.1", 1000, 1, "1000.1");
	good("99999.99999.1", 99999, 99999, "99999.99999.1");
}

static void the_version_is_found_in_a_line_of_words(void)
{
	good("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (dvs-builder@U22)  "
	     "Wed Oct  1 12:00:00 UTC 2025\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1)",
	     580, 159, "580.159.04");
	good("NVRM version: NVIDIA UNIX x86_64 Kernel Module  515.105.01  Thu Mar  9 2023", 515, 105, "515.105.01");
	good("gcc 12.3.0 then 550.54.14", 550, 54, "550.54.14");
}

static void what_is_no_version_is_refused(void)
{
	static const char *const texts[] = {
		"",	     " ",	   "\n\n",	  "580",	"580.",	      ".580.1",	    "v580.1",
		"580.x",     "580.1.2.3",  "580.1.2.3.4", "580.1-beta", "580.1.x",    "99.99.99",   "12.3.0",
		"580,1",     "580..1",	   "-580.1",	  "0x580.1",	"580.1.",     "unknown",    "5 8 0 . 1",
		"(580.1)",   "580.1\0012",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bad(texts[i]);
}

static void numbers_that_do_not_fit_are_no_version_of_another_number(void)
{
	struct bl_driver_version version;
	char word[200];

	memset(word, '9', sizeof(word));
	word[3] = '.';
	word[sizeof(word) - 1] = '\0';
	bad(word);
	bad("4294967876.1");
	check_eq(bl_driver_version_parse("580.4294967297.1", &version), 0);
	check_eq(version.major, 580);
	check_eq(bl_driver_version_parse("4294967876.1 580.1", &version), 0);
	check_eq(version.major, 580);
}

static void sysfs_is_asked_before_procfs(void)
{
	struct bl_driver_version version;

	fake_sys_begin();
	fake_sys_text("/proc/driver/nvidia/version", "NVRM version: Kernel Module  515.43.04  then\n");
	check_eq(bl_driver_version_read(&version), 0);
	check_str(version.text, "515.43.04");
	fake_sys_text("/sys/module/nvidia/version", "580.159.04\n");
	check_eq(bl_driver_version_read(&version), 0);
	check_str(version.text, "580.159.04");
	check_str(fake_violations(), "");
}

static void without_either_file_it_is_enoent(void)
{
	struct bl_driver_version version;
	int fds = fake_count_fds();

	fake_sys_begin();
	check_eq(bl_driver_version_read(&version), -ENOENT);
	fake_sys_broken("/sys/module/nvidia/version", EACCES);
	fake_sys_broken("/proc/driver/nvidia/version", EACCES);
	check_eq(bl_driver_version_read(&version), -ENOENT);
	check_eq(fake_count_fds(), fds);
}

static void a_text_that_is_not_understood_is_kept_with_major_0(void)
{
	struct bl_driver_version version;
	char longest[200];

	fake_sys_begin();
	fake_sys_text("/sys/module/nvidia/version", "development build\n");
	check_eq(bl_driver_version_read(&version), 0);
	check_eq(version.major, 0);
	check_str(version.text, "development build");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	fake_sys_text("/sys/module/nvidia/version", longest);
	check_eq(bl_driver_version_read(&version), 0);
	check_eq(strlen(version.text), 60);
	fake_sys_text("/sys/module/nvidia/version", "");
	check_eq(bl_driver_version_read(&version), 0);
	check_eq(version.major, 0);
	check_str(version.text, "");
}

static void a_file_is_cut_to_the_room_and_trimmed(void)
{
	char buf[8];

	fake_sys_begin();
	fake_sys_text("/a", "0123456789");
	fake_sys_text("/b", "ab \t\n \n");
	fake_sys_text("/c", " \n");
	check_eq(bl_sys_read_file("/a", buf, sizeof(buf)), 7);
	check_str(buf, "0123456");
	check_eq(bl_sys_read_file("/a", buf, 1), 0);
	check_str(buf, "");
	check_eq(bl_sys_read_file("/b", buf, sizeof(buf)), 2);
	check_str(buf, "ab");
	check_eq(bl_sys_read_file("/c", buf, sizeof(buf)), 0);
	check_eq(bl_sys_read_file("/d", buf, sizeof(buf)), -ENOENT);
}

static const struct tap_test tests[] = {
	{"versions are understood", versions_are_understood},
	{"the version is found in a line of words", the_version_is_found_in_a_line_of_words},
	{"what is no version is refused", what_is_no_version_is_refused},
	{"numbers that do not fit are no version of another number",
	 numbers_that_do_not_fit_are_no_version_of_another_number},
	{"sysfs is asked before procfs", sysfs_is_asked_before_procfs},
	{"without either file it is ENOENT", without_either_file_it_is_enoent},
	{"a text that is not understood is kept with major 0", a_text_that_is_not_understood_is_kept_with_major_0},
	{"a file is cut to the room and trimmed", a_file_is_cut_to_the_room_and_trimmed},
};

TAP_MAIN(tests)
