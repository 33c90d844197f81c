#include "softgpu/thunk/chip_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const softgpu_chip_facts_t chips[] = {
    {0x900, "AMD Radeon Vega Frontier Edition", 9, 0, 0, 0x6863, 64, 4, 64, 10, false, false,
     SOFTGPU_CHIP_OTHER},
    {0x906, "AMD Radeon Instinct MI60", 9, 0, 6, 0x66a1, 60, 4, 64, 10, false, false,
     SOFTGPU_CHIP_OTHER},
    {0x908, "AMD Instinct MI100", 9, 0, 8, 0x738c, 120, 4, 64, 10, true, false, SOFTGPU_CHIP_OTHER},
    {0x90a, "AMD Instinct MI210", 9, 0, 10, 0x740f, 104, 4, 64, 8, true, true, SOFTGPU_GFX90A},
    {0x942, "AMD Instinct MI300X", 9, 4, 2, 0x74a1, 304, 4, 64, 8, true, true, SOFTGPU_GFX942},
    {0x950, "AMD Instinct MI350X", 9, 5, 0, 0x75a0, 256, 4, 64, 8, true, false, SOFTGPU_GFX950},
    {0x1030, "AMD Radeon RX 6900 XT", 10, 3, 0, 0x73bf, 80, 2, 32, 16, false, false,
     SOFTGPU_GFX1030},
    {0x1100, "AMD Radeon RX 7900 XTX", 11, 0, 0, 0x744c, 96, 2, 32, 16, false, false,
     SOFTGPU_GFX1100},
    {0x1101, "AMD Radeon RX 7800 XT", 11, 0, 1, 0x747e, 60, 2, 32, 16, false, false,
     SOFTGPU_GFX1100},
    {0x1102, "AMD Radeon RX 7600", 11, 0, 2, 0x7480, 32, 2, 32, 16, false, false, SOFTGPU_GFX1100},
    {0x1103, "AMD Radeon 780M", 11, 0, 3, 0x15bf, 12, 2, 32, 16, false, false, SOFTGPU_GFX1100},
    {0x1150, "AMD Radeon 890M", 11, 5, 0, 0x150e, 16, 2, 32, 16, false, false, SOFTGPU_GFX1151},
    {0x1152, "AMD Radeon 860M", 11, 5, 2, 0x1114, 8, 2, 32, 16, false, false, SOFTGPU_GFX1151},
    /* (No public list has the number of a card with it.) */
    {0x1153, "AMD Radeon 840M", 11, 5, 3, 0, 4, 2, 32, 16, false, false, SOFTGPU_GFX1151},
    {0x1151, "AMD Radeon 8060S", 11, 5, 1, 0x1586, 40, 2, 32, 16, false, false, SOFTGPU_GFX1151},
};

static_assert(sizeof(chips) / sizeof(chips[0]) < 1u << SOFTGPU_CHIP_BITS,
              "each has a number in a list");

void softgpu_chip_names(char *text, size_t bytes)
{
  size_t used = 0;
  for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]) && used < bytes; ++i)
    used += (size_t)snprintf(text + used, bytes - used, "%sgfx%x", i ? ", " : "", chips[i].name);
}

const softgpu_chip_facts_t *softgpu_chip_find(uint64_t name)
{
  for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); ++i) {
    if (chips[i].name == name)
      return &chips[i];
  }
  return NULL;
}

uint64_t softgpu_chips_read(const char *text)
{
  uint64_t list = 0;
  for (unsigned at = 0; at / SOFTGPU_CHIP_BITS < SOFTGPU_CHIPS_LISTED; at += SOFTGPU_CHIP_BITS) {
    if (strncmp(text, "gfx", 3) != 0 || !strchr("123456789", text[3]) || !text[3])
      return 0;
    char *end;
    const softgpu_chip_facts_t *chip = softgpu_chip_find(strtoull(text + 3, &end, 16));
    if (!chip || (*end && *end != ','))
      return 0;
    list |= (uint64_t)(chip - chips + 1) << at;
    if (!*end)
      return list;
    text = end + 1;
  }
  return 0;
}

const softgpu_chip_facts_t *softgpu_chips_at(uint64_t list, uint32_t device)
{
  if (device >= SOFTGPU_CHIPS_LISTED)
    return NULL;
  const uint64_t place = list >> (device * SOFTGPU_CHIP_BITS) & ((1u << SOFTGPU_CHIP_BITS) - 1);
  return place > 0 && place <= sizeof(chips) / sizeof(chips[0]) ? &chips[place - 1] : NULL;
}

uint32_t softgpu_chips_count(uint64_t list)
{
  uint32_t count = 0;
  while (softgpu_chips_at(list, count))
    ++count;
  return list >> (count * SOFTGPU_CHIP_BITS) == 0 ? count : 0;
}
