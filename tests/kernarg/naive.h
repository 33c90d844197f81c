/* A second implementation of the kernarg rules, written to be obviously right: byte by byte, no
 * tables, nothing precomputed. The property test and the fuzz target hold the library against it. */
#ifndef RAWHAL_TESTS_KERNARG_NAIVE_H
#define RAWHAL_TESTS_KERNARG_NAIVE_H

#include "kernarg/kernarg.h"

typedef struct naive_layout {
  rawhal_status_t status; /* of creating the layout; the rest is valid when it is OK */
  bool arguments_known;
  uint64_t segment_size, effective_size, explicit_end, alignment, image_size;
} naive_layout_t;

naive_layout_t naive_compile(const rawhal_kernel_t *kernel, uint32_t stated_size);

/* The status rawhal_kernarg_check() must have for a blob that is not NULL. */
rawhal_status_t naive_check(const naive_layout_t *layout, size_t length, uint32_t flags);

/* The status of writing hidden arguments, and the byte an image must have at `position` when the
 * blob is this. */
rawhal_status_t naive_launch(const rawhal_kernel_t *kernel, const rawhal_launch_t *launch);
uint8_t naive_image_byte(const rawhal_kernel_t *kernel, const naive_layout_t *layout,
                         const uint8_t *blob, size_t length, uint32_t flags,
                         const rawhal_launch_t *launch, uint64_t position);

#endif
