#include "softgpu/isa/run/notes.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "softgpu/device/thread.h"
#include "softgpu/isa/describe/opcodes.h"

enum {
  MOST_BYTES = 32 << 20, /* of a record; a work-group has less than one of these */
  SGPRS = ISA_TTMP,      /* that are handed out */
  ROW = ISA_LANES_MOST * sizeof(uint32_t),
};

/* A work-group, with registers and LDS behind its waves. */
typedef struct noted {
  struct noted *next;
  uint32_t count;
  softgpu_wave_t waves[];
} noted_t;

/* What is handed out, and does not change any more. */
typedef struct record {
  uint32_t holders; /* under the notes' lock */
  size_t bytes, waves;
  noted_t *first, **last;
} record_t;

typedef struct request {
  bool is_over, is_done;
} request_t;

struct softgpu_notes {
  pthread_mutex_t lock; /* of all that follows */
  pthread_cond_t changed;
  uint32_t holders;
  uint32_t threads;        /* that run the dispatch */
  bool has_failed;         /* it has, and `made` is what those that leave add to */
  record_t *shown;         /* NULL: nothing was noted yet */
  record_t *made;          /* for the request, or of the failure; NULL: out of memory, or neither */
  request_t *request;      /* the one that is being answered, or NULL */
  uint32_t answers;        /* threads that have had their part */
  uint32_t requests;       /* so far, as numbers go; skips 0 */
  _Atomic uint32_t wanted; /* the number of `request`, or 0. Changes under the lock */
};

/* --- records --- */

static record_t *record_create(void)
{
  record_t *record = calloc(1, sizeof *record);
  if (record) {
    record->holders = 1;
    record->last = &record->first;
  }
  return record;
}

static void record_free(record_t *record)
{
  for (noted_t *noted = record->first, *next; noted; noted = next) {
    next = noted->next;
    free(noted);
  }
  free(record);
}

/* The caller holds the lock. NULL is allowed. */
static void record_drop(record_t *record)
{
  if (record && --record->holders == 0)
    record_free(record);
}

/* Whether it stands right behind an s_sleep, or at a halt, neither of which a barrier ends. */
static bool is_asleep(const isa_wave_t *wave)
{
  const isa_chunk_t *chunk = wave->chunk;
  if (!chunk || wave->pc - chunk->base >= chunk->bytes)
    return false;
  const uint64_t slot = (wave->pc - chunk->base) / 4;
  const isa_inst_t *here = __atomic_load_n(&chunk->at[slot], __ATOMIC_ACQUIRE);
  const isa_inst_t *before = slot ? __atomic_load_n(&chunk->at[slot - 1], __ATOMIC_ACQUIRE) : NULL;
  return (before && before->op == ISA_s_sleep) ||
         (here && here->op == ISA_s_sethalt && here->simm & 1);
}

static softgpu_wave_state_t state_of(const isa_wave_t *wave)
{
  if (wave->state == ISA_WAVE_ENDED)
    return SOFTGPU_WAVE_ENDED;
  if (wave->state == ISA_WAVE_AT_BARRIER)
    return SOFTGPU_WAVE_BARRIER;
  return wave->gws_waits || is_asleep(wave) ? SOFTGPU_WAVE_WAITING : SOFTGPU_WAVE_RUNNING;
}

static softgpu_wave_t describe(const isa_group_t *group, const isa_wave_t *wave)
{
  const isa_launch_t *launch = group->launch;
  const isa_limits_t *limits = &launch->limits;
  return (softgpu_wave_t){
      .packet_index = launch->dispatch.dispatch_id,
      .kernel_object = launch->dispatch.kernel_object,
      .workgroup = {group->id[0], group->id[1], group->id[2]},
      .index = wave->index,
      .waves = group->waves,
      .state = state_of(wave),
      .pc = wave->pc,
      .exec = isa_exec(wave),
      .lanes = wave->lanes,
      .scc = wave->scc,
      .m0 = wave->s[ISA_M0],
      .mode = wave->mode,
      .sgpr_count = limits->sgprs,
      .vgpr_count = limits->first_agpr,
      .agpr_count = limits->agprs,
      .lds_bytes = wave->lds_bytes,
      .scratch = launch->slice_bytes ? wave->scratch : 0,
      .scratch_bytes = launch->slice_bytes,
  };
}

/* Copies `size` bytes to where `*at` is, which then is behind them. */
static const void *copy(uint8_t **at, const void *from, size_t size)
{
  void *to = *at;
  memcpy(to, from, size);
  *at += size;
  return to;
}

