/* rawhal probe verify: one dispatch, by the original and by the copy. */
#include "tools/probe/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The original, from the recorded memory. */
static bool run_original(verify_dispatch_t *dispatch, uint64_t *instructions)
{
  dispatch->is_broken = !replay_launch(dispatch->replay);
  if (dispatch->is_broken)
    return false;
  dispatch->counts = replay_instructions(dispatch->replay, instructions);
  return true;
}

/* Once more, and is all as it was? */
static verify_result_t repeat(verify_dispatch_t *dispatch)
{
  verify_memory_t memory = {0};
  uint64_t instructions = 0;
  if (!replay_refill(dispatch->replay) || !run_original(dispatch, &instructions) ||
      !look_at_all(dispatch, &memory))
    return cannot(dispatch, "the original cannot be run again");
  if (memory.first) {
    char text[VERIFY_SAID];
    describe(&memory, text);
    verify_say(dispatch->said, "the original itself does not repeat what it leaves: %.400s", text);
  } else if (instructions != dispatch->instructions) {
    verify_say(dispatch->said,
               "the original itself does not repeat what it runs: %" PRIu64
               " instructions, then %" PRIu64,
               dispatch->instructions, instructions);
  } else {
    return VERIFY_SAME;
  }
  add_reasons(dispatch);
  return VERIFY_CANNOT;
}

static verify_result_t run_copy(verify_dispatch_t *dispatch, verify_records_t *records)
{
  verify_memory_t memory = {0};
  replay_t *replay = dispatch->replay;
  if (!verify_records_open(records, dispatch, &replay->error) || !replay_refill(replay))
    return cannot(dispatch, "the copy cannot be run");
  dispatch->is_broken =
      !replay_launch_other(replay, dispatch->kernel->probed, records->image, records->image_size);
  if (dispatch->is_broken) {
    (void)cannot(dispatch, "the copy fails, the original does not");
    return VERIFY_DIFFERENT;
  }
  if (!look_at_all(dispatch, &memory))
    return cannot(dispatch, "what the copy has left cannot be read");
  if (memory.first) {
    char text[VERIFY_SAID];
    describe(&memory, text);
    verify_say(dispatch->said, "the copy leaves other memory: %.500s", text);
    return VERIFY_DIFFERENT;
  }
  return verify_records_check(records, dispatch);
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

static verify_result_t run(verify_dispatch_t *dispatch, verify_records_t *records)
{
  dispatch->left = malloc((size_t)bytes_of(dispatch->replay) + 1);
  if (!dispatch->left) {
    verify_say(dispatch->said, "there is no memory for what it leaves");
    return VERIFY_CANNOT;
  }
  if (!run_original(dispatch, &dispatch->instructions))
    return cannot(dispatch, "the original fails");
  if (!look_at_all(dispatch, NULL))
    return cannot(dispatch, "what the original has left cannot be read");
  verify_result_t result = repeat(dispatch);
  if (result == VERIFY_SAME)
    result = run_copy(dispatch, records);
  if (result == VERIFY_DIFFERENT)
    result = blame(dispatch);
  if (result == VERIFY_SAME)
    dispatch->kernel->bytes_compared += bytes_of(dispatch->replay);
  return result;
}

verify_result_t verify_run(verify_dispatch_t *dispatch)
{
  verify_records_t records = {0};
  const verify_result_t result = run(dispatch, &records);
  verify_records_close(&records);
  free(dispatch->left);
  return result;
}
