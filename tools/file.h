/* Whole files in memory. */
#ifndef TOOLS_FILE_H
#define TOOLS_FILE_H

#include <rawhal/status.h>

/* Reads a file of at most 1 GiB; the caller frees `*data`, which is set (or NULL) in any case. */
bool tool_read_file(const char *path, unsigned char **data, size_t *size, rawhal_error_t *error);

#endif
