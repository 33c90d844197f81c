#include "debug/door/observe_internal.h"

#include "debug/core/records.h"
#include "debug/door/reach.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
  PATIENCE = 64,   /* looks at a slot, or an entry, that is being written */
  MOST_FILES = 16, /* of a door's name that are looked at */
};

/* ---- Opening ---- */

/* A file that cannot shrink under us, of the right size, with something in it. One that is being
 * made gets its size first, then its seals, and its magic last. */
static rawhal_status_t check_file(const observer_t *observer, int fd, rawhal_error_t *error)
{
  struct stat file;
  uint64_t magic = 0;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && fstat(fd, &file) == 0 &&
      pread(fd, &magic, sizeof(magic), offsetof(door_head_t, magic)) >= 0) {
    const bool is_sealed = seals & F_SEAL_SHRINK,
               is_whole = file.st_size == (off_t)sizeof(door_memory_t);
    if (is_sealed && is_whole && magic)
      return RAWHAL_OK;
    if (!magic && (is_whole || (!file.st_size && !is_sealed)))
      return rawhal_fail(error, RAWHAL_WOULD_BLOCK, "process %d: its door is being made",
                         observer->process);
  }
  return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                     "process %d: its door is of another version, or none", observer->process);
}

/* The memory's geometry is the version's. */
static bool is_ours(const door_head_t *head)
{
  return head->magic == DOOR_MAGIC && head->version == DOOR_VERSION && head->slots == DOOR_SLOTS &&
         head->slot_words == DOOR_SLOT_WORDS && head->entries == DOOR_ENTRIES &&
         head->entry_words == DOOR_ENTRY_WORDS;
}

static rawhal_status_t map_memory(observer_t *observer, int fd, rawhal_error_t *error)
{
  const rawhal_status_t status = check_file(observer, fd, error);
  if (status != RAWHAL_OK)
    return status;
  void *mapped = mmap(NULL, sizeof(door_memory_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "mapping a door: %s", strerror(errno));
  observer->memory = mapped;
  memcpy(&observer->head, mapped, sizeof(observer->head));
  observer->latest = ticks_moment();
  observer->opened = (ticks_moment_t){observer->head.opened_ticks, observer->head.opened_ns};
  observer->next = __atomic_load_n(&observer->memory->head.next, __ATOMIC_SEQ_CST);
  if (is_ours(&observer->head))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_UNSUPPORTED, "process %d: its door is of another version",
                     observer->process);
}

/* A process has those of its parent, too, from fork() on. */
static bool is_own(const observer_t *observer, int32_t own)
{
  return !own || observer->head.process == own;
}

/* The index-th of all that have the name. */
static rawhal_status_t open_file(observer_t *opened, size_t index, rawhal_error_t *error)
{
  int fd = -1;
  rawhal_status_t status = reach_memory(opened->process, opened->pidfd, index, &fd, error);
  if (status == RAWHAL_OK)
    status = map_memory(opened, fd, error);
  if (fd >= 0)
    (void)close(fd);
  return status;
}

static void unmap(observer_t *observer)
{
  if (observer->memory)
    (void)munmap(observer->memory, sizeof(*observer->memory));
  observer->memory = NULL;
}

/* The index-th of its own, or of what is no door: it is said why. */
static rawhal_status_t open_own(observer_t *opened, size_t index, rawhal_error_t *error)
{
  const int32_t own = reach_own_number(opened->process);
  rawhal_status_t status = reach_process(opened->process, &opened->pidfd, error);
  for (size_t i = 0; status == RAWHAL_OK; ++i) {
    status = open_file(opened, i, error);
    const bool counts = status != RAWHAL_OK || is_own(opened, own);
    const bool goes_on =
        status == RAWHAL_OK || status == RAWHAL_UNSUPPORTED || status == RAWHAL_WOULD_BLOCK;
    if (!goes_on || (counts && index-- == 0))
      break;
    unmap(opened);
    status = i < MOST_FILES ? RAWHAL_OK
                            : rawhal_fail(error, RAWHAL_NOT_FOUND, "process %d: too many doors",
                                          opened->process);
  }
  return status;
}

