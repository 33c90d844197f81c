/* What is there for waves of 64 and of 32 lanes: who does not know how many they have asks here.
 * Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_WIDTH_H
#define SOFTGPU_ISA_RUN_WIDTH_H

#include "softgpu/isa/base/wave.h"
#include "softgpu/isa/reference/memory.h"

typedef struct isa_width {
  /* Asks the executors of its encoding; see base/wave.h. False when none runs it on this chip with
   * these registers. */
  bool (*prepare)(isa_inst_t *inst, const isa_limits_t *limits);
  /* isa_dual_halves() */
  bool (*halves)(const isa_inst_t *inst, const isa_limits_t *limits, isa_inst_t halves[2]);
  /* isa_checks_failing() */
  uint64_t (*checks_failing)(isa_wave_t *wave, const isa_inst_t *inst, unsigned from);
  /* isa_reference_run() and so on: reference/reference.h, reference/memory.h. */
  struct {
    isa_run_t run;
    bool (*takes)(const isa_wave_t *wave, const isa_inst_t *inst);
    bool (*allows)(const isa_wave_t *wave, const isa_inst_t *inst);
    bool (*failing)(isa_wave_t *wave, const isa_inst_t *inst, unsigned from, uint64_t *lanes);
    bool (*writes)(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, unsigned part,
                   place_t *place);
    uint64_t (*scalar)(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords,
                       unsigned float_bits);
    transfer_t (*transfer)(unsigned op);
    bool (*place)(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, const transfer_t *t,
                  place_t *place);
  } reference;
} isa_width_t;

#ifdef ISA_LANES
extern const isa_width_t isa_width_table;
bool isa_prepare(isa_inst_t *inst, const isa_limits_t *limits);
#else
extern const isa_width_t isa_width_table_64, isa_width_table_32;

/* `lanes`: of a wave. */
static inline const isa_width_t *isa_width(unsigned lanes)
{
  return lanes == 64 ? &isa_width_table_64 : &isa_width_table_32;
}

static inline const isa_width_t *isa_width_of(const isa_wave_t *wave)
{
  return isa_width(wave->lanes);
}
#endif

#endif