/* Rows of 64 lanes, of which a wave may have fewer. */
static const void *copy_rows(uint8_t **at, const isa_wave_t *wave, uint32_t rows)
{
  const size_t bytes = wave->lanes * sizeof(uint32_t);
  uint8_t *const to = *at;
  for (uint32_t i = 0; i < rows; ++i) {
    memset(to + (size_t)i * ROW + bytes, 0, ROW - bytes);
    memcpy(to + (size_t)i * ROW, isa_row(wave, wave->v, i), bytes);
  }
  *at += (size_t)rows * ROW;
  return to;
}

/* Notes a group that has not ended. False when out of memory; where there is no room for it, it is
 * left out. */
static bool record_add(record_t *record, const isa_group_t *group, uint32_t failed_wave)
{
  const size_t rows = group->launch->limits.rows * ROW;
  const size_t sgprs = SGPRS * sizeof(uint32_t), lds = group->wave->lds_bytes;
  const size_t size =
      sizeof(noted_t) + group->waves * (sizeof(softgpu_wave_t) + sgprs + rows) + lds;
  if (group->ended == group->waves || size > MOST_BYTES - record->bytes)
    return true;
  noted_t *noted = malloc(size);
  if (!noted)
    return false;
  uint8_t *at = (uint8_t *)&noted->waves[group->waves];
  uint8_t *shared = (uint8_t *)noted + size - lds;
  memcpy(shared, group->lds, lds);
  *noted = (noted_t){.count = group->waves};
  for (uint32_t i = 0; i < group->waves; ++i) {
    const isa_wave_t *from = &group->wave[i];
    softgpu_wave_t *wave = &noted->waves[i];
    *wave = describe(group, from);
    if (i == failed_wave)
      wave->state = SOFTGPU_WAVE_FAULTED;
    wave->sgprs = copy(&at, from->s, sgprs);
    wave->vgprs = copy_rows(&at, from, group->launch->limits.rows);
    wave->agprs = wave->agpr_count ? wave->vgprs + wave->vgpr_count : NULL;
    wave->lds = lds ? shared : NULL;
  }
  *record->last = noted;
  record->last = &noted->next;
  record->bytes += size;
  record->waves += group->waves;
  return true;
}

/* --- the life of it --- */

softgpu_notes_t *isa_notes_create(void)
{
  softgpu_notes_t *notes = calloc(1, sizeof *notes);
  if (notes && !softgpu_condition_init(&notes->changed)) {
    free(notes);
    notes = NULL;
  }
  if (notes) {
    pthread_mutex_init(&notes->lock, NULL);
    notes->holders = 1;
  }
  return notes;
}

softgpu_notes_t *isa_notes_hold(softgpu_notes_t *notes)
{
  pthread_mutex_lock(&notes->lock);
  ++notes->holders;
  pthread_mutex_unlock(&notes->lock);
  return notes;
}

void isa_notes_release(softgpu_notes_t *notes)
{
  pthread_mutex_lock(&notes->lock);
  const bool is_last = --notes->holders == 0;
  pthread_mutex_unlock(&notes->lock);
  if (!is_last)
    return;
  record_drop(notes->shown);
  record_drop(notes->made);
  pthread_cond_destroy(&notes->changed);
  pthread_mutex_destroy(&notes->lock);
  free(notes);
}

size_t isa_notes_walk(softgpu_notes_t *notes, softgpu_wave_fn *function, void *context)
{
  pthread_mutex_lock(&notes->lock);
  record_t *record = notes->shown;
  if (record)
    ++record->holders;
  pthread_mutex_unlock(&notes->lock);
  if (!record)
    return 0;
  const size_t count = record->waves;
  bool goes_on = function != NULL;
  for (const noted_t *noted = record->first; noted && goes_on; noted = noted->next)
    for (uint32_t i = 0; i < noted->count && goes_on; ++i)
      goes_on = function(context, &noted->waves[i], sizeof noted->waves[i]);
  pthread_mutex_lock(&notes->lock);
  record_drop(record);
  pthread_mutex_unlock(&notes->lock);
  return count;
}

/* --- requests --- */

/* The caller holds the lock, here and below. */
static void show(softgpu_notes_t *notes)
{
  record_drop(notes->shown);
  notes->shown = notes->made;
  notes->made = NULL;
}

static void end_request(softgpu_notes_t *notes, bool is_done)
{
  notes->request->is_over = true;
  notes->request->is_done = is_done;
  if (is_done)
    show(notes);
  record_drop(notes->made);
  notes->made = NULL;
  notes->request = NULL;
  atomic_store(&notes->wanted, 0);
  pthread_cond_broadcast(&notes->changed);
}

