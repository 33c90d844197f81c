#include "front/lately.h"

#include "front/proxies.h"
#include "front/ranges.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { MISSES = 64 }; /* until the next epoch no more is looked for */

static _Atomic uint64_t epochs; /* how often memory of the host's has been freed */

/* True: what is known is of that address. */
static bool find(lately_t *lately, uint64_t address)
{
  range_t range;
  const uint64_t epoch = atomic_load(&epochs);
  if (lately->epoch != epoch)
    lately->misses = 0;
  lately->epoch = epoch;
  lately->size = 0;
  if (lately->misses == MISSES || !ranges_live(address, &range)) {
    lately->misses += lately->misses < MISSES;
    return false;
  }
  lately->misses = 0;
  lately->base = range.base;
  lately->size = range.size;
  lately->other = !range.kept || range.owner || range.host != range.base;
  return true;
}

/* The program may write beside what the kernel takes. */
__attribute__((no_sanitize("thread"))) static inline void copy(lately_entry_t *entry,
                                                               const void *from)
{
  for (size_t i = 0; i < LATELY_BYTES / sizeof(uint64_t); ++i)
    memcpy(&entry->words[i], (const char *)from + i * sizeof(uint64_t), sizeof(uint64_t));
}

static void copy_short(lately_entry_t *entry, const void *from, uint64_t size)
{
  memcpy(entry->words, from, size);
  entry->size = size;
}

void lately_keep(lately_t *lately, uint64_t ticket, uint64_t packet, uint64_t kernargs)
{
  lately_entry_t *entry = &lately->entries[ticket % LATELY_DISPATCHES];
  entry->ticket = ticket + 1;
  entry->packet = packet;
  entry->size = 0;
  __atomic_store_n(&lately->reads, true,
                   __ATOMIC_SEQ_CST); /* before the epoch is looked at: see lately_forget() */
  if (__builtin_expect(
          (lately->epoch == atomic_load(&epochs) && kernargs - lately->base < lately->size) ||
              find(lately, kernargs),
          1) &&
      !lately->other) {
    const uint64_t left = lately->size - (kernargs - lately->base);
    const void *from = (const void *)(uintptr_t)kernargs;
    if (__builtin_expect(left < LATELY_BYTES, 0)) {
      copy_short(entry, from, left);
    } else {
      copy(entry, from);
      entry->size = LATELY_BYTES;
    }
  }
  __atomic_store_n(&lately->reads, false, __ATOMIC_RELEASE);
}

static void settle(proxy_t *proxy, notice_t *notice)
{
  (void)notice;
  while (proxy->lately && __atomic_load_n(&proxy->lately->reads, __ATOMIC_SEQ_CST))
    sched_yield();
}

void lately_forget(void)
{
  atomic_fetch_add(&epochs, 1);
  proxies_each(settle);
}