rawhal_status_t observer_open(pid_t process, size_t index, observer_t **observer,
                              rawhal_error_t *error)
{
  *observer = NULL;
  observer_t *opened = calloc(1, sizeof(*opened));
  if (!opened)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for an observer");
  opened->process = process;
  const rawhal_status_t status = open_own(opened, index, error);
  if (status == RAWHAL_OK)
    *observer = opened;
  else
    observer_close(opened);
  return status;
}

void observer_close(observer_t *observer)
{
  if (!observer)
    return;
  unmap(observer);
  if (observer->pidfd >= 0)
    (void)close(observer->pidfd);
  free(observer);
}

door_kind_t observer_kind(const observer_t *observer)
{
  return observer->head.kind == DOOR_OF_FRONT ? DOOR_OF_FRONT : DOOR_OF_LIBRARY;
}

int observer_socket(const observer_t *observer)
{
  return __atomic_load_n(&observer->memory->head.socket, __ATOMIC_RELAXED);
}

bool observer_answers(const observer_t *observer)
{
  return observer_socket(observer) >= 0;
}

uint64_t observer_opened(const observer_t *observer)
{
  return observer->head.opened_ns;
}

bool observer_wait(const observer_t *observer, int ms)
{
  struct pollfd process = {.fd = observer->pidfd, .events = POLLIN};
  return poll(&process, 1, ms) <= 0;
}

bool observer_lives(const observer_t *observer)
{
  return observer_wait(observer, 0);
}

/* ---- Records ---- */

/* Bytes of a record that stands in `room` of them; 0: it is none. */
static uint32_t record_size(const uint64_t *words, uint32_t room)
{
  const uint32_t bytes = (uint32_t)(words[0] >> 32);
  return bytes >= RECORD_HEAD && bytes <= room && bytes % 8 == 0 ? bytes : 0;
}

static bool decode(const observer_t *observer, const uint64_t *words, uint32_t bytes,
                   rawhal_event_t *event)
{
  core_record_t record;
  if (!record_take((rawhal_bytes_t){words, bytes}, &record) || record.type <= CORE_RECORD_EVENTS)
    return false;
  *event = record.as.event;
  const ticks_moment_t opened = observer->opened, latest = observer->latest;
  event->time = ticks_between(event->time, opened.ticks, latest.ticks, opened.ns, latest.ns);
  return true;
}

/* ---- What exists ---- */

static bool entry_read(const door_entry_t *entry, uint64_t words[DOOR_ENTRY_WORDS])
{
  for (int look = 0; look < PATIENCE; ++look) {
    const uint64_t version = __atomic_load_n(&entry->version, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < DOOR_ENTRY_WORDS; ++i)
      words[i] = __atomic_load_n(&entry->words[i], __ATOMIC_ACQUIRE);
    if (version % 2 == 0 && version == __atomic_load_n(&entry->version, __ATOMIC_RELAXED))
      return version != 0;
  }
  return false;
}

void observer_list(observer_t *observer, observer_visit_fn *visit, void *context,
                   uint64_t *unlisted)
{
  uint64_t words[DOOR_ENTRY_WORDS];
  rawhal_event_t event;
  *unlisted = __atomic_load_n(&observer->memory->head.unlisted, __ATOMIC_SEQ_CST);
  for (uint32_t i = 0; i < DOOR_ENTRIES; ++i) {
    if (!entry_read(&observer->memory->entries[i], words))
      continue;
    const uint32_t bytes = record_size(words, sizeof(words));
    if (bytes && decode(observer, words, bytes, &event) && !visit(context, &event))
      return;
  }
}

/* ---- What happens ---- */

void observer_want(observer_t *observer, uint64_t types)
{
  const ticks_moment_t now = ticks_moment();
  observer->types = types;
  observer->latest = now;
  observer->said = now.ns;
  const uint64_t until = ticks_between(now.ns + DOOR_WANTED_NS, observer->opened.ns, now.ns,
                                       observer->opened.ticks, now.ticks);
  __atomic_store_n(&observer->memory->head.until, until, __ATOMIC_SEQ_CST);
  (void)__atomic_fetch_or(&observer->memory->head.types, types, __ATOMIC_SEQ_CST);
}

