#include "hsaco/processor_table.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
#define PROCESSOR(name, machine, ...) [machine] = {name, machine, __VA_ARGS__}

/* By machine; two of one number do not compile. Gaps have no name. */
static const processor_t processors[] = {
    /*        name, machine, family, features, covered by generic, since its version */
    PROCESSOR("gfx600",           0x20, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx601",           0x21, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx602",           0x3a, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx700",           0x22, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx701",           0x23, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx702",           0x24, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx703",           0x25, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx704",           0x26, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx705",           0x3b, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx801",           0x28, FAMILY_GFX6,    PROCESSOR_XNACK, 0, 0),
    PROCESSOR("gfx802",           0x29, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx803",           0x2a, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx805",           0x3c, FAMILY_GFX6,    0, 0, 0),
    PROCESSOR("gfx810",           0x2b, FAMILY_GFX6,    PROCESSOR_XNACK, 0, 0),
    PROCESSOR("gfx900",           0x2c, FAMILY_GFX9,    PROCESSOR_XNACK, 0x51, 1),
    PROCESSOR("gfx902",           0x2d, FAMILY_GFX9,    PROCESSOR_XNACK, 0x51, 1),
    PROCESSOR("gfx904",           0x2e, FAMILY_GFX9,    PROCESSOR_XNACK, 0x51, 1),
    PROCESSOR("gfx909",           0x31, FAMILY_GFX9,    PROCESSOR_XNACK, 0x51, 1),
    PROCESSOR("gfx90c",           0x32, FAMILY_GFX9,    PROCESSOR_XNACK, 0x51, 1),
    PROCESSOR("gfx906",           0x2f, FAMILY_GFX9,    PROCESSOR_XNACK | PROCESSOR_SRAMECC, 0x51, 1),
    PROCESSOR("gfx908",           0x30, FAMILY_GFX9,    PROCESSOR_XNACK | PROCESSOR_SRAMECC, 0, 0),
    PROCESSOR("gfx90a",           0x3f, FAMILY_GFX90A,  PROCESSOR_XNACK | PROCESSOR_SRAMECC, 0, 0),
    PROCESSOR("gfx940",           0x40, FAMILY_GFX90A,  PROCESSOR_XNACK | PROCESSOR_SRAMECC, 0, 0),
    PROCESSOR("gfx941",           0x4b, FAMILY_GFX90A,  PROCESSOR_XNACK | PROCESSOR_SRAMECC, 0, 0),
    PROCESSOR("gfx942",           0x4c, FAMILY_GFX90A,  PROCESSOR_XNACK | PROCESSOR_SRAMECC, 0x5f, 1),
    PROCESSOR("gfx950",           0x4f, FAMILY_GFX90A,  PROCESSOR_XNACK | PROCESSOR_SRAMECC, 0x5f, 1),
    PROCESSOR("gfx1010",          0x33, FAMILY_GFX10,   PROCESSOR_XNACK, 0x52, 1),
    PROCESSOR("gfx1011",          0x34, FAMILY_GFX10,   PROCESSOR_XNACK, 0x52, 1),
    PROCESSOR("gfx1012",          0x35, FAMILY_GFX10,   PROCESSOR_XNACK, 0x52, 1),
    PROCESSOR("gfx1013",          0x42, FAMILY_GFX10,   PROCESSOR_XNACK, 0x52, 1),
    PROCESSOR("gfx1030",          0x36, FAMILY_GFX10,   0, 0x53, 1),
    PROCESSOR("gfx1031",          0x37, FAMILY_GFX10,   0, 0x53, 1),
    PROCESSOR("gfx1032",          0x38, FAMILY_GFX10,   0, 0x53, 1),
    PROCESSOR("gfx1033",          0x39, FAMILY_GFX10,   0, 0x53, 1),
    PROCESSOR("gfx1034",          0x3e, FAMILY_GFX10,   0, 0x53, 1),
    PROCESSOR("gfx1035",          0x3d, FAMILY_GFX10,   0, 0x53, 1),
    PROCESSOR("gfx1036",          0x45, FAMILY_GFX10,   0, 0x53, 1),
    PROCESSOR("gfx1100",          0x41, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1101",          0x46, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1102",          0x47, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1103",          0x44, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1150",          0x43, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1151",          0x4a, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1152",          0x55, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1153",          0x58, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1154",          0x57, FAMILY_GFX11,   0, 0x54, 1),
    PROCESSOR("gfx1170",          0x5d, FAMILY_GFX11,   0, 0x62, 1),
    PROCESSOR("gfx1171",          0x5e, FAMILY_GFX11,   0, 0x62, 1),
    PROCESSOR("gfx1172",          0x5c, FAMILY_GFX11,   0, 0x62, 1),
    PROCESSOR("gfx1200",          0x48, FAMILY_GFX12,   0, 0x59, 1),
    PROCESSOR("gfx1201",          0x4e, FAMILY_GFX12,   0, 0x59, 1),
    PROCESSOR("gfx1250",          0x49, FAMILY_GFX125,  PROCESSOR_XNACK_ALWAYS, 0x5b, 1),
    PROCESSOR("gfx1251",          0x5a, FAMILY_GFX125,  PROCESSOR_XNACK_ALWAYS, 0x5b, 1),
    PROCESSOR("gfx1250-strict",   0xeb, FAMILY_GFX125,  PROCESSOR_XNACK_ALWAYS, 0, 0),
    PROCESSOR("gfx1310",          0x50, FAMILY_GFX13,   0, 0x63, 1),
    PROCESSOR("gfx9-generic",     0x51, FAMILY_GFX9,    PROCESSOR_GENERIC | PROCESSOR_XNACK, 0x51, 1),
    PROCESSOR("gfx9-4-generic",   0x5f, FAMILY_GFX90A,  PROCESSOR_GENERIC | PROCESSOR_XNACK | PROCESSOR_SRAMECC, 0x5f, 1),
    PROCESSOR("gfx10-1-generic",  0x52, FAMILY_GFX10,   PROCESSOR_GENERIC | PROCESSOR_XNACK, 0x52, 1),
    PROCESSOR("gfx10-3-generic",  0x53, FAMILY_GFX10,   PROCESSOR_GENERIC, 0x53, 1),
    PROCESSOR("gfx11-generic",    0x54, FAMILY_GFX11,   PROCESSOR_GENERIC, 0x54, 1),
    PROCESSOR("gfx11-7-generic",  0x62, FAMILY_GFX11,   PROCESSOR_GENERIC, 0x62, 1),
    PROCESSOR("gfx12-generic",    0x59, FAMILY_GFX12,   PROCESSOR_GENERIC, 0x59, 1),
    PROCESSOR("gfx12-5-generic",  0x5b, FAMILY_GFX125,  PROCESSOR_GENERIC | PROCESSOR_XNACK_ALWAYS, 0x5b, 1),
    PROCESSOR("gfx13-generic",    0x63, FAMILY_GFX13,   PROCESSOR_GENERIC, 0x63, 1),
};
/* clang-format on */

enum { PROCESSOR_COUNT = sizeof(processors) / sizeof(*processors) };

const processor_t *processor_by_machine(uint32_t machine)
{
  return machine < PROCESSOR_COUNT && *processors[machine].name ? &processors[machine] : NULL;
}

const processor_t *processor_by_name(rawhal_string_t name)
{
  for (size_t i = 0; i < PROCESSOR_COUNT; ++i)
    if (*processors[i].name && strlen(processors[i].name) == name.size &&
        memcmp(processors[i].name, name.data, name.size) == 0)
      return &processors[i];
  return NULL;
}

/* The characters from `at` on that are in `set`. */
static size_t span(rawhal_string_t text, size_t at, const char *set)
{
  size_t end = at;
  while (end < text.size && text.data[end] && strchr(set, text.data[end]))
    ++end;
  return end - at;
}

const processor_t *processor_by_triple(rawhal_string_t triple, size_t *size)
{
  static const char start[] = "amdgpu", decimal[] = "0123456789", letters[] = "0123456789abcdef";
  const size_t at = sizeof(start) - 1;
  *size = 0;
  if (triple.size < at || memcmp(triple.data, start, at) != 0)
    return NULL;
  const size_t major = span(triple, at, decimal), dot = at + major;
  const bool more = dot < triple.size && triple.data[dot] == '.';
  const size_t minor = more ? span(triple, dot + 1, letters) : 0;
  char name[20];
  if (!major || major > 2 || minor > 2 || (more && !minor))
    return NULL;
  *size = dot + (more ? 1 + minor : 0);
  const char *stepping = more ? triple.data + dot + 1 : "";
  int length = snprintf(name, sizeof(name), "gfx%.*s%s%.*s%s", (int)major, triple.data + at,
                        minor == 1 ? "-" : "", (int)minor, stepping, minor < 2 ? "-generic" : "");
  return processor_by_name((rawhal_string_t){name, (size_t)length});
}
