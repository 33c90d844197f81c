/* Symbols of executables, as the runtime's loader has them, and variables among them. */
#include "hal/executable.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/near.h"

#include <string.h>

char *symbol_text(const allocator_t *allocator, rawhal_string_t name)
{
  char *text = allocate_zeroed(allocator, 1, name.size + 1);
  if (text && name.size)
    memcpy(text, name.data, name.size);
  return text;
}

hsa_status_t executable_symbol(const rawhal_executable_t *executable, rawhal_string_t name,
                               hsa_executable_symbol_t *symbol)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  if (name.size && memchr(name.data, '\0', name.size))
    return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
  const allocator_t *allocator = &executable->device->runtime->allocator;
  char *text = symbol_text(allocator, name);
  if (!text)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = hsa->hsa_executable_get_symbol_by_name(
      executable->executable, text, &executable->device->queue.agent, symbol);
  allocate_free(allocator, text);
  return result;
}

/* Only those that can be asked for. */
static rawhal_string_t variable_name(const void *hsaco, size_t number)
{
  const rawhal_symbol_t *symbol = rawhal_hsaco_symbol(hsaco, number);
  return symbol->kind == RAWHAL_SYMBOL_VARIABLE && symbol->defined ? symbol->name
                                                                   : (rawhal_string_t){0};
}

static rawhal_status_t not_a_variable(const rawhal_executable_t *executable, rawhal_string_t name,
                                      rawhal_error_t *error)
{
  const rawhal_hsaco_t *hsaco = executable->source->hsaco;
  if (rawhal_hsaco_find_kernel(hsaco, name))
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "'%.*s' is a kernel of the code object, not a variable",
                       RAWHAL_STRING_ARGS(name));
  const near_phrase_t nearest =
      near_phrase(name, variable_name, hsaco, rawhal_hsaco_info(hsaco)->symbol_count, error);
  return rawhal_fail(error, RAWHAL_NOT_FOUND, "the code object exports no variable '%.*s'%s",
                     RAWHAL_STRING_ARGS(name), nearest.text);
}

static rawhal_status_t find_variable(const rawhal_executable_t *executable, rawhal_string_t name,
                                     uint64_t *address, uint64_t *size, rawhal_error_t *error)
{
  const hsa_table_t *hsa = &executable->device->runtime->hsa;
  hsa_executable_symbol_t symbol;
  hsa_symbol_kind_t kind = HSA_SYMBOL_KIND_KERNEL;
  uint32_t bytes = 0;
  hsa_status_t result = executable_symbol(executable, name, &symbol);
  if (result == HSA_STATUS_ERROR_INVALID_SYMBOL_NAME)
    return not_a_variable(executable, name, error);
  const struct {
    hsa_executable_symbol_info_t attribute;
    void *value;
  } facts[] = {
      {HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind},
      {HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, address},
      {HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &bytes},
  };
  for (size_t i = 0; result == HSA_STATUS_SUCCESS && i < sizeof(facts) / sizeof(*facts); ++i) {
    result = hsa->hsa_executable_symbol_get_info(symbol, facts[i].attribute, facts[i].value);
    if (result == HSA_STATUS_SUCCESS && kind != HSA_SYMBOL_KIND_VARIABLE)
      return not_a_variable(executable, name, error);
  }
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "looking the variable up in the executable");
  *size = bytes;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_executable_variable(const rawhal_executable_t *executable,
                                           rawhal_string_t name, uint64_t *address, uint64_t *size,
                                           rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  uint64_t place = 0, bytes = 0;
  if (address)
    *address = 0;
  if (size)
    *size = 0;
  if (!executable || (!name.data && name.size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       executable ? "name" : "executable");
  rawhal_status_t status = runtime_check(error);
  if (status == RAWHAL_OK)
    status = find_variable(executable, name, &place, &bytes, error);
  if (status != RAWHAL_OK)
    return status;
  if (address)
    *address = place;
  if (size)
    *size = bytes;
  return RAWHAL_OK;
}
