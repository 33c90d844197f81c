#include "tools/shared/softgpu.h"

#include <dlfcn.h>

void *softgpu_function(size_t library, const char *name)
{
  static const char *const names[SOFTGPU_LIBRARIES] = {"libhsakmt.so.1", "libdtif.so"};
  void *thunk = dlopen(names[library], RTLD_NOW | RTLD_NOLOAD);
  if (!thunk)
    return NULL;
  void *function = dlsym(thunk, name);
  (void)dlclose(thunk); /* which the runtime has open */
  return function;
}