static void begin_request(softgpu_notes_t *notes, request_t *request)
{
  notes->requests += notes->requests == UINT32_MAX ? 2 : 1;
  notes->request = request;
  notes->answers = 0;
  atomic_store(&notes->wanted, notes->requests);
}

static bool wait_until(softgpu_notes_t *notes, const struct timespec *until)
{
  return pthread_cond_timedwait(&notes->changed, &notes->lock, until) == 0;
}

bool isa_notes_take(softgpu_notes_t *notes, uint32_t milliseconds)
{
  const struct timespec until = softgpu_time_in(milliseconds * 1000000ull);
  request_t request = {0};
  bool is_early = true;
  SOFTGPU_WITHOUT_CANCELLATION();
  pthread_mutex_lock(&notes->lock);
  while (notes->request && is_early) /* another thread's */
    is_early = wait_until(notes, &until);
  if (!notes->request && notes->threads && !notes->has_failed && (notes->made = record_create())) {
    begin_request(notes, &request);
    while (!request.is_over && is_early)
      is_early = wait_until(notes, &until);
    if (!request.is_over)
      end_request(notes, false);
  }
  pthread_mutex_unlock(&notes->lock);
  return request.is_done;
}

/* --- threads of the dispatch --- */

void isa_noter_enter(isa_noter_t *noter)
{
  if (!noter->notes)
    return;
  pthread_mutex_lock(&noter->notes->lock);
  ++noter->notes->threads;
  pthread_mutex_unlock(&noter->notes->lock);
}

bool isa_noter_is_asked(const isa_noter_t *noter)
{
  if (!noter->notes)
    return false;
  const uint32_t wanted = atomic_load_explicit(&noter->notes->wanted, memory_order_relaxed);
  return wanted && wanted != noter->answered;
}

static bool add_groups(const isa_noter_t *noter, isa_group_t *const *groups, uint32_t count)
{
  record_t *record = noter->notes->made;
  for (uint32_t i = 0; record && i < count; ++i) {
    const bool is_failed = groups[i] == noter->failed;
    if (!(is_failed && noter->is_noted) &&
        !record_add(record, groups[i], is_failed ? noter->failed_wave : ISA_NO_WAVE))
      return false;
  }
  return true;
}

void isa_noter_answer(isa_noter_t *noter, isa_group_t *const *groups, uint32_t count)
{
  softgpu_notes_t *notes = noter->notes;
  pthread_mutex_lock(&notes->lock);
  const uint32_t wanted = atomic_load(&notes->wanted);
  if (wanted && wanted != noter->answered) {
    noter->answered = wanted;
    ++notes->answers;
    if (!add_groups(noter, groups, count))
      end_request(notes, false);
    else if (notes->answers == notes->threads)
      end_request(notes, true);
  }
  pthread_mutex_unlock(&notes->lock);
}

void isa_noter_fail(isa_noter_t *noter, const isa_group_t *group, uint32_t wave, bool is_first)
{
  softgpu_notes_t *notes = noter->notes;
  if (!notes)
    return;
  noter->failed = group;
  noter->failed_wave = wave;
  if (!is_first)
    return;
  noter->is_noted = true;
  pthread_mutex_lock(&notes->lock);
  if (notes->request)
    end_request(notes, false);
  notes->has_failed = true;
  notes->made = record_create();
  if (notes->made)
    record_add(notes->made, group, wave);
  pthread_mutex_unlock(&notes->lock);
}

/* A request is answered without a thread that has left, if others still run the dispatch. */
static void leave_request(softgpu_notes_t *notes, const isa_noter_t *noter)
{
  notes->answers -= noter->answered == atomic_load(&notes->wanted);
  if (!notes->threads)
    end_request(notes, false);
  else if (notes->answers == notes->threads)
    end_request(notes, true);
}

void isa_noter_leave(isa_noter_t *noter, isa_group_t *const *groups, uint32_t count)
{
  softgpu_notes_t *notes = noter->notes;
  if (!notes)
    return;
  pthread_mutex_lock(&notes->lock);
  --notes->threads;
  if (notes->request)
    leave_request(notes, noter);
  if (notes->has_failed)
    add_groups(noter, groups, count);
  if (notes->has_failed && !notes->threads) {
    notes->has_failed = false;
    show(notes);
  }
  pthread_mutex_unlock(&notes->lock);
}
