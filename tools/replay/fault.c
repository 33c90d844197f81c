/* rawhal replay: the fault that comes of a launch, and the one of a core file. */
#include <string.h>

#include "tools/replay/replay.h"
#include "tools/shared/tool.h"

/* ---- What of two faults is alike ---- */

static bool both_know(const replay_t *replay, uint32_t what)
{
  return replay->source->expected->fault.known & replay->fault.known & what;
}

/* Where many fail, another may have been the first. */
static bool is_same_wave(const replay_t *replay)
{
  const rawhal_fault_t *then = &replay->source->expected->fault, *now = &replay->fault;
  return !both_know(replay, RAWHAL_FAULT_KNOWS_PC) ||
         (memcmp(then->group, now->group, sizeof(then->group)) == 0 && then->wave == now->wave);
}

static bool is_same_kind(const rawhal_fault_t *then, const rawhal_fault_t *now)
{
  if (then->kind == now->kind && then->kind != RAWHAL_FAULT_UNKNOWN)
    return true;
  const bool untold = then->kind == RAWHAL_FAULT_UNKNOWN || now->kind == RAWHAL_FAULT_UNKNOWN;
  return untold && then->hsa_status && then->hsa_status == now->hsa_status;
}

/* What its address is. */
typedef enum where {
  WHERE_MEMORY = 0,
  WHERE_NUMBER = 1, /* an offset, or a trap's number */
  WHERE_NOWHERE = 2,
} where_t;

static where_t where_of(rawhal_fault_kind_t kind)
{
  switch (kind) {
  case RAWHAL_FAULT_LDS:
  case RAWHAL_FAULT_LDS_UNWRITTEN:
  case RAWHAL_FAULT_LDS_RACE:
  case RAWHAL_FAULT_SCRATCH:
  case RAWHAL_FAULT_TRAP:
    return WHERE_NUMBER;
  case RAWHAL_FAULT_KERNARG: /* which are elsewhere at each launch */
  case RAWHAL_FAULT_TIME_LIMIT:
    return WHERE_NOWHERE;
  default:
    return WHERE_MEMORY;
  }
}

/* Where the address is among the recorded buffers: the allocation that the cause names, else the
 * one that it is in or next to. */
static const replay_buffer_t *place_of(const replay_t *replay)
{
  const rawhal_fault_t *then = &replay->source->expected->fault;
  if (!(then->known & RAWHAL_FAULT_KNOWS_ADDRESS) || where_of(then->kind) != WHERE_MEMORY)
    return NULL;
  const replay_buffer_t *named = then->cause_count && then->causes[0].allocation
                                     ? replay_find(replay, then->causes[0].allocation)
                                     : NULL;
  return named ? named : replay_near(replay, then->address);
}

/* The same number of bytes from where a buffer, or the code, was and is; or the very same address,
 * which led nowhere. */
static bool is_moved_alike(const replay_t *replay, uint64_t then, uint64_t now)
{
  if (now == then || now - then == replay->delta - replay->source->place.delta)
    return true;
  for (size_t i = 0; i < replay->buffer_count; ++i)
    if (now - then == replay->buffers[i].now - replay->buffers[i].before->address)
      return true;
  return false;
}

/* How far the accesses of two work-items may be from each other, of a kernel that has an element,
 * of a cache line at most, for each. */
static uint64_t spread_of(const replay_t *replay)
{
  enum { LINE = 128 };
  const uint32_t *grid = replay->source->dispatch.work_items;
  uint64_t spread = (uint64_t)grid[0] * grid[1];
  if (__builtin_mul_overflow(spread, (uint64_t)grid[2] * LINE, &spread))
    spread = UINT64_MAX;
  return spread;
}

/* -1: before a buffer; 0: in it; 1: behind it. */
static int side_of(uint64_t base, uint64_t size, uint64_t address)
{
  return address < base ? -1 : address - base >= size;
}

