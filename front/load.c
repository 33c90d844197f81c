/* The doors by which the HSA runtime comes in: HSA_TOOLS_LIB names this library, or it is loaded
 * already and has HSA_AMD_TOOL_PRIORITY, or librawhal-front-register.so (register.c) hands on the
 * table that rocprofiler-sdk was given. More than one may be open. */
#include "front/bounds.h"
#include "front/code.h"
#include "front/copying.h"
#include "front/devices.h"
#include "front/door.h"
#include "front/faults.h"
#include "front/hangs.h"
#include "front/held.h"
#include "front/loaded.h"
#include "front/memory.h"
#include "front/plain_queues.h"
#include "front/queues.h"
#include "front/report.h"
#include "front/scratch.h"
#include "front/watch.h"

#include "base/cancel.h"
#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRONT_EXPORT __attribute__((visibility("default")))

front_t front;
atomic_bool front_in_child;
static pid_t loaded_in; /* the process that OnLoad() was called in; its children have no runtime */
static bool hooked;     /* the tables have our hooks */
static pid_t lost_in;   /* the process whose runtime ended without telling */
static bool has_others; /* other runtimes than that of the tables have come in, and were refused */

/* Of libraries that are loaded already the runtime calls the lesser first, after all that the
 * environment names (runtime.cpp of ROCr, Runtime::LoadTools()): nearest to the runtime. */
FRONT_EXPORT extern const uint32_t HSA_AMD_TOOL_PRIORITY;
const uint32_t HSA_AMD_TOOL_PRIORITY = 0;

FRONT_EXPORT bool OnLoad(table_root_t *root, uint64_t version, uint64_t failed_count,
                         const char *const *failed);
FRONT_EXPORT void OnUnload(void);

/* ---- Refusing ---- */

/* The call of hsa_init() that brought us here cannot be stopped from here; so what follows it
 * fails: no device is listed, and no queue is made. Later calls of hsa_init() fail, too; programs
 * make many, and are told once. */
