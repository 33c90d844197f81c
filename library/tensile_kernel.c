/* From a solution to its kernel, loaded. */
#include "library/tensile.h"

#include "base/error.h"

#include <string.h>

enum { LONGEST_NAME = 4200, VERSIONS = 3 };

/* As HipSolutionAdapter.cpp of Tensile and of hipBLASLt look for a file. */
static const char *const versions[VERSIONS] = {"", "-xnack-", "-xnack+"};

/* `version` goes before the ending. */
static rawhal_string_t file_of(rawhal_string_t name, const char *version, char *text)
{
  size_t dot = name.size, more = strlen(version);
  while (dot > 0 && name.data[dot - 1] != '.')
    --dot;
  dot = dot ? dot - 1 : name.size;
  memcpy(text, name.data, dot);
  memcpy(text + dot, version, more);
  memcpy(text + dot + more, name.data + dot, name.size - dot);
  return (rawhal_string_t){text, name.size + more};
}

rawhal_status_t rawhal_tensile_kernel(const rawhal_tensile_t *tensile, size_t number,
                                      rawhal_library_t *library,
                                      const rawhal_device_kernel_t **kernel, rawhal_error_t *error)
{
  if (kernel)
    *kernel = NULL;
  if (!tensile || !library || !kernel)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "tensile, library or kernel is NULL");
  const rawhal_tensile_solution_t *solution = rawhal_tensile_solution(tensile, number);
  if (!solution)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "solution %zu of %zu", number,
                       rawhal_tensile_count(tensile));
  const rawhal_string_t name = solution->code_object;
  rawhal_library_query_t query = {.name = solution->kernel};
  char file[LONGEST_NAME + sizeof("-xnack-")];
  if (!name.size || name.size > LONGEST_NAME) /* it may be in any */
    return rawhal_library_kernel(library, &query, kernel, error);
  rawhal_error_t first;
  rawhal_status_t status = RAWHAL_NOT_FOUND;
  for (int i = 0; i < VERSIONS && status == RAWHAL_NOT_FOUND; ++i) {
    query.file = file_of(name, versions[i], file);
    status = rawhal_library_kernel(library, &query, kernel, i ? error : &first);
    if (i == 0 && error)
      *error = first;
  }
  return status == RAWHAL_NOT_FOUND
             ? rawhal_fail(error, status,
                           "solution %zu: not in '%.*s', nor in its versions for xnack: %s", number,
                           RAWHAL_STRING_ARGS(name), first.message)
             : status;
}
