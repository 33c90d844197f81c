/* rawhal replay: what came of it, as text or as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "debug/report.h"
#include "tools/replay/past.h"
#include "tools/shared/demangle.h"
#include "tools/shared/json.h"
#include "tools/shared/tool.h"

static const char *result_of(const replay_t *replay, bool done)
{
  if (done && replay->past && (replay->past->has_stop || replay->past->has_bytes))
    return past_result(replay->past);
  return !done ? "cannot" : replay->different || replay->other ? "different" : "same";
}

static rawhal_string_t kernel_of(const replay_t *replay)
{
  return replay->source ? replay->source->dispatch.kernel : (rawhal_string_t){0};
}

static const char *const state_texts[] = {
    [REPLAY_MEMORY] = "live", [REPLAY_FOREIGN] = "no access", [REPLAY_NOTHING] = "freed"};

static size_t shown_notes(const replay_t *replay)
{
  return replay->note_count < REPLAY_NOTES ? replay->note_count : REPLAY_NOTES;
}

/* ---- JSON ---- */

static void put_difference(json_writer_t *out, const replay_t *replay)
{
  const replay_buffer_t *buffer = replay->first;
  json_begin_object(out, "difference");
  json_put_unsigned(out, "buffer", buffer->index);
  json_put_address(out, "address", buffer->before->address);
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

/* The words of the set REPLAY_OTHER_*. */
static const char *const others[REPLAY_OTHERS] = {"no fault", "kind",   "kernel",
                                                  "pc",       "access", "address"};

static void put_report(void *context, const char *text, size_t size)
{
  (void)fwrite(text, 1, size, context);
}

static void put_fault(json_writer_t *out, const char *key, const rawhal_fault_t *fault)
{
  json_open(out, key);
  report(fault, REPORT_JSON, put_report, out->out);
}

static void put_place(json_writer_t *out, const replay_t *replay)
{
  const replay_buffer_t *there = replay->there;
  if (!there) {
    json_put_null(out, "buffer");
    return;
  }
  json_begin_object(out, "buffer");
  json_put_unsigned(out, "size", there->before->content.size);
  json_put_text(out, "state", state_texts[there->state]);
  json_put_address(out, "recorded", there->before->address);
  json_put_address(out, "replayed", there->now);
  json_end(out);
}

static void put_faults(json_writer_t *out, const replay_t *replay, bool done)
{
  if (!replay->source || !replay->source->expected) {
    json_put_null(out, "fault");
    return;
  }
  json_begin_object(out, "fault");
  put_fault(out, "recorded", &replay->source->expected->fault);
  if (replay->faulted)
    put_fault(out, "replayed", &replay->fault);
  else
    json_put_null(out, "replayed");
  json_begin_array(out, "differs");
  for (size_t i = 0; done && i < REPLAY_OTHERS; ++i)
    if (replay->other >> i & 1)
      json_put_text(out, NULL, others[i]);
  json_end(out);
  put_place(out, replay);
  json_end(out);
}

static void print_json(const replay_t *replay, bool done)
{
  json_writer_t json = {.out = stdout}, *out = &json;
  json_begin_object(out, NULL);
  json_put_text(out, "schema", "rawhal-replay-1");
  json_put_text(out, "result", result_of(replay, done));
  json_put_unsigned(out, "dispatch", replay->source ? replay->source->number : 0);
  json_put_string_or_null(out, "kernel", kernel_of(replay));
  json_put_text(out, "device",
                replay->device ? rawhal_device_info(replay->device)->description : NULL);
  json_put_unsigned(out, "buffers", replay->buffer_count);
  json_put_unsigned(out, "compared_bytes", replay->compared);
  json_put_unsigned(out, "different_bytes", replay->different);
  if (replay->first)
    put_difference(out, replay);
  else
    json_put_null(out, "difference");
  put_faults(out, replay, done);
  past_put(out, done ? replay : NULL);
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

/* ", 4 bytes past the end of the 4096 bytes at 0x7f..."; nothing where it is not known. */
static void print_place(const replay_buffer_t *there, uint64_t base, uint64_t address)
{
  const uint64_t far = UINT64_C(1) << 40, size = there ? there->before->content.size : 0;
  if (!there || (address - base >= size + far && base - address >= far))
    return;
  if (address < base)
    printf(", %" PRIu64 " bytes before", base - address);
  else if (address - base < size)
    printf(", at offset %" PRIu64 " of", address - base);
  else
    printf(", %" PRIu64 " bytes past the end of", address - base - size);
  printf(" the %" PRIu64 " bytes%s at 0x%" PRIx64, size,
         there->state == REPLAY_NOTHING   ? " (freed)"
         : there->state == REPLAY_FOREIGN ? " (no access)"
                                          : "",
         base);
}

static void print_fault(const char *word, const rawhal_fault_t *fault, const replay_buffer_t *there,
                        uint64_t base)
{
  static const char *const accesses[] = {"access", "read", "write", "atomic access"};
  printf("%-9s %s", word, rawhal_fault_kind_name(fault->kind));
  if (fault->known & RAWHAL_FAULT_KNOWS_PC)
    printf(" at pc +%" PRId64 ", work-group %" PRIu32 ",%" PRIu32 ",%" PRIu32 " wave %" PRIu32,
           fault->pc_offset, fault->group[0], fault->group[1], fault->group[2], fault->wave);
  if (fault->known & RAWHAL_FAULT_KNOWS_LANE)
    printf(" lane %" PRIu32, fault->lane);
  if (fault->known & RAWHAL_FAULT_KNOWS_ADDRESS) {
    if (fault->bytes)
      printf(", %s of %" PRIu32 " bytes", (size_t)fault->access < 4 ? accesses[fault->access] : "?",
             fault->bytes);
    printf(", 0x%" PRIx64, fault->address);
    print_place(there, base, fault->address);
  }
  putchar('\n');
}

static void print_faults(const replay_t *replay)
{
  const replay_buffer_t *there = replay->there;
  print_fault("recorded", &replay->source->expected->fault, there,
              there ? there->before->address : 0);
  if (replay->faulted)
    print_fault("replayed", &replay->fault, there, there ? there->now : 0);
  if (!replay->other) {
    puts("same      it fails in the same way");
    return;
  }
  if (replay->other & REPLAY_OTHER_NONE) {
    puts("different it does not fail");
    return;
  }
  const char *between = "different ";
  for (size_t i = 0; i < REPLAY_OTHERS; ++i)
    if (replay->other >> i & 1) {
      printf("%s%s", between, others[i]);
      between = ", ";
    }
  putchar('\n');
}

static void print_head(const replay_t *replay)
{
  const record_dispatch_t *recorded = &replay->source->dispatch;
  fputs("kernel    ", stdout);
  (void)tool_print_text(demangle_if(replay->request->demangle, kernel_of(replay)));
  printf("\ndispatch  %" PRIu64 ": %" PRIu32 "x%" PRIu32 "x%" PRIu32
         " work-items in groups of %ux%ux%u\n",
         replay->source->number, recorded->work_items[0], recorded->work_items[1],
         recorded->work_items[2], recorded->workgroup[0], recorded->workgroup[1],
         recorded->workgroup[2]);
}

static void print_text(const replay_t *replay, bool done)
{
  if (replay->device) {
    fputs("device    ", stdout);
    (void)tool_print_string(rawhal_device_info(replay->device)->description);
    putchar('\n');
  }
  print_head(replay);
  for (size_t i = 0; i < shown_notes(replay); ++i) {
    fputs("note      ", stdout);
    (void)tool_print_string(replay->notes[i]);
    putchar('\n');
  }
  if (replay->note_count > REPLAY_NOTES)
    printf("note      %zu more\n", replay->note_count - REPLAY_NOTES);
  if (!done)
    return;
  past_print(replay);
  if (replay->past && (replay->past->has_stop || replay->past->has_bytes))
    return;
  if (replay->source->expected)
    print_faults(replay);
  else if (replay->first)
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
