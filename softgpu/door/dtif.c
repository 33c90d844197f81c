/* Linked into libdtif.so, which runtimes of ROCm 7 and later load in place of the thunk that is a
 * part of them when HSA_ENABLE_DTIF is 1. */
#include <stdlib.h>

#include "softgpu/exports.h"
#include "softgpu/thunk/layout.h"

const bool softgpu_is_dtif = true;

/* A program that loads this library before the runtime begins means it to be used. */
__attribute__((constructor)) static void ask_for_it(void)
{
  setenv("HSA_ENABLE_DTIF", "1", 0);
}

/* Called first and last. The runtime only looks whether there is a platform. */
SOFTGPU_EXPORT void *DtifCreate(const char *name);
SOFTGPU_EXPORT void DtifDestroy(void);

void *DtifCreate(const char *name)
{
  static char platform;
  (void)name;
  return &platform;
}

void DtifDestroy(void) {}
