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

/* Gives up memory that came by a shared handle. False when none such starts at `address`. */
bool softgpu_allocation_part_with(const void *address);

/* register.c: gives all GPUs the registered memory of exactly these bounds, and takes it away when
 * that has been done as often. False when there is none. `*device` is its address there. */
bool softgpu_registration_map(uint64_t address, uint64_t size, uint64_t *device);
bool softgpu_registration_unmap(uint64_t address);
/* Says that new memory is at [base, base + size), or other rights: what devices had there by the
 * host's address is void. Of what the program unmapped, the thunk is told no other way. */
void softgpu_registrations_forget(uint64_t base, uint64_t size);

#endif
