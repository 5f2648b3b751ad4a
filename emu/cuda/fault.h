/* SPDX-License-Identifier: MIT */
/*
 * fault.h - faults to inject, by name
 *
 * A list of POINT[:NTH[:VALUE]] comes from BARLANE_EMU_FAULT at start and from bl_emu_fault() later. An entry counts
 * the calls of its point from the moment it was set and fires once, at the NTH (default 1, the next one); with NTH
 * "*" it fires at every call. A BARLANE_EMU_FAULT that cannot be parsed ends the process: the run would prove nothing.
 */
#ifndef EMU_CUDA_FAULT_H
#define EMU_CUDA_FAULT_H

/**
 * emu_fault() - Ask whether a fault point fires at this call
 * @point:   its name
 * @value_p: receives VALUE when the point fires and its entry has one, else is left alone; may be NULL
 *
 * May be called with any lock held.
 * Return: non-zero when it fires.
 */
int emu_fault(const char *point, long *value_p);

#endif
