#include "debug/core/chip.h"

#include <stddef.h>

static const core_chip_t chips[] = {
    {90010, "gfx90a", 512, 3, true},
    {90402, "gfx942", 512, 2, false},
    {90500, "gfx950", 1280, 2, false},
};

const core_chip_t *core_chip_of(uint32_t gfx_target_version)
{
  for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); ++i)
    if (chips[i].gfx_target_version == gfx_target_version)
      return &chips[i];
  return NULL;
}
