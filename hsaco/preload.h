/* What comes first at the entry of a kernel whose arguments are preloaded into SGPRs. Internal.
 *
 * AMDGPUUsage, "Preloaded Kernel Arguments". */
#ifndef RAWHAL_HSACO_PRELOAD_H
#define RAWHAL_HSACO_PRELOAD_H

#include "hsaco/hsaco.h"

/* Bytes that load the arguments for firmware which does not preload them: where it does, waves
 * begin behind them. */
enum { PRELOAD_PROLOGUE = 256 };

/* Bytes from the entry to the first instruction of waves whose firmware preloads. */
static inline uint32_t preload_prologue(const rawhal_descriptor_t *descriptor)
{
  return descriptor->preload_length ? PRELOAD_PROLOGUE : 0;
}

#endif
