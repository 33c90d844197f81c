#include "softgpu/isa/base/wave.h"

bool isa_wave_fault(isa_wave_t *wave, softgpu_fault_kind_t kind, unsigned lane, uint64_t address,
                    uint32_t bytes)
{
  *wave->fault =
      (softgpu_fault_t){.kind = kind, .lane = lane, .address = address, .access_bytes = bytes};
  return false;
}
