/* rawhal probe verify: one dispatch, by the original and by the copy. */
#include "tools/probe/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/tool.h"

enum { AGAIN = 3 }; /* how often more the original runs before a copy is to blame */

/* What memory is now, held against what it was after the original. */
typedef struct verify_memory {
  const replay_buffer_t *first; /* that has a byte which differs; NULL: none */
  uint64_t offset;              /* of that byte */
  unsigned char was, is;
  uint64_t different, bytes;
} verify_memory_t;

static uint64_t bytes_of(const replay_t *replay)
{
  uint64_t bytes = 0;
  for (size_t i = 0; i < replay->buffer_count; ++i)
    bytes += replay->buffers[i].before->content.size;
  return bytes;
}

static void see(verify_memory_t *memory, const replay_buffer_t *buffer, uint64_t offset,
                unsigned char was, unsigned char is)
{
  if (memory->different++)
    return;
  memory->first = buffer;
  memory->offset = offset;
  memory->was = was;
  memory->is = is;
}

/* Each buffer, from its first byte; `memory`: NULL: it is kept. */
static bool look_at(verify_dispatch_t *dispatch, const replay_buffer_t *buffer, unsigned char *left,
                    verify_memory_t *memory)
{
  static unsigned char piece[RECORD_PIECE];
  const uint64_t size = buffer->before->content.size;
  for (uint64_t at = 0, part; at < size; at += part) {
    part = size - at < sizeof(piece) ? size - at : sizeof(piece);
    if (rawhal_buffer_read(buffer->memory, buffer->skip + at, memory ? piece : left + at,
                           (size_t)part, &dispatch->replay->error) != RAWHAL_OK)
      return false;
    if (!memory || memcmp(piece, left + at, (size_t)part) == 0)
      continue;
    for (uint64_t i = 0; i < part; ++i)
      if (piece[i] != left[at + i])
        see(memory, buffer, at + i, left[at + i], piece[i]);
  }
  return true;
}

static bool look_at_all(verify_dispatch_t *dispatch, verify_memory_t *memory)
{
  const replay_t *replay = dispatch->replay;
  uint64_t at = 0;
  for (size_t i = 0; i < replay->buffer_count; ++i) {
    if (!look_at(dispatch, &replay->buffers[i], dispatch->left + at, memory))
      return false;
    at += replay->buffers[i].before->content.size;
  }
  if (memory)
    memory->bytes = at;
  return true;
}

/* ---- What is said ---- */

static verify_result_t cannot(verify_dispatch_t *dispatch, const char *what)
{
  verify_say(dispatch->said, "%s: %s", what, dispatch->replay->error.message);
  return VERIFY_CANNOT;
}

static void describe(const verify_memory_t *memory, char text[VERIFY_SAID])
{
  const replay_buffer_t *buffer = memory->first;
  char argument[96] = "";
  if (buffer->named)
    (void)snprintf(argument, sizeof(argument), ", argument %zu%s%s%s", buffer->argument,
                   *buffer->name ? " '" : "", buffer->name, *buffer->name ? "'" : "");
  verify_say(text,
             "%" PRIu64 " of %" PRIu64 " bytes, the first at offset %" PRIu64
             " of buffer %zu (%" PRIu64 " bytes%s): 0x%02x, then 0x%02x",
             memory->different, memory->bytes, memory->offset, buffer->index,
             buffer->before->content.size, argument, memory->was, memory->is);
}

/* What was noted of it when it was recorded, if that is why it does not repeat. */
static void add_reasons(verify_dispatch_t *dispatch)
{
  static const record_note_kind_t reasons[] = {RECORD_NOTE_ATOMICS, RECORD_NOTE_CLOCK,
                                               RECORD_NOTE_SYNC, RECORD_NOTE_SERVICE,
                                               RECORD_NOTE_QUEUE};
  const record_notes_t notes = dispatch->replay->source->notes;
  for (size_t i = 0; i < notes.count; ++i)
    for (size_t j = 0; j < sizeof(reasons) / sizeof(*reasons); ++j)
      if (notes.notes[i].kind == reasons[j]) {
        char text[REPLAY_NOTE];
        const size_t used = strlen(dispatch->said);
        record_note_text(&notes.notes[i], text, sizeof(text));
        (void)snprintf(dispatch->said + used, VERIFY_SAID - used, "; %s", text);
      }
}

