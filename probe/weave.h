/* A kernel's code with probes between its instructions. Internal to this folder.
 *
 * Instructions stay in their order, and branches lead to the probes before what they led to. What
 * cannot be reached is left out. Where a branch does not reach its target any more, it goes by way
 * of an s_branch that is put between; so does one by s_setpc_b64, which becomes an s_branch. */
#ifndef RAWHAL_PROBE_WEAVE_H
#define RAWHAL_PROBE_WEAVE_H

#include "probe/stub.h"
#include "probe/walk.h"

typedef struct weave {
  const walk_t *walk;
  const stubs_t *stubs;
  const rawhal_probe_point_t *points; /* in order */
  size_t point_count;
  uint64_t original; /* address of the original's first instruction, for s_getpc_b64 */
} weave_t;

/* Where a dword of the code comes from. */
typedef struct weave_origin {
  uint32_t dword;       /* from the kernel's first on */
  uint32_t instruction; /* its number; of a probe's, of the one that it is at */
  bool is_probe;
} weave_origin_t;

/* Appends to `code`, whose first dword becomes the kernel's first. `origin`: of a dword that is to
 * be told of, or NULL. OUT_OF_MEMORY; CAP_EXCEEDED: branches cannot be made to reach; NOT_FOUND:
 * there is no such dword. */
RAWHAL_CHECKED rawhal_status_t weave_code(const weave_t *weave, emit_t *code,
                                          weave_origin_t *origin, rawhal_error_t *error);

#endif
