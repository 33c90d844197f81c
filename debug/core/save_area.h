/* The context save area of one queue on one XCC, in the layout of the GFX9 trap handler and the
 * packet processor's firmware, as ROCdbgapi reads it. Internal to this folder. */
#ifndef RAWHAL_DEBUG_CORE_SAVE_AREA_H
#define RAWHAL_DEBUG_CORE_SAVE_AREA_H

#include "debug/core/chip.h"
#include "debug/core/core.h"

/* How many registers a save area has for a wave, and where its private memory is. */
typedef struct save_shape {
  uint32_t vgprs, agprs, lds_bytes; /* rounded up to what can be told */
  uint32_t state;                   /* the control stack's word */
} save_shape_t;

/* Where the waves of a queue have their private memory, and how amd_queue_t tells it. */
typedef struct save_scratch {
  uint64_t base, slice_bytes; /* 0: none is told */
  uint32_t slots, per_engine; /* of one XCC */
} save_scratch_t;

save_scratch_t save_scratch_of(const core_chip_t *chip, const core_agent_t *agent,
                               const core_queue_t *queue);
uint32_t save_tmpring(const save_scratch_t *scratch); /* COMPUTE_TMPRING_SIZE */

/* False: more registers or LDS than a wave of the chip can have. */
bool save_shape_of(const core_chip_t *chip, const core_wave_t *wave, save_shape_t *shape);

/* Bytes of waves in the area, with their words of the control stack. `first`: of its work-group. */
uint64_t save_wave_bytes(const save_shape_t *shape, bool first);

static inline bool save_same_group(const core_wave_t *a, const core_wave_t *b)
{
  return a->queue == b->queue && a->xcc == b->xcc && a->packet == b->packet &&
         a->group[0] == b->group[0] && a->group[1] == b->group[1] && a->group[2] == b->group[2];
}

typedef struct save_input {
  const core_chip_t *chip;
  save_scratch_t scratch;
  const core_wave_t *waves;    /* all there are */
  const unsigned char *chosen; /* for each, whether it is saved */
  size_t wave_count;
  uint32_t queue, xcc, abi;
  uint32_t packets; /* of the ring */
} save_input_t;

/* Bytes of the area with its header. 0: more than an area can have. */
uint64_t save_area_bytes(const save_input_t *input);
/* Writes it: as many bytes as save_area_bytes() says, which are zeros. */
void save_area_write(const save_input_t *input, unsigned char *area);

#endif
