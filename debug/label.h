/* Labels: what programs call queues, buffers and dispatches. They are kept as they are given, in
 * RAWHAL_LABEL_BYTES, and escaped where they are shown, by base/escape.h. Internal. */
#ifndef RAWHAL_DEBUG_LABEL_H
#define RAWHAL_DEBUG_LABEL_H

#include "debug/fault.h"

/* Up to a NUL. Longer text is cut, but never within a character of UTF-8. What follows is zeros. */
void label_copy(char label[RAWHAL_LABEL_BYTES], rawhal_string_t text);
/* A label in its place, which may be full. */
rawhal_string_t label_text(const char label[RAWHAL_LABEL_BYTES]);

#endif
