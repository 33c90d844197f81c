/* A kernel's layout against the naive implementation of tests/kernarg: what fuzzers ask of kernels
 * that they make up, and of those that they read from files. */
#ifndef RAWHAL_FUZZ_KERNARG_CHECKS_H
#define RAWHAL_FUZZ_KERNARG_CHECKS_H

#include "tests/kernarg/naive.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Of more arguments, or larger images, only what does not take time for each. */
enum { CHECKS_MOST_ARGUMENTS = 64, CHECKS_MOST_IMAGE = 4096, CHECKS_ROOM = CHECKS_MOST_IMAGE + 64 };

typedef struct scene {
  rawhal_kernel_t kernel;
  uint32_t stated_size; /* of the kernarg segment, by the caller */
  rawhal_launch_t launch;
  uint64_t blob_length; /* one of any length; those at the rule's edges are checked, too */
  uint32_t flags;       /* RAWHAL_KERNARG_* */
  uint8_t values[CHECKS_ROOM];
  naive_layout_t naive; /* filled in */
} scene_t;

/* Ends the process where the library and the naive implementation differ. */
void kernarg_checks(scene_t *scene);

#if defined(__cplusplus)
}
#endif

#endif
