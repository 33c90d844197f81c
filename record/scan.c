#include "record/scan.h"

#include <string.h>

enum { WORD = 8, STEP = 4 };

static uint64_t aligned(const record_scan_t *scan, uint64_t offset)
{
  return offset + (-(scan->address + offset) & (STEP - 1));
}

/* `bytes` begin at `offset`; goes on while words end within them. */
static void look(record_scan_t *scan, uint64_t offset, const unsigned char *bytes, size_t size)
{
  uint64_t at = aligned(scan, scan->next > offset ? scan->next : offset), word;
  if (size < WORD) /* what begins before stays to be looked at */
    return;
  for (; at - offset <= size - WORD; at += STEP) {
    memcpy(&word, bytes + (at - offset), sizeof(word));
    if (word - scan->least < scan->end - scan->least && scan->is(scan->context, at, word))
      at += WORD - STEP;
  }
  scan->next = at > scan->next ? at : scan->next;
}

/* Words that begin before the piece and end in it. */
static void look_across(record_scan_t *scan, uint64_t offset, const unsigned char *bytes,
                        size_t size)
{
  unsigned char both[2 * WORD];
  const size_t before = (size_t)scan->tail_size, more = size < WORD - 1 ? size : WORD - 1;
  memcpy(both, scan->tail, before);
  memcpy(both + before, bytes, more);
  look(scan, offset - before, both, before + more);
}

static void keep_tail(record_scan_t *scan, const unsigned char *bytes, size_t size)
{
  const size_t most = WORD - 1, fresh = size < most ? size : most;
  const size_t old = (size_t)scan->tail_size, kept = old < most - fresh ? old : most - fresh;
  memmove(scan->tail, scan->tail + (old - kept), kept);
  memcpy(scan->tail + kept, bytes + (size - fresh), fresh);
  scan->tail_size = kept + fresh;
}

void record_scan_piece(record_scan_t *scan, uint64_t offset, const void *bytes, size_t size)
{
  if (scan->tail_size)
    look_across(scan, offset, bytes, size);
  look(scan, offset, bytes, size);
  keep_tail(scan, bytes, size);
}
