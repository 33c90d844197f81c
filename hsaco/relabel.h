/* Code objects under another name. Internal. */
#ifndef RAWHAL_HSACO_RELABEL_H
#define RAWHAL_HSACO_RELABEL_H

#include "base/allocate.h"
#include "hsaco/hsaco.h"

/* EI_ABIVERSION of code object V5. */
#define RELABEL_ABI_V5 3

/* Has it relocations that were kept for a linker? ROCr before 6.2 applies them once more, and
 * elsewhere; later ones skip them. */
bool hsaco_has_static_relocations(const rawhal_hsaco_t *hsaco);

/* A copy of the object, as long as it was, whose ELF header names another processor, and no version
 * after `abi_version`, and whose metadata names that processor if its name is as long as the old
 * one's. What the object asks of XNACK and SRAM-ECC stays; that it is for a generic target does
 * not. Without a target, it is all as it was. Sections with relocations that were kept for a linker
 * become such as nobody reads. It is the allocator's. OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t hsaco_relabel(const rawhal_hsaco_t *hsaco,
                                             const rawhal_target_t *target, uint8_t abi_version,
                                             const allocator_t *allocator, unsigned char **bytes,
                                             rawhal_error_t *error);

#endif