static hsa_status_t refuse_init(void)
{
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t refuse_agents(hsa_status_t (*callback)(hsa_agent_t, void *), void *data)
{
  (void)callback, (void)data;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t refuse_queue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
{
  (void)agent, (void)size, (void)type, (void)callback, (void)data, (void)private_bytes;
  (void)group_bytes;
  if (queue)
    *queue = NULL;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static const front_calls_t refusing = {
    .init = refuse_init, .iterate_agents = refuse_agents, .queue_create = refuse_queue};

static void refuse(const table_root_t *root, const rawhal_error_t *error)
{
  front_report("there is no device: %s", error->message);
  tables_refuse(root, &refusing);
}

/* ---- The end ---- */

/* From here on nothing is held back for want of a thread: see ending.c. */
static void end_holding(void)
{
  if (!front.timed)
    return;
  hangs_end();
  queues_end();
  copying_stop();
}

/* Registered after the runtime's own handlers, and so called before them. */
static void at_exit(void)
{
  if (loaded_in != getpid())
    return;
  WITHOUT_CANCELLATION();
  front_door_end();
  end_holding();
  if (front.timed)
    queues_settle(probes_flying);
  if (front.watched)
    watch_summary();
}

/* ---- Doors ---- */

static rawhal_status_t open_front(const table_root_t *root, rawhal_error_t *error)
{
  memset(&front, 0, sizeof(front));
  rawhal_status_t status = tables_read(root, &front.tables, &front.hsa, error);
  front.direct = status == RAWHAL_OK && tables_are_direct(root, &front.hsa);
  if (status == RAWHAL_OK)
    status = devices_clock(error);
  if (status == RAWHAL_OK)
    status = watch_open(error);
  if (status == RAWHAL_OK)
    status = faults_open(error);
  if (status == RAWHAL_OK)
    status = hangs_open(error);
  if (status == RAWHAL_OK)
    status = front_door_open(error);
  front.remembered = front.watched || front.faults || front.hangs || front.shown;
  if (status == RAWHAL_OK)
    status = devices_open(error);
  if (status == RAWHAL_OK)
    scratch_begin_all();
  return status;
}

static void in_child(void)
{
  atomic_store(&front_in_child, true);
}

/* Once per process: what was registered cannot be taken back. */
static rawhal_status_t watch_process(rawhal_error_t *error)
{
  static bool watched;
  watched = watched || (atexit(at_exit) == 0 && pthread_atfork(NULL, NULL, in_child) == 0);
  return watched
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for handlers of fork and exit");
}

/* While a runtime has our hooks. Through another door it comes in with the same tables; another has
 * its own, and what the first one has been given is not to be had again. */
static void enter_again(const table_root_t *root)
{
  rawhal_error_t error;
  if (tables_have(&front.tables, root, &front.hooks))
    return;
  if (root && root->core == front.tables.core) {
    lost_in = getpid();
    hooked = false;
    end_holding();
    return;
  }
  has_others = true;
  if (rawhal_fail(&error, RAWHAL_UNSUPPORTED, "this process already has another HSA runtime"))
    refuse(root, &error);
}

/* A runtime that ended without telling has taken with it what was charged to us: what is still
 * there is not known. */
static void refuse_after_loss(const table_root_t *root)
{
  rawhal_error_t error;
  if (rawhal_fail(&error, RAWHAL_UNSUPPORTED,
                  "the HSA runtime restarted without notifying its tools of the shutdown"))
    refuse(root, &error);
}

static rawhal_status_t open_hooks(const table_root_t *root, rawhal_error_t *error)
{
  if (!marker_create())
    return rawhal_fail(
        error, RAWHAL_RUNTIME,
        "cannot create the mapping by which 'rawhal exec' finds out that limits apply: %s",
        strerror(errno));
  rawhal_status_t status = open_front(root, error);
  if (status != RAWHAL_OK || !(front.limited || front.remembered))
    return status;
  if (front.limited) {
    memory_hooks(&front.hooks);
    imports_hooks(&front.hooks);
    vmem_hooks(&front.hooks);
  }
  if (front.timed) {
    queues_hooks(&front.hooks);
    described_hooks(&front.hooks);
    ending_hooks(&front.hooks);
    copies_hooks(&front.hooks);
  }
  code_hooks(&front.hooks);
  front.inner = front.hsa;
  calls_overlay(&front.inner, &front.hooks);
  if (front.remembered)
    watch_memory_hooks(&front.hooks);
  if (front.remembered)
    plain_queues_hooks(&front.hooks);
  if (front.hangs)
    hangs_hooks(&front.hooks);
  bounds_hooks(&front.hooks);
  if (tables_recur(&front.hsa, &front.hooks))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the tables of the HSA runtime still contain the hooks");
  return watch_process(error);
}

bool OnLoad(table_root_t *root, uint64_t version, uint64_t failed_count, const char *const *failed)
{
  (void)version, (void)failed_count, (void)failed;
  rawhal_error_t error = {0};
  WITHOUT_CANCELLATION(); /* hsa_init() is no cancellation point, nor is hsa_shut_down() */
  if (tables_refused(root, &refusing))
    return true;
  const bool again = hooked && loaded_in == getpid();
  if (again)
    enter_again(root);
  if (lost_in == getpid())
    refuse_after_loss(root);
  if (again || lost_in == getpid())
    return true;
  if (atomic_exchange(&front_in_child, false)) {
    queues_abandon();
    copying_abandon();
    memory_abandon();
    scratch_orphan();
    loaded_abandon();
    watch_abandon();
    faults_abandon();
    hangs_abandon();
  }
  loaded_in = getpid();
  hooked = open_hooks(root, &error) == RAWHAL_OK && (front.limited || front.remembered);
  if (hooked) {
    front_door_begin();
    tables_replace(&front.tables, &front.hooks);
    faults_begin();
    hangs_begin();
  } else if (error.status != RAWHAL_OK) {
    faults_close();
    watch_close();
    devices_close();
    if (error.status == RAWHAL_INVALID_ARGUMENT || devices_limits_wanted() || watch_wanted())
      refuse(root, &error);
  }
  return true;
}

void OnUnload(void)
{
  if (loaded_in != getpid() || !hooked)
    return;
  if (has_others && !tables_are_of(&front.tables, __builtin_return_address(0)))
    return; /* one of those ends */
  WITHOUT_CANCELLATION();
  hooked = false;
  front_door_end();
  hangs_end();
  if (front.timed) {
    copying_forget();
    queues_forget();
  }
  tables_restore(&front.tables, &front.hooks);
  memory_forget();
  scratch_end();
  loaded_forget();
  faults_close();
  if (front.watched)
    watch_summary();
  if (front.remembered)
    watch_close();
  devices_close();
}
