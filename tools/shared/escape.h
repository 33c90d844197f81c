/* Text from outside as the command prints it, as text or as JSON: all of it goes through here, and
 * so through base/escape.h, which also has escape_cut(). */
#ifndef TOOLS_SHARED_ESCAPE_H
#define TOOLS_SHARED_ESCAPE_H

#include <stdio.h>

#include "base/escape.h"

/* Writes at most `most` columns; returns them. */
size_t escape_text(FILE *out, rawhal_string_t text, size_t most);

/* As a JSON string's contents, without the quotes. */
void escape_json(FILE *out, rawhal_string_t text);

#endif
