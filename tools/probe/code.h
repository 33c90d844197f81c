/* The code of a kernel that was probed: its bytes, and what a disassembler calls them. */
#ifndef TOOLS_PROBE_CODE_H
#define TOOLS_PROBE_CODE_H

#include "tools/probe/figures.h"

/* An instruction as llvm-objdump has it. */
typedef struct line {
  uint32_t offset; /* from the kernel's first */
  uint32_t text;   /* where it begins in code_t.text */
} line_t;

typedef struct code {
  uint64_t number; /* of the kernel whose it is; 0: none */
  unsigned char *object;
  rawhal_bytes_t bytes; /* NULL: they cannot be found */
  line_t *lines;        /* by offset */
  size_t line_count;
  char *text;    /* of all lines, each with its NUL */
  char why[200]; /* there are no lines, or no bytes */
} code_t;

/* The code of a kernel, unless it is that already. `disassembler`: NULL: none is run. What cannot
 * be had is missing, and `why` says so. False: no memory. */
bool code_read(code_t *code, record_reader_t *reader, const kernel_t *kernel,
               const char *disassembler, rawhal_error_t *error);
void code_free(code_t *code);

/* The first instruction at or behind an offset. */
size_t code_line_at(const code_t *code, uint32_t offset);

#endif
