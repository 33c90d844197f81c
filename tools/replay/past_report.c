/* rawhal replay: where it was stopped, and who wrote what, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/replay/past.h"
#include "tools/shared/tool.h"

static const char before_it[] = "written before the dispatch, by the host or a copy";

const char *past_result(const replay_past_t *past)
{
  if (past->has_stop && past->told.state != SOFTGPU_BACK_STOPPED)
    return "not reached";
  return past->told.state == SOFTGPU_BACK_STOPPED ? "stopped" : "ran";
}

/* Lanes of one instruction that wrote one after the other: how many parts are one line. */
static size_t count_alike(const replay_past_t *past, size_t first)
{
  const softgpu_back_writer_t *writers = past->writers.items, *writer = &writers[first];
  size_t end = first + 1;
  while (end < past->writers.count && writers[end].time == writer->time &&
         writers[end].lane == writers[end - 1].lane + 1)
    ++end;
  return writer->pc ? end - first : 1;
}

static uint64_t end_of(const softgpu_back_writer_t *writer)
{
  return writer->offset + writer->bytes;
}

/* ---- Text ---- */

static void print_place(const replay_t *replay, uint64_t pc_offset)
{
  const past_place_t *place = past_place(replay, pc_offset);
  (void)tool_print_string(place->symbol);
  printf("+0x%" PRIx64, place->offset);
}

static void print_source(const replay_t *replay, uint64_t pc_offset)
{
  const past_place_t *place = past_place(replay, pc_offset);
  if (!*place->source.file)
    return;
  fputs("          ", stdout);
  (void)tool_print_string(place->source.file);
  printf(":%" PRIu32 "\n", place->source.line);
}

static void print_wave(const uint32_t group[3], uint32_t wave)
{
  printf("work-group %" PRIu32 ",%" PRIu32 ",%" PRIu32 " wave %" PRIu32, group[0], group[1],
         group[2], wave);
}

static void print_stop(const replay_t *replay)
{
  const softgpu_back_told_t *told = &replay->past->told;
  if (told->state != SOFTGPU_BACK_STOPPED) {
    if (replay->past->has_stop)
      printf("stopped   no: the dispatch %s before that moment, after %" PRIu64
             " instructions of its waves\n",
             told->state == SOFTGPU_BACK_FAILED ? "failed" : "ended", told->all);
    else if (told->state == SOFTGPU_BACK_FAILED)
      printf("failed    after %" PRIu64 " instructions of its waves: %s\n", told->all,
             rawhal_fault_kind_name(replay->fault.kind));
    return;
  }
  fputs("stopped   ", stdout);
  print_wave(told->workgroup, told->wave);
  printf(" after %" PRIu64 " instructions, before ", told->instructions);
  print_place(replay, told->pc_offset);
  if (*replay->fault.instruction_text) {
    fputs(": ", stdout);
    (void)tool_print_string(replay->fault.instruction_text);
  }
  putchar('\n');
  print_source(replay, told->pc_offset);
}

