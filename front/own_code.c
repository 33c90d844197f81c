#include "front/own_code.h"

#include "front/code.h"

#include "base/error.h"

#include <stdio.h>

hsa_status_t own_code_load(const front_device_t *device, rawhal_bytes_t bytes,
                           hsa_executable_t *executable)
{
  hsa_code_object_reader_t reader;
  executable->handle = 0;
  hsa_status_t result = front.inner.reader_from_memory(bytes.data, bytes.size, &reader);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  result = front.hsa.executable_create(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                       NULL, executable);
  if (result == HSA_STATUS_SUCCESS)
    result = code_load(*executable, device->agent, reader);
  else
    executable->handle = 0;
  (void)front.inner.reader_destroy(reader);
  return result;
}

rawhal_status_t own_code_kernel(const front_device_t *device, hsa_executable_t executable,
                                hsa_status_t result, rawhal_string_t symbol,
                                uint64_t *kernel_object, rawhal_error_t *error)
{
  char name[4096];
  hsa_executable_symbol_t found;
  *kernel_object = 0;
  if (symbol.size >= sizeof(name))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the kernel's name is too long");
  (void)snprintf(name, sizeof(name), "%.*s", (int)symbol.size, symbol.data);
  if (result == HSA_STATUS_SUCCESS)
    result = front.hsa.get_symbol(executable, name, &device->agent, &found);
  if (result == HSA_STATUS_SUCCESS)
    result =
        front.hsa.symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, kernel_object);
  if (result == HSA_STATUS_SUCCESS && *kernel_object)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_RUNTIME, "the runtime does not load the kernel (0x%x)",
                     (unsigned)result);
}
