/* The chips that can be listed. */
#ifndef SOFTGPU_THUNK_CHIP_TABLE_H
#define SOFTGPU_THUNK_CHIP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/execute.h"

typedef struct softgpu_chip_facts {
  uint32_t name; /* hexadecimal digits after "gfx" */
  uint8_t major, minor, stepping;
  uint16_t device_id;
  uint16_t compute_units;
  uint8_t simds_per_unit;
  uint8_t wave_size;
  uint8_t waves_per_simd;
  bool sram_ecc;              /* can be part of the target id: option sramecc */
  bool gws;                   /* has global wave sync */
  softgpu_chip_t interpreter; /* whose instructions are executed; SOFTGPU_CHIP_OTHER: none */
} softgpu_chip_facts_t;

/* NULL when the chip is not in the table. */
const softgpu_chip_facts_t *softgpu_chip_find(uint64_t name);

#endif
