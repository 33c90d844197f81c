/* Kernels that are recorded, by the addresses of their descriptors. Internal.
 *
 * Thread-safety: one thread at a time, but for what is held. */
#ifndef SOFTGPU_PROBES_KERNELS_H
#define SOFTGPU_PROBES_KERNELS_H

#include "base/hash_table.h"
#include "kernarg/kernarg.h"
#include "softgpu/probes/image.h"
#include "softgpu/probes/rules.h"

/* A code object as it was loaded. */
typedef struct code_object {
  image_t image;
  rawhal_hsaco_t *hsaco;
  rawhal_content_hash_t hash;
  uint32_t users; /* kernels */
  struct code_object *next;
} code_object_t;

typedef struct kernel {
  uint64_t kernel_object;
  uint64_t generation;          /* of the device's memory, when it was seen to be what it is */
  unsigned char descriptor[64]; /* as it was then */
  uint32_t users;               /* the table, and dispatches that run */
  code_object_t *object;
  const rawhal_kernel_t *facts;
  rawhal_kernarg_layout_t *layout;
  rawhal_probe_plan_t *plan;
  rule_t *rule;         /* NULL: none is for it */
  bool is_refused;      /* it cannot be planned, which was told */
  uint64_t seen, taken; /* dispatches that a rule is for, and that were recorded */
  uint64_t number;      /* in the file; 0: it is not there */
  UT_hash_handle hh;
} kernel_t;

/* That of a dispatch, held; planned where a rule is for it and it is new. NULL: no memory. */
kernel_t *kernels_take(const softgpu_prober_device_t *device, rule_t *rules,
                       const softgpu_prober_dispatch_t *dispatch);
void kernels_give_back(kernel_t *kernel);

#endif
