/* A fault as text or JSON, into the caller's bytes or piece by piece: no allocation, lock or I/O,
 * as a program has just failed where it is made. Nothing in the fault is trusted: it may come from
 * a file. Internal. */
#ifndef RAWHAL_DEBUG_REPORT_H
#define RAWHAL_DEBUG_REPORT_H

#include "base/escape.h"
#include "debug/fault.h"

typedef enum report_form {
  REPORT_LINE, /* what failed, where, and the likeliest cause; without a newline */
  REPORT_TEXT, /* all that is known, a fact a line, and all causes */
  REPORT_JSON, /* one object, docs/fault.schema.json; without a newline */
} report_form_t;

/* `put` takes the pieces, one after the other; none is empty. */
void report(const rawhal_fault_t *fault, report_form_t form, escape_put_fn *put, void *context);

/* Like snprintf: cut at `size`, with a NUL when that is not 0; the length of the whole. Text that
 * is cut may end within a UTF-8 sequence. */
size_t report_into(const rawhal_fault_t *fault, report_form_t form, char *text, size_t size);

#endif
