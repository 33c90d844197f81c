/* Instructions as llvm-objdump prints them, of a program that is run for so long and no longer. */
#ifndef TOOLS_PROBE_LISTING_H
#define TOOLS_PROBE_LISTING_H

#include "tools/probe/code.h"

enum {
  LISTING_SECONDS = 20,     /* that it may take */
  LISTING_BYTES = 64 << 20, /* that it may print */
  LISTING_LINE = 400,       /* of a line; the rest is cut */
};

/* Its memory is malloc()'s, for list_free(). */
typedef struct listing {
  uint64_t entry; /* the address of what is offset 0 */
  uint32_t bytes;
  list_t lines; /* line_t, by offset */
  list_t text;  /* char */
  char line[LISTING_LINE];
  size_t used; /* of the line at hand */
} listing_t;

/* Runs the words' first. False, with the reason and nothing kept: it cannot be run, does not end
 * well or in time, or prints no instruction. */
bool listing_read(listing_t *listing, const char *const words[], char *why, size_t why_size);

#endif
