/* What the forms of a report share. Internal. */
#ifndef RAWHAL_DEBUG_REPORT_INTERNAL_H
#define RAWHAL_DEBUG_REPORT_INTERNAL_H

#include "debug/report.h"

typedef struct report_to {
  escape_put_fn *put;
  void *context;
} report_to_t;

__attribute__((format(printf, 2, 3))) void report_say(const report_to_t *to, const char *format,
                                                      ...);
/* Text in a field of `size` bytes, which may be full. */
rawhal_string_t report_field(const char *text, size_t size);
/* What others have named, and what rawhal or the device said of it. */
void report_name(const report_to_t *to, rawhal_string_t name);
void report_sentence(const report_to_t *to, rawhal_string_t text);
/* How many causes there are. */
uint32_t report_causes(const rawhal_fault_t *fault);

/* report_json.c */
void report_json(const report_to_t *to, const rawhal_fault_t *fault);

#endif
