/* Which instructions of some code would not run here, found without running it. */
#include <string.h>

#include "softgpu/exports.h"
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/run/width.h"

/* As many registers as a wave can have: what a kernel allocated is another question. */
static bool runs(isa_inst_t *inst, unsigned chip)
{
  const isa_limits_t limits = {
      .chip = chip, .lanes = isa_chip(chip)->lanes, .sgprs = 102, .vgprs = 256, .agprs = 256};
  return isa_width(limits.lanes)->prepare(inst, &limits);
}

static bool is_named(const isa_chip_t *chip, uint32_t number)
{
  bool is_alike = false;
  for (size_t i = 0; i < sizeof chip->alike / sizeof *chip->alike; ++i)
    is_alike |= number && chip->alike[i] == number;
  return is_alike || chip->number == number;
}

static bool chip_of(uint32_t number, unsigned *chip)
{
  for (*chip = 0; *chip < SOFTGPU_CHIP_OTHER; ++*chip)
    if (is_named(isa_chip(*chip), number))
      return true;
  return false;
}

SOFTGPU_EXPORT uint64_t softgpu_coverage(uint32_t chip_number, const void *code, size_t bytes,
                                         softgpu_coverage_missing_fn *missing, void *context)
{
  const char *at = code;
  const uint64_t dwords = bytes / 4;
  unsigned chip;
  uint64_t count = 0;
  if (!chip_of(chip_number, &chip))
    return 0;
  for (uint64_t i = 0; i < dwords;) {
    uint32_t words[ISA_MOST_DWORDS] = {0};
    uint64_t left = dwords - i;
    uint32_t available = left < ISA_MOST_DWORDS ? (uint32_t)left : ISA_MOST_DWORDS;
    memcpy(words, at + i * 4, available * sizeof *words);
    isa_inst_t inst;
    isa_decode_status_t status = isa_decode(chip, words, available, &inst);
    if (status != ISA_DECODED && !words[0]) { /* between functions, where it is no instruction */
      ++i;
      continue;
    }
    ++count;
    char text[160] = "";
    const isa_inst_t decoded = inst; /* preparation rewrites operands */
    if (status == ISA_DECODED && runs(&inst, chip)) {
      i += decoded.dwords;
      continue;
    }
    if (status == ISA_DECODED)
      isa_text(&decoded, text, sizeof text);
    missing(context, i * 4, status == ISA_DECODED ? isa_op_name(decoded.op) : NULL, text, words);
    i += status == ISA_DECODED ? decoded.dwords : 1;
  }
  return count;
}
