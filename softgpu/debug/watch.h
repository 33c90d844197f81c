/* Addresses that a debugger watches. Internal to softgpu. */
#ifndef SOFTGPU_DEBUG_WATCH_H
#define SOFTGPU_DEBUG_WATCH_H

#include "softgpu/isa/run/program.h"

/* TRAPSTS of the watchpoints of the wave's device that the instruction at its PC is about to touch:
 * 0, too, for what it does not execute. Vector memory instructions are looked at, but typed
 * buffers and images. */
uint32_t watch_hits(isa_program_t *program, isa_wave_t *wave);

#endif
