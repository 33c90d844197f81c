// Any text as a target id. What parses must survive being written and parsed again.
#include <cstdint>
#include <cstring>

#include "budget.h"

extern "C" {
#include "hsaco/target.h"
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  rawhal_target_t target, again;
  rawhal_error_t error = {};
  // An unknown processor is compared with each that there is.
  Budget budget(budget_begin(60000 + 16 * size, 0));
  if (rawhal_target_parse({reinterpret_cast<const char *>(data), size}, &target, &error))
    return 0;
  char text[64];
  size_t length = rawhal_target_format(&target, text, sizeof(text));
  if (length >= sizeof(text) || rawhal_target_parse({text, length}, &again, &error) ||
      memcmp(&target, &again, sizeof(target)) != 0)
    __builtin_trap();
  rawhal_target_explain(rawhal_target_match(&target, &again), &target, &again, text, sizeof(text));
  return 0;
}
