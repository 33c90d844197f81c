/* Programs of others, whose output is shown. */
#ifndef TOOLS_INSPECT_FILTER_H
#define TOOLS_INSPECT_FILTER_H

#include <rawhal/status.h>

/* Runs words[0], a path, with these words (NULL-terminated) and no standard input, and waits for
 * it. What it prints goes to standard output and standard error line by line, escaped (escape.h)
 * but for tabs: it may have names in it that were not checked. False: it could not be started, was
 * killed, or ended with another status than 0; `error` says so. */
bool filter_program(const char *const words[], rawhal_error_t *error);

#endif
