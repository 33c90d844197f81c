/* Text from outside, made fit to be shown: names out of files, other tenants' names, paths,
 * messages that carry any of these. Nothing of it moves a cursor, reorders a line or hides, and no
 * two names look alike because of bytes that cannot be seen. Internal. */
#ifndef RAWHAL_BASE_ESCAPE_H
#define RAWHAL_BASE_ESCAPE_H

#include "base/types.h"

typedef enum escape_form {
  /* "\x1b" for a byte that is a control character or no UTF-8, "\u{202e}" for a code point that is
   * a control, a mark of direction or of formatting, or invisible, "\\" for a backslash. */
  ESCAPE_TEXT,
  /* The contents of a JSON string, always valid UTF-8, with "\u202e" for the same code points.
   * Bytes that are not UTF-8 become U+0080 to U+00FF, so that no name gets lost. */
  ESCAPE_JSON,
} escape_form_t;

/* Takes the pieces, one after the other; none is empty. */
typedef void escape_put_fn(void *context, const char *piece, size_t size);

/* At most `most` columns, counted as one for each code point, and never part of an escape. Returns
 * the columns. */
size_t escape(rawhal_string_t text, escape_form_t form, size_t most, escape_put_fn *put,
              void *context);

/* The bytes of `text` in front of `most` or fewer, so that no UTF-8 sequence is cut. */
size_t escape_cut(rawhal_string_t text, size_t most);

#endif
