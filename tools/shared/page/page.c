#include "tools/shared/page/page.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/shared/file.h"
#include "tools/shared/tool.h"

/* ---- The file ---- */

static bool is_input(const page_t *page, const struct stat *facts)
{
  struct stat input;
  for (size_t i = 0; i < page->input_count; ++i) {
    const int stream = tool_stream_of(page->inputs[i]);
    if ((stream < 0 ? stat(page->inputs[i], &input) : fstat(stream, &input)) == 0 &&
        input.st_dev == facts->st_dev && input.st_ino == facts->st_ino)
      return true;
  }
  return false;
}

static bool open_page(page_t *page)
{
  struct stat facts;
  if (page->error.status)
    return false;
  if (page->path && stat(page->path, &facts) == 0 && S_ISREG(facts.st_mode) &&
      is_input(page, &facts))
    return tool_refuse(&page->error, RAWHAL_INVALID_ARGUMENT,
                       "'%s' is the input, and would be overwritten", page->path);
  page->out = page->path ? fopen(page->path, "we") : stdout;
  if (!page->out)
    return tool_refuse(&page->error, RAWHAL_INVALID_ARGUMENT, "cannot write '%s': %s", page->path,
                       strerror(errno));
  fwrite(page->parts->head, 1, page->parts->head_size, page->out);
  return true;
}

/* Before anything else changes errno. */
static void note_failure(page_t *page)
{
  if (ferror(page->out) && !page->why)
    page->why = errno;
}

/* ---- The JSON's way into the page ---- */

/* In JSON these are parts of strings only, where an escape says the same: neither "</script" nor
 * "<!--" nor an entity comes through, whatever its origin. */
static const char *escape_of(char c)
{
  return c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : NULL;
}

static ssize_t write_data(void *cookie, const char *text, size_t size)
{
  page_t *page = cookie;
  if (!page->out && !open_page(page))
    return 0;
  for (size_t at = 0; at < size;) {
    size_t end = at;
    while (end < size && !escape_of(text[end]))
      ++end;
    fwrite(text + at, 1, end - at, page->out);
    if (end < size)
      fputs(escape_of(text[end]), page->out);
    at = end + 1;
  }
  note_failure(page);
  return ferror(page->out) ? 0 : (ssize_t)size;
}

/* ---- The page ---- */

bool page_begin(page_t *page, const page_parts_t *parts, const char *path,
                const char *const *inputs, size_t input_count, rawhal_error_t *error)
{
  const cookie_io_functions_t functions = {.write = write_data};
  *page = (page_t){.parts = parts,
                   .path = path && strcmp(path, "-") ? path : NULL,
                   .inputs = inputs,
                   .input_count = input_count};
  page->data = fopencookie(page, "w", functions);
  return page->data || tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
}

bool page_end(page_t *page, rawhal_error_t *error)
{
  (void)fclose(page->data); /* what could not be written, `out` or `error` know */
  *error = page->error;
  if (!page->out)
    return !page->error.status;
  fwrite(page->parts->tail, 1, page->parts->tail_size, page->out);
  note_failure(page);
  if (!page->path)
    return true;
  const bool broken = ferror(page->out);
  if (!fclose(page->out) && !broken)
    return true;
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot write '%s': %s", page->path,
                     strerror(page->why ? page->why : errno));
}
