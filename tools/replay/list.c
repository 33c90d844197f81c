/* rawhal replay --list: what is in a recording. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/replay/replay.h"
#include "tools/shared/demangle.h"
#include "tools/shared/json.h"
#include "tools/shared/tool.h"

static const char *const ends[] = {[RECORD_UNFINISHED] = "unfinished",
                                   [RECORD_CLOSED] = "closed",
                                   [RECORD_FULL] = "full",
                                   [RECORD_FAILED] = "failed",
                                   [RECORD_TORN] = "torn"};

static const char *state_of(const record_buffer_t *buffer)
{
  return buffer->left_out ? "left_out" : buffer->content.whole ? "whole" : "cut";
}

/* ---- JSON ---- */

static void put_buffers(json_writer_t *out, const char *key, const record_buffers_t *buffers)
{
  char text[24];
  json_begin_object(out, key);
  json_put_bool(out, "all", buffers->all);
  json_begin_array(out, "buffers");
  for (size_t i = 0; i < buffers->count; ++i) {
    const record_buffer_t *buffer = &buffers->buffers[i];
    snprintf(text, sizeof(text), "0x%" PRIx64, buffer->address);
    json_begin_object(out, NULL);
    json_put_text(out, "address", text);
    json_put_unsigned(out, "size", buffer->content.size);
    json_put_text(out, "contents", state_of(buffer));
    json_put_bool(out, "variables", buffer->segment);
    json_end(out);
  }
  json_end(out);
  json_end(out);
}

static void put_notes(json_writer_t *out, const record_notes_t *notes)
{
  char text[REPLAY_NOTE];
  json_begin_array(out, "notes");
  for (size_t i = 0; i < notes->count; ++i) {
    record_note_text(&notes->notes[i], text, sizeof(text));
    json_begin_object(out, NULL);
    json_put_text(out, "about", record_note_name(notes->notes[i].kind));
    json_put_text(out, "text", text);
    json_end(out);
  }
  json_end(out);
}

static void put_dimensions(json_writer_t *out, const char *key, uint32_t x, uint32_t y, uint32_t z)
{
  json_begin_array(out, key);
  json_put_unsigned(out, NULL, x);
  json_put_unsigned(out, NULL, y);
  json_put_unsigned(out, NULL, z);
  json_end(out);
}

static void put_dispatch(json_writer_t *out, const record_reader_t *reader, uint64_t number,
                         const record_dispatch_t *dispatch)
{
  const record_buffers_t before = record_reader_buffers(reader, number, RECORD_BEFORE);
  const record_buffers_t after = record_reader_buffers(reader, number, RECORD_AFTER);
  json_begin_object(out, NULL);
  json_put_unsigned(out, "dispatch", number);
  json_put_string(out, "kernel", dispatch->kernel);
  json_put_string(out, "device", dispatch->device);
  json_put_unsigned(out, "object", dispatch->object);
  json_put_unsigned(out, "queue", dispatch->queue);
  put_dimensions(out, "work_items", dispatch->work_items[0], dispatch->work_items[1],
                 dispatch->work_items[2]);
  put_dimensions(out, "workgroup", dispatch->workgroup[0], dispatch->workgroup[1],
                 dispatch->workgroup[2]);
  json_put_unsigned(out, "dynamic_group_bytes", dispatch->dynamic_group_bytes);
  json_put_unsigned(out, "private_bytes", dispatch->private_bytes);
  json_put_unsigned(out, "kernarg_bytes", dispatch->kernargs.size);
  put_buffers(out, "before", &before);
  put_buffers(out, "after", &after);
  const record_notes_t notes = record_reader_notes(reader, number);
  put_notes(out, &notes);
  json_end(out);
}

static void put_head(json_writer_t *out, const record_reader_t *reader)
{
  const record_reader_info_t *info = record_reader_info(reader);
  json_put_text(out, "schema", "rawhal-recording-1");
  json_put_unsigned(out, "version", info->version);
  json_put_unsigned(out, "bytes", info->bytes);
  json_put_unsigned(out, "bound", info->bound);
  json_put_unsigned(out, "process", info->process);
  json_put_text(out, "end", ends[info->end]);
  json_put_text(out, "reason", info->end == RECORD_FAILED ? strerror(info->code) : NULL);
  json_put_unsigned(out, "torn_bytes", info->torn);
}