/* ---- Runs ---- */

/* The original, from the recorded memory, and what softgpu records of it meanwhile, with room for
 * so many events. */
static bool run_original(verify_dispatch_t *dispatch, uint64_t events, uint64_t *instructions,
                         verify_taken_t *seen)
{
  verify_records_t records = {0};
  replay_t *replay = dispatch->replay;
  bool done = !dispatch->kernel->is_software ||
              verify_records_open(&records, dispatch, events, &replay->error);
  const bool watches = done && verify_watch(&records, dispatch, replay->kernel, true);
  if (done) {
    done = replay_launch(replay);
    dispatch->is_broken = !done;
    dispatch->counts = done && replay_instructions(replay, instructions);
  }
  if (watches && !done)
    verify_watch_no_more(replay->kernel);
  else if (watches)
    done = verify_records_take(&records, seen, &replay->error) &&
           (seen->header.waves ||
            tool_refuse(&replay->error, RAWHAL_RUNTIME, "softgpu has recorded nothing of it"));
  verify_records_close(&records);
  return done;
}

static uint64_t events_of(const verify_dispatch_t *dispatch)
{
  return dispatch->seen.header.events;
}

/* What softgpu recorded of another run, if it is the same; that which has more events is kept. */
static bool see_again(verify_dispatch_t *dispatch, verify_taken_t *seen)
{
  char said[VERIFY_SAID];
  if (!dispatch->seen.bytes || !seen->bytes)
    return true;
  if (!verify_same(&dispatch->seen, seen, said)) {
    verify_say(dispatch->said,
               "the original itself does not repeat what softgpu records of it: %.500s", said);
    return false;
  }
  const verify_taken_t kept = dispatch->seen;
  if (kept.event_count < seen->event_count) {
    dispatch->seen = *seen;
    *seen = kept;
  }
  return true;
}

static bool repeats(verify_dispatch_t *dispatch, const verify_memory_t *memory,
                    uint64_t instructions, verify_taken_t *seen)
{
  if (memory->first) {
    char text[VERIFY_SAID];
    describe(memory, text);
    verify_say(dispatch->said, "the original itself does not repeat what it leaves: %.400s", text);
  } else if (instructions != dispatch->instructions) {
    verify_say(dispatch->said,
               "the original itself does not repeat what it runs: %" PRIu64
               " instructions, then %" PRIu64,
               dispatch->instructions, instructions);
  } else {
    return see_again(dispatch, seen);
  }
  return false;
}

/* Once more, and is all as it was? */
static verify_result_t repeat(verify_dispatch_t *dispatch)
{
  verify_memory_t memory = {0};
  verify_taken_t seen = {0};
  uint64_t instructions = 0;
  verify_result_t result = VERIFY_SAME;
  if (!replay_refill(dispatch->replay) ||
      !run_original(dispatch, events_of(dispatch), &instructions, &seen) ||
      !look_at_all(dispatch, &memory)) {
    result = cannot(dispatch, "the original cannot be run again");
  } else if (!repeats(dispatch, &memory, instructions, &seen)) {
    result = VERIFY_CANNOT;
    add_reasons(dispatch);
  }
  verify_taken_free(&seen);
  return result;
}

