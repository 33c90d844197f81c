/* Kernel descriptors: the 64 bytes named NAME.kd. Internal.
 *
 * Layout: AMDGPUUsage, "Kernel Descriptor"; LLVM's AMDHSAKernelDescriptor.h. */
#ifndef RAWHAL_HSACO_DESCRIPTOR_H
#define RAWHAL_HSACO_DESCRIPTOR_H

#include "hsaco/object.h"

enum { DESCRIPTOR_SIZE = 64, ENTRY_ALIGNMENT = 256 };

/* Decodes; `processor` may be NULL (register counts stay 0). Returns whether every reserved byte is
 * 0. */
bool descriptor_decode(const void *bytes, uint64_t address, const processor_t *processor,
                       rawhal_descriptor_t *descriptor);

/* Holds the descriptor against the kernel's metadata; disagreements become diagnostics. */
void descriptor_compare(rawhal_hsaco_t *hsaco, const rawhal_kernel_t *kernel);

#endif
