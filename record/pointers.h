/* Which bytes of a kernarg segment are pointers. Internal.
 *
 * Pointers that are declared so are where they are. In all other bytes that the program wrote, any
 * 8 that lead into memory may be one: in a structure, aligned or not, or in two arguments of 4
 * bytes. Recorder and replay ask the same, so that each finds what the other did. */
#ifndef RAWHAL_RECORD_POINTERS_H
#define RAWHAL_RECORD_POINTERS_H

#include "record/record.h"

/* What a byte of a segment is. */
typedef enum record_byte {
  RECORD_BYTE_VALUE = 0,   /* any of the program's */
  RECORD_BYTE_POINTER = 1, /* of a declared pointer, which has been dealt with */
  RECORD_BYTE_HIDDEN = 2,  /* the launcher's */
} record_byte_t;

/* What an argument is to a recording. */
typedef enum record_argument {
  RECORD_ARGUMENT_VALUE = 0, /* of the program's; it may have pointers in it */
  RECORD_ARGUMENT_POINTER,   /* to memory */
  RECORD_ARGUMENT_IMAGE,     /* or a sampler, or a pipe: to what describes it */
  RECORD_ARGUMENT_SERVICE,   /* to what the process has for its kernels */
  RECORD_ARGUMENT_HIDDEN,    /* any other that the launcher writes */
} record_argument_t;

/* `kind`: rawhal_value_kind_t; `size`: bytes. */
record_argument_t record_argument_of(uint8_t kind, uint32_t size, bool hidden);

enum { RECORD_WORD = 8 };

/* Asked for each word that may be a pointer, at its offset: true if it is one, and none of its
 * bytes is then part of another. */
typedef bool record_pointer_fn(void *context, size_t offset, uint64_t word);

/* `bytes`: record_byte_t of each byte of the segment. Words at multiples of 8 come first, then
 * those at multiples of 4, then all others. */
void record_find_pointers(const void *segment, unsigned char *bytes, size_t size,
                          record_pointer_fn *is, void *context);

#endif
