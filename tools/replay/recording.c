/* rawhal replay: a dispatch of a recording. */
#include <stdlib.h>

#include "tools/replay/replay.h"
#include "tools/shared/tool.h"

static bool name_of(void *file, uint64_t number, rawhal_string_t *name, rawhal_error_t *error)
{
  record_dispatch_t dispatch;
  if (record_reader_dispatch(file, number, &dispatch, error))
    return false;
  *name = dispatch.kernel;
  return true;
}

static int replay_one(const replay_request_t *request, record_reader_t *reader, uint64_t number)
{
  rawhal_error_t error;
  replay_taken_t taken;
  unsigned char *object = NULL;
  size_t *size = &taken.source.object_size;
  if (replay_take(reader, number, &taken, &error))
    object = replay_take_object(reader, taken.source.dispatch.object, size, &error);
  taken.source.object = object;
  const int status = object ? replay_source(request, &taken.source, reader)
                            : replay_cannot(request, false, &error);
  free(object);
  replay_taken_free(&taken);
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
