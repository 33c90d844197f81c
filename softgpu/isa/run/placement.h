/* Where on the chip work-groups run: which programs read in HW_ID and XCC_ID. Internal to softgpu.
 *
 * A compute unit, from GFX10 on two of them, has four SIMDs with eight wave slots each. All waves
 * of a work-group are on one unit. Groups of all dispatches of a device share its units. */
#ifndef SOFTGPU_ISA_RUN_PLACEMENT_H
#define SOFTGPU_ISA_RUN_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/isa/run/launch.h"

enum {
  ISA_SIMDS = 4,       /* of a compute unit */
  ISA_SIMD_SLOTS = 8,  /* waves */
  ISA_GROUP_WAVES = 32 /* of a work-group, at most: of 32 lanes */
};

typedef struct isa_placement {
  uint16_t unit;
  uint32_t taken;                /* bit 8 * SIMD + slot */
  uint8_t slot[ISA_GROUP_WAVES]; /* of each wave, the number of that bit */
} isa_placement_t;

/* Compute units that a dispatch may use. */
uint32_t isa_placement_units(const softgpu_dispatch_t *dispatch, const softgpu_limits_t *limits);

/* Waves of a launch that a compute unit has room for at a time, by their vector registers. */
uint32_t isa_placement_waves(const isa_launch_t *launch);

/* Work-groups of a launch that it has room for, by their waves and LDS. */
uint32_t isa_placement_groups(const isa_launch_t *launch);

/* Takes slots for `waves` on one of the first `units` of a device. False when none has room. */
bool isa_placement_take(uint32_t node, uint32_t units, uint32_t waves, isa_placement_t *place);

/* The same where waves must run though there is no room: others have these slots as well. */
void isa_placement_share(uint32_t node, uint32_t units, uint32_t waves, isa_placement_t *place);

void isa_placement_release(uint32_t node, const isa_placement_t *place);

/* Contents of the hardware registers. */
uint32_t isa_placement_hw_id(softgpu_chip_t chip, const isa_placement_t *place, uint32_t wave);
uint32_t isa_placement_xcc_id(softgpu_chip_t chip, const isa_placement_t *place);

#endif
