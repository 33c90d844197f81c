#include "probe/code.h"
#include "probe/probe_records.h"

#include <stddef.h>

enum { R = RAWHAL_PROBE_READS, W = RAWHAL_PROBE_WRITES, A = R | W, L = R | RAWHAL_PROBE_TO_LDS };

/* Opcodes from `first` to `last` access so many bytes at an address. Of LDS, `stride` is what the
 * second offset counts in, of those with two. */
typedef struct access_range {
  uint16_t first, last;
  uint8_t bytes, flags;
  uint16_t stride;
} access_range_t;

static const access_range_t flat_accesses[] = {
    {0x10, 0x11, 1, R, 0},  {0x12, 0x13, 2, R, 0},  {0x14, 0x14, 4, R, 0},  {0x15, 0x15, 8, R, 0},
    {0x16, 0x16, 12, R, 0}, {0x17, 0x17, 16, R, 0}, {0x18, 0x19, 1, W, 0},  {0x1a, 0x1b, 2, W, 0},
    {0x1c, 0x1c, 4, W, 0},  {0x1d, 0x1d, 8, W, 0},  {0x1e, 0x1e, 12, W, 0}, {0x1f, 0x1f, 16, W, 0},
    {0x20, 0x23, 1, R, 0},  {0x24, 0x25, 2, R, 0},  {0x26, 0x27, 1, L, 0},  {0x28, 0x29, 2, L, 0},
    {0x2a, 0x2a, 4, L, 0},  {0x40, 0x4e, 4, A, 0},  {0x4f, 0x51, 8, A, 0},  {0x52, 0x52, 4, A, 0},
    {0x60, 0x6c, 8, A, 0},  {0x7d, 0x7d, 16, L, 0}, {0x7e, 0x7e, 12, L, 0},
};

/* Formats other than the plain ones have the resource's element: at most so many bytes. */
static const access_range_t buffer_accesses[] = {
    {0x00, 0x00, 4, R, 0},  {0x01, 0x01, 8, R, 0},  {0x02, 0x02, 12, R, 0}, {0x03, 0x03, 16, R, 0},
    {0x04, 0x04, 4, W, 0},  {0x05, 0x05, 8, W, 0},  {0x06, 0x06, 12, W, 0}, {0x07, 0x07, 16, W, 0},
    {0x08, 0x08, 2, R, 0},  {0x09, 0x09, 4, R, 0},  {0x0a, 0x0a, 6, R, 0},  {0x0b, 0x0b, 8, R, 0},
    {0x0c, 0x0c, 2, W, 0},  {0x0d, 0x0d, 4, W, 0},  {0x0e, 0x0e, 6, W, 0},  {0x0f, 0x0f, 8, W, 0},
    {0x10, 0x11, 1, R, 0},  {0x12, 0x13, 2, R, 0},  {0x14, 0x14, 4, R, 0},  {0x15, 0x15, 8, R, 0},
    {0x16, 0x16, 12, R, 0}, {0x17, 0x17, 16, R, 0}, {0x18, 0x19, 1, W, 0},  {0x1a, 0x1b, 2, W, 0},
    {0x1c, 0x1c, 4, W, 0},  {0x1d, 0x1d, 8, W, 0},  {0x1e, 0x1e, 12, W, 0}, {0x1f, 0x1f, 16, W, 0},
    {0x20, 0x23, 1, R, 0},  {0x24, 0x25, 2, R, 0},  {0x26, 0x26, 2, R, 0},  {0x27, 0x27, 2, W, 0},
    {0x3d, 0x3d, 4, W, 0},  {0x40, 0x4e, 4, A, 0},  {0x4f, 0x51, 8, A, 0},  {0x52, 0x52, 4, A, 0},
    {0x60, 0x6c, 8, A, 0},
};

