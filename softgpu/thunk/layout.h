/* The structures of the thunk's interface as the caller's header has them.
 *
 * Callers pass neither sizes nor a version; which library they load tells enough. Runtimes that
 * link libhsakmt.so.1 are of ROCm 5.2 to 6.2, whose structures agree in size and place: a few
 * reserved bytes got names. Those that load libdtif.so are of ROCm 7 and later. Fields were
 * inserted until then, and have been added at the end only since: HsaNodeProperties had 368 bytes,
 * then 376, then 396. Runtimes clear it before they ask, and 0 in the rest says "not supported" or
 * "look elsewhere". So what all of them have is written, and not a byte more. */
#ifndef SOFTGPU_THUNK_LAYOUT_H
#define SOFTGPU_THUNK_LAYOUT_H

#include "softgpu/thunk/thunk.h"

/* Which of the two this library is; each is linked with a file of its own that says so. */
extern const bool softgpu_is_dtif;

/* What headers after 5.2's have in its reserved last 12 bytes. */
typedef struct softgpu_node_tail {
  uint32_t xccs; /* 5.7 and later divide by it; 5.3 to 5.6 take it for the GPU's id */
  uint32_t gpu_id;
  uint32_t family; /* as in amdgpu_drm.h */
} softgpu_node_tail_t;

void softgpu_layout_node(HsaNodeProperties *to, const HsaNodeProperties *node,
                         const softgpu_node_tail_t *tail);

/* `index` is the place in the caller's array. */
void softgpu_layout_link(HsaIoLinkProperties *array, uint32_t index,
                         const HsaIoLinkProperties *link);

/* How many of a node's caches can be told. From 2026 on elements of that array are longer, which
 * nothing shows: all but the first are out of reach for libdtif.so. */
uint32_t softgpu_layout_caches(uint32_t count);

#endif
