/* Text from outside, made fit to be shown: names out of files, other tenants' names, paths,
 * messages that carry any of these. Everything the command prints as text or as JSON goes through
 * here; nothing of it moves a cursor, reorders a line or hides, and no two names look alike because
 * of bytes that cannot be seen. */
#ifndef TOOLS_SHARED_ESCAPE_H
#define TOOLS_SHARED_ESCAPE_H

#include <stdio.h>

#include <rawhal/types.h>

/* As text: "\x1b" for a byte that is a control character or no UTF-8, "\u{202e}" for a code point
 * that is a control, a mark of direction or of formatting, or invisible, "\\" for a backslash.
 * Writes at most `most` columns, counted as one for each code point, and never part of an escape.
 * Returns the columns. */
size_t escape_text(FILE *out, rawhal_string_t text, size_t most);

/* As a JSON string's contents, without the quotes: always valid UTF-8, with "\u202e" for the same
 * code points. Bytes that are not UTF-8 become U+0080 to U+00FF, as in
 * rawhal_hsaco_metadata_json(), so that no name gets lost. */
void escape_json(FILE *out, rawhal_string_t text);

/* The bytes of `text` in front of `most` or fewer, so that no UTF-8 sequence is cut. */
size_t escape_cut(rawhal_string_t text, size_t most);

#endif
