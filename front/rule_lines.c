#include "front/rule_lines.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

rawhal_status_t rule_lines_read(const char *lines, rule_line_fn *read, void *context,
                                rawhal_error_t *error)
{
  char *copy = strdup(lines ? lines : ""), *at = copy;
  rawhal_status_t status =
      copy ? RAWHAL_OK : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for rules");
  for (char *line; status == RAWHAL_OK && (line = strsep(&at, "\n"));)
    if (*line)
      status = read(context, line, error);
  free(copy);
  return status;
}

bool rule_item_is(char *item, const char *name, bool valued, char **value)
{
  const size_t length = strlen(name);
  if (strncmp(item, name, length) != 0)
    return false;
  *value = valued ? item + length + 1 : NULL;
  return valued ? item[length] == '=' && item[length + 1] : !item[length];
}
