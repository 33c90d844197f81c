#include "softgpu/order/past.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/device/memory.h"
#include "softgpu/device/opened.h"
#include "softgpu/exports.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/order/order.h"
#include "softgpu/order/writers.h"

struct past {
  softgpu_back_t asked;
  softgpu_back_told_t told;
  uint64_t entry, met; /* how often waves came to `pc` */
  writers_t writers;
  const isa_group_t *group; /* whose turn it is */
  uint64_t **counts;        /* of waves, by the slot of their group; NULL: none began in it yet */
  uint32_t slots;
};

/* What was asked last, and what came of it. A dispatch has it from past_take() to past_end(). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static past_t *latest;
static bool is_taken;

/* ---- Of the dispatch ---- */

/* With `lock`. */
static bool is_about(const isa_launch_t *launch)
{
  return latest && !is_taken && latest->told.state == SOFTGPU_BACK_WAITS &&
         latest->asked.kernel_object == launch->dispatch.kernel_object;
}

past_t *past_take(const isa_launch_t *launch)
{
  pthread_mutex_lock(&lock);
  past_t *past = is_about(launch) ? latest : NULL;
  is_taken |= past != NULL;
  pthread_mutex_unlock(&lock);
  if (!past)
    return NULL;
  past->entry = launch->entry;
  past->told.state = writers_begin(&past->writers, &past->asked, launch->limits.node);
  return past;
}

static void free_counts(past_t *past)
{
  for (uint32_t i = 0; i < past->slots; ++i)
    free(past->counts[i]);
  free(past->counts);
  past->counts = NULL;
  past->slots = 0;
}

void past_end(past_t *past, uint64_t run, uint64_t all, bool failed)
{
  softgpu_back_told_t *told = &past->told;
  free_counts(past);
  told->run = run;
  told->all = all;
  pthread_mutex_lock(&lock);
  if (told->state == SOFTGPU_BACK_RUNS)
    told->state = failed ? SOFTGPU_BACK_FAILED : SOFTGPU_BACK_ENDED;
  is_taken = false;
  pthread_mutex_unlock(&lock);
}

/* ---- Of its waves ---- */

static bool make_room(past_t *past, const isa_group_t *group)
{
  if (group->slot >= past->slots) {
    const uint32_t slots = group->slot + 1;
    uint64_t **counts = realloc(past->counts, slots * sizeof(uint64_t *));
    if (!counts)
      return false;
    past->counts = counts;
    while (past->slots < slots)
      past->counts[past->slots++] = NULL;
  }
  uint64_t **at = &past->counts[group->slot];
  if (!*at)
    *at = malloc(group->capacity * sizeof **at);
  return *at != NULL;
}

bool past_began(past_t *past, const isa_group_t *group)
{
  if (past->told.state == SOFTGPU_BACK_RUNS && make_room(past, group)) {
    memset(past->counts[group->slot], 0, group->capacity * sizeof(uint64_t));
    return true;
  }
  if (past->told.state == SOFTGPU_BACK_RUNS)
    past->told.state = SOFTGPU_BACK_NO_MEMORY;
  past_end(past, 0, 0, true);
  return false;
}

void past_enter(past_t *past, const isa_group_t *group)
{
  past->group = group;
}

static uint64_t *count_of(const past_t *past, const isa_wave_t *wave)
{
  return &past->counts[past->group->slot][wave->index];
}

static bool is_in(const isa_group_t *group, const uint32_t id[3])
{
  return memcmp(group->id, id, sizeof group->id) == 0;
}

/* ---- Moments ---- */

static bool stop(past_t *past, isa_wave_t *wave)
{
  softgpu_back_told_t *told = &past->told;
  told->state = SOFTGPU_BACK_STOPPED;
  told->wave = wave->index;
  memcpy(told->workgroup, past->group->id, sizeof told->workgroup);
  told->pc = wave->pc;
  told->pc_offset = wave->pc - past->entry;
  told->instructions = *count_of(past, wave);
  return isa_wave_fault(wave, SOFTGPU_FAULT_MOMENT, 0, 0, 0);
}

static bool is_wave_asked(const past_t *past, const isa_wave_t *wave)
{
  return past->asked.stop == SOFTGPU_BACK_AT_WAVE && wave->index == past->asked.wave &&
         is_in(past->group, past->asked.workgroup);
}

/* It is about to execute its next instruction. */
static bool is_moment(past_t *past, const isa_wave_t *wave)
{
  if (past->asked.stop == SOFTGPU_BACK_AT_PC && wave->pc == past->asked.pc && !wave->gws_waits)
    return ++past->met >= past->asked.count;
  return is_wave_asked(past, wave) && *count_of(past, wave) == past->asked.count;
}

