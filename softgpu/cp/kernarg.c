#include "softgpu/cp/kernarg.h"

#include <pthread.h>

#include "softgpu/device/opened.h"
#include "softgpu/exports.h"
#include "softgpu/softgpu.h"

enum { NOTES = 1024 };

/* What is said stays until its dispatch takes it; without room, the oldest is forgotten. */
typedef struct note {
  uint64_t kernarg; /* 0: none */
  uint32_t from, to;
} note_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static note_t notes[NOTES];
static uint32_t next_note;

static note_t *note_find(uint64_t kernarg)
{
  for (uint32_t i = 0; i < NOTES; ++i)
    if (notes[i].kernarg == kernarg)
      return &notes[i];
  return NULL;
}

SOFTGPU_EXPORT bool softgpu_kernarg_missing(const void *kernarg, uint32_t from, uint32_t to)
{
  if (!kernarg || from > to || softgpu_forked())
    return false;
  pthread_mutex_lock(&lock);
  note_t *note = note_find((uintptr_t)kernarg);
  if (!note)
    note = &notes[next_note++ % NOTES];
  *note = (note_t){(uintptr_t)kernarg, from, to};
  pthread_mutex_unlock(&lock);
  return true;
}

void softgpu_kernarg_take(softgpu_dispatch_t *dispatch)
{
  if (dispatch->kernarg == 0)
    return;
  pthread_mutex_lock(&lock);
  note_t *note = note_find(dispatch->kernarg);
  if (note) {
    dispatch->missing_from = note->from;
    dispatch->missing_to = note->to;
    *note = (note_t){0};
  }
  pthread_mutex_unlock(&lock);
}
