#include "debug/dump_internal.h"

#include "debug/core/errno_text.h"
#include "debug/core/notes.h"

#include "base/clock.h"
#include "base/print.h"
#include "base/version.h"
#include "debug/label.h"
#include "debug/packets.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Bytes that the notes may have; of those of dispatches and allocations more are counted only. */
enum { NOTE_SMALL = 64 << 10 };

static size_t large(const dump_store_t *store)
{
  enum { MOST = 1 << 20, LEAST = 1 << 10, OF_ALL = 8 };
  const uint64_t budget = store->settings->budget;
  return budget ? (size_t)clock_clamp(budget / OF_ALL, LEAST, MOST) : MOST;
}

static void add_note(dump_store_t *store, uint32_t type, const core_notes_t *notes)
{
  const rawhal_bytes_t bytes = core_notes_end(notes);
  if (bytes.size && store->all.note_count < DUMP_NOTES)
    store->notes[store->all.note_count++] = (core_note_t){"RAWHAL", type, bytes};
}

static core_notes_t begin(dump_store_t *store, size_t size)
{
  core_notes_t notes;
  void *bytes = arena_take(&store->arena, size);
  core_notes_begin(&notes, bytes, bytes ? size : 0);
  return notes;
}

/* In words, what debuggers show as zeros, or not at all. */
static void say_threads(const dump_store_t *store, char *text, size_t size)
{
  const threads_t *threads = store->threads;
  const int refused = threads ? threads->refused : ENOMEM;
  size_t unknown = threads ? threads->count : 0;
  for (size_t i = 0; threads && i < threads->count; ++i)
    unknown -= threads->seen[i].known;
  print_t to = print_into(text, size);
  if (unknown)
    print(&to, "%zu threads of the host have zeros in place of registers, which are not known%s%s",
          unknown, refused ? ": " : "", refused ? errno_text(refused) : "");
  if (!threads || threads->more)
    print(&to, "%s%zu threads of the host are not listed", unknown ? "; " : "",
          threads ? threads->more : 0);
}

static void add_process(dump_store_t *store)
{
  char host[256] = "", versions[64], threads[256];
  core_notes_t notes = begin(store, NOTE_SMALL);
  (void)gethostname(host, sizeof(host) - 1);
  snprintf(versions, sizeof(versions), "rawhal %s", rawhal_version_text());
  say_threads(store, threads, sizeof(threads));
  const core_note_process_t process = {
      .id = getpid(),
      .written = time(NULL),
      .now = store->now,
      .program = rawhal_string(program_invocation_short_name),
      .arguments = rawhal_string(program_invocation_name),
      .host = rawhal_string(host),
      .versions = rawhal_string(versions),
      .omitted = rawhal_string(threads),
  };
  (void)core_notes_put(&notes, CORE_RECORD_PROCESS, &process);
  add_note(store, CORE_NOTE_PROCESS, &notes);
}

static void add_limits(dump_store_t *store)
{
  const core_note_limits_t limits = {store->scene->limits};
  if (!limits.text.size)
    return;
  core_notes_t notes = begin(store, NOTE_SMALL);
  (void)core_notes_put(&notes, CORE_RECORD_LIMITS, &limits);
  add_note(store, CORE_NOTE_LIMITS, &notes);
}

static void add_modules(dump_store_t *store)
{
  dump_code_t code;
  core_notes_t notes = begin(store, NOTE_SMALL);
  for (size_t i = 0; store->scene->code && i < DUMP_OBJECTS &&
                     store->scene->code(store->scene->context, i, &code);
       ++i) {
    const core_note_module_t module = {
        .delta = code.delta, .image = code.address, .image_bytes = code.size};
    (void)core_notes_put(&notes, CORE_RECORD_MODULE, &module);
  }
  add_note(store, CORE_NOTE_MODULES, &notes);
}

void dump_add_dispatches(dump_store_t *store, const dump_queue_t *queue)
{
  const rawhal_fault_t *fault = queue->fault;
  hsa_queue_t ring;
  const debug_packets_t packets = {.queue = &ring};
  const bool has_ring =
      queue->hsa_queue &&
      own_memory_copy(&ring, (uint64_t)(uintptr_t)queue->hsa_queue, sizeof(ring)) && ring.size;
  for (size_t i = 0; i < queue->dispatch_count; ++i) {
    const debug_dispatch_t *from = &queue->dispatches[i];
    const bool failed = i == 0 && fault && fault->known & RAWHAL_FAULT_KNOWS_DISPATCH;
    /* Where debuggers would refuse the queue the file has nothing of its ring. */
    hsa_kernel_dispatch_packet_t packet;
    const bool has_packet = has_ring && (failed || from->running) &&
                            packets_copy(&packets, from->packet, &packet) &&
                            packet.kernel_object == from->kernel_object;
    const core_note_dispatch_t dispatch = {
        .queue = from->queue_id,
        .ticket = from->ticket,
        .packet = from->packet,
        .index = from->index,
        .outcome = failed          ? CORE_OUTCOME_FAILED
                   : from->running ? CORE_OUTCOME_UNKNOWN
                                   : CORE_OUTCOME_DONE,
        .submitted = from->submitted_at,
        .kernel_object = from->kernel_object,
        .kernarg = from->kernarg_address,
        .kernel = from->kernel,
        .label = from->label,
        .packet_bytes = {has_packet ? &packet : NULL, has_packet ? sizeof(packet) : 0},
        .kernarg_bytes =
            dump_wants(store, CORE_KERNARG) ? from->kernargs : (rawhal_bytes_t){NULL, 0},
        .queue_label = from->queue_label,
    };
    (void)core_notes_put(&store->dispatches, CORE_RECORD_DISPATCH, &dispatch);
  }
}

void dump_end_notes(dump_store_t *store)
{
  add_note(store, CORE_NOTE_DISPATCHES, &store->dispatches);
  add_process(store);
}

static void add_allocations(dump_store_t *store)
{
  const debug_scene_t *around = store->scene->around;
  core_notes_t notes = begin(store, large(store));
  debug_allocation_t from;
  debug_cursor_t cursor = {0};
  while (around->allocation && around->allocation(around->context, &cursor, &from)) {
    const core_note_allocation_t allocation = {
        .base = from.base,
        .size = from.size,
        .number = from.number,
        .state = from.freed_at    ? CORE_ALLOCATION_FREED
                 : from.reachable ? CORE_ALLOCATION_LIVE
                                  : CORE_ALLOCATION_FOREIGN,
        .read_only = from.read_only,
        .made = from.made_at,
        .freed = from.freed_at,
        .label = label_text(from.label),
    };
    (void)core_notes_put(&notes, CORE_RECORD_ALLOCATION, &allocation);
  }
  add_note(store, CORE_NOTE_ALLOCATIONS, &notes);
}

void dump_add_notes(dump_store_t *store)
{
  core_notes_t cause = begin(store, NOTE_SMALL);
  (void)core_notes_put_fault(&cause, store->scene->queue.fault);
  add_note(store, CORE_NOTE_CAUSE, &cause);
  store->now = store->scene->around->now;
  add_limits(store);
  add_modules(store);
  store->dispatches = begin(store, large(store));
  dump_add_dispatches(store, &store->scene->queue);
  add_allocations(store);
}
