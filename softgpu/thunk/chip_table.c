#include "softgpu/thunk/chip_table.h"

#include <stddef.h>

static const softgpu_chip_facts_t chips[] = {
    {0x900, 9, 0, 0, 0x6863, 64, 4, 64, 10, false, false, SOFTGPU_CHIP_OTHER},
    {0x906, 9, 0, 6, 0x66a1, 60, 4, 64, 10, false, false, SOFTGPU_CHIP_OTHER},
    {0x908, 9, 0, 8, 0x738c, 120, 4, 64, 10, true, false, SOFTGPU_CHIP_OTHER},
    {0x90a, 9, 0, 10, 0x740f, 104, 4, 64, 8, true, true, SOFTGPU_GFX90A},
    {0x942, 9, 4, 2, 0x74a1, 304, 4, 64, 8, true, true, SOFTGPU_GFX942},
    {0x950, 9, 5, 0, 0x75a0, 256, 4, 64, 8, true, false, SOFTGPU_GFX950},
    {0x1030, 10, 3, 0, 0x73bf, 72, 2, 32, 16, false, false, SOFTGPU_CHIP_OTHER},
    {0x1100, 11, 0, 0, 0x744c, 96, 2, 32, 16, false, false, SOFTGPU_CHIP_OTHER},
};

const softgpu_chip_facts_t *softgpu_chip_find(uint64_t name)
{
  for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); ++i) {
    if (chips[i].name == name)
      return &chips[i];
  }
  return NULL;
}
