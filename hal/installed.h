/* What is installed with librawhal for it to open: softgpu, and where a package brings one, the HSA
 * runtime that softgpu is to have. Internal. */
#ifndef RAWHAL_HAL_INSTALLED_H
#define RAWHAL_HAL_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

/* The folders that may hold it, relative to that of this code's file. */
extern const char *const installed_places[2];

/* The folder of the file that this code is in: librawhal, or a program that has it linked in. Empty
 * when it cannot be told. */
void installed_from(char folder[PATH_MAX]);

/* The absolute path of `name` in the first of the places that has it. */
bool installed_find(const char *name, char path[PATH_MAX]);

#endif
