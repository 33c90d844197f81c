/* Another door: rocprofiler-sdk calls rocprofiler_configure() of every library that it is told of
 * (ROCP_TOOL_LIBRARIES) or finds loaded, and hands on the HSA runtime's table when it is given it.
 * A library of its own: the symbol alone makes newer runtimes look for rocprofiler-sdk, and end the
 * program where it is not installed.
 *
 * Facts: registration.h, intercept_table.h and fwd.h of rocprofiler-sdk, rocprofiler_register.cpp
 * of rocprofiler-register, Runtime::LoadTools() of ROCr. The client's identity is left alone: where
 * its name is differs between versions. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define REGISTER_EXPORT __attribute__((visibility("default")))

enum { HSA_TABLE = 1, SUCCEEDED = 0 };

typedef struct configured configured_t; /* none is returned */

typedef void on_table_t(int kind, uint64_t version, uint64_t instance, void **tables,
                        uint64_t count, void *data);
typedef int ask_t(on_table_t *on_table, int kinds, void *data);
typedef bool on_load_t(void *root, uint64_t version, uint64_t failed_count,
                       const char *const *failed);

REGISTER_EXPORT configured_t *rocprofiler_configure(uint32_t version, const char *runtime_version,
                                                    uint32_t priority, void *client);

/* Of a library that is loaded. */
static void *symbol_of(const char *library, const char *name)
{
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void *symbol = handle ? dlsym(handle, name) : NULL;
  if (handle)
    (void)dlclose(handle);
  return symbol;
}

static ask_t *find_ask(void)
{
  static const char name[] = "rocprofiler_at_intercept_table_registration";
  void *found = dlsym(RTLD_DEFAULT, name);
  if (!found)
    found = symbol_of("librocprofiler-sdk.so.1", name);
  if (!found)
    found = symbol_of("librocprofiler-sdk.so", name);
  return (ask_t *)found;
}

/* The front is loaded, as this library needs it; other tools have functions of this name, too. */
static void on_table(int kind, uint64_t version, uint64_t instance, void **tables, uint64_t count,
                     void *data)
{
  (void)version, (void)instance, (void)data;
  on_load_t *enter = (on_load_t *)symbol_of("librawhal-front.so", "OnLoad");
  if (kind == HSA_TABLE && enter && tables && count)
    (void)enter(tables[0], 1, 0, NULL);
}

/* NULL: nothing of rocprofiler-sdk is wanted but the table. Where that is not available the runtime
 * is told to look for its tools as it does without rocprofiler-sdk: it finds the front by
 * HSA_AMD_TOOL_PRIORITY. */
configured_t *rocprofiler_configure(uint32_t version, const char *runtime_version,
                                    uint32_t priority, void *client)
{
  (void)version, (void)runtime_version, (void)priority, (void)client;
  ask_t *ask = find_ask();
  if (!ask || ask(on_table, HSA_TABLE, NULL) != SUCCEEDED)
    (void)setenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1", 1);
  return NULL;
}