typedef enum slot_state { SLOT_READ, SLOT_COMING, SLOT_LOST } slot_state_t;

static slot_state_t slot_read(const observer_t *observer, uint64_t number,
                              uint64_t words[DOOR_SLOT_WORDS])
{
  const door_slot_t *slot = &observer->memory->slots[number % DOOR_SLOTS];
  const uint64_t before = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < DOOR_SLOT_WORDS; ++i)
    words[i] = __atomic_load_n(&slot->words[i], __ATOMIC_ACQUIRE);
  if (before == number + 1 && before == __atomic_load_n(&slot->number, __ATOMIC_RELAXED))
    return SLOT_READ;
  return before > number + 1 ? SLOT_LOST : SLOT_COMING;
}

/* A record from the slot that comes next; `*slots`: that it has, or that are passed over. */
static slot_state_t read_record(observer_t *observer, uint32_t *bytes, uint32_t *slots)
{
  uint64_t *words = observer->words;
  *slots = 1;
  slot_state_t state = slot_read(observer, observer->next, words);
  if (state != SLOT_READ)
    return state;
  *bytes = record_size(words, DOOR_RECORD_BYTES);
  if (!*bytes)
    return SLOT_LOST;
  const uint32_t all = (*bytes / 8 + DOOR_SLOT_WORDS - 1) / DOOR_SLOT_WORDS;
  for (; *slots < all && state == SLOT_READ; ++*slots)
    state = slot_read(observer, observer->next + *slots, words + *slots * DOOR_SLOT_WORDS);
  return state;
}

void observer_rewind(observer_t *observer)
{
  observer->next = 0;
}

/* Threads come late to write where the end is, and anybody may write there what is not: an end far
 * ahead counts if there are events in front of it. */
static bool is_end(const observer_t *observer, uint64_t end)
{
  for (uint64_t i = 1; i <= PATIENCE; ++i) {
    const door_slot_t *slot = &observer->memory->slots[(end - i) % DOOR_SLOTS];
    const uint64_t number = __atomic_load_n(&slot->number, __ATOMIC_RELAXED);
    if (number && number - (end - DOOR_SLOTS) <= 2 * (uint64_t)DOOR_SLOTS)
      return true;
  }
  return false;
}

/* Those that the ring has no more. */
static void catch_up(observer_t *observer, uint64_t *lost)
{
  const uint64_t end = __atomic_load_n(&observer->memory->head.next, __ATOMIC_ACQUIRE);
  if (end <= observer->next || end - observer->next <= DOOR_SLOTS || !is_end(observer, end))
    return;
  *lost += end - DOOR_SLOTS - observer->next;
  observer->next = end - DOOR_SLOTS;
}

bool observer_next(observer_t *observer, rawhal_event_t *event, uint64_t *lost)
{
  if (clock_now() - observer->said > CLOCK_SECOND / 2)
    observer_want(observer, observer->types);
  catch_up(observer, lost);
  for (uint32_t passed = 0; passed < DOOR_SLOTS; ++passed) {
    uint32_t bytes = 0, slots;
    const slot_state_t state = read_record(observer, &bytes, &slots);
    if (state == SLOT_COMING) {
      /* Reserved and not written: for as long as others are written behind it, not for ever. */
      const uint64_t end = __atomic_load_n(&observer->memory->head.next, __ATOMIC_RELAXED);
      if (end <= observer->next || end - observer->next > DOOR_SLOTS ||
          ++observer->looks < PATIENCE)
        return false;
    }
    observer->looks = 0;
    observer->next += state == SLOT_READ ? slots : 1;
    if (state != SLOT_READ)
      ++*lost;
    else if (decode(observer, observer->words, bytes, event) &&
             observer->types & RAWHAL_EVENT_BIT(event->type))
      return true;
  }
  return false;
}

bool observer_read(const observer_t *observer, uint64_t address, void *to, size_t size)
{
  const struct iovec into = {to, size}, of = {(void *)(uintptr_t)address, size};
  return process_vm_readv(observer->process, &into, 1, &of, 1, 0) == (ssize_t)size &&
         observer_lives(observer); /* its number was not another's */
}
