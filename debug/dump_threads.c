/* The host's threads in a core file. */
#include "debug/dump_internal.h"

#include "base/clock.h"
#include "base/own_memory.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <time.h>
#include <unistd.h>

enum { READ_MS = 500 }; /* for the registers of others, at most */

/* struct user_regs_struct's order. */
static const int registers[CORE_REGISTERS] = {
    REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX, REG_R11, REG_R10, REG_R9,
    REG_R8,  REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, -1,      REG_RIP, -1,
    REG_EFL, REG_RSP, -1,      -1,      -1,      -1,      -1,      -1,      -1,
};

static core_thread_t this_thread(const ucontext_t *here)
{
  core_thread_t thread = {.id = (int32_t)syscall(SYS_gettid)};
  for (int i = 0; i < CORE_REGISTERS; ++i)
    if (registers[i] >= 0)
      thread.registers[i] = (uint64_t)here->uc_mcontext.gregs[registers[i]];
  return thread;
}

static void add_own_stack(dump_store_t *store, const ucontext_t *here)
{
  const uint64_t stack = (uint64_t)here->uc_mcontext.gregs[REG_RSP] & ~UINT64_C(4095);
  uint64_t size = 0;
  char byte;
  while (size < THREADS_STACK && own_memory_copy(&byte, stack + size, 1))
    size += 4096;
  dump_add_range(store, stack, size, CORE_HOST, dump_read_own);
}

/* They have been copied. */
static void add_stacks(dump_store_t *store)
{
  const threads_t *threads = store->threads;
  for (size_t i = 0; threads->stacks && i < threads->count && i < THREADS_STACKS; ++i) {
    const thread_seen_t *seen = &threads->seen[i];
    if (seen->stack_bytes && store->all.memory_count < DUMP_RANGES)
      store->ranges[store->all.memory_count++] =
          (core_memory_t){.address = seen->stack,
                          .bytes = threads->stacks + i * THREADS_STACK,
                          .size = seen->stack_bytes,
                          .kind = CORE_HOST,
                          .writes = true};
  }
}

/* The notes have an entry of each. */
static size_t room_for_threads(const dump_store_t *store)
{
  enum { ENTRY = 360, OF_ALL = 8 };
  const uint64_t budget = store->settings->budget;
  return budget ? (size_t)(budget / OF_ALL / ENTRY) : THREADS_MOST;
}

void dump_add_threads(dump_store_t *store, const ucontext_t *here)
{
  const bool reads = store->settings->threads;
  threads_t *threads = threads_list(room_for_threads(store), reads && dump_wants(store, CORE_HOST));
  if (threads && reads)
    threads_read(threads, clock_now() + READ_MS * (uint64_t)(CLOCK_SECOND / 1000));
  const size_t others = threads ? threads->count : 0;
  core_thread_t *all = arena_take(&store->arena, (1 + others) * sizeof(*all));
  store->all.process.threads = all;
  store->all.process.thread_count = all ? 1 + others : 0;
  store->threads = threads;
  if (!all)
    return;
  all[0] = this_thread(here);
  for (size_t i = 0; i < others; ++i)
    all[1 + i] = threads->seen[i].thread;
  add_own_stack(store, here);
  if (threads)
    add_stacks(store);
}
