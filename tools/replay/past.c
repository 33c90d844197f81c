/* rawhal replay: a dispatch once more up to a moment, or to the last write of some bytes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/new_file.h"
#include "tools/replay/past.h"
#include "tools/shared/tool.h"

typedef struct journey {
  const replay_request_t *request;
  past_moment_t moment;
  past_bytes_t bytes;
  new_file_t core;
  char said[256]; /* of the core file, by the library */
} journey_t;

/* ---- The core file ---- */

/* One at a time: the runtime has one. */
static journey_t *of_log;

/* "core file fd:5: 12345 bytes, 4 waves, 0 bytes left out", or why there is none. */
static void note_line(void *context, rawhal_severity_t severity, const char *message)
{
  static const char there[] = "core file ", none[] = "no core file";
  (void)context, (void)severity;
  const char *found = strstr(message, none), *colon;
  if (!found && (found = strstr(message, there)) && (colon = strstr(found, ": ")))
    found = colon + 2;
  if (found && of_log)
    (void)snprintf(of_log->said, sizeof(of_log->said), "%s", found);
}

static bool open_core(journey_t *journey, rawhal_error_t *error)
{
  char where[32];
  const char *path = journey->request->back.core;
  if (!new_file_open(&journey->core, path))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "cannot write '%s': %s", path,
                       errno == ENOTSUP ? NEW_FILE_NO_FILE : strerror(errno));
  (void)snprintf(where, sizeof(where), "fd:%d", journey->core.descriptor);
  if (setenv("RAWHAL_CORE", where, true) || setenv("RAWHAL_CORE_CONTENTS", "all", true) ||
      setenv("RAWHAL_CORE_BYTES", "0", true))
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  return true;
}

/* Gives the file its name if there is one. */
static bool keep_core(journey_t *journey, bool is_wanted, replay_past_t *past,
                      rawhal_error_t *error)
{
  const char *path = journey->request->back.core;
  const bool is_there = is_wanted && *journey->said && strncmp(journey->said, "no core", 7) != 0;
  (void)unsetenv("RAWHAL_CORE");
  if (!is_there) {
    new_file_drop(&journey->core);
    return !is_wanted || tool_refuse(error, RAWHAL_RUNTIME, "%s",
                                     *journey->said ? journey->said : "no core file was written");
  }
  if (!new_file_keep(&journey->core, true))
    return tool_refuse(error, RAWHAL_RUNTIME, "cannot write '%s': %s", path, strerror(errno));
  (void)snprintf(past->core, sizeof(past->core), "%s", journey->said);
  return true;
}

/* ---- A run ---- */

static bool ask(journey_t *journey, replay_t *replay, replay_past_t *past,
                const softgpu_back_writer_t *stop)
{
  softgpu_back_t asked = {.kernel_object =
                              rawhal_device_kernel_info(replay->kernel)->kernel_object};
  if (past->has_bytes && !past_find_bytes(replay, &journey->bytes, &asked, &past->recorded))
    return false;
  if (stop) {
    asked.stop = SOFTGPU_BACK_AT_WAVE;
    asked.wave = stop->wave;
    asked.count = stop->instructions;
    asked.space = SOFTGPU_BACK_NOTHING;
    memcpy(asked.workgroup, stop->workgroup, sizeof(asked.workgroup));
  } else if (past->has_stop && !past_find_moment(replay, &journey->moment, &asked)) {
    return false;
  }
  return past_ask(replay, &asked);
}

/* A fault is an answer, too: that of the moment, or one before it. */
static bool launch(replay_t *replay)
{
  if (replay_launch(replay))
    return true;
  replay->fault.size = sizeof(replay->fault);
  replay->faulted =
      replay->queue && rawhal_queue_fault(replay->queue, &replay->fault, NULL) == RAWHAL_OK;
  return replay->faulted;
}

static bool check_told(replay_t *replay, const replay_past_t *past)
{
  switch (past->told.state) {
  case SOFTGPU_BACK_NO_MEMORY:
    return tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY, "no memory for what was asked");
  case SOFTGPU_BACK_NOT_THERE:
    return tool_refuse(&replay->error, RAWHAL_NOT_FOUND,
                       "--last-write: the device has no such bytes");
  case SOFTGPU_BACK_WAITS:
    return tool_refuse(&replay->error, RAWHAL_RUNTIME, "the dispatch was not run");
  default:
    return true;
  }
}

/* `stop`: where it is to be stopped instead; or NULL. */
static bool run(journey_t *journey, replay_t *replay, const softgpu_back_writer_t *stop)
{
  replay_past_t *past = replay->past;
  const bool writes = past->has_core && (stop || !past->has_bytes);
  rawhal_error_t later;
  replay_past_t unused = {0}, *told = stop ? &unused : past;
  of_log = journey;
  replay->log = note_line;
  if (writes && !open_core(journey, &replay->error))
    return false;
  bool done = replay_prepare(replay) && ask(journey, replay, past, stop) && launch(replay) &&
              past_told(replay, told) && check_told(replay, told);
  /* Its queue's last words come while it is destroyed, at the latest. */
  rawhal_queue_destroy(replay->queue);
  replay->queue = NULL;
  const bool stopped = done && told->told.state == SOFTGPU_BACK_STOPPED;
  if (done && stop && !stopped)
    done =
        tool_refuse(&replay->error, RAWHAL_RUNTIME, "the dispatch did not go the same way again");
  if (stopped && stop)
    past->told = told->told;
  past->stops_at_write = stopped && stop;
  if (writes && !keep_core(journey, stopped, past, &later) && done) {
    replay->error = later;
    done = false;
  }
  return done;
}

/* The writer that came last. NULL: nobody wrote. */
static const softgpu_back_writer_t *last_of(const replay_past_t *past)
{
  const softgpu_back_writer_t *writers = past->writers.items, *last = NULL;
  for (size_t i = 0; i < past->writers.count; ++i)
    if (writers[i].pc && (!last || writers[i].time > last->time))
      last = &writers[i];
  return last;
}

/* ---- All of it ---- */

static int status_of(const replay_past_t *past, bool done)
{
  if (!done)
    return TOOL_FAILED;
  return past->has_stop && past->told.state != SOFTGPU_BACK_STOPPED ? TOOL_NO : TOOL_OK;
}

int replay_go_back(const replay_request_t *request, const replay_source_t *source)
{
  static journey_t journey; /* large */
  replay_past_t past = {.order = request->back.order,
                        .has_stop = request->back.stop_at,
                        .has_bytes = request->back.last_write,
                        .has_core = request->back.core};
  replay_t replay = {.request = request, .source = source, .past = &past};
  journey.request = request;
  /* The command line has been read once. */
  (void)(past.has_stop && past_read_moment(request->back.stop_at, &journey.moment));
  (void)(past.has_bytes && past_read_bytes(request->back.last_write, &journey.bytes));
  past.bytes = journey.bytes;
  bool done = run(&journey, &replay, NULL);
  const softgpu_back_writer_t *last = done && past.has_core ? last_of(&past) : NULL;
  if (last && past.has_bytes) {
    const softgpu_back_writer_t stop = *last;
    replay_release(&replay);
    replay = (replay_t){.request = request, .source = source, .past = &past};
    done = run(&journey, &replay, &stop);
  }
  replay_report(&replay, done);
  const int status = status_of(&past, done);
  replay_release(&replay);
  list_free(&past.writers);
  of_log = NULL;
  return status;
}
