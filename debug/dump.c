/* Where a core file goes, and how it gets there. */
#include "debug/dump_internal.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DUMP_SECONDS = 10 }; /* for writing, at most */

/* ---- Begin ---- */

static void *pages(size_t size, int protection)
{
  void *base = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return base == MAP_FAILED ? NULL : base;
}

/* Addresses, which cost nothing; where they are few, fewer. NULL: there are none. */
static dump_store_t *store_make(const dump_settings_t *settings)
{
  const uint64_t bound = settings->budget ? settings->budget : DUMP_UNBOUNDED;
  arena_t arena = {0};
  for (uint64_t copies = bound < DUMP_UNBOUNDED ? bound : DUMP_UNBOUNDED; !arena.base && copies;
       copies /= 2) {
    arena.size = (size_t)(copies + DUMP_SPARE);
    arena.base = pages(arena.size, PROT_READ | PROT_WRITE);
  }
  void *own = arena.base ? pages(DUMP_OWN, PROT_NONE) : NULL;
  if (!own) {
    if (arena.base)
      (void)munmap(arena.base, arena.size);
    return NULL;
  }
  dump_store_t *store = arena_take(&arena, sizeof(*store));
  *store = (dump_store_t){.settings = settings, .arena = arena, .left = bound};
  store->all.own_base = (uint64_t)(uintptr_t)own;
  store->all.own_size = DUMP_OWN;
  return store;
}

static void store_free(dump_store_t *store)
{
  const arena_t arena = store->arena; /* the store is in it */
  threads_free(store->threads);
  (void)munmap((void *)(uintptr_t)store->all.own_base, DUMP_OWN);
  (void)munmap(arena.base, arena.size);
}

static core_process_t this_process(void)
{
  return (core_process_t){.id = (int32_t)getpid(),
                          .program = program_invocation_short_name,
                          .arguments = program_invocation_name};
}

/* The program may have closed the descriptor, and opened something else. */
static rawhal_status_t check_descriptor(const dump_t *dump, rawhal_error_t *error)
{
  struct stat about;
  const int descriptor = dump->output.descriptor;
  if (!fstat(descriptor, &about) && about.st_dev == dump->settings->device &&
      about.st_ino == dump->settings->inode)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "descriptor %d is not what it was when rawhal started", descriptor);
}

static rawhal_status_t ask_permit(dump_t *dump, rawhal_error_t *error)
{
  char folder[CORE_PATH_BYTES];
  const uint32_t most = dump->settings->per_hour;
  const char *slash = strrchr(dump->output.path, '/');
  snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - dump->output.path) : 1,
           slash ? dump->output.path : ".");
  if (permit_take(&dump->permit, folder, program_invocation_short_name, most, time(NULL)))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED,
                     "this hour's have been written (RAWHAL_CORE_PER_HOUR=%" PRIu32 ")", most);
}

static rawhal_status_t open_output(dump_t *dump, int descriptor, rawhal_error_t *error)
{
  const core_process_t process = this_process();
  if (descriptor >= 0) {
    dump->output = (core_output_t){.kind = CORE_OUTPUT_DESCRIPTOR, .descriptor = descriptor};
    return RAWHAL_OK;
  }
  const rawhal_status_t status =
      core_output_open(&dump->output, dump->settings->where, &process, error);
  if (status != RAWHAL_OK || dump->output.kind == CORE_OUTPUT_PROGRAM)
    return status;
  dump->in_turn = dump->output.kind == CORE_OUTPUT_DESCRIPTOR;
  return dump->output.kind == CORE_OUTPUT_FILE ? ask_permit(dump, error)
                                               : check_descriptor(dump, error);
}

bool dump_begin(dump_t *dump, const dump_settings_t *settings, int descriptor)
{
  if (descriptor < 0 && !*settings->where)
    return false;
  *dump = (dump_t){.settings = settings, .permit = PERMIT_NONE};
  if (open_output(dump, descriptor, &dump->error) != RAWHAL_OK)
    return true;
  dump->store = store_make(settings);
  if (!dump->store)
    (void)!rawhal_fail(&dump->error, RAWHAL_OUT_OF_MEMORY, "no address space");
  return true;
}

