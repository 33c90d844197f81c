/* Programs of others that the command uses. */
#ifndef TOOLS_SHARED_PROGRAM_H
#define TOOLS_SHARED_PROGRAM_H

#include <limits.h>

#include <rawhal/status.h>

/* A file that this user may run: folders may be "executed", too. */
bool program_is(const char *path);

/* `name` in the folders of PATH, as a shell finds it. */
bool program_in_path(const char *name, char path[PATH_MAX]);

/* llvm-objdump, which disassembles: RAWHAL_OBJDUMP, or the newest that is in PATH. */
bool program_find_objdump(char path[PATH_MAX], rawhal_error_t *error);

#endif
