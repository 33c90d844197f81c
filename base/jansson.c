#include "base/jansson.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/error.h"

#define LIBRARY "libjansson.so.4"

jansson_t jansson;

static const char *missing;

static void open_library(void)
{
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    missing = LIBRARY " cannot be opened";
    return;
  }
#define X(name)                                                                                    \
  *(void **)&jansson.name = dlsym(library, "json_" #name);                                         \
  if (!jansson.name)                                                                               \
    missing = LIBRARY " has no json_" #name "()";
  JANSSON_FUNCTIONS(X)
#undef X
}

rawhal_status_t jansson_open(rawhal_error_t *error)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  return missing ? rawhal_fail(error, RAWHAL_UNSUPPORTED, "no JSON can be read: %s", missing)
                 : RAWHAL_OK;
}
