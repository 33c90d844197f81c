/* Whose memory a pointer leads into, by the runtime's word. Internal. */
#ifndef RAWHAL_QUEUE_GATE_POINTER_H
#define RAWHAL_QUEUE_GATE_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

typedef enum gate_pointer {
  GATE_POINTER_NOWHERE = 0,
  GATE_POINTER_PROGRAM, /* memory that the program has pinned, or mapped by handles */
  GATE_POINTER_SHARED,  /* another process's or driver's, or mapped: it may be elsewhere, too */
  GATE_POINTER_RUNTIME, /* allocated by the runtime's functions */
} gate_pointer_t;

/* Whether the runtime can be asked of any number: of these alone it knows something. */
static inline bool gate_pointer_is_one(uint64_t address)
{
  enum { FIRST = 1 << 16 };
  return address >= FIRST && !(address >> 57);
}

/* `info`: what it has answered. */
static inline gate_pointer_t gate_pointer_of(uint64_t address, const hsa_amd_pointer_info_t *info)
{
  enum { RESERVED = 5, MAPPED = 6 }; /* of later runtimes: by handles */
  const int type = (int)info->type;
  if (type == HSA_EXT_POINTER_TYPE_UNKNOWN || type == RESERVED ||
      address - (uint64_t)(uintptr_t)info->agentBaseAddress >= info->sizeInBytes)
    return GATE_POINTER_NOWHERE;
  if (type == HSA_EXT_POINTER_TYPE_IPC || type == HSA_EXT_POINTER_TYPE_GRAPHICS || type == MAPPED)
    return GATE_POINTER_SHARED;
  return type == HSA_EXT_POINTER_TYPE_HSA ? GATE_POINTER_RUNTIME : GATE_POINTER_PROGRAM;
}

#endif
