#include "record/code.h"

#include <elf.h>
#include <string.h>

/* ---- Encodings of GFX9 (its ISA documents, "Instruction Details") ---- */

enum {
  SRC_SDWA = 249,
  SRC_DPP = 250,
  SRC_LITERAL = 255,
  CALLS = 1u << 31, /* besides RECORD_CODE_*: other functions' instructions count, too */
};

/* Encodings by the upper 6 bits, for those of 8 bytes. */
typedef enum encoding {
  ENCODING_SMEM = 0x30,
  ENCODING_DS = 0x36,
  ENCODING_FLAT = 0x37,
  ENCODING_MUBUF = 0x38,
} encoding_t;

static uint32_t bits(uint32_t word, unsigned high, unsigned low)
{
  return word >> low & ((1u << (high - low + 1)) - 1);
}

static bool is_scalar(uint32_t word)
{
  return word >> 30 == 2;
}

static size_t scalar_size(uint32_t word)
{
  enum { SETREG_IMMEDIATE = 20 };
  if (bits(word, 31, 23) == 0x17f) /* SOPP */
    return 4;
  if (bits(word, 31, 23) == 0x17d) /* SOP1 */
    return bits(word, 7, 0) == SRC_LITERAL ? 8 : 4;
  if (word >> 28 == 0xb && bits(word, 31, 23) != 0x17e) /* SOPK */
    return bits(word, 27, 23) == SETREG_IMMEDIATE ? 8 : 4;
  return bits(word, 7, 0) == SRC_LITERAL || bits(word, 15, 8) == SRC_LITERAL ? 8 : 4;
}

static size_t vector_size(uint32_t word)
{
  static const uint8_t with_constant[] = {23, 24, 36, 37}; /* v_madmk, v_madak, f32 and f16 */
  const uint32_t source = bits(word, 8, 0);
  if (source == SRC_LITERAL || source == SRC_SDWA || source == SRC_DPP)
    return 8;
  return memchr(with_constant, (int)bits(word, 30, 25), sizeof(with_constant)) ? 8 : 4;
}

static size_t size_of(uint32_t word)
{
  enum { VINTRP = 0x35 };
  if (!(word >> 31))
    return vector_size(word);
  return is_scalar(word) ? scalar_size(word) : word >> 26 == VINTRP ? 4 : 8;
}

/* ---- What they do ---- */

static uint32_t of_scalar(uint32_t word)
{
  enum { GETREG = 17, CALL = 21, SETPC = 0x1d, SWAPPC = 0x1e, HW_ID = 4, XCC_ID = 20 };
  if (bits(word, 31, 23) == 0x17d)
    return bits(word, 15, 8) == SWAPPC || bits(word, 15, 8) == SETPC ? CALLS : 0;
  if (word >> 28 != 0xb || bits(word, 31, 23) >= 0x17d)
    return 0;
  const uint32_t operation = bits(word, 27, 23), hardware = bits(word, 5, 0);
  if (operation == CALL)
    return CALLS;
  return operation == GETREG && (hardware == HW_ID || hardware == XCC_ID) ? RECORD_CODE_CLOCK : 0;
}

static uint32_t of_scalar_memory(uint32_t word)
{
  enum { MEMTIME = 0x24, MEMREALTIME = 0x25, FIRST_ATOMIC = 0x40 };
  const uint32_t operation = bits(word, 25, 18);
  if (operation == MEMTIME || operation == MEMREALTIME)
    return RECORD_CODE_CLOCK;
  return operation >= FIRST_ATOMIC ? RECORD_CODE_ATOMICS : 0;
}

/* Sums of integers are the same in any order; what was there before is not, nor sums of floats. */
static uint32_t of_memory(uint32_t word, unsigned returns)
{
  enum { FIRST = 0x40, SWAP = 0x40, COMPARE = 0x41, FLOATS = 0x4d, WIDE = 0x60, WIDE_COMPARE };
  const uint32_t operation = bits(word, 24, 18);
  if (operation < FIRST)
    return 0;
  const bool ordered = bits(word, returns, returns) || operation <= COMPARE ||
                       (operation >= FLOATS && operation <= WIDE_COMPARE);
  return ordered ? RECORD_CODE_ATOMICS : 0;
}

static uint32_t of_group_memory(uint32_t word)
{
  static const struct {
    uint8_t first, last;
  } ordered[] = {{0x10, 0x11}, {0x15, 0x15}, {0x17, 0x18}, {0x20, 0x35}, {0x50, 0x51},
                 {0x5c, 0x5c}, {0x60, 0x75}, {0x7c, 0x7c}, {0xb7, 0xb8}};
  enum { FIRST_SYNC = 0x98, LAST_SYNC = 0x9d };
  const uint32_t operation = bits(word, 24, 17);
  if (operation >= FIRST_SYNC && operation <= LAST_SYNC)
    return RECORD_CODE_SYNC;
  for (size_t i = 0; i < sizeof(ordered) / sizeof(*ordered); ++i)
    if (operation >= ordered[i].first && operation <= ordered[i].last)
      return RECORD_CODE_ATOMICS;
  return 0;
}

static uint32_t of_instruction(uint32_t word)
{
  enum { FLAT_RETURNS = 16, BUFFER_RETURNS = 14 };
  if (is_scalar(word))
    return of_scalar(word);
  switch (word >> 26) {
  case ENCODING_SMEM:
    return of_scalar_memory(word);
  case ENCODING_FLAT:
    return of_memory(word, FLAT_RETURNS);
  case ENCODING_MUBUF:
    return of_memory(word, BUFFER_RETURNS);
  case ENCODING_DS:
    return of_group_memory(word);
  default:
    return 0;
  }
}

static uint32_t of_bytes(const unsigned char *bytes, size_t size)
{
  uint32_t found = 0, word;
  for (size_t at = 0; size >= sizeof(word) && at <= size - sizeof(word); at += size_of(word)) {
    memcpy(&word, bytes + at, sizeof(word));
    found |= of_instruction(word);
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
