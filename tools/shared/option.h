/* The options of a command: one table, from which they are read and completed. */
#ifndef TOOLS_SHARED_OPTION_H
#define TOOLS_SHARED_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_kind {
  OPTION_FLAG = 0,   /* takes no value: a bool is true */
  OPTION_SET = 1,    /* takes none: an unsigned, or an enum, is `value` */
  OPTION_BIT = 2,    /* takes none: a uint32_t has the bit `value`, too */
  OPTION_TEXT = 3,   /* a const char *, which is argv's */
  OPTION_NUMBER = 4, /* a uint32_t from `least` to `most` */
  OPTION_READ = 5,   /* what `read` makes of it */
  OPTION_MAY = 6,    /* the same; a value is only after "=", else NULL */
  OPTION_NOT = 7,    /* there is none of this name: `wrong` says what there is instead */
} option_kind_t;

typedef struct tool_option tool_option_t;

/* False: the value is wrong; `option->wrong` says how, or standard error has it already. */
typedef bool option_read_fn(const char *command, const tool_option_t *option, const char *text,
                            void *place);

/* A row; a table ends with {0}. */
struct tool_option {
  const char *name; /* without the dashes */
  option_kind_t kind;
  size_t place; /* of what it is for, in what the command fills */
  unsigned value;
  char letter; /* the same in short, or 0 */
  uint32_t least, most;
  option_read_fn *read;
  const char *wrong; /* a format(3) for the value that is wrong */
};

/* The first three of a row: it fills MEMBER of TYPE. */
#define TOOL_OPTION(NAME, KIND, TYPE, MEMBER)                                                      \
  .name = NAME, .kind = OPTION_##KIND, .place = offsetof(TYPE, MEMBER)

/* Does it take a value? */
static inline bool option_takes_value(const tool_option_t *option)
{
  return option->kind >= OPTION_TEXT;
}

/* Reads the options into what `filled` points to; then `*argc` words are left in `*argv`. Words and
 * options may be mixed, unless the command runs a `program`, whose words are the first and all
 * after it. False: the usage error was printed. */
bool option_read_all(const char *command, const tool_option_t *options, bool program, int *argc,
                     char ***argv, void *filled);

#endif
