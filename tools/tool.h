/* What the subcommands of `rawhal` share. They use the public headers only. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <rawhal/status.h>

/* Exit codes, as `rawhal --help` documents them. */
enum {
  TOOL_OK = 0,
  TOOL_FAILED = 1, /* the input or the device refused; one line on standard error says why */
  TOOL_USAGE = 2,  /* the command line is wrong */
};

typedef struct tool_command {
  const char *name;
  const char *summary;
  const char *(*help)(void); /* the whole --help text */
  int (*run)(int argc, char **argv);
} tool_command_t;

extern const tool_command_t inspect_command;
extern const tool_command_t run_command;

/* "rawhal inspect: MALFORMED: ... (at offset 64)" on standard error; returns TOOL_FAILED. */
int tool_fail(const char *command, const rawhal_error_t *error);

/* "rawhal inspect: ..." and where to read more; returns TOOL_USAGE. */
__attribute__((format(printf, 2, 3))) int tool_usage(const char *command, const char *format, ...);

/* Prints bytes from a file as one line of text: control bytes become '?'. Returns the columns used.
 */
int tool_print_text(rawhal_string_t text);

static inline bool tool_text_is(rawhal_string_t text, const char *word)
{
  size_t size = __builtin_strlen(word);
  return text.size == size && __builtin_memcmp(text.data, word, size) == 0;
}

#endif
