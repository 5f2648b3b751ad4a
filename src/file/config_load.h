/* SPDX-License-Identifier: MIT */
/* config_load.h - the steps of reading a configuration; used by driver.c, api_params.c and tests */
#ifndef BL_FILE_CONFIG_LOAD_H
#define BL_FILE_CONFIG_LOAD_H

#include "config_key.h"

/*
 * Complaints are collected, because the log may not go where it should before all is read. bl_config_note() is for a setting
 * that is not taken, bl_config_fault() for a whole file, or for one that was to keep the library from something: the first is
 * logged at level warn, the second at level error, which is shown by default.
 */
void bl_config_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void bl_config_fault(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Log what was collected, or drop it. */
void bl_config_notes_log(void);
void bl_config_notes_drop(void);

/**
 * bl_config_parse() - Apply the text of a cufile.json
 * @config: receives values
 * @text:   JSON with comments; need not end with a NUL
 * @len:    bytes of it
 * @name:   of the file, for complaints
 *
 * Unknown keys, and values of the wrong kind or out of range, are complained about and change nothing.
 * Return: 0, -EINVAL (no JSON object: nothing was changed), -ENOMEM.
 */
int bl_config_parse(struct bl_file_config *config, const char *text, size_t len, const char *name);

/**
 * bl_config_file() - Find and apply the configuration file
 * @config: receives values
 *
 * CUFILE_ENV_PATH_JSON names it; else /etc/cufile.json, or the copy of the CUDA toolkit. Complaints that were made about
 * the same file before are not made again.
 */
void bl_config_file(struct bl_file_config *config);

/* Apply environment variables. */
void bl_config_environment(struct bl_file_config *config);

/**
 * bl_config_open() - Put a configuration in force: file, environment, staged parameters, which are used up
 *
 * The driver is closed, and its lock is held.
 * Return: 0, or -ENOMEM with the reason: nothing has changed.
 */
int bl_config_open(void);

/*
 * What is in force, or what an open would put in force: then in @scratch. bl_config_stage() notes that @key of @config is
 * to be taken by the next open. Both under the driver's lock.
 */
const struct bl_file_config *bl_config_peek(struct bl_file_config *scratch, bool open);
void bl_config_stage(const struct bl_file_config *config, enum bl_key key);

/* For calls that change what is in force; after an open, atomic members only, under the driver's lock. */
struct bl_file_config *bl_config_in_force(void);

/* Where messages go from now on, and which; with the driver closed: as before the first open. */
void bl_logfile_start(const struct bl_file_config *config);
void bl_logfile_stop(void);

/* In a forked child: threads of the parent that were writing are not there. */
void bl_logfile_after_fork(void);

#endif
