// What differs on runtimes newer than Debian 12's 5.2.3.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>

// Those with virtual memory, 5.7 and later.
bool runtime_knows_gfx942();

// Runtimes that came by libdtif.so use no interrupts: they wait busily, know no events, and hear of
// no fault that has no queue to report it.
bool runtime_has_no_interrupts();

#define SKIP_WITHOUT_INTERRUPTS()                                                                  \
  if (runtime_has_no_interrupts())                                                                 \
  GTEST_SKIP() << "this runtime uses no interrupts on libdtif.so"

// A packet that wants more registers than there are: OUT_OF_REGISTERS (45) on newer runtimes.
inline int as_of_5_2(int status)
{
  return status == 45 ? 0x100f /* INVALID_ISA */ : status;
}

// What becomes of a queue's error of each code.
inline constexpr struct {
  uint64_t code;
  int status; // as of 5.2
} kQueueErrors[] = {
    {2, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS},
    {4, HSA_STATUS_ERROR_INVALID_ALLOCATION},
    {8, HSA_STATUS_ERROR_INVALID_CODE_OBJECT},
    {32, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT},
    {64, HSA_STATUS_ERROR_INVALID_ARGUMENT},
    {128, HSA_STATUS_ERROR_INVALID_ISA},
    {256, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT},
    {0x20000000, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION},
    {0x40000000, HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION},
    {0x80000000, HSA_STATUS_ERROR_EXCEPTION},
};
