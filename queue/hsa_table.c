#include "queue/hsa_table.h"

#include "base/error.h"

#include <dlfcn.h>

rawhal_status_t hsa_table_load(void *library, hsa_table_t *table, rawhal_error_t *error)
{
  *table = (hsa_table_t){0};
  /* POSIX promises that an object pointer from dlsym() holds a function's address. */
#define X(name)                                                                                    \
  *(void **)&table->name = dlsym(library, #name);                                                  \
  if (!table->name)                                                                                \
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the HSA runtime is too old: it has no " #name);
  HSA_TABLE_FUNCTIONS(X)
#undef X
  *(void **)&table->copy_rect = dlsym(library, "hsa_amd_memory_async_copy_rect");
  *(void **)&table->portable_export_dmabuf = dlsym(library, "hsa_amd_portable_export_dmabuf");
  *(void **)&table->portable_close_dmabuf = dlsym(library, "hsa_amd_portable_close_dmabuf");
  return RAWHAL_OK;
}

const char *hsa_status_text(const hsa_table_t *table, hsa_status_t status)
{
  const char *text = NULL;
  if (table->hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || !text)
    return "unknown HSA status";
  return text;
}

rawhal_status_t hsa_fail(const hsa_table_t *table, hsa_status_t status, rawhal_error_t *error,
                         const char *what)
{
  rawhal_status_t mine =
      status == HSA_STATUS_ERROR_OUT_OF_RESOURCES ? RAWHAL_OUT_OF_MEMORY : RAWHAL_RUNTIME;
  mine = rawhal_fail(error, mine, "%s: %s", what, hsa_status_text(table, status));
  if (error)
    error->hsa_status = (int32_t)status;
  return mine;
}
