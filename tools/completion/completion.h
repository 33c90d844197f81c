/* rawhal completion: what a shell is told of one option. */
#ifndef TOOLS_COMPLETION_COMPLETION_H
#define TOOLS_COMPLETION_COMPLETION_H

#include "tools/shared/tool.h"

typedef enum completion_value {
  COMPLETION_NONE = 0,  /* it takes none */
  COMPLETION_FREE = 1,  /* a number, a name: nothing to offer */
  COMPLETION_WORDS = 2, /* one of the words */
  COMPLETION_FILE = 3,
  COMPLETION_FOLDER = 4,
} completion_value_t;

typedef struct completion_option {
  const char *name; /* without the dashes */
  char letter;      /* the same in short, or 0 */
  completion_value_t value;
  bool optional;     /* the value, which follows a = */
  const char *words; /* with blanks between */
  char text[120];    /* what --help says of it, its first line */
} completion_option_t;

/* Option `index` of the command, --help last. False: there are no more. */
bool completion_option(const tool_command_t *command, size_t index, completion_option_t *option);

#endif
