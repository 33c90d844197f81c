/* From a solution to its kernel, loaded. */
#include "library/tensile/tensile.h"

#include "base/error.h"
#include "library/tensile/read.h"

#include <limits.h>
#include <stdio.h>

/* A folder, and a name of a prefix, a target and an ending. */
enum { LONGEST_PATH = PATH_MAX + 2 * TENSILE_LONGEST + 64, VERSIONS = 3 };

/* As HipSolutionAdapter.cpp of Tensile and of hipBLASLt look for a file. */
static const char *const versions[VERSIONS] = {"", "-xnack-", "-xnack+"};

/* `version` goes before the ending. */
static rawhal_string_t file_of(rawhal_string_t folder, rawhal_string_t name, const char *version,
                               char text[LONGEST_PATH])
{
  size_t dot = name.size;
  while (name.data[dot - 1] != '.') /* each name has an ending */
    --dot;
  --dot;
  const int size = snprintf(text, LONGEST_PATH, "%.*s%.*s%s%.*s", RAWHAL_STRING_ARGS(folder),
                            (int)dot, name.data, version, (int)(name.size - dot), name.data + dot);
  return (rawhal_string_t){text, (size_t)size};
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
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "there is no solution %zu: there are %zu",
                       number, rawhal_tensile_count(tensile));
  const rawhal_string_t name = solution->code_object;
  rawhal_library_query_t query = {.name = solution->kernel};
  if (!name.size) /* it may be in any */
    return rawhal_library_kernel(library, &query, kernel, error);
  char file[LONGEST_PATH];
  rawhal_error_t first, other; /* a caller that is told nothing else is told of the first */
  rawhal_status_t status = RAWHAL_NOT_FOUND;
  for (int i = 0; i < VERSIONS && status == RAWHAL_NOT_FOUND; ++i) {
    query.file = file_of(tensile_folder(tensile), name, versions[i], file);
    status = rawhal_library_kernel(library, &query, kernel, i ? &other : &first);
    if (status != RAWHAL_OK && status != RAWHAL_NOT_FOUND && error)
      *error = i ? other : first;
  }
  return status == RAWHAL_NOT_FOUND
             ? rawhal_fail(error, status,
                           "solution %zu: not in '%.*s', nor in its versions for xnack: %s", number,
                           RAWHAL_STRING_ARGS(name), first.message)
             : status;
}
