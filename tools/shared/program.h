/* Programs of others that the command uses. */
#ifndef TOOLS_SHARED_PROGRAM_H
#define TOOLS_SHARED_PROGRAM_H

#include <limits.h>
#include <sys/types.h>

#include <rawhal/status.h>

/* A file that this user may run: folders may be "executed", too. */
bool program_is(const char *path);

/* `name` in the folders of PATH, as a shell finds it. */
bool program_in_path(const char *name, char path[PATH_MAX]);

/* Whether the text stands in a file, as the name of a library does that a program is linked with.
 * `*is_elf`: the file is such a program, and not a script. */
bool program_names(const char *path, const char *text, bool *is_elf);

/* llvm-objdump, which disassembles: RAWHAL_OBJDUMP, or the newest that is in PATH. */
bool program_find_objdump(char path[PATH_MAX], rawhal_error_t *error);

/* The words that a process was started with, with blanks between; empty: they cannot be seen. */
rawhal_string_t program_command_of(pid_t process, char *text, size_t size);

enum { PROGRAM_NOT_STARTED = 126, PROGRAM_NOT_THERE = 127 }; /* as shells have it */
/* Says why the program could not be started: `why` is execvp(3)'s errno. Returns the exit status.
 */
int program_refuse(const char *command, const char *program, int why);

/* Ends as the program did, whose status is waitpid(2)'s: by the same signal, of which it has left a
 * core already, or by returning its exit status. */
int program_end_like(int status);

#endif
