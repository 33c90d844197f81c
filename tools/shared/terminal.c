#include "tools/shared/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/shared/escape.h"
#include "tools/shared/tool.h"

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

bool terminal_is_dumb(void)
{
  const char *term = getenv("TERM");
  return !term || !*term || strcmp(term, "dumb") == 0;
}

/* As no-color.org and bixense.com/clicolors have it. */
static bool wants_colours(void)
{
  if (is_set("NO_COLOR"))
    return false;
  if (is_set("CLICOLOR_FORCE") && !says_zero("CLICOLOR_FORCE"))
    return true;
  return !says_zero("CLICOLOR") && isatty(STDOUT_FILENO) && !terminal_is_dumb();
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

void terminal_heading(const char *text)
{
  putchar('\n');
  terminal_style(STYLE_NAME);
  fputs(text, stdout);
  terminal_style(STYLE_NONE);
  fputs(":\n", stdout);
}

/* ---- Width ---- */

/* Asked each time: windows change. */
size_t terminal_columns(void)
{
  static int is_terminal = -1;
  struct winsize size;
  uint64_t columns;
  const char *said = getenv("COLUMNS");
  if (is_terminal < 0)
    is_terminal = isatty(STDOUT_FILENO);
  if (!is_terminal)
    return SIZE_MAX;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
    return size.ws_col;
  return said && tool_parse_number(said, 1 << 20, &columns) && columns ? columns : SIZE_MAX;
}

/* ---- Text within it ---- */

static ssize_t swallow(void *cookie, const char *text, size_t size)
{
  (void)cookie;
  (void)text;
  return (ssize_t)size;
}

/* As it will be escaped; more than `most` when it has more. No escape is cut: the one that goes
 * beyond `most` is to be counted whole. */
static size_t count_columns(rawhal_string_t text, size_t most)
{
  enum { LONGEST = 16 };
  const cookie_io_functions_t functions = {.write = swallow};
  FILE *nowhere = fopencookie(NULL, "w", functions);
  const size_t columns = nowhere ? escape_text(nowhere, text, most + LONGEST) : 0;
  if (nowhere)
    fclose(nowhere);
  return columns;
}

size_t terminal_print_within(rawhal_string_t text, size_t most)
{
  enum { DOTS = 3 };
  if (most == SIZE_MAX || count_columns(text, most) <= most)
    return escape_text(stdout, text, most);
  if (most < DOTS)
    return 0;
  const size_t columns = escape_text(stdout, text, most - DOTS);
  fputs("...", stdout);
  return columns + DOTS;
}

/* ---- Rows ---- */

/* What is left of the row behind the gap. */
static size_t room_of(const terminal_row_t *row)
{
  const size_t columns = terminal_columns(), used = row->used + row->gap;
  return columns == SIZE_MAX ? SIZE_MAX : columns > used ? columns - used : 0;
}

static void put(terminal_row_t *row, rawhal_string_t text, size_t width)
{
  const size_t room = room_of(row);
  if (!room)
    return;
  printf("%*s", (int)row->gap, "");
  const size_t columns = terminal_print_within(text, room);
  row->used += row->gap + columns;
  row->gap = (columns < width ? width - columns : 0) + 1;
}

static void put_or_break(terminal_row_t *row, rawhal_string_t text, size_t width, size_t indent)
{
  const size_t room = room_of(row);
  if (row->used && (width > room || (room != SIZE_MAX && count_columns(text, room) > room))) {
    putchar('\n');
    *row = (terminal_row_t){.gap = indent};
  }
  put(row, text, width);
}

void terminal_row_put(terminal_row_t *row, const char *text, size_t width, size_t indent)
{
  put_or_break(row, rawhal_string(text), width, indent);
}

void terminal_row_put_wrapped(terminal_row_t *row, rawhal_string_t text, size_t indent)
{
  enum { LEAST = 12 };
  const size_t columns = terminal_columns();
  if (columns == SIZE_MAX || columns < indent + LEAST) { /* as it stands */
    printf("%*s", (int)row->gap, "");
    row->used += row->gap + escape_text(stdout, text, SIZE_MAX);
    row->gap = 1;
    return;
  }
  for (size_t at = 0, end; at < text.size; at = end) {
    size_t blanks = 0;
    for (; at < text.size && text.data[at] == ' '; ++at)
      ++blanks;
    for (end = at; end < text.size && text.data[end] != ' ';)
      ++end;
    if (at)
      row->gap = blanks;
    put_or_break(row, (rawhal_string_t){text.data + at, end - at}, 0, indent);
  }
}

void terminal_row_print(const char *const *cells, const unsigned char *widths, size_t gap,
                        size_t indent)
{
  terminal_row_t row = {.gap = gap};
  for (size_t i = 0; cells[i]; ++i)
    terminal_row_put(&row, cells[i], widths[i], indent);
  putchar('\n');
}

const char *terminal_cell(rawhal_string_t text, char *buffer, size_t size)
{
  (void)snprintf(buffer, size, "%.*s", (int)(text.size < size ? text.size : size),
                 text.data ? text.data : "");
  return *buffer ? buffer : "-";
}