static const access_range_t typed_accesses[] = {
    {0x0, 0x0, 4, R, 0}, {0x1, 0x1, 8, R, 0}, {0x2, 0x2, 12, R, 0}, {0x3, 0x3, 16, R, 0},
    {0x4, 0x4, 4, W, 0}, {0x5, 0x5, 8, W, 0}, {0x6, 0x6, 12, W, 0}, {0x7, 0x7, 16, W, 0},
    {0x8, 0x8, 2, R, 0}, {0x9, 0x9, 4, R, 0}, {0xa, 0xa, 6, R, 0},  {0xb, 0xb, 8, R, 0},
    {0xc, 0xc, 2, W, 0}, {0xd, 0xd, 4, W, 0}, {0xe, 0xe, 6, W, 0},  {0xf, 0xf, 8, W, 0},
};

static const access_range_t lds_accesses[] = {
    {0x00, 0x0c, 4, A, 0},   {0x0d, 0x0d, 4, W, 0},   {0x0e, 0x0e, 4, W, 4},
    {0x0f, 0x0f, 4, W, 256}, {0x10, 0x13, 4, A, 0},   {0x15, 0x18, 4, A, 0},
    {0x1e, 0x1e, 1, W, 0},   {0x1f, 0x1f, 2, W, 0},   {0x20, 0x2d, 4, A, 0},
    {0x2e, 0x2e, 4, A, 4},   {0x2f, 0x2f, 4, A, 256}, {0x30, 0x35, 4, A, 0},
    {0x36, 0x36, 4, R, 0},   {0x37, 0x37, 4, R, 4},   {0x38, 0x38, 4, R, 256},
    {0x39, 0x3a, 1, R, 0},   {0x3b, 0x3c, 2, R, 0},   {0x40, 0x4c, 8, A, 0},
    {0x4d, 0x4d, 8, W, 0},   {0x4e, 0x4e, 8, W, 8},   {0x4f, 0x4f, 8, W, 512},
    {0x50, 0x53, 8, A, 0},   {0x54, 0x54, 1, W, 0},   {0x55, 0x55, 2, W, 0},
    {0x56, 0x59, 1, R, 0},   {0x5a, 0x5b, 2, R, 0},   {0x5c, 0x5c, 8, A, 0},
    {0x60, 0x6d, 8, A, 0},   {0x6e, 0x6e, 8, A, 8},   {0x6f, 0x6f, 8, A, 512},
    {0x70, 0x73, 8, A, 0},   {0x76, 0x76, 8, R, 0},   {0x77, 0x77, 8, R, 8},
    {0x78, 0x78, 8, R, 512}, {0x7c, 0x7e, 8, A, 0},   {0xb7, 0xb8, 4, A, 0},
    {0xde, 0xde, 12, W, 0},  {0xdf, 0xdf, 16, W, 0},  {0xe0, 0xe0, 8, R, 0},
    {0xe1, 0xe1, 12, R, 0},  {0xe2, 0xe3, 8, R, 0},   {0xfe, 0xfe, 12, R, 0},
    {0xff, 0xff, 16, R, 0},
};

static const access_range_t *find_access(const access_range_t *ranges, size_t count, uint32_t op)
{
  for (size_t i = 0; i < count; ++i)
    if (op >= ranges[i].first && op <= ranges[i].last)
      return &ranges[i];
  return NULL;
}
#define FIND_ACCESS(ranges, op) find_access(ranges, sizeof(ranges) / sizeof((ranges)[0]), op)

static const access_range_t *find(const code_t *code)
{
  switch (code->format) {
  case CODE_FLAT:
    return FIND_ACCESS(flat_accesses, code->op);
  case CODE_MUBUF:
    return FIND_ACCESS(buffer_accesses, code->op);
  case CODE_MTBUF:
    return FIND_ACCESS(typed_accesses, code->op);
  case CODE_DS:
    return FIND_ACCESS(lds_accesses, code->op);
  default:
    return NULL;
  }
}

