/* Words of buffers that lead into memory. Internal.
 *
 * Pointers stand at multiples of 4, so that those of packed structures and of halves count, too.
 * Recorder and replay ask the same, so that each finds what the other did. */
#ifndef RAWHAL_RECORD_SCAN_H
#define RAWHAL_RECORD_SCAN_H

#include "record/record.h"

/* Asked for words from `least` up to `end`, at their offset in the buffer; true: it is a pointer,
 * and none of its bytes is a part of another. */
typedef bool record_scan_fn(void *context, uint64_t offset, uint64_t word);

/* Of one buffer, whose pieces come in order; zeros at first, but for what is wanted. */
typedef struct record_scan {
  uint64_t address;    /* of the buffer */
  uint64_t least, end; /* what no word of that range is, nobody asks for */
  record_scan_fn *is;
  void *context;
  uint64_t next;         /* where it goes on */
  unsigned char tail[8]; /* before the piece at hand */
  uint64_t tail_size;
} record_scan_t;

void record_scan_piece(record_scan_t *scan, uint64_t offset, const void *bytes, size_t size);

#endif
