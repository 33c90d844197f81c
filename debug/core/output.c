#include "debug/core/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_signals.h"
#include "base/new_file.h"
#include "base/print.h"
#include "debug/core/errno_text.h"
#include "debug/core/late.h"
#include "debug/core/program.h"

typedef struct sink {
  int descriptor;
  bool waits; /* it is no file: its reader may be slow */
  uint64_t deadline;
} sink_t;

/* A pipe that has room at all takes this much without waiting: pipe(7), poll(2). */
enum { PIECE = 4096 };

static bool put(void *context, const void *bytes, size_t size)
{
  const sink_t *sink = context;
  const unsigned char *from = bytes;
  if (!sink->waits)
    return write_without_signals(sink->descriptor, bytes, size);
  for (size_t piece; size; size -= piece, from += piece) {
    struct pollfd poll_it = {.fd = sink->descriptor, .events = POLLOUT};
    const long found = TEMP_FAILURE_RETRY(poll(&poll_it, 1, late_left(sink->deadline)));
    piece = size < PIECE ? size : PIECE;
    if (found == 0)
      errno = ETIMEDOUT;
    if (found <= 0 || !write_without_signals(sink->descriptor, from, piece))
      return false;
  }
  return true;
}

rawhal_status_t core_write_descriptor(const core_description_t *description,
                                      const core_options_t *options, int descriptor,
                                      core_written_t *written, rawhal_error_t *error)
{
  struct stat about;
  *written = (core_written_t){0};
  if (fstat(descriptor, &about))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "descriptor %d: %s", descriptor,
                       errno_text(errno));
  sink_t sink = {descriptor, !S_ISREG(about.st_mode), options->deadline};
  return core_write(description, options, put, &sink, written, error);
}

/* ---- Files ---- */

/* As the kernel does: core(5). What controls a terminal is nothing for a log, either. */
static void print_safe(print_t *to, const char *text)
{
  for (; *text; ++text)
    print(to, "%c", *text == '/' || (unsigned char)*text < ' ' || *text == 127 ? '!' : *text);
}

static bool expand(const core_process_t *process, const char *pattern, print_t *to)
{
  char host[256] = "";
  for (const char *at = pattern; *at; ++at) {
    if (*at != '%') {
      print(to, "%c", *at);
      continue;
    }
    switch (*++at) {
    case 'p':
      print(to, "%d", process->id);
      break;
    case 'h':
      (void)gethostname(host, sizeof(host) - 1);
      print_safe(to, host);
      break;
    case 'e':
      print_safe(to, process->program ? process->program : "");
      break;
    case 't':
      print(to, "%lld", (long long)time(NULL));
      break;
    case '%':
      print(to, "%%");
      break;
    default:
      return false;
    }
  }
  return to->length > 0 && to->length < to->size;
}

bool core_file_name(const core_process_t *process, const char *pattern, char path[CORE_PATH_BYTES])
{
  print_t name = print_into(path, CORE_PATH_BYTES);
  return expand(process, pattern, &name);
}

/* The least of the budget and what the process may write. False: nothing. */
static bool bound(core_options_t *options)
{
  static const char *const names[] = {"RLIMIT_CORE", "RLIMIT_FSIZE"};
  static const __rlimit_resource_t limits[] = {RLIMIT_CORE, RLIMIT_FSIZE};
  for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); ++i) {
    struct rlimit limit;
    if (getrlimit(limits[i], &limit) || limit.rlim_cur == RLIM_INFINITY)
      continue;
    if (!options->budget || limit.rlim_cur < options->budget) {
      options->bound = names[i];
      options->budget = limit.rlim_cur;
    }
    if (!limit.rlim_cur)
      return false;
  }
  return true;
}

rawhal_status_t core_write_file(const core_description_t *description,
                                const core_options_t *options, const char *path,
                                core_written_t *written, rawhal_error_t *error)
{
  new_file_t file;
  core_options_t bounded = *options;
  *written = (core_written_t){0};
  if (!bound(&bounded))
    return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "%s is 0", bounded.bound);
  if (!new_file_open(&file, path))
    return rawhal_fail(error, RAWHAL_RUNTIME, "%.200s: %s", path,
                       errno == ENOTSUP ? NEW_FILE_NO_FILE : errno_text(errno));
  rawhal_status_t status =
      core_write_descriptor(description, &bounded, file.descriptor, written, error);
  if (status != RAWHAL_OK)
    new_file_drop(&file);
  else if (!new_file_keep(&file, true))
    status = rawhal_fail(error, RAWHAL_RUNTIME, "%.200s: %s", path, errno_text(errno));
  if (status != RAWHAL_OK)
    *written = (core_written_t){0};
  return status;
}

