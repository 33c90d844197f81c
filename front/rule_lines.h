/* Rules as the environment has them: one a line, with items between commas, which are NAME or
 * NAME=VALUE. Internal. */
#ifndef RAWHAL_FRONT_RULE_LINES_H
#define RAWHAL_FRONT_RULE_LINES_H

#include "base/status.h"

#include <stdbool.h>

/* May change the line. */
typedef rawhal_status_t rule_line_fn(void *context, char *line, rawhal_error_t *error);

/* Reads each line that is not empty, until one fails. `lines`: NULL: there are none. OUT_OF_MEMORY;
 * errors of `read`. */
RAWHAL_CHECKED rawhal_status_t rule_lines_read(const char *lines, rule_line_fn *read, void *context,
                                               rawhal_error_t *error);

/* Has the item that name, and a value where it takes one? `*value` gets that, or NULL. */
bool rule_item_is(char *item, const char *name, bool valued, char **value);

#endif
