/* Code objects under another name. Internal. */
#ifndef RAWHAL_HSACO_RELABEL_H
#define RAWHAL_HSACO_RELABEL_H

#include "base/allocate.h"
#include "hsaco/hsaco.h"

/* EI_ABIVERSION of code object V5. */
#define RELABEL_ABI_V5 3

/* A copy of the object, as long as it was, whose ELF header names another processor, and no version
 * after `abi_version`, and whose metadata names that processor if its name is as long as the old
 * one's. What the object asks of XNACK and SRAM-ECC stays; that it is for a generic target does
 * not. It is the allocator's. OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t hsaco_relabel(const rawhal_hsaco_info_t *info,
                                             const rawhal_target_t *target, uint8_t abi_version,
                                             const allocator_t *allocator, unsigned char **bytes,
                                             rawhal_error_t *error);

#endif
