/* rawhal check: what its command line and its explanation share. */
#ifndef TOOLS_CHECK_CHECK_H
#define TOOLS_CHECK_CHECK_H

#include "tools/shared/select.h"

typedef struct check_blob {
  const rawhal_kernel_t *kernel;
  const rawhal_kernarg_layout_t *layout;
  const unsigned char *bytes;
  size_t length;
  uint32_t flags; /* RAWHAL_KERNARG_* */
} check_blob_t;

/* Prints every byte of the blob and of the segment with its meaning. False when memory ran out. */
bool check_explain(const check_blob_t *blob);

#endif
