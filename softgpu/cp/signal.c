#include "softgpu/cp/signal.h"

#include <hsa/amd_hsa_signal.h>
#include <stddef.h>

#include "softgpu/cp/processor.h"
#include "softgpu/device/event.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/opened.h"
#include "softgpu/device/retire.h"
#include "softgpu/exports.h"
#include "softgpu/waves.h"

static amd_signal_t *signal_of(uint64_t handle)
{
  return (amd_signal_t *)(uintptr_t)handle;
}

/* An event and the mailbox its number goes to, read while the signal is still there. */
typedef struct interrupt {
  uint64_t mailbox;
  uint32_t event_id;
} interrupt_t;

static interrupt_t interrupt_of(const amd_signal_t *signal)
{
  return (interrupt_t){.mailbox = signal->event_mailbox_ptr, .event_id = signal->event_id};
}

/* What the runtime uses itself has one address for all, and is not the program's to unmap. */
static bool in_place(uint32_t node, uint64_t address, uint64_t size)
{
  return address != 0 && softgpu_memory_keeps(node, address, size);
}

static void interrupt_raise(uint32_t node, interrupt_t interrupt, const void *changed)
{
  if (interrupt.mailbox != 0 && interrupt.mailbox % sizeof(uint64_t) == 0 &&
      in_place(node, interrupt.mailbox, sizeof(uint64_t))) {
    __atomic_store_n((uint64_t *)interrupt.mailbox, interrupt.event_id, __ATOMIC_RELEASE);
    softgpu_event_raise(interrupt.event_id);
  }
  softgpu_queues_kick(changed);
}

void softgpu_signal_interrupt(uint32_t event_id)
{
  softgpu_event_interrupt(event_id);
  softgpu_queues_kick(NULL); /* whichever signal it was that the kernel changed */
}

bool softgpu_signal_valid(uint32_t node, uint64_t handle)
{
  return handle % AMD_SIGNAL_ALIGN_BYTES == 0 && in_place(node, handle, sizeof(amd_signal_t)) &&
         signal_of(handle)->kind == AMD_SIGNAL_KIND_USER;
}

const void *softgpu_signal_word(uint64_t handle)
{
  return (const char *)(uintptr_t)handle + offsetof(amd_signal_t, value);
}

bool softgpu_signal_load(uint32_t node, uint64_t handle, int64_t *value)
{
  if (!softgpu_signal_valid(node, handle))
    return false;
  *value = __atomic_load_n(&signal_of(handle)->value, __ATOMIC_ACQUIRE);
  return true;
}

/* In fields that mean something in doorbells alone: reserved2 is queue_ptr there, by which the
 * front tells what is one, atomically. Who reads counts when the signal has been taken again finds
 * out afterwards. */
typedef uint64_t __attribute__((may_alias)) count_t;

static void counts_put(amd_signal_t *signal, uint64_t start, uint64_t end)
{
  __atomic_store_n(&signal->reserved2, start, __ATOMIC_RELAXED);
  __atomic_store_n((count_t *)(void *)signal->reserved3, end, __ATOMIC_RELAXED);
}

SOFTGPU_EXPORT bool softgpu_signal_instructions(uint64_t handle, uint64_t *start, uint64_t *end)
{
  if (!start || !end || softgpu_forked())
    return false;
  const unsigned token = softgpu_retire_enter();
  const bool is_valid = softgpu_signal_valid(0, handle);
  const amd_signal_t *signal = signal_of(handle);
  if (is_valid) {
    *start = __atomic_load_n(&signal->reserved2, __ATOMIC_RELAXED);
    *end = __atomic_load_n((const count_t *)(const void *)signal->reserved3, __ATOMIC_RELAXED);
  }
  softgpu_retire_leave(token);
  return is_valid;
}

bool softgpu_signal_complete(uint32_t node, uint64_t handle, const softgpu_completion_t *what)
{
  amd_signal_t *signal = signal_of(handle);
  if (!softgpu_signal_valid(node, handle))
    return false;
  signal->start_ts = what->start;
  signal->end_ts = what->end;
  counts_put(signal, what->executed_start, what->executed_end);
  interrupt_t interrupt = interrupt_of(signal);
  __atomic_fetch_sub(&signal->value, 1, __ATOMIC_SEQ_CST);
  interrupt_raise(node, interrupt, softgpu_signal_word(handle));
  return true;
}

bool softgpu_signal_store(uint32_t node, uint64_t handle, int64_t value)
{
  amd_signal_t *signal = signal_of(handle);
  if (!softgpu_signal_valid(node, handle))
    return false;
  interrupt_t interrupt = interrupt_of(signal);
  __atomic_store_n(&signal->value, value, __ATOMIC_SEQ_CST);
  interrupt_raise(node, interrupt, softgpu_signal_word(handle));
  return true;
}
