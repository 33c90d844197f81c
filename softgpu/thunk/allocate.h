/* What the thunk allocated, for its other files. */
#ifndef SOFTGPU_THUNK_ALLOCATE_H
#define SOFTGPU_THUNK_ALLOCATE_H

#include "softgpu/thunk/thunk.h"

/* Whether a range lies in one allocation. */
bool softgpu_allocation_covers(uint64_t address, uint64_t size);

/* False when no allocation contains `address`. The node lists in the answer live as long as the
 * allocation. */
bool softgpu_allocation_describe(uint64_t address, HsaPointerInfo *info);
bool softgpu_allocation_user_data(uint64_t address, void *user_data);

#endif
