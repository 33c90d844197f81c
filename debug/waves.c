#include "debug/waves.h"

#include <inttypes.h>
#include <string.h>

#include "base/print.h"

enum { PLACES = 8, TAKE_MS = 200 };

typedef struct place {
  uint64_t pc;
  uint32_t state, count;
  uint32_t workgroup[3], wave; /* of the first that was met there */
} place_t;

typedef struct places {
  place_t all[PLACES];
  size_t count;
  uint32_t waves, elsewhere; /* not in the table, which was full */
} places_t;

static bool note(void *context, const softgpu_wave_t *wave, size_t size)
{
  places_t *places = context;
  if (size < offsetof(softgpu_wave_t, exec))
    return false;
  ++places->waves;
  place_t *place = places->all, *end = place + places->count;
  while (place < end && (place->pc != wave->pc || place->state != wave->state))
    ++place;
  if (place == places->all + PLACES) {
    ++places->elsewhere;
    return true;
  }
  if (place == end) {
    *place = (place_t){.pc = wave->pc, .state = wave->state, .wave = wave->index};
    memcpy(place->workgroup, wave->workgroup, sizeof(place->workgroup));
    ++places->count;
  }
  ++place->count;
  return true;
}

static const char *const states[] = {
    [SOFTGPU_WAVE_RUNNING] = "at",
    [SOFTGPU_WAVE_BARRIER] = "waiting at s_barrier, at",
    [SOFTGPU_WAVE_ENDED] = "ended at",
    [SOFTGPU_WAVE_FAULTED] = "faulted at",
    [SOFTGPU_WAVE_WAITING] = "waiting for what is beyond their work-group, at",
};

size_t debug_waves_describe(const debug_softgpu_t *softgpu, const void *hsa_queue, uint64_t entry,
                            char *text, size_t size)
{
  places_t places = {0};
  if (size)
    *text = '\0';
  if (!softgpu->waves || !softgpu->waves_take || !softgpu->waves_take(hsa_queue, TAKE_MS))
    return 0;
  (void)softgpu->waves(hsa_queue, note, &places);
  if (!places.waves)
    return 0;
  print_t to = print_into(text, size);
  print(&to, "%" PRIu32 " %s resident:", places.waves, places.waves == 1 ? "wave is" : "waves are");
  for (size_t i = 0; i < places.count; ++i) {
    const place_t *place = &places.all[i];
    print(&to, "%s %" PRIu32 " %s entry%+" PRId64, i ? "," : "", place->count,
          place->state < sizeof(states) / sizeof(*states) ? states[place->state] : "at",
          (int64_t)(place->pc - entry));
    if (place->count == 1)
      print(&to, " (wave %" PRIu32 " of work-group %" PRIu32 ",%" PRIu32 ",%" PRIu32 ")",
            place->wave, place->workgroup[0], place->workgroup[1], place->workgroup[2]);
  }
  if (places.elsewhere)
    print(&to, ", %" PRIu32 " elsewhere", places.elsewhere);
  return to.length;
}

/* ---- Work-groups ---- */

typedef struct stands {
  uint64_t kernel_object;
  debug_stand_t now; /* the work-group that is being told */
  debug_stand_t *first;
} stands_t;

/* A work-group has been told. */
static void close_group(stands_t *stands)
{
  const debug_stand_t *now = &stands->now;
  if (!now->waiting || !now->elsewhere)
    return;
  const uint32_t groups = stands->first->groups;
  if (!groups)
    *stands->first = *now;
  stands->first->groups = groups + 1;
}

static void note_at(uint32_t *waves, uint64_t *pc, const softgpu_wave_t *wave)
{
  if (!*waves)
    *pc = wave->pc;
  *waves |= 1u << (wave->index & 31); /* a work-group has 16 at most */
}

static bool note_wave(void *context, const softgpu_wave_t *wave, size_t size)
{
  stands_t *stands = context;
  debug_stand_t *now = &stands->now;
  uint64_t unused;
  if (size < offsetof(softgpu_wave_t, exec))
    return false;
  if (wave->kernel_object != stands->kernel_object)
    return true;
  if (memcmp(now->group, wave->workgroup, sizeof(now->group))) {
    close_group(stands);
    *now = (debug_stand_t){0};
    memcpy(now->group, wave->workgroup, sizeof(now->group));
  }
  if (wave->state == SOFTGPU_WAVE_BARRIER)
    note_at(&now->waiting, &now->barrier, wave);
  else if (wave->state == SOFTGPU_WAVE_ENDED)
    note_at(&now->ended, &unused, wave);
  else
    note_at(&now->elsewhere, &now->pc, wave);
  return true;
}

bool debug_waves_stand(const debug_softgpu_t *softgpu, const void *hsa_queue,
                       const rawhal_fault_t *fault, debug_stand_t *stand)
{
  *stand = (debug_stand_t){0};
  if (!softgpu->waves || !fault->kernel_object)
    return false;
  stands_t stands = {.kernel_object = fault->kernel_object, .first = stand};
  (void)softgpu->waves(hsa_queue, note_wave, &stands);
  close_group(&stands);
  return stand->groups;
}
