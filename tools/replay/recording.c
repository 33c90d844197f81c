/* rawhal replay: a dispatch of a recording. */
#include <stdlib.h>
#include <string.h>

#include "tools/replay/replay.h"
#include "tools/shared/tool.h"

/* One that is taken out of a recording, whose reader has texts until its next call only. */
typedef struct taken {
  replay_source_t source;
  char *texts; /* device, kernel, segment */
  unsigned char *object;
} taken_t;

static bool name_of(void *file, uint64_t number, rawhal_string_t *name, rawhal_error_t *error)
{
  record_dispatch_t dispatch;
  if (record_reader_dispatch(file, number, &dispatch, error))
    return false;
  *name = dispatch.kernel;
  return true;
}

static rawhal_status_t content_of(void *file, const record_content_t *content, record_take_fn *take,
                                  void *context, rawhal_error_t *error)
{
  return record_reader_content(file, content, take, context, error);
}

static const void *keep(char **at, const void *bytes, size_t size)
{
  char *to = *at;
  if (size)
    memcpy(to, bytes, size);
  *at += size;
  return to;
}

static bool take_dispatch(taken_t *taken, record_reader_t *reader, rawhal_error_t *error)
{
  record_dispatch_t *dispatch = &taken->source.dispatch;
  if (record_reader_dispatch(reader, taken->source.number, dispatch, error))
    return false;
  char *at = malloc(dispatch->device.size + dispatch->kernel.size + dispatch->kernargs.size + 1);
  if (!at)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  taken->texts = at;
  dispatch->device.data = keep(&at, dispatch->device.data, dispatch->device.size);
  dispatch->kernel.data = keep(&at, dispatch->kernel.data, dispatch->kernel.size);
  dispatch->kernargs.data = keep(&at, dispatch->kernargs.data, dispatch->kernargs.size);
  return true;
}

static bool take_object(taken_t *taken, record_reader_t *reader, rawhal_error_t *error)
{
  const uint64_t number = taken->source.dispatch.object;
  taken->source.object_size = (size_t)record_reader_object(reader, number)->content.size;
  taken->object = malloc(taken->source.object_size); /* all of it is in the file */
  if (!taken->object)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a code object");
  taken->source.object = taken->object;
  return record_reader_object_bytes(reader, number, taken->object, error) == RAWHAL_OK;
}

static int replay_one(const replay_request_t *request, record_reader_t *reader, uint64_t number)
{
  rawhal_error_t error;
  taken_t taken = {.source = {.number = number,
                              .before = record_reader_buffers(reader, number, RECORD_BEFORE),
                              .notes = record_reader_notes(reader, number),
                              .is_first_version = record_reader_info(reader)->version == 1,
                              .file = reader,
                              .content = content_of}};
  (void)record_reader_place(reader, number, &taken.source.place);
  const int status = take_dispatch(&taken, reader, &error) && take_object(&taken, reader, &error)
                         ? replay_source(request, &taken.source, reader)
                         : replay_cannot(request, false, &error);
  free(taken.object);
  free(taken.texts);
  return status;
}

int replay_recording(const replay_request_t *request, const char *wanted, bool list)
{
  record_reader_t *reader;
  rawhal_error_t error;
  uint64_t number;
  int status = TOOL_OK;
  if (record_reader_open(request->path, &reader, &error))
    return replay_cannot(request, list, &error);
  const uint64_t count = record_reader_info(reader)->dispatches;
  if (list ? !replay_list(reader, request, &error)
           : !replay_choose(reader, name_of, count, wanted, &number, &error))
    status = replay_cannot(request, list, &error);
  else if (!list)
    status = replay_one(request, reader, number);
  record_reader_close(reader);
  return status;
}
