/* SPDX-License-Identifier: MIT */
#include <string.h>