static void flat_access(const code_t *code, code_access_t *access)
{
  const uint32_t d = code->dword[0], d1 = code->dword[1], segment = code_field(d, 14, 2),
                 saddr = code_field(d1, 16, 7);
  const access_range_t *range = find(code);
  if (!range || segment == CODE_SEGMENT_SCRATCH)
    return;
  const bool has_base = segment == CODE_SEGMENT_GLOBAL && saddr != 0x7f;
  access->bytes = range->bytes;
  access->flags = range->flags | (code_field(d, 13, 1) ? RAWHAL_PROBE_TO_LDS : 0);
  access->source = segment == CODE_SEGMENT_FLAT ? RAWHAL_PROBE_FLAT : RAWHAL_PROBE_GLOBAL;
  access->vector = (uint8_t)code_field(d1, 0, 8);
  access->lane_bytes = has_base ? 4 : 8;
  if (has_base)
    access->scalar = (uint8_t)saddr;
  else
    access->source = RAWHAL_PROBE_FLAT;
  /* 12 bits without a sign for flat, 13 with one for global. */
  access->immediate[0] = segment == CODE_SEGMENT_FLAT
                             ? (int32_t)code_field(d, 0, 12)
                             : (int32_t)(code_field(d, 0, 13) ^ 0x1000) - 0x1000;
}

static void buffer_access(const code_t *code, code_access_t *access)
{
  const uint32_t d = code->dword[0], d1 = code->dword[1], way = code_field(d, 12, 2);
  const access_range_t *range = find(code);
  if (!range)
    return;
  const bool to_lds = code->format == CODE_MUBUF && code_field(d, 16, 1);
  access->bytes = range->bytes;
  access->flags =
      (uint8_t)(range->flags | (to_lds ? RAWHAL_PROBE_TO_LDS : 0) |
                (way & 1 ? RAWHAL_PROBE_OFFSET : 0) | (way & 2 ? RAWHAL_PROBE_INDEXED : 0));
  access->source = RAWHAL_PROBE_BUFFER;
  access->vector = (uint8_t)code_field(d1, 0, 8);
  access->lane_bytes = way == 3 ? 8 : way ? 4 : 0;
  access->scalar = (uint8_t)(code_field(d1, 16, 5) * 4);
  access->soffset = (uint8_t)code_field(d1, 24, 8);
  access->immediate[0] = (int32_t)code_field(d, 0, 12);
}

static void lds_access(const code_t *code, code_access_t *access)
{
  const uint32_t d = code->dword[0];
  const access_range_t *range = find(code);
  if (!range)
    return;
  access->bytes = range->bytes;
  access->flags = (uint8_t)(range->flags | (range->stride ? RAWHAL_PROBE_TWICE : 0) |
                            (code_field(d, 16, 1) ? RAWHAL_PROBE_GDS : 0));
  access->source = RAWHAL_PROBE_LDS;
  access->vector = (uint8_t)code_field(code->dword[1], 0, 8);
  access->lane_bytes = 4;
  access->immediate[0] =
      (int32_t)(range->stride ? code_field(d, 0, 8) * range->stride : code_field(d, 0, 16));
  access->immediate[1] = (int32_t)(range->stride ? code_field(d, 8, 8) * range->stride : 0);
}

/* Registers of data: what it accesses, of an atomic with what that is compared with, of two
 * addresses twice. */
uint32_t code_data_width(const code_t *code)
{
  enum { WIDEST = 4 };
  const access_range_t *range = find(code);
  if (!range)
    return WIDEST;
  const uint32_t width = (range->bytes + 3u) / 4;
  return (range->flags & A) == A || range->stride ? width * 2 : width;
}

void code_access(const code_t *code, code_access_t *access)
{
  *access = (code_access_t){.scalar = CODE_NONE, .soffset = CODE_NONE, .vector = CODE_NONE};
  switch (code->format) {
  case CODE_FLAT:
    flat_access(code, access);
    break;
  case CODE_MUBUF:
  case CODE_MTBUF:
    buffer_access(code, access);
    break;
  case CODE_DS:
    lds_access(code, access);
    break;
  default:
    break;
  }
}
