/* Dispatches of recordings, to be launched. */
#include <stdlib.h>
#include <string.h>

#include "tools/shared/replay/replay.h"
#include "tools/shared/tool.h"

const char replay_first_version[] =
    "recorded in format version 1: variables of the code object, and pointers in arguments by "
    "value and in buffers were not followed, and what is missing is not known";

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

bool replay_take(record_reader_t *reader, uint64_t number, replay_taken_t *taken,
                 rawhal_error_t *error)
{
  record_dispatch_t *dispatch = &taken->source.dispatch;
  *taken =
      (replay_taken_t){.source = {.number = number,
                                  .before = record_reader_buffers(reader, number, RECORD_BEFORE),
                                  .notes = record_reader_notes(reader, number),
                                  .is_first_version = record_reader_info(reader)->version == 1,
                                  .file = reader,
                                  .content = content_of}};
  (void)record_reader_place(reader, number, &taken->source.place);
  if (record_reader_dispatch(reader, number, dispatch, error))
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

void replay_taken_free(replay_taken_t *taken)
{
  free(taken->texts);
}

unsigned char *replay_take_object(record_reader_t *reader, uint64_t number, size_t *size,
                                  rawhal_error_t *error)
{
  *size = (size_t)record_reader_object(reader, number)->content.size;
  unsigned char *bytes = malloc(*size); /* all of it is in the file */
  if (!bytes) {
    (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a code object");
    return NULL;
  }
  if (record_reader_object_bytes(reader, number, bytes, error) == RAWHAL_OK)
    return bytes;
  free(bytes);
  return NULL;
}
