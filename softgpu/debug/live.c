#include "softgpu/debug/live.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "softgpu/debug/save.h"
#include "softgpu/device/clock.h"
#include "softgpu/device/memory.h"

enum { A_MOMENT_NS = 5000000, LEAVE_NS = 100000000, LEAVE_ROUNDS = 300 };

live_t live;
int live_bell = -1;

void live_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
  const struct timespec most = {.tv_sec = (time_t)(ns / 1000000000),
                                .tv_nsec = (long)(ns % 1000000000)};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

void live_futex_wake(_Atomic uint32_t *word)
{
  syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* --- queues --- */

/* Where kernels may run what a debugger puts there: instructions that it steps over. */
static softgpu_allocation_t displaced(const live_queue_t *queue)
{
  return (softgpu_allocation_t){.base = (uintptr_t)queue->area + SAVE_DEBUG_AT,
                                .size = SAVE_DEBUG_BYTES,
                                .flags = SOFTGPU_MEMORY_EXECUTE,
                                .node = queue->node,
                                .access = 1u << queue->node};
}

/* It stays, for the next queue: the service may be looking at it. */
static uint8_t *area_make(void)
{
  void *area = mmap(NULL, SAVE_AREA_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return area == MAP_FAILED ? NULL : area;
}

/* Several threads may make queues at a time. NULL: there are too many. */
static live_queue_t *take_place(void)
{
  for (live_queue_t *queue = live.queues; queue < live.queues + LIVE_QUEUES; ++queue)
    if (!atomic_exchange(&queue->taken, true))
      return queue;
  return NULL;
}

bool live_queue_add(const live_setup_t *setup)
{
  if (!live.is_on)
    return true;
  live_queue_t *queue = take_place();
  if (!queue)
    return false;
  if (!queue->area && !(queue->area = area_make())) {
    atomic_store(&queue->taken, false);
    return false;
  }
  queue->area_bytes = SAVE_AREA_BYTES;
  queue->node = setup->node;
  queue->ring = setup->ring;
  queue->ring_bytes = setup->ring_bytes;
  queue->write_pointer = setup->write_pointer;
  queue->read_pointer = setup->read_pointer;
  const softgpu_allocation_t memory = displaced(queue);
  if (!softgpu_memory_add(&memory)) {
    atomic_store(&queue->taken, false);
    return false;
  }
  save_nothing(queue->area);
  atomic_store(&queue->gate, 0);
  atomic_store(&queue->leaves, false);
  atomic_store(&queue->delivers, false);
  atomic_store(&queue->exceptions, KFD_EXCEPTION(KFD_QUEUE_NEW));
  atomic_store(&queue->id, setup->id);
  return true;
}

void live_queue_leave(uint64_t id)
{
  live_queue_t *queue = live.is_on ? live_queue_find(id) : NULL;
  if (!queue)
    return;
  atomic_store(&queue->leaves, true);
  for (unsigned i = 0; i < LEAVE_ROUNDS; ++i) {
    const uint32_t seen = atomic_load(&queue->gate);
    if (!(seen & LIVE_WANTED) || !atomic_load(&live.attached))
      return;
    live_futex_wait(&queue->gate, seen, LEAVE_NS);
  }
}

void live_queue_remove(uint64_t id)
{
  live_queue_t *queue = live.is_on ? live_queue_find(id) : NULL;
  if (!queue)
    return;
  softgpu_memory_remove(displaced(queue).base);
  atomic_store(&queue->id, 0);
  madvise(queue->area, SAVE_AREA_BYTES, MADV_DONTNEED);
  atomic_store(&queue->taken, false);
}

live_queue_t *live_queue_find(uint64_t id)
{
  for (live_queue_t *queue = live.queues; id && queue < live.queues + LIVE_QUEUES; ++queue)
    if (atomic_load(&queue->id) == id)
      return queue;
  return NULL;
}

live_queue_t *live_queue_at(uint64_t amd_queue)
{
  for (live_queue_t *queue = live.queues; queue < live.queues + LIVE_QUEUES; ++queue)
    if (atomic_load(&queue->id) && queue->read_pointer - SAVE_READ_ID == amd_queue)
      return queue;
  return NULL;
}

/* --- gates --- */

void live_gate_wait(live_queue_t *queue, uint32_t seen)
{
  live_futex_wait(&queue->gate, seen, A_MOMENT_NS);
}

void live_gate_set(live_queue_t *queue, uint32_t bits)
{
  atomic_fetch_or(&queue->gate, bits);
  live_futex_wake(&queue->gate);
}

void live_gate_clear(live_queue_t *queue, uint32_t bits)
{
  atomic_fetch_and(&queue->gate, ~bits);
  live_futex_wake(&queue->gate);
}

/* False: it has come to where it saves its waves after all. */
static bool give_up_on(live_queue_t *queue, uint32_t seen)
{
  if (seen & LIVE_SAVING ||
      !atomic_compare_exchange_strong(&queue->gate, &seen, seen | LIVE_ABSENT | LIVE_LOST))
    return false;
  save_nothing(queue->area);
  return true;
}

bool live_suspend(live_queue_t *queue, uint64_t deadline_ns)
{
  const bool was_wanted = atomic_load(&queue->gate) & LIVE_WANTED;
  live_gate_set(queue, LIVE_WANTED);
  if (!was_wanted && atomic_load(&queue->leaves)) { /* one of the two sees the other */
    live_resume(queue);
    return false;
  }
  for (;;) {
    const uint32_t seen = atomic_load(&queue->gate);
    const uint64_t now = softgpu_clock_ns();
    if (seen & (LIVE_PARKED | LIVE_ABSENT))
      return true;
    if (!(seen & LIVE_RUNNING)) {
      save_nothing(queue->area);
      return true;
    }
    if (now < deadline_ns)
      live_futex_wait(&queue->gate, seen, deadline_ns - now);
    else if (give_up_on(queue, seen))
      return true;
    else if (seen & LIVE_SAVING) /* which takes no lock */
      live_gate_wait(queue, seen);
  }
}

void live_resume(live_queue_t *queue)
{
  live_gate_clear(queue, LIVE_WANTED | LIVE_ABSENT);
}

void live_forget(void)
{
  live.is_on = false;
  atomic_store(&live.attached, false);
  for (live_queue_t *queue = live.queues; queue < live.queues + LIVE_QUEUES; ++queue) {
    atomic_store(&queue->id, 0);
    atomic_store(&queue->taken, false);
  }
}

/* --- events --- */

void live_ring(void)
{
  const uint64_t one = 1;
  const ssize_t written = write(live_bell, &one, sizeof one); /* full: it rings already */
  (void)written;
}

void live_raise(live_queue_t *queue, kfd_code_t code)
{
  atomic_fetch_or(&queue->exceptions, KFD_EXCEPTION(code));
  live_ring();
}
