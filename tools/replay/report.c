/* rawhal replay: what came of it, as text or as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/replay/replay.h"
#include "tools/shared/demangle.h"
#include "tools/shared/json.h"
#include "tools/shared/tool.h"

static const char *result_of(const replay_t *replay, bool done)
{
  return !done ? "cannot" : replay->different ? "different" : "same";
}

static size_t shown_notes(const replay_t *replay)
{
  return replay->note_count < REPLAY_NOTES ? replay->note_count : REPLAY_NOTES;
}

/* ---- JSON ---- */

static void put_address(json_writer_t *out, const char *key, uint64_t address)
{
  char text[24];
  snprintf(text, sizeof(text), "0x%" PRIx64, address);
  json_put_text(out, key, text);
}

static void put_difference(json_writer_t *out, const replay_t *replay)
{
  const replay_buffer_t *buffer = replay->first;
  json_begin_object(out, "difference");
  json_put_unsigned(out, "buffer", buffer->index);
  put_address(out, "address", buffer->before->address);
  json_put_unsigned(out, "size", buffer->before->content.size);
  if (buffer->named)
    json_put_unsigned(out, "argument", buffer->argument);
  else
    json_put_null(out, "argument");
  json_put_string_or_null(out, "argument_name", rawhal_string(buffer->name));
  json_put_unsigned(out, "offset", replay->offset);
  json_put_unsigned(out, "expected", replay->expected);
  json_put_unsigned(out, "got", replay->got);
  json_end(out);
}

static void print_json(const replay_t *replay, bool done)
{
  json_writer_t json = {.out = stdout}, *out = &json;
  json_begin_object(out, NULL);
  json_put_text(out, "schema", "rawhal-replay-1");
  json_put_text(out, "result", result_of(replay, done));
  json_put_unsigned(out, "dispatch", replay->request->number);
  json_put_text(out, "kernel", replay->kernel_name);
  json_put_text(out, "device",
                replay->device ? rawhal_device_info(replay->device)->description : NULL);
  json_put_unsigned(out, "buffers", replay->buffer_count);
  json_put_unsigned(out, "compared_bytes", replay->compared);
  json_put_unsigned(out, "different_bytes", replay->different);
  if (replay->first)
    put_difference(out, replay);
  else
    json_put_null(out, "difference");
  json_begin_array(out, "notes");
  for (size_t i = 0; i < shown_notes(replay); ++i)
    json_put_text(out, NULL, replay->notes[i]);
  json_end(out);
  json_put_text(out, "status", done ? "OK" : rawhal_status_name(replay->error.status));
  json_put_text(out, "message", done ? NULL : replay->error.message);
  json_put_offset(out, "offset", done ? RAWHAL_NO_OFFSET : replay->error.offset);
  json_end(out);
}

/* ---- Text ---- */

static void print_difference(const replay_t *replay)
{
  const replay_buffer_t *buffer = replay->first;
  printf("different buffer %zu at 0x%" PRIx64 ", %" PRIu64 " bytes", buffer->index,
         buffer->before->address, buffer->before->content.size);
  if (buffer->named) {
    printf(", argument %zu", buffer->argument);
    if (*buffer->name) {
      fputs(" '", stdout);
      (void)tool_print_string(buffer->name);
      putchar('\'');
    }
  }
  printf(": offset %" PRIu64 ": expected 0x%02x, got 0x%02x\n", replay->offset, replay->expected,
         replay->got);
  printf("          %" PRIu64 " of %" PRIu64 " bytes differ\n", replay->different,
         replay->compared);
}

static void print_text(const replay_t *replay, bool done)
{
  const record_dispatch_t *recorded = &replay->recorded;
  if (replay->device) {
    fputs("device    ", stdout);
    (void)tool_print_string(rawhal_device_info(replay->device)->description);
    putchar('\n');
  }
  fputs("kernel    ", stdout);
  (void)tool_print_text(demangle_if(replay->request->demangle,
                                    rawhal_string(replay->kernel_name ? replay->kernel_name : "")));
  printf("\ndispatch  %" PRIu64 ": %" PRIu32 "x%" PRIu32 "x%" PRIu32
         " work-items in groups of %ux%ux%u\n",
         replay->request->number, recorded->work_items[0], recorded->work_items[1],
         recorded->work_items[2], recorded->workgroup[0], recorded->workgroup[1],
         recorded->workgroup[2]);
  for (size_t i = 0; i < shown_notes(replay); ++i) {
    fputs("note      ", stdout);
    (void)tool_print_string(replay->notes[i]);
    putchar('\n');
  }
  if (replay->note_count > REPLAY_NOTES)
    printf("note      %zu more\n", replay->note_count - REPLAY_NOTES);
  if (!done)
    return;
  if (replay->first)
    print_difference(replay);
  else
    printf("same      %" PRIu64 " bytes of %zu buffers\n", replay->compared, replay->buffer_count);
}

void replay_report(const replay_t *replay, bool done)
{
  if (replay->request->json)
    print_json(replay, done);
  else
    print_text(replay, done);
  if (!done)
    (void)tool_fail("replay", &replay->error);
}
