/* What libamdhip64 has besides librawhal-hiplaunch: the names that programs for HIP 6 and 7 ask
 * for, served or not, and the versions that they ask for them with. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "hiplaunch/hip/generation.h"
#include "hiplaunch/hip/report.h"

/* Of the HIP whose names these are. */
const generation_t generation = {
    .version = 7 * 10000000,
    .memory = {.host = HIP6_MEMORY_HOST,
               .device = HIP6_MEMORY_DEVICE,
               .managed = HIP6_MEMORY_MANAGED},
    .knows_unregistered = true,
};

#pragma GCC visibility push(default)

/* ---- What is not served: refused.txt ----
 *
 * A program that has such a call links and loads, and is told which it was. */

static hipError_t refuse(const char *name)
{
  return fail(hipErrorNotSupported, "%s() is not served by rawhal's libamdhip64", name);
}

#define REFUSED(name)                                                                              \
  hipError_t name(void);                                                                           \
  hipError_t name(void)                                                                            \
  {                                                                                                \
    return refuse(#name);                                                                          \
  }
#define SINCE(name, version)
#include "door_names.h"
#undef REFUSED
#undef SINCE

/* ---- Names ---- */

hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_t *properties, int device);
hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_t *properties, int device)
{
  return hipGetDeviceProperties(properties, device);
}

/* This library under the name that it was opened by; it never goes (nodelete). */
static void *self(void)
{
  Dl_info info;
  return dladdr((void *)refuse, &info) ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : NULL;
}

/* HIP 6 gave two calls a new structure, and their old names to the old one: who asks for a version
 * from 6.0 on means the new one. */
static const char *name_for(const char *symbol, int version)
{
  static const char *const renamed[][2] = {
      {"hipGetDeviceProperties", "hipGetDevicePropertiesR0600"},
      {"hipChooseDevice", "hipChooseDeviceR0600"},
  };
  for (size_t i = 0; version >= 600 && i < sizeof(renamed) / sizeof(*renamed); ++i)
    if (!strcmp(symbol, renamed[i][0]))
      return renamed[i][1];
  return symbol;
}

hipError_t hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                             hipDriverProcAddressQueryResult *result);
hipError_t hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                             hipDriverProcAddressQueryResult *result)
{
  enum { LEGACY_STREAM = 1 };
  if (!symbol || !*symbol || !function)
    return fail(hipErrorInvalidValue, "%s is NULL", function ? "symbol" : "function");
  *function = NULL;
  if (result)
    *result = HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (flags > LEGACY_STREAM)
    return fail(hipErrorNotSupported, "%s with flags 0x%llx: streams of threads are not served",
                symbol, (unsigned long long)flags);
  void *library = self();
  if (library) {
    *function = dlvsym(library, name_for(symbol, version), "hip_4.2");
    dlclose(library);
  }
  if (!*function)
    return fail(hipErrorNotFound, "%s is not known", symbol);
  if (result)
    *result = HIP_GET_PROC_ADDRESS_SUCCESS;
  return hipSuccess;
}

#pragma GCC visibility pop

/* ---- Versions ----
 *
 * Every name has version hip_4.2. Programs that were linked with AMD's library want later names
 * with the version of the HIP that brought them: that is one more name for the same code. */

#if defined(__x86_64__)
#define JUMP "jmp "
#elif defined(__aarch64__)
#define JUMP "b "
#else
#error "how a function goes on in another one is not known for this processor"
#endif

#define REFUSED(name)
#define SINCE(name, version)                                                                       \
  __asm__(".pushsection .text\n"                                                                   \
          ".globl since_" #name "\n"                                                               \
          ".type since_" #name ", %function\n"                                                     \
          "since_" #name ":\n"                                                                     \
          "  " JUMP #name "\n"                                                                     \
          ".size since_" #name ", . - since_" #name "\n"                                           \
          ".symver since_" #name ", " #name "@hip_" #version "\n"                                  \
          ".popsection");
#include "door_names.h"
