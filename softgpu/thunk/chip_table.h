/* The chips that can be listed. */
#ifndef SOFTGPU_THUNK_CHIP_TABLE_H
#define SOFTGPU_THUNK_CHIP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softgpu/execute.h"

typedef struct softgpu_chip_facts {
  uint32_t name;       /* hexadecimal digits after "gfx" */
  const char *product; /* a card that has it: that of `device_id` */
  uint8_t major, minor, stepping;
  uint16_t device_id;
  uint16_t compute_units;
  uint8_t simds_per_unit;
  uint8_t wave_size;
  uint8_t waves_per_simd;
  bool sram_ecc;              /* can be part of the target id: option sramecc */
  bool gws;                   /* has global wave sync */
  softgpu_chip_t interpreter; /* whose instructions are executed; none from SOFTGPU_CHIP_OTHER on */
} softgpu_chip_facts_t;

/* The names of all, "gfx900, gfx906, ...", as far as they fit. */
void softgpu_chip_names(char *text, size_t bytes);

/* NULL when the chip is not in the table. */
const softgpu_chip_facts_t *softgpu_chip_find(uint64_t name);

/* A list of chips as one number, the value of the option chips: of each device, the first in the
 * lowest bits, five bits with the chip's place in the table, from 1; 0 is the end. */
enum { SOFTGPU_CHIP_BITS = 5, SOFTGPU_CHIPS_LISTED = 64 / SOFTGPU_CHIP_BITS };
/* Of "gfx942,gfx950", say; 0 when that is not such a list. */
uint64_t softgpu_chips_read(const char *text);
/* How many it has; 0 when it is not such a number. */
uint32_t softgpu_chips_count(uint64_t list);
/* The chip of one device, the first is 0; NULL beyond the list. */
const softgpu_chip_facts_t *softgpu_chips_at(uint64_t list, uint32_t device);

#endif
