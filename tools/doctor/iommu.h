/* SPDX-License-Identifier: MIT */
/* iommu.h - what the kernel command line says of the IOMMU */
#ifndef TOOLS_DOCTOR_IOMMU_H
#define TOOLS_DOCTOR_IOMMU_H

#include <stddef.h>

/**
 * doctor_iommu_words() - Pick the words about the IOMMU out of a kernel command line
 * @cmdline: text of /proc/cmdline
 * @words:   receives them, separated by blanks; "" for none
 * @size:    bytes of @words, > 0; a word that does not fit is left out
 */
void doctor_iommu_words(const char *cmdline, char *words, size_t size);

#endif
