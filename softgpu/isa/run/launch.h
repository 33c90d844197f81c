/* What a dispatch's packet and kernel descriptor say about its waves. Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_LAUNCH_H
#define SOFTGPU_ISA_RUN_LAUNCH_H

#include "softgpu/isa/base/wave.h"

typedef struct isa_launch {
  softgpu_dispatch_t dispatch;
  isa_limits_t limits;
  uint64_t entry;
  uint32_t groups[3];        /* work-groups per dimension */
  uint64_t group_count;      /* their product */
  uint32_t group_waves;      /* of a full work-group */
  uint32_t mode;             /* initial MODE register */
  uint32_t sgprs[ISA_SGPRS]; /* the SGPRs that are the same in all waves, the others are poison */
  int8_t group_sgpr[3];      /* SGPRs of the work-group ids, -1 when not enabled */
  int8_t info_sgpr;          /* work-group info */
  int8_t scratch_sgpr;       /* the wave's offset into the scratch memory */
  uint8_t id_dimensions;     /* work-item ids: 0 x, 1 x and y, 2 all */
  uint8_t id_rows;           /* registers that they are in: v0 packed, or one each */
  uint64_t slice_bytes;      /* scratch of one wave */
} isa_launch_t;

/* Bytes of a vector register of a wave. */
static inline size_t isa_launch_row(const isa_launch_t *launch)
{
  return launch->limits.lanes * sizeof(uint32_t);
}

/* Registers and LDS hold this before anything is written to them: a NaN, no valid address, and easy
 * to recognise in a result. */
enum { ISA_POISON = (int)0xffbadbad };

/* Checks packet and descriptor. False and a described fault when they make no sense. */
bool isa_launch_prepare(const softgpu_dispatch_t *dispatch, isa_launch_t *launch,
                        softgpu_fault_t *fault);

/* Bytes of LDS that a work-group can reach: it is given out in units, and of the last one all is
 * there; where the dispatch wants to hear of it, no more than it asked for. */
uint32_t isa_launch_lds(const softgpu_dispatch_t *dispatch);

/* Fills memory with ISA_POISON. */
void isa_poison(void *memory, size_t dwords);

/* What v0, and of chips where ids are separate those behind it, hold in the lanes of the group's
 * wave number `wave`, when the group's size is `size`: the ids of the work-items, in v0 alone in 10
 * bits each. Kernels that ask for x alone use it unmasked. */
void isa_launch_ids(const isa_launch_t *launch, const uint32_t size[3], uint32_t wave,
                    uint32_t *row);

/* Registers at the start of a wave, but for v0, for the work-group `id` whose real size is `size`.
 * The wave's register rows, LDS and scratch are already in place. */
void isa_launch_wave(const isa_launch_t *launch, const uint32_t id[3], const uint32_t size[3],
                     isa_wave_t *wave);

#endif
