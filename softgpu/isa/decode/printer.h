/* What texts of instructions are put together with. Internal to decode/. */
#ifndef SOFTGPU_ISA_DECODE_PRINTER_H
#define SOFTGPU_ISA_DECODE_PRINTER_H

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"

typedef struct isa_printer {
  char *at;
  size_t left;
  const char *separator; /* before the next operand */
  const isa_chip_t *chip;
} isa_printer_t;

__attribute__((format(printf, 2, 3))) void isa_put(isa_printer_t *p, const char *format, ...);
/* What stands before the next operand. */
void isa_separate(isa_printer_t *p);
/* Nothing where there is none. */
void isa_put_operand(isa_printer_t *p, const isa_operand_t *operand, unsigned width);

/* --- operands and modifiers by encoding: text_memory.c --- */

void isa_put_smem(isa_printer_t *p, const isa_inst_t *inst);
void isa_put_ds(isa_printer_t *p, const isa_inst_t *inst);
void isa_put_flat(isa_printer_t *p, const isa_inst_t *inst);
void isa_put_buffer(isa_printer_t *p, const isa_inst_t *inst);
void isa_put_image(isa_printer_t *p, const isa_inst_t *inst);

#endif
