#include "record/code.h"

#include "probe/code.h"

#include <elf.h>
#include <string.h>

enum { CALLS = 1u << 31 }; /* besides RECORD_CODE_*: other functions' instructions count, too */

/* ---- What they do ---- */

static uint32_t of_sopk(const code_t *code)
{
  enum { GETREG = 0x11, HW_ID = 4, XCC_ID = 20 };
  const uint32_t hardware = code_field(code->dword[0], 0, 6);
  return code->op == GETREG && (hardware == HW_ID || hardware == XCC_ID) ? RECORD_CODE_CLOCK : 0;
}

static uint32_t of_smem(const code_t *code)
{
  enum { MEMTIME = 0x24, MEMREALTIME = 0x25, FIRST_ATOMIC = 0x40 };
  if (code->op == MEMTIME || code->op == MEMREALTIME)
    return RECORD_CODE_CLOCK;
  return code->op >= FIRST_ATOMIC ? RECORD_CODE_ATOMICS : 0;
}

/* Sums of integers are the same in any order; what was there before is not, nor sums of floats. */
static uint32_t of_memory(const code_t *code, unsigned returns)
{
  enum { FIRST = 0x40, SWAP = 0x40, COMPARE = 0x41, FLOATS = 0x4d, WIDE = 0x60, WIDE_COMPARE };
  const uint32_t operation = code->op;
  if (operation < FIRST)
    return 0;
  const bool ordered = code_field(code->dword[0], returns, 1) || operation <= COMPARE ||
                       (operation >= FLOATS && operation <= WIDE_COMPARE);
  return ordered ? RECORD_CODE_ATOMICS : 0;
}

static uint32_t of_group_memory(const code_t *code)
{
  static const struct {
    uint8_t first, last;
  } ordered[] = {{0x10, 0x11}, {0x15, 0x15}, {0x17, 0x18}, {0x20, 0x35}, {0x50, 0x51},
                 {0x5c, 0x5c}, {0x60, 0x75}, {0x7c, 0x7c}, {0xb7, 0xb8}};
  enum { FIRST_SYNC = 0x98, LAST_SYNC = 0x9d };
  const uint32_t operation = code->op;
  if (operation >= FIRST_SYNC && operation <= LAST_SYNC)
    return RECORD_CODE_SYNC;
  for (size_t i = 0; i < sizeof(ordered) / sizeof(*ordered); ++i)
    if (operation >= ordered[i].first && operation <= ordered[i].last)
      return RECORD_CODE_ATOMICS;
  return 0;
}

static uint32_t of_instruction(const code_t *code)
{
  enum { FLAT_RETURNS = 16, BUFFER_RETURNS = 14 };
  switch (code->format) {
  case CODE_SOPK:
    return of_sopk(code);
  case CODE_SMEM:
    return of_smem(code);
  case CODE_FLAT:
    return of_memory(code, FLAT_RETURNS);
  case CODE_MUBUF:
    return of_memory(code, BUFFER_RETURNS);
  case CODE_DS:
    return of_group_memory(code);
  default:
    return 0;
  }
}

/* What is no instruction is data. */
static uint32_t of_bytes(const unsigned char *bytes, size_t size)
{
  uint32_t found = 0;
  for (size_t left = size / 4; left;) {
    code_t code;
    const bool is_code = code_decode(bytes, left, &code);
    const size_t dwords = is_code ? code.dwords : 1;
    if (is_code)
      found |= of_instruction(&code) | (code.flow == CODE_CALLS ? (uint32_t)CALLS : 0);
    bytes += dwords * 4;
    left -= dwords;
  }
  return found;
}

/* ---- Which bytes ---- */

/* The bytes of a segment's file part from an address on, at most `size`. */
static uint32_t of_segment(const rawhal_segment_t *segment, rawhal_bytes_t object, uint64_t address,
                           uint64_t size)
{
  const uint64_t skip = address - segment->address;
  if (segment->type != PT_LOAD || !(segment->flags & PF_X) || segment->offset > object.size ||
      segment->file_size > object.size - segment->offset || skip >= segment->file_size)
    return 0;
  const uint64_t left = segment->file_size - skip;
  return of_bytes((const unsigned char *)object.data + segment->offset + skip,
                  (size_t)(size < left ? size : left));
}

/* How long its function is; 0: nothing tells. */
static uint64_t function_size(const rawhal_hsaco_t *hsaco, uint64_t entry)
{
  const rawhal_symbol_t *symbol;
  for (size_t i = 0; (symbol = rawhal_hsaco_symbol(hsaco, i)); ++i)
    if (symbol->kind == RAWHAL_SYMBOL_FUNCTION && symbol->address == entry)
      return symbol->size;
  return 0;
}

static bool is_gfx9(const rawhal_hsaco_t *hsaco)
{
  const char *name = rawhal_hsaco_info(hsaco)->target.processor;
  return !strncmp(name, "gfx9", 4) && strlen(name) >= 6;
}

uint32_t record_code_of(const rawhal_kernel_t *kernel, rawhal_bytes_t object)
{
  const rawhal_hsaco_t *hsaco = kernel->object;
  const rawhal_segment_t *segment;
  if (!hsaco || !kernel->descriptor || !is_gfx9(hsaco))
    return 0;
  const uint64_t entry = kernel->descriptor->entry, size = function_size(hsaco, entry);
  uint32_t own = 0, all = 0;
  for (size_t i = 0; size && (segment = rawhal_hsaco_segment(hsaco, i)); ++i)
    own |= of_segment(segment, object, entry, size);
  if (size && !(own & CALLS))
    return own;
  for (size_t i = 0; (segment = rawhal_hsaco_segment(hsaco, i)); ++i)
    all |= of_segment(segment, object, segment->address, UINT64_MAX);
  return all & ~(uint32_t)CALLS;
}
