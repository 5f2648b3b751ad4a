/* SPDX-License-Identifier: MIT */
/*
 * option.h - numbers and names on the command line
 */
#ifndef TOOLS_COMMON_OPTION_H
#define TOOLS_COMMON_OPTION_H

#include <stdint.h>

/**
 * tool_number_parse() - Read a number
 * @text:    decimal, 0x hexadecimal or 0 octal, with an optional suffix K, M, G or T (powers of 1024)
 * @max:     largest value that is accepted
 * @value_p: receives the value
 *
 * Return: 0, -EINVAL (no number, negative, trailing text) or -ERANGE (larger than @max).
 */
int tool_number_parse(const char *text, uint64_t max, uint64_t *value_p);

/**
 * tool_number() - Number of an option; ends the program with a message when it is not one
 * @option: as the user typed it, such as "-s"
 * @text:   its argument
 * @min:    smallest value
 * @max:    largest value
 */
uint64_t tool_number(const char *option, const char *text, uint64_t min, uint64_t max);

/**
 * struct tool_name - a word and what it stands for; lists end with a NULL name
 * @name:  the word
 * @value: what it stands for
 */
struct tool_name {
	const char *name;
	int value;
};

/* Value of an option's word; ends the program with a message that lists the words when it is none of them. */
int tool_name_value(const char *option, const char *text, const struct tool_name *names);

/* Word of a value, "?" when there is none. */
const char *tool_value_name(int value, const struct tool_name *names);

#endif
