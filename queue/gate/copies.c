#include "queue/gate/copies.h"

#include "base/clock.h"

uint64_t copies_patience = 10000000000;

rawhal_status_t copies_open(copies_t *copies, rawhal_limiter_t *limiter,
                            const limit_queue_t *reached, rawhal_error_t *error)
{
  rawhal_status_t status =
      limit_lease_create(limiter, reached, RAWHAL_UNLIMITED, &copies->lease, error);
  if (status == RAWHAL_OK)
    (void)pthread_mutex_init(&copies->lock, NULL);
  return status;
}

void copies_close(copies_t *copies)
{
  if (!copies->lease)
    return;
  limit_lease_destroy(copies->lease);
  (void)pthread_mutex_destroy(&copies->lock);
  copies->lease = NULL;
}

rawhal_status_t copies_admit(copies_t *copies, copies_turn_t *turn, copies_beside_t beside,
                             rawhal_error_t *error)
{
  const limit_shape_t shape = gate_copy(turn->bytes);
  WITHOUT_CANCELLATION();
  pthread_mutex_lock(&copies->lock);
  rawhal_status_t status = limit_admit_one(copies->lease, &shape, 0, &turn->grant, error);
  if (status == RAWHAL_QUOTA_EXCEEDED && copies->holds)
    status = RAWHAL_WOULD_BLOCK;
  if (status == RAWHAL_WOULD_BLOCK && beside != COPIES_BESIDE_NOTHING &&
      atomic_load(&copies->running) == 0 &&
      (beside == COPIES_BESIDE_OTHERS || limit_has_flight(copies->lease)) &&
      limit_admit_ahead(copies->lease, &shape, &turn->grant))
    status = RAWHAL_OK;
  atomic_fetch_add(&copies->running, status == RAWHAL_OK && !turn->awaits);
  pthread_mutex_unlock(&copies->lock);
  return status;
}

rawhal_status_t copies_await(copies_t *copies, copies_turn_t *turn, const atomic_bool *ending,
                             rawhal_error_t *error)
{
  if (!copies->lease)
    return RAWHAL_OK;
  for (const uint64_t late = clock_now() + copies_patience;;) {
    const bool is_late = clock_now() >= late;
    const copies_beside_t beside = is_late ? COPIES_BESIDE_OTHERS : COPIES_BESIDE_OURS;
    rawhal_error_t why;
    rawhal_status_t status = copies_admit(copies, turn, beside, &why);
    const uint64_t now = clock_now(), retry = limit_retry_at(copies->lease);
    if (status == RAWHAL_OK)
      turn->grant.admitted_at = now;
    else if (status != RAWHAL_WOULD_BLOCK && error)
      *error = why;
    if (status != RAWHAL_WOULD_BLOCK || (is_late && ending && atomic_load(ending)))
      return status;
    clock_nap(clock_clamp(retry > now ? retry - now : 0, COPIES_NAP_LEAST, COPIES_NAP_MOST));
  }
}

static void end(copies_t *copies, const copies_turn_t *turn)
{
  atomic_fetch_sub(&copies->running, !turn->awaits);
}

void copies_charge(copies_t *copies, const copies_turn_t *turn, gate_span_t ran)
{
  if (!copies->lease)
    return;
  limit_complete(copies->lease, &turn->grant, ran.start, ran.end);
  end(copies, turn);
}

void copies_cancel(copies_t *copies, const copies_turn_t *turn)
{
  if (!copies->lease)
    return;
  limit_cancel(copies->lease, &turn->grant);
  end(copies, turn);
}
