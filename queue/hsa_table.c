#include "queue/hsa_table.h"

#include "base/error.h"

#include <dlfcn.h>

static void load_vmem(void *library, hsa_vmem_t *vmem)
{
  const struct {
    void **function;
    const char *name;
  } all[] = {
      {(void **)&vmem->address_reserve, "hsa_amd_vmem_address_reserve"},
      {(void **)&vmem->address_free, "hsa_amd_vmem_address_free"},
      {(void **)&vmem->handle_create, "hsa_amd_vmem_handle_create"},
      {(void **)&vmem->handle_release, "hsa_amd_vmem_handle_release"},
      {(void **)&vmem->map, "hsa_amd_vmem_map"},
      {(void **)&vmem->unmap, "hsa_amd_vmem_unmap"},
      {(void **)&vmem->set_access, "hsa_amd_vmem_set_access"},
  };
  vmem->complete = true;
  for (size_t i = 0; i < sizeof(all) / sizeof(*all); ++i) {
    *all[i].function = dlsym(library, all[i].name);
    vmem->complete &= *all[i].function != NULL;
  }
}

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
  load_vmem(library, &table->vmem);
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
