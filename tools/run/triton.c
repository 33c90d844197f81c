/* rawhal run of an entry of Triton's cache: what its JSON says. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/run.h"
#include "tools/shared/tool.h"
#include "tools/shared/triton.h"

bool run_triton_is(const run_request_t *request)
{
  return tool_is_triton_json(request->path) ||
         (!request->has_block && tool_has_triton_json(request->path));
}

bool run_triton_open(run_request_t *request, rawhal_triton_t **triton, rawhal_error_t *error)
{
  if (rawhal_triton_open_file(request->path, NULL, triton, error))
    return false;
  const rawhal_triton_kernel_t *entry = request->triton = rawhal_triton_kernel(*triton, 0);
  if (request->kernel && strcmp(request->kernel, entry->name.data) != 0)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "'%s' describes kernel '%s', not '%s'",
                       request->path, entry->name.data, request->kernel);
  request->kernel = entry->name.data;
  request->path = entry->hsaco_path.data;
  return true;
}

/* Zeros for every program, or a null pointer for no bytes. */
static bool make_scratch(const run_request_t *request, uint64_t size, run_argument_t *argument,
                         rawhal_error_t *error)
{
  char word[64] = "ptr:null";
  for (int i = 0; i < 3; ++i)
    if (__builtin_mul_overflow(size, request->grid[i], &size))
      return tool_refuse(error, RAWHAL_OUT_OF_RANGE,
                         "the scratch of %" PRIu64 " programs overflows", request->grid[i]);
  if (size)
    snprintf(word, sizeof(word), "ptr:zero:%" PRIu64, size);
  bool made = run_argument_parse(word, argument, error);
  argument->word = "Triton's scratch";
  return made;
}

bool run_triton_scratch(run_request_t *request, rawhal_error_t *error)
{
  const rawhal_triton_kernel_t *entry = request->triton;
  const uint64_t sizes[] = {entry->global_scratch_size, entry->profile_scratch_size};
  if (request->argument_count == 1 && request->arguments[0].kind == RUN_BLOB)
    return true;
  for (uint32_t i = 0; i < entry->scratch_pointers && i < RUN_MOST_SCRATCH; ++i)
    if (!make_scratch(request, sizes[i], &request->arguments[request->argument_count++], error))
      return false;
  return true;
}
