/* A page for browsers: what a command found as JSON, with the program beside it that draws it
 * (page.js). Text from outside is in it only inside that JSON, which has no byte of those that
 * markup is made of. */
#ifndef TOOLS_SHARED_PAGE_PAGE_H
#define TOOLS_SHARED_PAGE_PAGE_H

#include <stdio.h>

#include <rawhal/status.h>

/* The page's parts before and after the JSON (made by embed.cmake). */
typedef struct page_parts {
  const unsigned char *head;
  size_t head_size;
  const unsigned char *tail;
  size_t tail_size;
} page_parts_t;
extern const page_parts_t page_of_kernels; /* of inspect and diff */

typedef struct page {
  const page_parts_t *parts;
  const char *path;          /* NULL: standard output */
  const char *const *inputs; /* what the page is made from, */
  size_t input_count;        /* which it must not replace */
  FILE *data;                /* takes the JSON */
  FILE *out;                 /* NULL until there is some: then the file is made or replaced */
  int why;                   /* errno of the first write to it that failed */
  rawhal_error_t error;      /* why there is none, nevertheless */
} page_t;

/* `path` NULL or "-": standard output. False: out of memory. */
bool page_begin(page_t *page, const page_parts_t *parts, const char *path,
                const char *const *inputs, size_t input_count, rawhal_error_t *error);

/* Ends it; false when there was JSON and the page is not whole. For standard output main() says so.
 * Where there was none, no file has been touched. */
bool page_end(page_t *page, rawhal_error_t *error);

#endif
