/* The writer's side. What it has to remember it remembers by itself: others can write to the memory
 * that it shares. */
#include "debug/door/memory.h"

#include "debug/door/answers.h"
#include "debug/door/ticket.h"

#include "base/error.h"
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

door_memory_t *memory_made;

/* ---- What exists ---- */

static struct {
  pthread_mutex_t lock;
  uint32_t used;                /* entries that were taken at least once: the first ones */
  uint32_t free;                /* entry + 1 that is free again; 0: none */
  uint32_t after[DOOR_ENTRIES]; /* the one that was freed before it */
} entries = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t entry_take(void)
{
  const uint32_t freed = entries.free;
  if (freed) {
    entries.free = entries.after[freed - 1];
    return freed;
  }
  return entries.used < DOOR_ENTRIES ? ++entries.used : 0;
}

/* No words: there is nothing any more. */
static void entry_write(door_memory_t *memory, uint32_t entry, const uint64_t *words,
                        uint32_t count)
{
  static uint64_t versions;
  door_entry_t *to = &memory->entries[entry - 1];
  versions += 2;
  __atomic_store_n(&to->version, versions - 1, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < DOOR_ENTRY_WORDS; ++i)
    __atomic_store_n(&to->words[i], i < count ? words[i] : 0, __ATOMIC_RELEASE);
  __atomic_store_n(&to->version, versions, __ATOMIC_RELEASE);
}

tell_entry_t entries_add(door_memory_t *memory, const uint64_t *words, uint32_t bytes)
{
  const uint32_t count = bytes / 8;
  pthread_mutex_lock(&entries.lock);
  const uint32_t entry = entry_take();
  if (entry)
    entry_write(memory, entry, words, count < DOOR_ENTRY_WORDS ? count : DOOR_ENTRY_WORDS);
  pthread_mutex_unlock(&entries.lock);
  if (entry)
    return entry;
  __atomic_fetch_add(&memory->head.unlisted, 1, __ATOMIC_RELAXED);
  return TELL_UNLISTED;
}

/* The time is the memory's word, which others may have written: nothing here depends on it. */
void entries_change(door_memory_t *memory, tell_entry_t entry, const uint64_t *words,
                    uint32_t bytes)
{
  uint64_t changed[DOOR_ENTRY_WORDS];
  const uint32_t count = bytes / 8 < DOOR_ENTRY_WORDS ? bytes / 8 : DOOR_ENTRY_WORDS;
  memcpy(changed, words, count * sizeof(*words));
  pthread_mutex_lock(&entries.lock);
  changed[1] = __atomic_load_n(&memory->entries[entry - 1].words[1], __ATOMIC_RELAXED);
  entry_write(memory, entry, changed, count);
  pthread_mutex_unlock(&entries.lock);
}

void entries_remove(door_memory_t *memory, tell_entry_t entry)
{
  pthread_mutex_lock(&entries.lock);
  entry_write(memory, entry, NULL, 0);
  entries.after[entry - 1] = entries.free;
  entries.free = entry;
  pthread_mutex_unlock(&entries.lock);
}

/* ---- Making it ---- */

/* In the child of fork() what happens is not the parent's to tell. Threads that were in here are
 * not there any more; what stood in entries keeps their numbers, under which it ends. */
static void fork_child(void)
{
  __atomic_store_n(&memory_made, NULL, __ATOMIC_SEQ_CST);
  memset(&door_ring, 0, sizeof(door_ring));
  (void)pthread_mutex_init(&entries.lock, NULL);
  answers_forget();
  tell_aim();
}

static door_memory_t *map(int fd)
{
  void *mapped = ftruncate(fd, sizeof(door_memory_t)) == 0 &&
                         fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0
                     ? mmap(NULL, sizeof(door_memory_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
  return mapped == MAP_FAILED ? NULL : mapped;
}

rawhal_status_t door_memory_make(door_kind_t kind, int socket, bool watched, rawhal_error_t *error)
{
  const int fd = memfd_make(DOOR_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  door_memory_t *memory = fd < 0 ? NULL : map(fd);
  if (!memory || pthread_atfork(NULL, NULL, fork_child) != 0) {
    const rawhal_status_t status =
        rawhal_fail(error, RAWHAL_RUNTIME, "memory for observers: %s", strerror(errno));
    if (memory)
      (void)munmap(memory, sizeof(*memory));
    if (fd >= 0)
      (void)close(fd);
    return status;
  }
  const ticks_moment_t opened = ticks_moment();
  memory->head = (door_head_t){
      .version = DOOR_VERSION,
      .kind = kind,
      .slots = DOOR_SLOTS,
      .slot_words = DOOR_SLOT_WORDS,
      .entries = DOOR_ENTRIES,
      .entry_words = DOOR_ENTRY_WORDS,
      .process = (int32_t)getpid(),
      .socket = socket,
      .opened_ticks = opened.ticks,
      .opened_ns = opened.ns,
      .types = watched ? RAWHAL_EVENTS_ALL : 0,
      .until = opened.ticks + 4 * DOOR_WANTED_NS, /* seconds, whatever the counter's rate */
  };
  __atomic_store_n(&memory->head.magic, DOOR_MAGIC, __ATOMIC_RELEASE);
  __atomic_store_n(&memory_made, memory, __ATOMIC_SEQ_CST);
  tell_aim();
  return RAWHAL_OK;
}
