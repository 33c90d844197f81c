// Any bytes as a solution library of Tensile: it is read at a cost that the bytes account for, and all that it gives
// out is in them.
#include <cstring>

#include "budget.h"

extern "C" {
#include "library/tensile/tensile.h"
}

namespace {

const uint8_t *start;
size_t length;
bool packed;          // by zlib: what it gives out is its own
volatile uint8_t sum; // what reads them stays

void check(const void *data, size_t size)
{
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  if (size && !packed &&
      (bytes < start || bytes > start + length || size > length - (bytes - start)))
    __builtin_trap();
  for (size_t i = 0; i < size; ++i)
    sum = sum + bytes[i];
}

void check(const rawhal_tensile_solution_t &solution)
{
  check(solution.name.data, solution.name.size);
  check(solution.kernel.data, solution.kernel.size);
  check(solution.operation.data, solution.operation.size);
  check(solution.size_mapping.data, solution.size_mapping.size);
  check(solution.problem_type.data, solution.problem_type.size);
  if (!solution.kernel.size || !solution.size_mapping.size)
    __builtin_trap();
  for (size_t i = 0; i < solution.code_object.size; ++i)
    sum = sum + static_cast<uint8_t>(solution.code_object.data[i]);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  rawhal_tensile_options_t options = {};
  rawhal_tensile_t *tensile = nullptr;
  rawhal_error_t error = {};
  start = data;
  length = size;
  packed = size && (data[0] & 0x0f) == 8;          // no map starts so
  const size_t most = packed ? 1040 * size : size; // zlib makes 1,032 bytes of one at best
  options.size = sizeof(options);
  options.prefix = size % 2 ? RAWHAL_STRING("T_fallback") : RAWHAL_STRING("T");
  options.target = RAWHAL_STRING("gfx90a:xnack-");
  (void)rawhal_tensile_recognise(data, size);
  {
    Budget budget(budget_begin(100000 + 2000 * most, (1 << 18) + 32 * most));
    if (rawhal_tensile_open(data, size, &options, &tensile, &error)) {
      if (tensile)
        __builtin_trap();
      return 0;
    }
  }
  const rawhal_tensile_solution_t *solution;
  for (size_t i = 0; (solution = rawhal_tensile_solution(tensile, i)); ++i)
    check(*solution);
  rawhal_string_t version = rawhal_tensile_version(tensile);
  check(version.data, version.size);
  for (size_t i = 0; i < rawhal_tensile_library_count(tensile); ++i) {
    rawhal_string_t library = rawhal_tensile_library(tensile, i);
    check(library.data, library.size);
  }
  rawhal_tensile_close(tensile);
  return 0;
}
