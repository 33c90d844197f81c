/* Text from files in JSON. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <jansson.h>

#include <rawhal/types.h>

/* Names are bytes. What is not UTF-8 is shown as if it were Latin-1, so that no name gets lost.
 * NULL = out of memory. */
json_t *json_text(rawhal_string_t text);
json_t *json_text_or_null(rawhal_string_t text); /* null for the empty text */

#endif