/* The original's kernargs, and one argument more. */
static unsigned char *make_image(const verify_dispatch_t *dispatch,
                                 const rawhal_probe_argument_t *argument, rawhal_error_t *error)
{
  const replay_t *replay = dispatch->replay;
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(dispatch->kernel->plan);
  unsigned char *image = NULL;
  if (replay->image_size > info->argument_offset)
    (void)tool_refuse(error, RAWHAL_UNSUPPORTED,
                      "%zu bytes of kernargs were recorded, and its own argument is at %" PRIu32,
                      replay->image_size, info->argument_offset);
  else if (!(image = calloc(1, info->kernarg_size)))
    (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  if (!image)
    return NULL;
  memcpy(image, replay->image, replay->image_size);
  memcpy(image + info->argument_offset, argument, sizeof(*argument));
  return image;
}

/* The copy has left the memory that the original leaves. */
static bool left_the_same(verify_dispatch_t *dispatch, verify_result_t *result)
{
  verify_memory_t memory = {0};
  if (!look_at_all(dispatch, &memory)) {
    *result = cannot(dispatch, "what the copy has left cannot be read");
    return false;
  }
  if (memory.first) {
    char text[VERIFY_SAID];
    describe(&memory, text);
    verify_say(dispatch->said, "the copy leaves other memory: %.500s", text);
    *result = VERIFY_DIFFERENT;
  }
  return !memory.first;
}

static verify_result_t launch_copy(verify_dispatch_t *dispatch, const verify_records_t *records,
                                   const verify_records_t *watch, const unsigned char *image)
{
  replay_t *replay = dispatch->replay;
  const rawhal_device_kernel_t *kernel = dispatch->kernel->probed;
  const rawhal_probe_plan_info_t *info = records->info;
  verify_taken_t copy = {0}, watched = {0};
  verify_result_t result = VERIFY_DIFFERENT;
  const bool watches = watch->memory && verify_watch(watch, dispatch, kernel, false);
  dispatch->is_broken = !replay_launch_other(replay, kernel, image, info->kernarg_size);
  if (watches && dispatch->is_broken)
    verify_watch_no_more(kernel);
  if (dispatch->is_broken)
    (void)cannot(dispatch, "the copy fails, the original does not");
  else if (!verify_records_take(records, &copy, &replay->error) ||
           (watches && !verify_records_take(watch, &watched, &replay->error)))
    result = cannot(dispatch, "what the copy has recorded cannot be read");
  else if (left_the_same(dispatch, &result))
    result = verify_check(&copy, &watched, dispatch) ? VERIFY_SAME : VERIFY_DIFFERENT;
  verify_taken_free(&copy);
  verify_taken_free(&watched);
  return result;
}

static verify_result_t run_copy(verify_dispatch_t *dispatch)
{
  enum { SOME_EVENTS = 1 << 14 }; /* where nobody has counted them */
  verify_records_t records = {0}, watch = {0};
  replay_t *replay = dispatch->replay;
  rawhal_error_t *error = &replay->error;
  const uint64_t events = dispatch->seen.bytes ? events_of(dispatch) : SOME_EVENTS;
  const bool is_ready = verify_records_open(&records, dispatch, events, error) &&
                        (!dispatch->seen.bytes || verify_records_open(&watch, dispatch, 0, error));
  unsigned char *image = is_ready ? make_image(dispatch, &records.argument, error) : NULL;
  const verify_result_t result = image && replay_refill(replay)
                                     ? launch_copy(dispatch, &records, &watch, image)
                                     : cannot(dispatch, "the copy cannot be run");
  free(image);
  verify_records_close(&records);
  verify_records_close(&watch);
  return result;
}

/* A copy is only to blame for what the original does not do by itself, however seldom. */
static verify_result_t blame(verify_dispatch_t *dispatch)
{
  char said[VERIFY_SAID];
  if (dispatch->is_broken)
    return VERIFY_DIFFERENT;
  memcpy(said, dispatch->said, sizeof(said));
  for (int i = 0; i < AGAIN; ++i)
    if (repeat(dispatch) != VERIFY_SAME)
      return VERIFY_CANNOT;
  memcpy(dispatch->said, said, sizeof(said));
  return VERIFY_DIFFERENT;
}

static verify_result_t run(verify_dispatch_t *dispatch)
{
  dispatch->left = malloc((size_t)bytes_of(dispatch->replay) + 1);
  if (!dispatch->left) {
    verify_say(dispatch->said, "there is no memory for what it leaves");
    return VERIFY_CANNOT;
  }
  if (!run_original(dispatch, 0, &dispatch->instructions, &dispatch->seen))
    return cannot(dispatch, "the original fails");
  if (!look_at_all(dispatch, NULL))
    return cannot(dispatch, "what the original has left cannot be read");
  verify_result_t result = repeat(dispatch);
  if (result == VERIFY_SAME)
    result = run_copy(dispatch);
  if (result == VERIFY_DIFFERENT)
    result = blame(dispatch);
  if (result == VERIFY_SAME)
    dispatch->kernel->bytes_compared += bytes_of(dispatch->replay);
  return result;
}

verify_result_t verify_run(verify_dispatch_t *dispatch)
{
  const verify_result_t result = run(dispatch);
  verify_taken_free(&dispatch->seen);
  free(dispatch->left);
  return result;
}