void dump_gather(dump_t *dump, const dump_scene_t *scene)
{
  if (dump->store && !dump_gather_scene(dump->store, scene))
    (void)!rawhal_fail(&dump->error, RAWHAL_OUT_OF_MEMORY, "no address space for lists");
}

void dump_gather_queue(dump_t *dump, const dump_queue_t *queue)
{
  if (dump->store && dump->store->scene)
    dump_gather_other(dump->store, queue);
}

/* ---- End ---- */

/* Two files at once into one descriptor would be none. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static bool turn_take(uint64_t deadline)
{
  while (pthread_mutex_trylock(&turn) != 0) {
    if (clock_now() >= deadline)
      return false;
    clock_nap(CLOCK_SECOND / 1000);
  }
  return true;
}

static rawhal_status_t write_in_turn(dump_t *dump, const core_options_t *options,
                                     core_written_t *written, rawhal_error_t *error)
{
  if (dump->in_turn && !turn_take(options->deadline))
    return rawhal_fail(error, RAWHAL_TIMED_OUT, "another one was still being written there");
  const rawhal_status_t status =
      core_output_write(&dump->output, &dump->store->all, options, written, error);
  if (dump->in_turn)
    pthread_mutex_unlock(&turn);
  return status;
}

static rawhal_status_t write_all(dump_t *dump, uint64_t deadline, core_written_t *written,
                                 rawhal_error_t *error)
{
  ucontext_t here;
  (void)getcontext(&here);
  dump_store_t *store = dump->store;
  store->all.process = this_process();
  dump_add_threads(store, &here);
  dump_end_notes(store);
  core_options_t options = {.budget = dump->settings->budget,
                            .bound = "RAWHAL_CORE_BYTES",
                            .classes = dump->settings->classes,
                            .deadline = deadline};
  options.scratch_size = core_scratch_size(&store->all, &options);
  options.scratch =
      options.scratch_size ? pages(options.scratch_size, PROT_READ | PROT_WRITE) : NULL;
  if (!options.scratch)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no address space for %zu bytes",
                       options.scratch_size);
  const rawhal_status_t status = write_in_turn(dump, &options, written, error);
  (void)munmap(options.scratch, options.scratch_size);
  return status;
}

static void say(const dump_t *dump, rawhal_status_t status, const core_written_t *written,
                char *said, size_t size)
{
  const char *const marks[] = {[CORE_OUTPUT_DESCRIPTOR] = "fd:", [CORE_OUTPUT_PROGRAM] = "|"};
  char number[16] = "";
  if (status != RAWHAL_OK) {
    snprintf(said, size, "no core file: %s", dump->error.message);
    return;
  }
  if (dump->output.kind == CORE_OUTPUT_DESCRIPTOR)
    snprintf(number, sizeof(number), "%d", dump->output.descriptor);
  snprintf(said, size, "core file %s%s%s: %" PRIu64 " bytes, %zu waves, %" PRIu64 " bytes left out",
           dump->output.kind == CORE_OUTPUT_FILE ? "" : marks[dump->output.kind], dump->output.path,
           number, written->bytes, written->waves, written->left_out_bytes);
}

bool dump_end(dump_t *dump, char *said, size_t size)
{
  const uint64_t deadline = clock_now() + DUMP_SECONDS * (uint64_t)CLOCK_SECOND;
  const bool gathered = dump->store && dump->store->scene;
  core_written_t written = {0};
  rawhal_status_t status = dump->error.status;
  const core_output_t output = dump->output; /* closing forgets it */
  rawhal_error_t later;
  if (gathered)
    status = write_all(dump, deadline, &written, &dump->error);
  if (core_output_close(&dump->output, deadline, &later) != RAWHAL_OK && gathered &&
      status == RAWHAL_OK) {
    status = later.status;
    dump->error = later;
  }
  dump->output = output;
  permit_end(&dump->permit, gathered && status == RAWHAL_OK);
  *said = '\0';
  if (gathered || status != RAWHAL_OK)
    say(dump, status, &written, said, size);
  if (dump->store)
    store_free(dump->store);
  dump->store = NULL;
  return gathered && status == RAWHAL_OK;
}