/* ---- Any of them ---- */

static rawhal_status_t wrong(core_output_t *output, const char *where, rawhal_error_t *error)
{
  output->kind = CORE_OUTPUT_NONE;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a core file cannot go to '%.200s'", where);
}

static bool read_descriptor(const char *text, int *descriptor)
{
  char *end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  *descriptor = (int)value;
  return *text >= '0' && *text <= '9' && !*end && !errno && value <= INT_MAX;
}

typedef struct command {
  char text[4 * CORE_PATH_BYTES];
  const char *words[33]; /* in `text`, and NULL */
} command_t;

/* The words of a command line, each expanded by itself: what a name has of blanks stays in it. */
static bool split(const core_process_t *process, const char *line, command_t *command)
{
  enum { MOST_WORDS = sizeof(command->words) / sizeof(*command->words) - 1 };
  print_t text = print_into(command->text, sizeof(command->text));
  size_t count = 0;
  for (const char *at = line + strspn(line, " "); *at; at += strspn(at, " ")) {
    char word[CORE_PATH_BYTES];
    const size_t size = strcspn(at, " ");
    if (count == MOST_WORDS || size >= sizeof(word))
      return false;
    memcpy(word, at, size);
    word[size] = 0;
    command->words[count++] = text.text + text.length;
    print_t rest = print_into(text.text + text.length, text.size - text.length);
    if (!expand(process, word, &rest))
      return false;
    text.length += rest.length + 1;
    at += size;
  }
  command->words[count] = NULL;
  return count && *command->words[0] == '/' && text.length < text.size;
}

static rawhal_status_t understand(core_output_t *output, const char *where,
                                  const core_process_t *process, command_t *command,
                                  rawhal_error_t *error)
{
  bool good;
  *output = (core_output_t){.kind = CORE_OUTPUT_FILE, .descriptor = -1};
  if (*where == '|') {
    output->kind = CORE_OUTPUT_PROGRAM;
    good = split(process, where + 1, command);
    (void)snprintf(output->path, sizeof(output->path), "%s", good ? command->words[0] : "");
  } else if (strncmp(where, "fd:", 3) == 0) {
    output->kind = CORE_OUTPUT_DESCRIPTOR;
    good = read_descriptor(where + 3, &output->descriptor);
  } else {
    good = core_file_name(process, where, output->path);
  }
  return good ? RAWHAL_OK : wrong(output, where, error);
}

rawhal_status_t core_output_read(core_output_t *output, const char *where,
                                 const core_process_t *process, rawhal_error_t *error)
{
  command_t command;
  return understand(output, where, process, &command, error);
}

rawhal_status_t core_output_open(core_output_t *output, const char *where,
                                 const core_process_t *process, rawhal_error_t *error)
{
  command_t command;
  rawhal_status_t status = understand(output, where, process, &command, error);
  if (status != RAWHAL_OK || output->kind != CORE_OUTPUT_PROGRAM)
    return status;
  status = program_start(command.words, &output->descriptor, &output->child, error);
  if (status != RAWHAL_OK)
    output->kind = CORE_OUTPUT_NONE;
  return status;
}

rawhal_status_t core_output_write(core_output_t *output, const core_description_t *description,
                                  const core_options_t *options, core_written_t *written,
                                  rawhal_error_t *error)
{
  *written = (core_written_t){0};
  if (output->kind == CORE_OUTPUT_NONE)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no output");
  if (output->kind == CORE_OUTPUT_FILE)
    return core_write_file(description, options, output->path, written, error);
  return core_write_descriptor(description, options, output->descriptor, written, error);
}

rawhal_status_t core_output_close(core_output_t *output, uint64_t deadline, rawhal_error_t *error)
{
  const core_output_t was = *output;
  *output = (core_output_t){.descriptor = -1};
  if (was.kind != CORE_OUTPUT_PROGRAM)
    return RAWHAL_OK;
  (void)close(was.descriptor);
  return program_end(was.child, deadline, error);
}
