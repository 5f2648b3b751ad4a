/* SPDX-License-Identifier: MIT */
/* doca_gpunetio_host.h - all of GPUNetIO for host code */
#ifndef DOCA_GPUNETIO_HOST_H
#define DOCA_GPUNETIO_HOST_H

#include "common/doca_gpunetio_verbs_def.h"
#include "common/doca_gpunetio_verbs_dev.h"
#include "doca_gpunetio_config.h"
#include "host/doca_error.h"
#include "host/doca_gpunetio.h"
#include "host/doca_gpunetio_high_level.h"
#include "host/doca_verbs.h"

#endif
