/* SPDX-License-Identifier: MIT */
/*
 * calibrate.h - between the parts of the calibration: calibrate.c keeps the results, calibrate_bed.c measures,
 * calibrate_push.c does both for engine push
 */
#ifndef BL_GPU_CALIBRATE_H
#define BL_GPU_CALIBRATE_H

#include "cost.h"
#include "engine.h"

/**
 * struct bl_refusal - why something cannot be used
 * @err: positive errno value, 0: it can
 * @why: in words
 */
struct bl_refusal {
	int err;
	char why[192];
};

/**
 * struct bl_calibration - what was measured on a GPU
 * @table:   finished
 * @refused: by engine; BL_ENGINE_AUTO: all of it
 */
struct bl_calibration {
	struct bl_cost_table table;
	struct bl_refusal refused[BL_NR_ENGINES];
};

/* Remember the error that bl_last_error() has. */
void bl_refusal_note(struct bl_refusal *refusal, int ret);

/* How long measuring may take: BARLANE_CALIBRATION_MS. */
uint64_t bl_calibration_budget_ns(void);

/* Median of @nr > 0 times, which are put in order. */
uint64_t bl_median(uint64_t *ns, unsigned int nr);

/* What reading the clock takes, ns. */
uint64_t bl_clock_cost(void);

/**
 * bl_bed_measure() - Measure all engines
 * @pin:       mapped pin whose GPU, provider and kind of mapping it is about; its @ce is known, and its context current
 * @budget_ns: time for it; setting up and the first try of each engine come on top
 * @cal:       receives the result, zeroed before
 *
 * Works on memory of its own: none of it is freed but ordinary memory, since freeing the rest waits for kernels, and
 * one of them may wait for the very thread that copies. An engine that fails is left out, and @cal says why.
 * Return: 0, or what kept all from being measured, with the reason.
 */
int bl_bed_measure(const struct bl_pin *pin, uint64_t budget_ns, struct bl_calibration *cal);

/**
 * bl_calibrate_wait() - As bl_calibrate(), also while another thread measures
 * @pin:   as there
 * @cal_p: receives the results
 *
 * Return: 0, also when nothing could be measured, see @refused; -EAGAIN (another thread still measures when it should
 * have ended), or as bl_cuda_enter(); with the reason.
 */
int bl_calibrate_wait(const struct bl_pin *pin, const struct bl_calibration **cal_p);

/**
 * bl_calibrate_push_wait() - As bl_calibrate_push(), also while another thread measures
 * @pin:     as there
 * @others:  table of the other engines
 * @table_p: receives the table
 *
 * Return: 0; -ENODATA (no channel, or the kernel does not begin), -EOPNOTSUPP (measuring failed, which holds from then
 * on), -EAGAIN, -EINVAL (the context went away); with the reason.
 */
int bl_calibrate_push_wait(struct bl_pin *pin, const struct bl_cost_table *others,
			   const struct bl_cost_table **table_p);

#endif
