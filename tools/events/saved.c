/* rawhal events: files. */
#include "tools/events/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rawhal/version.h>

#include "base/clock.h"
#include "debug/core/notes.h"
#include "tools/shared/file.h"
#include "tools/shared/program.h"

enum { MAGIC = sizeof(EVENTS_MAGIC) - 1, RECORD_BYTES = 8192, MOST_ARGUMENTS = 2048 };

/* ---- Writing ---- */

static void put_bytes(events_file_t *file, const void *bytes, size_t size)
{
  if (!file->problem && fwrite(bytes, 1, size, file->out) != size)
    file->problem = errno ? errno : EIO;
}

/* A note of one, without its head. */
static void put_record(events_file_t *file, core_record_type_t type, const void *record)
{
  unsigned char bytes[RECORD_BYTES];
  core_notes_t notes;
  core_notes_begin(&notes, bytes, sizeof(bytes));
  if (!core_notes_put(&notes, type, record))
    return;
  put_bytes(file, bytes + CORE_NOTES_HEAD, core_notes_end(&notes).size - CORE_NOTES_HEAD);
  ++file->records;
}

static void put_head(events_file_t *file)
{
  unsigned char bytes[CORE_NOTES_HEAD];
  core_notes_t notes;
  core_notes_begin(&notes, bytes, sizeof(bytes));
  put_bytes(file, EVENTS_MAGIC, MAGIC);
  put_bytes(file, bytes, sizeof(bytes));
}

static void put_process(events_file_t *file, pid_t id)
{
  char arguments[MOST_ARGUMENTS], host[256] = "", versions[64];
  (void)gethostname(host, sizeof(host) - 1);
  (void)snprintf(versions, sizeof(versions), "rawhal %s", rawhal_version_text());
  core_note_process_t process = {.id = id,
                                 .written = time(NULL),
                                 .now = clock_now(),
                                 .host = rawhal_string(host),
                                 .versions = rawhal_string(versions)};
  process.arguments = program_command_of(id, arguments, sizeof(arguments));
  put_record(file, CORE_RECORD_PROCESS, &process);
}

bool events_file_open(events_file_t *file, const char *path, pid_t process, rawhal_error_t *error)
{
  *file = (events_file_t){.path = path};
  const int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  file->out = out < 0 ? NULL : fdopen(out, "w");
  if (!file->out) {
    (void)tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot write '%.300s': %s", path,
                      strerror(errno));
    if (out >= 0)
      (void)close(out);
    return false;
  }
  put_head(file);
  put_process(file, process);
  return true;
}

void events_file_put(events_file_t *file, const events_source_t *source, uint64_t lost,
                     const rawhal_event_t *event)
{
  if (!file->out)
    return;
  if (lost || source->door != file->source.door || source->exists != file->source.exists) {
    const core_note_watch_t watch = {source->door, source->opened, lost, source->exists};
    put_record(file, CORE_RECORD_WATCH, &watch);
    file->source = *source;
  }
  if (event)
    put_record(file, (core_record_type_t)(CORE_RECORD_EVENTS + (int)event->type), event);
}

bool events_file_close(events_file_t *file, rawhal_error_t *error)
{
  if (!file->out)
    return true;
  /* How many records there are stands in the head; a reader does without. */
  if (fseek(file->out, MAGIC + (long)sizeof(uint32_t), SEEK_SET) == 0)
    put_bytes(file, &file->records, sizeof(file->records));
  if (fclose(file->out) != 0 && !file->problem)
    file->problem = errno;
  file->out = NULL;
  return !file->problem || tool_refuse(error, RAWHAL_RUNTIME, "cannot write '%.300s': %s",
                                       file->path, strerror(file->problem));
}

/* ---- Reading ---- */

static bool read_bytes(const char *path, unsigned char **bytes, size_t *size, rawhal_error_t *error)
{
  const int stream = tool_stream_of(path);
  return stream >= 0 ? tool_read_stream(stream, path, TOOL_FILE_BYTES, bytes, size, error)
                     : tool_read_file(path, TOOL_FILE_BYTES, bytes, size, error);
}

static void print_process(const events_output_t *output, const core_note_process_t *process)
{
  if (output->request->json)
    return;
  printf("events of process %lld, '", (long long)process->id);
  (void)tool_print_text(process->arguments);
  fputs("' on ", stdout);
  (void)tool_print_text(process->host);
  putchar('\n');
}

static void show_record(events_output_t *output, const core_record_t *record,
                        events_source_t *source)
{
  const core_note_watch_t *watch = &record->as.watch;
  if (record->type == CORE_RECORD_PROCESS) {
    print_process(output, &record->as.process);
  } else if (record->type == CORE_RECORD_WATCH) {
    *source = (events_source_t){watch->door == DOOR_OF_FRONT ? DOOR_OF_FRONT : DOOR_OF_LIBRARY,
                                watch->opened, watch->exists};
    events_put_lost(output, source, watch->lost);
  } else if (record->type > CORE_RECORD_EVENTS) {
    events_put(output, source, &record->as.event);
  }
}

bool events_read(events_output_t *output, rawhal_error_t *error)
{
  const char *path = output->request->read;
  unsigned char *bytes;
  size_t size;
  bool done = read_bytes(path, &bytes, &size, error);
  if (done && (size < MAGIC + CORE_NOTES_HEAD || memcmp(bytes, EVENTS_MAGIC, MAGIC) != 0))
    done = tool_refuse(error, RAWHAL_MALFORMED, "'%.300s' is no file of events", path);
  const rawhal_bytes_t note = {bytes + MAGIC, done ? size - MAGIC : 0};
  events_source_t source = {.door = DOOR_OF_LIBRARY};
  core_record_t record;
  uint64_t cursor = 0;
  while (done && core_notes_next(note, &cursor, &record))
    show_record(output, &record, &source);
  if (done && cursor != note.size && note.size > CORE_NOTES_HEAD)
    done =
        tool_refuse(error, RAWHAL_MALFORMED, "'%.300s' ends, or is damaged, within a record", path);
  free(bytes);
  return done;
}