static bool is_same_side(const replay_t *replay, uint64_t then, uint64_t now)
{
  const replay_buffer_t *there = replay->there;
  const uint64_t base = there ? there->before->address : 0, here = there ? there->now : 0;
  const uint64_t size = there ? there->before->content.size : 0;
  const int64_t apart = (int64_t)((now - here) - (then - base));
  const uint64_t distance = apart < 0 ? -(uint64_t)apart : (uint64_t)apart;
  return distance <= spread_of(replay) && side_of(base, size, then) == side_of(here, size, now);
}

static bool is_same_address(const replay_t *replay)
{
  const uint64_t then = replay->source->expected->fault.address, now = replay->fault.address;
  const where_t where = where_of(replay->fault.kind);
  if (!both_know(replay, RAWHAL_FAULT_KNOWS_ADDRESS) || where == WHERE_NOWHERE)
    return true;
  if (where == WHERE_NUMBER)
    return then == now || (replay->fault.kind != RAWHAL_FAULT_TRAP && !is_same_wave(replay));
  return is_moved_alike(replay, then, now) ||
         (!is_same_wave(replay) && is_same_side(replay, then, now));
}

/* A kernel that does not end may be stopped anywhere. */
static bool is_same_pc(const replay_t *replay)
{
  const rawhal_fault_t *then = &replay->source->expected->fault, *now = &replay->fault;
  return !both_know(replay, RAWHAL_FAULT_KNOWS_PC) || now->kind == RAWHAL_FAULT_TIME_LIMIT ||
         then->pc_offset == now->pc_offset || then->pc == now->pc;
}

static bool is_same_access(const replay_t *replay)
{
  const rawhal_fault_t *then = &replay->source->expected->fault, *now = &replay->fault;
  return !then->access || !now->access ||
         (then->access == now->access && then->bytes == now->bytes);
}

static uint32_t compare(const replay_t *replay)
{
  const rawhal_fault_t *then = &replay->source->expected->fault, *now = &replay->fault;
  const bool kernels = both_know(replay, RAWHAL_FAULT_KNOWS_DISPATCH);
  if (!replay->faulted)
    return REPLAY_OTHER_NONE;
  return (is_same_kind(then, now) ? 0 : (uint32_t)REPLAY_OTHER_KIND) |
         (!kernels || !strcmp(then->kernel, now->kernel) ? 0 : (uint32_t)REPLAY_OTHER_KERNEL) |
         (is_same_pc(replay) ? 0 : (uint32_t)REPLAY_OTHER_PC) |
         (is_same_access(replay) ? 0 : (uint32_t)REPLAY_OTHER_ACCESS) |
         (is_same_address(replay) ? 0 : (uint32_t)REPLAY_OTHER_ADDRESS);
}

/* ---- The launch ---- */

/* A device that stops no kernel by itself. */
static void take_endless(replay_t *replay)
{
  const rawhal_string_t kernel = replay->source->dispatch.kernel;
  replay->fault = (rawhal_fault_t){.size = sizeof(replay->fault),
                                   .kind = RAWHAL_FAULT_TIME_LIMIT,
                                   .known = RAWHAL_FAULT_KNOWS_DISPATCH};
  const size_t most = sizeof(replay->fault.kernel) - 1;
  memcpy(replay->fault.kernel, kernel.data, kernel.size < most ? kernel.size : most);
}

/* Whether it failed as a kernel does, not as a launch that cannot be. */
static bool take_fault(replay_t *replay)
{
  if (!replay->queue)
    return false;
  replay->fault.size = sizeof(replay->fault);
  if (rawhal_queue_fault(replay->queue, &replay->fault, NULL) == RAWHAL_OK)
    return true;
  if (replay->error.status != RAWHAL_TIMED_OUT)
    return false;
  take_endless(replay);
  return true;
}

bool replay_fault(replay_t *replay)
{
  if (!replay_launch(replay)) {
    replay->faulted = take_fault(replay);
    if (!replay->faulted)
      return false;
  }
  replay->there = place_of(replay);
  replay->other = compare(replay);
  return true;
}
