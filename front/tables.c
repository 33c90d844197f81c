#include "front/tables.h"

#include "base/error.h"

#include <dlfcn.h>
#include <string.h>

enum {
  CORE_MAJORS = 2, /* 1 and 2 are the same, as far as there are entries */
  AMD_MAJORS = 2,
  IMAGE_MAJORS = 2, /* as of the core table */
  /* Steps of AMD's table (major 2): from the first it has hsa_amd_queue_create(), and of those
   * after the last it is not known what else makes queues. */
  DESCRIBED_QUEUES = 0x10,
  LAST_STEP = 0x12,
  /* There was a table of this size with other functions at the place: hsa_api_trace.h of
   * rocm-systems f634a97b. */
  OTHER_BYTES = 720,
};

typedef struct entry {
  const char *name;
  uint32_t at[AMD_MAJORS]; /* by major, from 1; 0: not there */
  size_t place;            /* in front_calls_t */
  bool needed;
} entry_t;

static const entry_t core_entries[] = {
#define X(name, type, offset) {#name, {offset, offset}, offsetof(front_calls_t, name), true},
    FRONT_CORE(X)
#undef X
};

static const entry_t amd_entries[] = {
#define X(name, type, first, second)                                                               \
  {#name, {first, second}, offsetof(front_calls_t, name), first != 0},
    FRONT_AMD(X)
#undef X
};

static const entry_t image_entries[] = {
#define X(name, type, offset) {#name, {offset, offset}, offsetof(front_calls_t, name), false},
    FRONT_IMAGE(X)
#undef X
};

enum {
  CORE_ENTRIES = sizeof(core_entries) / sizeof(*core_entries),
  AMD_ENTRIES = sizeof(amd_entries) / sizeof(*amd_entries),
  IMAGE_ENTRIES = sizeof(image_entries) / sizeof(*image_entries),
};

static const size_t least_root = offsetof(table_root_t, finalizer);

/* POSIX promises that functions and objects have pointers of one size. */
static void *load(const void *from, size_t at)
{
  void *function;
  memcpy(&function, (const char *)from + at, sizeof(function));
  return function;
}

static void store(void *to, size_t at, void *function)
{
  /* Other threads may call through the entry: one store. */
  __atomic_store_n((void **)(void *)((char *)to + at), function, __ATOMIC_RELEASE);
}

static uint32_t size_of(const void *table)
{
  return ((const table_version_t *)table)->minor;
}

static bool exists(const void *table, uint32_t at)
{
  return at >= sizeof(table_version_t) && at <= UINT32_MAX - sizeof(void *) &&
         at + sizeof(void *) <= size_of(table);
}

/* ---- Reading ---- */

static rawhal_status_t read_entries(const void *found, const entry_t *entries, size_t count,
                                    uint32_t major, front_calls_t *calls, rawhal_error_t *error)
{
  for (size_t i = 0; i < count; ++i) {
    uint32_t at = entries[i].at[major - 1];
    void *function = exists(found, at) ? load(found, at) : NULL;
    if (!function && entries[i].needed)
      return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the tools table of the HSA runtime has no %s",
                         entries[i].name);
    store(calls, entries[i].place, function);
  }
  return RAWHAL_OK;
}

static void copy(unsigned char *to, size_t room, const void *table)
{
  size_t size = size_of(table);
  memset(to, 0, room);
  memcpy(to, table, size < room ? size : room);
}

/* What is at a place is known by the step only. */
static void know_queues(front_tables_t *tables, const table_version_t *amd, front_calls_t *calls)
{
  bool described = amd->major == AMD_MAJORS && amd->step >= DESCRIBED_QUEUES;
  bool known = described && amd->step <= LAST_STEP && amd->minor != OTHER_BYTES;
  if (!known)
    calls->described_create = NULL, calls->queue_signal_semaphore = NULL,
    calls->queue_wait_semaphore = NULL;
  tables->newer_queues = described && !calls->described_create;
}

/* NULL: the runtime has no images. */
static void *images_of(const table_root_t *root)
{
  return root->version.minor >= sizeof(*root) ? root->image : NULL;
}

static rawhal_status_t read_images(const table_root_t *root, front_tables_t *tables,
                                   front_calls_t *calls, rawhal_error_t *error)
{
  const table_version_t *image = tables->image = images_of(root);
  if (!image)
    return RAWHAL_OK;
  if (image->major < 1 || image->major > IMAGE_MAJORS)
    return rawhal_fail(
        error, RAWHAL_UNSUPPORTED,
        "the image table of the HSA runtime has version %u; versions 1 and 2 are supported",
        image->major);
  copy(tables->image_found, sizeof(tables->image_found), image);
  return read_entries(tables->image_found, image_entries, IMAGE_ENTRIES, image->major, calls,
                      error);
}

rawhal_status_t tables_read(const table_root_t *root, front_tables_t *tables, front_calls_t *calls,
                            rawhal_error_t *error)
{
  memset(tables, 0, sizeof(*tables));
  memset(calls, 0, sizeof(*calls));
  if (!root || root->version.minor < least_root || !root->core || !root->amd)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the HSA runtime passes no tables to its tools");
  const table_version_t *core = root->core, *amd = root->amd;
  if (core->major < 1 || core->major > CORE_MAJORS || amd->major < 1 || amd->major > AMD_MAJORS)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the tools tables of the HSA runtime have versions %u and %u; versions 1 "
                       "and 2 are supported",
                       core->major, amd->major);
  copy(tables->core_found, sizeof(tables->core_found), core);
  copy(tables->amd_found, sizeof(tables->amd_found), amd);
  rawhal_status_t status =
      read_entries(tables->core_found, core_entries, CORE_ENTRIES, core->major, calls, error);
  if (status == RAWHAL_OK)
    status = read_entries(tables->amd_found, amd_entries, AMD_ENTRIES, amd->major, calls, error);
  if (status == RAWHAL_OK)
    status = read_images(root, tables, calls, error);
  tables->core = root->core;
  tables->amd = root->amd;
  tables->amd_major = amd->major;
  know_queues(tables, amd, calls);
  return status;
}

