#include "softgpu/isa/base/wave.h"

bool isa_debug_traps;

bool isa_wave_fault(isa_wave_t *wave, softgpu_fault_kind_t kind, unsigned lane, uint64_t address,
                    uint32_t bytes)
{
  *wave->fault =
      (softgpu_fault_t){.kind = kind, .lane = lane, .address = address, .access_bytes = bytes};
  return false;
}

static bool run_alone(isa_wave_t *wave, const isa_inst_t *inst)
{
  wave->stop = inst + 1;
  return inst->run_on(wave, inst);
}

bool isa_run_nothing(isa_wave_t *wave, const isa_inst_t *inst)
{
  (void)wave;
  (void)inst;
  return true;
}

bool isa_run_nothing_on(isa_wave_t *wave, const isa_inst_t *inst)
{
  return isa_go_on(wave, inst, true);
}

bool isa_runs_on(isa_inst_t *inst, isa_run_t run_on)
{
  inst->run = run_alone;
  inst->run_on = run_on;
  return true;
}

static bool run_and_go_on(isa_wave_t *wave, const isa_inst_t *inst)
{
  return isa_go_on(wave, inst, inst->run(wave, inst));
}

void isa_runs_alone(isa_inst_t *inst, isa_run_t run)
{
  inst->run = run;
  inst->run_on = run_and_go_on;
}

void isa_runs_before(isa_inst_t *inst, isa_run_t run, isa_run_t run_on)
{
  if (inst->run != run_alone)
    inst->run = run;
  if (inst->run_on != run_and_go_on)
    inst->run_on = run_on;
}
