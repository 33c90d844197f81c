/* rawhal run: what a kernel asks of the host while it runs, and HIP's runtime before it does. */
#include <stdio.h>
#include <string.h>

#include "tools/run/run.h"
#include "tools/shared/tool.h"

static void print(void *context, rawhal_services_stream_t stream, const char *text, size_t size)
{
  const run_request_t *request = context;
  (void)fwrite(text, 1, size, request->json || stream == RAWHAL_SERVICES_STDERR ? stderr : stdout);
}

/* A part for each hidden argument that is there. The device library's malloc() needs both. */
static uint32_t parts_of(const rawhal_kernarg_layout_t *layout)
{
  static const struct {
    uint8_t kind;
    uint32_t part;
  } hidden[] = {
      {RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER, RAWHAL_SERVICES_PRINTF},
      {RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, RAWHAL_SERVICES_HOSTCALL},
      {RAWHAL_VALUE_HIDDEN_HEAP_V1, RAWHAL_SERVICES_HEAP | RAWHAL_SERVICES_HOSTCALL},
  };
  const rawhal_kernarg_argument_t *argument;
  uint32_t parts = 0;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i)
    for (size_t k = 0; k < sizeof(hidden) / sizeof(*hidden); ++k)
      parts |= argument->value_kind == hidden[k].kind ? hidden[k].part : 0;
  return parts;
}

bool run_services_make(const run_request_t *request, rawhal_device_t *device,
                       const rawhal_device_kernel_t *kernel, rawhal_services_t **services,
                       rawhal_error_t *error)
{
  const rawhal_services_options_t options = {
      .parts = parts_of(rawhal_device_kernel_info(kernel)->layout),
      .output = print,
      .context = (void *)request,
  };
  *services = NULL;
  return !options.parts || rawhal_services_create(device, &options, services, error) == RAWHAL_OK;
}

/* "NAME" is a pointer to "NAME.managed". */
static bool point_to(rawhal_device_t *device, const rawhal_executable_t *executable,
                     rawhal_string_t name, uint64_t storage, rawhal_error_t *error)
{
  uint64_t address, size;
  rawhal_buffer_t *pointer = NULL;
  if (rawhal_executable_variable(executable, name, &address, &size, error))
    return false;
  if (size != sizeof(storage))
    return tool_refuse(
        error, RAWHAL_UNSUPPORTED, "the managed variable '%.*s' is not a pointer, but %llu bytes",
        (int)(name.size < 200 ? name.size : 200), name.data, (unsigned long long)size);
  bool done =
      !rawhal_buffer_import(device, (void *)(uintptr_t)address, (size_t)size, &pointer, error) &&
      !rawhal_buffer_write(pointer, 0, &storage, sizeof(storage), error);
  rawhal_buffer_free(pointer);
  return done;
}

bool run_services_manage(rawhal_device_t *device, const rawhal_executable_t *executable,
                         rawhal_error_t *error)
{
  static const char ending[] = ".managed";
  const size_t length = sizeof(ending) - 1;
  const rawhal_hsaco_t *hsaco = rawhal_executable_hsaco(executable);
  const rawhal_symbol_t *symbol;
  for (size_t i = 0; (symbol = rawhal_hsaco_symbol(hsaco, i)); ++i) {
    rawhal_string_t name = symbol->name;
    uint64_t storage, size;
    if (symbol->kind != RAWHAL_SYMBOL_VARIABLE || !symbol->defined || name.size <= length ||
        memcmp(name.data + name.size - length, ending, length) != 0)
      continue;
    if (rawhal_executable_variable(executable, name, &storage, &size, error))
      return false;
    name.size -= length;
    if (!point_to(device, executable, name, storage, error))
      return false;
  }
  return true;
}