/* ---- Turns ---- */

/* Its turn ends with the instruction, whatever is left of it. */
static bool gives_way(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return wave->state != ISA_WAVE_READY || wave->vmem_awaited || wave->gws_waits ||
         inst->op == ISA_s_sleep || (inst->op == ISA_s_sethalt && inst->simm & 1);
}

static bool run_looking(past_t *past, isa_program_t *program, isa_wave_t *wave, uint32_t turn,
                        uint64_t *executed)
{
  uint64_t *count = count_of(past, wave);
  for (uint32_t n = 0; n < turn; ++n) {
    const isa_chunk_t *chunk;
    const isa_inst_t *inst = isa_program_at(program, wave->pc, &chunk);
    if (is_moment(past, wave))
      return stop(past, wave);
    if (inst)
      writers_look(&past->writers, past->group, wave, inst, chunk, *count);
    const uint64_t before = *executed - wave->thread->tried_again;
    if (!isa_wave_run(program, wave, 1, executed))
      return false;
    *count += *executed - wave->thread->tried_again - before;
    writers_commit(&past->writers);
    if (!inst || gives_way(wave, inst))
      break;
  }
  return !is_wave_asked(past, wave) || *count != past->asked.count || stop(past, wave);
}

/* Up to the moment at full speed. */
static bool run_counting(past_t *past, isa_program_t *program, isa_wave_t *wave, uint32_t turn,
                         uint64_t *executed)
{
  uint64_t *count = count_of(past, wave);
  const uint64_t left = past->asked.count - *count, before = *executed - wave->thread->tried_again;
  const bool is_asked = is_wave_asked(past, wave);
  if (is_asked && !left)
    return stop(past, wave);
  if (!isa_wave_run(program, wave, is_asked && left < turn ? (uint32_t)left : turn, executed))
    return false;
  *count += *executed - wave->thread->tried_again - before;
  return !is_asked || *count < past->asked.count || stop(past, wave);
}

bool past_run(past_t *past, isa_program_t *program, isa_wave_t *wave, uint32_t turn,
              uint64_t *executed)
{
  const bool looks =
      past->asked.stop == SOFTGPU_BACK_AT_PC || past->asked.space != SOFTGPU_BACK_NOTHING;
  return (looks ? run_looking : run_counting)(past, program, wave, turn, executed);
}

/* ---- Who asks ---- */

static bool makes_sense(const softgpu_back_t *asked)
{
  return asked->stop <= SOFTGPU_BACK_AT_PC && asked->space <= SOFTGPU_BACK_LDS &&
         (asked->space == SOFTGPU_BACK_NOTHING
              ? true
              : asked->bytes > 0 && asked->bytes <= SOFTGPU_BACK_BYTES &&
                    asked->address <= UINT64_MAX - asked->bytes);
}

/* NULL: out of memory. */
static past_t *past_make(const softgpu_back_t *asked)
{
  past_t *past = calloc(1, sizeof *past);
  if (past)
    past->asked = *asked;
  if (past && !writers_make(&past->writers, asked)) {
    free(past);
    past = NULL;
  }
  return past;
}

static void past_free(past_t *past)
{
  if (past)
    writers_free(&past->writers);
  free(past);
}

SOFTGPU_EXPORT bool softgpu_back(const softgpu_back_t *asked, size_t size)
{
  softgpu_back_t copied = {0};
  past_t *made = NULL;
  if (softgpu_forked() || !order_seed())
    return false;
  if (asked) {
    memcpy(&copied, asked, size < sizeof copied ? size : sizeof copied);
    if (!makes_sense(&copied) || !(made = past_make(&copied)))
      return false;
  }
  pthread_mutex_lock(&lock);
  past_t *old = is_taken ? made : latest; /* of a dispatch that runs it stays */
  const bool done = !is_taken;
  if (done)
    latest = made;
  pthread_mutex_unlock(&lock);
  past_free(old);
  return done;
}

SOFTGPU_EXPORT bool softgpu_back_told(softgpu_back_told_t *told, size_t size,
                                      softgpu_back_writer_fn *writer, void *context)
{
  if (softgpu_forked())
    return false;
  pthread_mutex_lock(&lock);
  const past_t *past = latest;
  softgpu_back_told_t now = {.state = is_taken ? SOFTGPU_BACK_RUNS : SOFTGPU_BACK_WAITS};
  if (past && !is_taken) {
    now = past->told;
    if (writer)
      writers_tell(&past->writers, past->entry, writer, context);
  }
  pthread_mutex_unlock(&lock);
  if (past && told)
    memcpy(told, &now, size < sizeof now ? size : sizeof now);
  return past;
}
