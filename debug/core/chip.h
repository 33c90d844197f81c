/* What differs between chips in a save area. Internal to this folder. */
#ifndef RAWHAL_DEBUG_CORE_CHIP_H
#define RAWHAL_DEBUG_CORE_CHIP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct core_chip {
  uint32_t gfx_target_version;
  const char *name;
  uint32_t lds_block;   /* bytes */
  uint32_t engine_bits; /* of a control stack's word */
  /* A wave that the trap handler has stopped is parked: its PC is in ttmp7 and ttmp11, and its
   * packet's index in ttmp6. Else the PC is in its registers, the index in ttmp11. */
  bool parks;
} core_chip_t;

/* NULL: none that waves are known of. */
const core_chip_t *core_chip_of(uint32_t gfx_target_version);

#endif
