/* Every AMDGPU processor in one table. Internal.
 *
 * Sources: AMDGPUUsage ("Processors", "ELF header e_flags"), LLVM's ELF.h; what a generic target
 * covers: AMDGPUUsage and ROCr's ISA registry. */
#ifndef RAWHAL_HSACO_PROCESSOR_TABLE_H
#define RAWHAL_HSACO_PROCESSOR_TABLE_H

#include "hsaco/target.h"

typedef enum processor_family {              /* what decides how a kernel descriptor is read */
                                FAMILY_GFX6, /* GFX6 to GFX8 */
                                FAMILY_GFX9,
                                FAMILY_GFX90A, /* gfx90a, gfx94x, gfx950: one register file for VGPRs and AGPRs */
                                FAMILY_GFX10,
                                FAMILY_GFX11,
                                FAMILY_GFX12,
                                FAMILY_GFX125,
                                FAMILY_GFX13,
} processor_family_t;

enum {
  PROCESSOR_XNACK = 1,
  PROCESSOR_SRAMECC = 2,
  PROCESSOR_GENERIC = 4,
  PROCESSOR_XNACK_ALWAYS = 8 /* on, and no setting, though the flags may say so */
};

typedef struct processor {
  char name[20];
  uint8_t machine; /* EF_AMDGPU_MACH */
  uint8_t family;  /* processor_family_t */
  uint8_t flags;   /* PROCESSOR_* */
  uint8_t generic; /* machine of the generic target that covers it (its own if it is one), or 0 */
  uint8_t generic_version; /* of that target, when this processor was added to it */
} processor_t;

/* NULL when unknown. A machine fits a byte. */
const processor_t *processor_by_machine(uint32_t machine);
const processor_t *processor_by_name(rawhal_string_t name);

/* How LLVM spells the architecture in triples since 2026-07 (AMDGPUUsage, "Subarchitecture
 * Compatibility"): "amdgpu9.0a" is gfx90a, "amdgpu9.4" gfx9-4-generic. NULL when `triple` does not
 * start like that; *size is the length of what was read. */
const processor_t *processor_by_triple(rawhal_string_t triple, size_t *size);

#endif