static void put_objects(json_writer_t *out, const record_reader_t *reader)
{
  json_begin_array(out, "objects");
  for (uint64_t i = 1; i <= record_reader_info(reader)->objects; ++i) {
    const record_object_t *object = record_reader_object(reader, i);
    json_begin_object(out, NULL);
    json_put_unsigned(out, "object", i);
    json_put_hash(out, "hash", object->hash);
    json_put_unsigned(out, "size", object->content.size);
    json_put_bool(out, "whole", object->content.whole);
    json_end(out);
  }
  json_end(out);
}

/* What cannot be read any more is left out, and the document whole. */
static bool list_json(record_reader_t *reader, rawhal_error_t *error)
{
  bool done = true;
  record_dispatch_t dispatch;
  json_writer_t json = {.out = stdout}, *out = &json;
  json_begin_object(out, NULL);
  put_head(out, reader);
  put_objects(out, reader);
  json_begin_array(out, "dispatches");
  for (uint64_t i = 1; done && i <= record_reader_info(reader)->dispatches; ++i) {
    done = !record_reader_dispatch(reader, i, &dispatch, error);
    if (done)
      put_dispatch(out, reader, i, &dispatch);
  }
  json_end(out);
  json_end(out);
  return done;
}

/* ---- Text ---- */

static void print_buffers(const record_reader_t *reader, uint64_t number, record_when_t when)
{
  uint64_t bytes = 0;
  size_t left_out = 0;
  const char *word = when == RECORD_BEFORE ? "before" : "after";
  const record_buffers_t buffers = record_reader_buffers(reader, number, when);
  for (size_t i = 0; i < buffers.count; ++i) {
    left_out += buffers.buffers[i].left_out;
    if (buffers.buffers[i].content.whole)
      bytes += buffers.buffers[i].content.size;
  }
  if (!buffers.all && !buffers.count)
    return;
  printf(", %s: %zu buffers, %" PRIu64 " bytes", word, buffers.count, bytes);
  if (left_out)
    printf(", %zu left out", left_out);
  if (!buffers.all)
    fputs(", not all", stdout);
}

static void print_dispatch(const record_reader_t *reader, uint64_t number,
                           const record_dispatch_t *dispatch, bool demangled)
{
  char text[REPLAY_NOTE];
  printf("%" PRIu64 ": ", number);
  (void)tool_print_text(demangle_if(demangled, dispatch->kernel));
  printf(": %" PRIu32 "x%" PRIu32 "x%" PRIu32 " work-items in groups of %ux%ux%u, ",
         dispatch->work_items[0], dispatch->work_items[1], dispatch->work_items[2],
         dispatch->workgroup[0], dispatch->workgroup[1], dispatch->workgroup[2]);
  (void)tool_print_text(dispatch->device);
  printf(", object %" PRIu64 ", %zu bytes of kernargs", dispatch->object, dispatch->kernargs.size);
  print_buffers(reader, number, RECORD_BEFORE);
  print_buffers(reader, number, RECORD_AFTER);
  putchar('\n');
  const record_notes_t notes = record_reader_notes(reader, number);
  for (size_t i = 0; i < notes.count; ++i) {
    record_note_text(&notes.notes[i], text, sizeof(text));
    printf("   %s: %s\n", record_note_name(notes.notes[i].kind), text);
  }
}

static void print_end(const record_reader_info_t *info, const char *path)
{
  (void)tool_print_string(path);
  printf(": %zu dispatches of %zu code objects, %" PRIu64 " bytes, ", info->dispatches,
         info->objects, info->bytes);
  switch (info->end) {
  case RECORD_CLOSED:
    puts("closed");
    break;
  case RECORD_FULL:
    printf("full: it reached its limit of %" PRIu64 " bytes, and recorded nothing more\n",
           info->bound);
    break;
  case RECORD_FAILED:
    printf("ended because it could not be written: %s\n", strerror(info->code));
    break;
  case RECORD_TORN:
    printf("torn: the last %" PRIu64 " bytes are an incomplete record\n", info->torn);
    break;
  default:
    puts("unfinished: it is still being written, or its process was killed");
  }
}

static bool list_text(record_reader_t *reader, const replay_request_t *request,
                      rawhal_error_t *error)
{
  record_dispatch_t dispatch;
  for (uint64_t i = 1; i <= record_reader_info(reader)->dispatches; ++i) {
    if (record_reader_dispatch(reader, i, &dispatch, error))
      return false;
    print_dispatch(reader, i, &dispatch, request->demangle);
  }
  if (record_reader_info(reader)->version == 1)
    printf("%s\n", replay_first_version);
  print_end(record_reader_info(reader), request->path);
  return true;
}

bool replay_list(record_reader_t *reader, const replay_request_t *request, rawhal_error_t *error)
{
  return request->json ? list_json(reader, error) : list_text(reader, request, error);
}
