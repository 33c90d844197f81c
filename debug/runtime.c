#include "debug/runtime.h"

#include <hsa/hsa_ext_amd.h>

/* amd_aql_queue.cpp of ROCr: its table of exceptions. */
static const struct {
  int32_t status;
  rawhal_fault_kind_t kind;
} kinds[] = {
    {HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION, RAWHAL_FAULT_MEMORY},
    {HSA_STATUS_ERROR_MEMORY_FAULT, RAWHAL_FAULT_MEMORY},
    {HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION, RAWHAL_FAULT_INSTRUCTION},
    {HSA_STATUS_ERROR_EXCEPTION, RAWHAL_FAULT_TRAP},
    {HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, RAWHAL_FAULT_PACKET},
    {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, RAWHAL_FAULT_PACKET},
    {HSA_STATUS_ERROR_INVALID_ARGUMENT, RAWHAL_FAULT_PACKET},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT, RAWHAL_FAULT_PACKET},
    {HSA_STATUS_ERROR_INVALID_ALLOCATION, RAWHAL_FAULT_RESOURCES},
    {HSA_STATUS_ERROR_INVALID_ISA, RAWHAL_FAULT_RESOURCES},
};

rawhal_fault_kind_t debug_kind_of_status(int32_t hsa_status)
{
  for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); ++i)
    if (kinds[i].status == hsa_status)
      return kinds[i].kind;
  return RAWHAL_FAULT_UNKNOWN;
}

rawhal_fault_kind_t debug_kind_of_reasons(uint32_t mask)
{
  return mask & HSA_AMD_MEMORY_FAULT_NX          ? RAWHAL_FAULT_FETCH
         : mask & HSA_AMD_MEMORY_FAULT_READ_ONLY ? RAWHAL_FAULT_READ_ONLY
         : mask & HSA_AMD_MEMORY_FAULT_HOST_ONLY ? RAWHAL_FAULT_NO_ACCESS
                                                 : RAWHAL_FAULT_MEMORY;
}
