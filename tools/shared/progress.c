#include "tools/shared/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/shared/escape.h"
#include "tools/shared/terminal.h"

enum { FIRST_MS = 500, NEXT_MS = 100, USUAL_COLUMNS = 80, FEWEST_COLUMNS = 20 };

static int64_t started_ms = -1, shown_ms;
static size_t shown_columns; /* of the line that stands there; 0: none */

static bool is_wanted(void)
{
  static int wanted = -1;
  if (wanted < 0)
    wanted = !terminal_is_dumb() && isatty(STDERR_FILENO);
  return wanted;
}

static int64_t now_ms(void)
{
  return (int64_t)(clock_now() / 1000000);
}

/* Asked each time: windows change. One column stays free, so that the cursor stays in the line. */
static size_t columns_left(void)
{
  struct winsize size;
  size_t columns = USUAL_COLUMNS;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
    columns = size.ws_col;
  return columns - 1;
}

/* One write, so that nothing comes between. */
static void draw(const char *before, const char *path, size_t most)
{
  char *text = NULL;
  size_t size = 0;
  FILE *line = open_memstream(&text, &size);
  if (!line)
    return;
  const size_t old = shown_columns;
  fputc('\r', line);
  size_t columns = escape_text(line, rawhal_string(before), most);
  columns += escape_text(line, rawhal_string(path), most - columns);
  const size_t last = old < most ? old : most; /* the window may be narrower than it was */
  const int blanks = last > columns ? (int)(last - columns) : 0;
  fprintf(line, "%*s", blanks, "");
  for (int i = 0; i < blanks; ++i)
    fputc('\b', line);
  if (!fclose(line)) {
    (void)fwrite(text, 1, size, stderr);
    shown_columns = columns;
  }
  free(text);
}

void progress_show(const char *command, const char *noun, uint64_t number, uint64_t total,
                   const char *path)
{
  char before[96], of[32] = "";
  if (!is_wanted())
    return;
  const int64_t now = now_ms();
  if (started_ms < 0)
    started_ms = now;
  if (now - started_ms < FIRST_MS || now - shown_ms < NEXT_MS)
    return;
  const size_t most = columns_left();
  if (most < FEWEST_COLUMNS)
    return;
  shown_ms = now;
  if (total)
    snprintf(of, sizeof(of), " of %" PRIu64, total);
  snprintf(before, sizeof(before), "rawhal %.20s: %.16s %" PRIu64 "%s: ", command, noun, number,
           of);
  draw(before, path, most);
}

void progress_clear(void)
{
  if (!shown_columns)
    return;
  const size_t most = columns_left();
  shown_columns = shown_columns < most ? shown_columns : most;
  fprintf(stderr, "\r%*s\r", (int)shown_columns, "");
  shown_columns = 0;
}