/* "out+0x10, 4 bytes", and where that was. */
static void print_bytes(const replay_past_t *past, uint64_t offset, uint64_t bytes)
{
  const uint64_t at = past->bytes.address + offset;
  if (past->bytes.is_lds)
    printf("LDS of work-group %" PRIu32 ",%" PRIu32 ",%" PRIu32 " +0x%" PRIx64,
           past->bytes.group[0], past->bytes.group[1], past->bytes.group[2], at);
  else
    printf("0x%" PRIx64, past->recorded + offset);
  printf(", %" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
  if (*past->bytes.argument && !past->bytes.is_lds) {
    fputs(", ", stdout);
    (void)tool_print_string(past->bytes.argument);
    printf("+0x%" PRIx64, at);
  }
  fputs(": ", stdout);
}

static void print_writer(const replay_t *replay, size_t first, size_t count)
{
  const replay_past_t *past = replay->past;
  const softgpu_back_writer_t *writers = past->writers.items, *writer = &writers[first],
                              *last = writer + count - 1;
  fputs("write     ", stdout);
  print_bytes(past, writer->offset, end_of(last) - writer->offset);
  if (!writer->pc) {
    puts(past->bytes.is_lds ? "not written" : before_it);
    return;
  }
  print_place(replay, writer->pc_offset);
  fputs(": ", stdout);
  (void)tool_print_string(writer->instruction_text);
  fputs("\n          ", stdout);
  print_wave(writer->workgroup, writer->wave);
  if (writer->lane == SOFTGPU_BACK_NO_LANE)
    fputs(", all of it", stdout);
  else if (count > 1)
    printf(" lanes %" PRIu32 " to %" PRIu32, writer->lane, last->lane);
  else
    printf(" lane %" PRIu32, writer->lane);
  printf(", after %" PRIu64 " instructions of the wave\n", writer->instructions);
  print_source(replay, writer->pc_offset);
}

void past_print(const replay_t *replay)
{
  const replay_past_t *past = replay->past;
  if (!past)
    return;
  printf("order     %" PRIu64 ": run %016" PRIx64 "\n", past->order, past->told.run);
  if (!past->has_stop && !past->has_bytes)
    return;
  print_stop(replay);
  for (size_t i = 0, count; i < past->writers.count; i += count) {
    count = count_alike(past, i);
    print_writer(replay, i, count);
  }
  if (!past->has_core)
    return;
  fputs("core      ", stdout);
  if (*past->core) {
    (void)tool_print_string(replay->request->back.core);
    printf(": %s\n", past->core);
  } else {
    puts(past->has_bytes ? "none: the dispatch did not write these bytes"
                         : "none: the moment did not come");
  }
}

/* ---- JSON ---- */

static void put_place(json_writer_t *out, const replay_t *replay, uint64_t pc_offset,
                      const char *text)
{
  const past_place_t *place = past_place(replay, pc_offset);
  json_put_string_or_null(out, "symbol", rawhal_string(place->symbol));
  json_put_unsigned(out, "offset", place->offset);
  json_put_address(out, "object_address", place->own);
  json_put_string_or_null(out, "instruction", rawhal_string(text));
  json_put_string_or_null(out, "file", rawhal_string(place->source.file));
  json_put_known(out, "line", *place->source.file, place->source.line);
}

static void put_wave(json_writer_t *out, const uint32_t group[3], uint32_t wave,
                     uint64_t instructions)
{
  json_begin_array(out, "workgroup");
  for (unsigned i = 0; i < 3; ++i)
    json_put_unsigned(out, NULL, group[i]);
  json_end(out);
  json_put_unsigned(out, "wave", wave);
  json_put_unsigned(out, "instructions", instructions);
}

static void put_stop(json_writer_t *out, const replay_t *replay)
{
  const softgpu_back_told_t *told = &replay->past->told;
  if (told->state != SOFTGPU_BACK_STOPPED) {
    json_put_null(out, "stopped");
    return;
  }
  json_begin_object(out, "stopped");
  put_wave(out, told->workgroup, told->wave, told->instructions);
  put_place(out, replay, told->pc_offset, replay->fault.instruction_text);
  json_end(out);
}

static void put_writer(json_writer_t *out, const replay_t *replay,
                       const softgpu_back_writer_t *writer)
{
  json_begin_object(out, "writer");
  put_wave(out, writer->workgroup, writer->wave, writer->instructions);
  json_put_known(out, "lane", writer->lane != SOFTGPU_BACK_NO_LANE, writer->lane);
  json_put_unsigned(out, "time", writer->time);
  put_place(out, replay, writer->pc_offset, writer->instruction_text);
  json_end(out);
}

static void put_writers(json_writer_t *out, const replay_t *replay)
{
  const replay_past_t *past = replay->past;
  const softgpu_back_writer_t *writers = past->writers.items;
  json_begin_array(out, "writes");
  for (size_t i = 0; i < past->writers.count; ++i) {
    const softgpu_back_writer_t *writer = &writers[i];
    json_begin_object(out, NULL);
    json_put_address(out, "address", past->recorded + writer->offset);
    json_put_unsigned(out, "bytes", writer->bytes);
    if (writer->pc)
      put_writer(out, replay, writer);
    else
      json_put_null(out, "writer");
    json_end(out);
  }
  json_end(out);
}

void past_put(json_writer_t *out, const replay_t *replay)
{
  const replay_past_t *past = replay ? replay->past : NULL;
  char run[20];
  if (!past) {
    json_put_null(out, "past");
    return;
  }
  (void)snprintf(run, sizeof(run), "%016" PRIx64, past->told.run);
  json_begin_object(out, "past");
  json_put_unsigned(out, "order", past->order);
  json_put_text(out, "run", run);
  json_put_unsigned(out, "all_instructions", past->told.all);
  put_stop(out, replay);
  put_writers(out, replay);
  json_put_text(out, "core", *past->core ? replay->request->back.core : NULL);
  json_end(out);
}
