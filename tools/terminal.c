#include "tools/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/escape.h"
#include "tools/tool.h"

/* ---- Colours ---- */

static bool is_set(const char *variable)
{
  const char *value = getenv(variable);
  return value && *value;
}

static bool says_zero(const char *variable)
{
  const char *value = getenv(variable);
  return value && strcmp(value, "0") == 0;
}

/* As no-color.org and bixense.com/clicolors have it. */
static bool wants_colours(void)
{
  const char *term = getenv("TERM");
  if (is_set("NO_COLOR"))
    return false;
  if (is_set("CLICOLOR_FORCE") && !says_zero("CLICOLOR_FORCE"))
    return true;
  return !says_zero("CLICOLOR") && isatty(STDOUT_FILENO) && term && *term &&
         strcmp(term, "dumb") != 0;
}

void terminal_style(terminal_style_t style)
{
  static const char *const codes[] = {"0", "1", "2", "31", "32", "33"};
  static int wanted = -1;
  if (wanted < 0)
    wanted = wants_colours();
  if (wanted)
    printf("\033[%sm", codes[style]);
}

/* ---- Width ---- */

static size_t find_columns(void)
{
  struct winsize size;
  uint64_t columns;
  const char *said = getenv("COLUMNS");
  if (!isatty(STDOUT_FILENO))
    return SIZE_MAX;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
    return size.ws_col;
  return said && tool_parse_number(said, 1 << 20, &columns) && columns ? columns : SIZE_MAX;
}

size_t terminal_columns(void)
{
  static size_t columns;
  if (!columns)
    columns = find_columns();
  return columns;
}

static ssize_t swallow(void *cookie, const char *text, size_t size)
{
  (void)cookie;
  (void)text;
  return (ssize_t)size;
}

size_t terminal_print_within(rawhal_string_t text, size_t most)
{
  const cookie_io_functions_t functions = {.write = swallow};
  FILE *nowhere = most < SIZE_MAX ? fopencookie(NULL, "w", functions) : NULL;
  const bool fits = !nowhere || escape_text(nowhere, text, most + 1) <= most;
  if (nowhere)
    fclose(nowhere);
  size_t columns = escape_text(stdout, text, fits ? SIZE_MAX : most - 3);
  if (fits)
    return columns;
  fputs("...", stdout);
  return columns + 3;
}