/* ---- Writing ---- */

static void replace(void *table, const entry_t *entries, size_t count, uint32_t major,
                    const front_calls_t *hooks)
{
  for (size_t i = 0; i < count; ++i) {
    uint32_t at = entries[i].at[major - 1];
    void *hook = load(hooks, entries[i].place);
    if (hook && exists(table, at) && load(table, at))
      store(table, at, hook);
  }
}

/* NULL: of no object that is known. */
static const void *object_of(const void *address)
{
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : NULL;
}

bool tables_are_direct(const table_root_t *root, const front_calls_t *calls)
{
  static const size_t places[] = {
      offsetof(front_calls_t, queue_create),
      offsetof(front_calls_t, load_read_scacquire),
      offsetof(front_calls_t, store_write_screlease),
      offsetof(front_calls_t, amd_signal_create),
      offsetof(front_calls_t, signal_load_scacquire),
      offsetof(front_calls_t, silent_store_relaxed),
      offsetof(front_calls_t, set_profiler_enabled),
      offsetof(front_calls_t, get_dispatch_time),
      offsetof(front_calls_t, signal_store_screlease),
  };
  const void *runtime = object_of(root);
  bool direct = runtime != NULL;
  for (size_t i = 0; i < sizeof(places) / sizeof(*places); ++i)
    direct &= object_of(load(calls, places[i])) == runtime;
  return direct;
}

bool tables_are_of(const front_tables_t *tables, const void *code)
{
  const void *object = object_of(code);
  return object && object == object_of(tables->core);
}

void tables_replace(const front_tables_t *tables, const front_calls_t *hooks)
{
  replace(tables->core, core_entries, CORE_ENTRIES, 1, hooks);
  replace(tables->amd, amd_entries, AMD_ENTRIES, tables->amd_major, hooks);
  if (tables->image)
    replace(tables->image, image_entries, IMAGE_ENTRIES, 1, hooks);
}

static void overlay(front_calls_t *calls, const entry_t *entries, size_t count,
                    const front_calls_t *hooks)
{
  for (size_t i = 0; i < count; ++i) {
    void *hook = load(hooks, entries[i].place);
    if (hook)
      store(calls, entries[i].place, hook);
  }
}

void calls_overlay(front_calls_t *calls, const front_calls_t *hooks)
{
  overlay(calls, core_entries, CORE_ENTRIES, hooks);
  overlay(calls, amd_entries, AMD_ENTRIES, hooks);
  overlay(calls, image_entries, IMAGE_ENTRIES, hooks);
}

static void restore(void *table, const void *found, const entry_t *entries, size_t count,
                    uint32_t major, const front_calls_t *hooks)
{
  for (size_t i = 0; i < count; ++i) {
    uint32_t at = entries[i].at[major - 1];
    void *hook = load(hooks, entries[i].place);
    if (hook && exists(table, at) && load(table, at) == hook)
      store(table, at, load(found, at));
  }
}

void tables_restore(const front_tables_t *tables, const front_calls_t *hooks)
{
  restore(tables->core, tables->core_found, core_entries, CORE_ENTRIES, 1, hooks);
  restore(tables->amd, tables->amd_found, amd_entries, AMD_ENTRIES, tables->amd_major, hooks);
  if (tables->image)
    restore(tables->image, tables->image_found, image_entries, IMAGE_ENTRIES, 1, hooks);
}

/* Is any of the entries in `hooks` not what it was? */
static bool changed(const void *table, const void *found, const entry_t *entries, size_t count,
                    uint32_t major, const front_calls_t *hooks)
{
  for (size_t i = 0; i < count; ++i) {
    uint32_t at = entries[i].at[major - 1];
    if (load(hooks, entries[i].place) && exists(found, at) && load(table, at) != load(found, at))
      return true;
  }
  return false;
}

bool tables_have(const front_tables_t *tables, const table_root_t *root, const front_calls_t *hooks)
{
  return root && root->core == tables->core && root->amd == tables->amd &&
         (changed(tables->core, tables->core_found, core_entries, CORE_ENTRIES, 1, hooks) ||
          changed(tables->amd, tables->amd_found, amd_entries, AMD_ENTRIES, tables->amd_major,
                  hooks));
}

bool tables_recur(const front_calls_t *calls, const front_calls_t *hooks)
{
  for (size_t at = 0; at < sizeof(*calls); at += sizeof(void *))
    if (load(hooks, at) && load(hooks, at) == load(calls, at))
      return true;
  return false;
}

/* ---- Refusing ---- */

static bool has_core(const table_root_t *root)
{
  return root && root->version.minor >= least_root && root->core;
}

void tables_refuse(const table_root_t *root, const front_calls_t *refusing)
{
  if (has_core(root))
    replace(root->core, core_entries, CORE_ENTRIES, 1, refusing);
}

bool tables_refused(const table_root_t *root, const front_calls_t *refusing)
{
  static const uint32_t of_init = 16;
  return has_core(root) && exists(root->core, of_init) &&
         load(root->core, of_init) == (void *)(uintptr_t)refusing->init;
}
