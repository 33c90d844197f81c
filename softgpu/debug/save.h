/* The context save area of a queue: its waves as a debugger reads and changes them, in the layout
 * of the packet processor's firmware and the trap handler of GFX9. Internal to softgpu. */
#ifndef SOFTGPU_DEBUG_SAVE_H
#define SOFTGPU_DEBUG_SAVE_H

#include "softgpu/isa/run/group.h"

enum {
  SAVE_AREA_BYTES = 1 << 30, /* of addresses; waves that run on one thread take a quarter at most */
  SAVE_DEBUG_AT = 4096,      /* the debugger's own, at one place as long as the queue lives */
  SAVE_DEBUG_BYTES = 1 << 20,
  SAVE_ENGINES = 4, /* shader engines, among which slots of private memory are shared out */
  /* Offsets in the runtime's amd_queue_t. */
  SAVE_READ_ID = 128,
  SAVE_TMPRING = 140,
};

/* STATUS, MODE and TRAPSTS, as far as they are a debugger's. */
enum {
  SAVE_STATUS_HALT = 1 << 13,
  SAVE_STATUS_SKIP_EXPORT = 1 << 18,
  SAVE_MODE_STEP = 1 << 11,
  SAVE_MODE_TRAPS = 12, /* where enabled exceptions begin */
  SAVE_MODE_WATCH = 1 << 19,
};

/* What a wave has beside its registers. */
typedef struct save_wave {
  uint32_t status; /* SAVE_STATUS_* of it */
  uint32_t trapsts;
  uint32_t ttmp[16];
} save_wave_t;

/* Saved together: the group's waves, and for each a save_wave_t, one behind the other at `first`,
 * `apart` bytes from one to the next. */
typedef struct save_group {
  isa_group_t *group;
  uint8_t *first;
  size_t apart;
} save_group_t;

static inline save_wave_t *save_wave_of(const save_group_t *group, uint32_t index)
{
  return (save_wave_t *)(void *)(group->first + index * group->apart);
}

/* A queue without waves. */
void save_nothing(uint8_t *area);

/* Writes waves that have not ended, of which there are some, and reads them back as they are then:
 * the same groups in the same order. */
void save_store(uint8_t *area, const save_group_t *groups, size_t count);
void save_load(const uint8_t *area, const save_group_t *groups, size_t count);

/* COMPUTE_TMPRING_SIZE for a launch: how many slots of private memory there are, and how large. */
uint32_t save_tmpring(const isa_launch_t *launch);

#endif
