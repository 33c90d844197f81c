#include "softgpu/debug/operations.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "softgpu/debug/live.h"
#include "softgpu/device/clock.h"
#include "softgpu/isa/base/wave.h"

enum { SUSPEND_NS = 2000000000 }; /* for all queues together */

operations_t operations = {.event_fd = -1};

typedef struct call {
  kfd_debug_t *debug;
  uint32_t *ids;
  size_t count;
  int fd;
  void *out;
  uint32_t *bytes;
} call_t;

/* --- coming and going --- */

static void attach_or_detach(void)
{
  const bool attached = operations.has_debugger && operations.runtime_state == KFD_RUNTIME_ENABLED;
  atomic_store(&live.attached, attached);
  __atomic_store_n(&isa_debug_traps, attached, __ATOMIC_RELAXED);
}

/* What `out` gets of a structure, which is never more than the debugger has room for. */
static uint32_t put(const call_t *call, const void *from, size_t size, uint32_t room)
{
  const uint32_t bytes = room < size ? room : (uint32_t)size;
  memcpy(call->out, from, bytes);
  *call->bytes = bytes;
  return (uint32_t)size;
}

static kfd_runtime_t runtime(void)
{
  return (kfd_runtime_t){.r_debug = atomic_load(&operations.r_debug),
                         .state = operations.runtime_state,
                         .ttmp_setup = 1};
}

static int32_t enable(const call_t *call)
{
  kfd_debug_t *debug = call->debug;
  const kfd_runtime_t info = runtime();
  if (call->fd < 0)
    return -EBADF;
  operations.has_debugger = true;
  operations.event_fd = call->fd;
  operations.enabled = debug->enable.exceptions;
  /* Who does not ask here hears of it as it hears of changes. */
  operations.runtime_changed = !debug->enable.info_bytes && info.state == KFD_RUNTIME_ENABLED;
  atomic_store(&live.launch_mode, KFD_LAUNCH_NORMAL);
  atomic_store(&live.launch_traps, 0);
  attach_or_detach();
  atomic_fetch_add(&operations.came, 1);
  live_futex_wake(&operations.came);
  live_ring();
  debug->enable.info_bytes = put(call, &info, sizeof info, debug->enable.info_bytes);
  return 0;
}

static void clear_watches(void)
{
  for (unsigned node = 0; node < LIVE_NODES; ++node) {
    for (unsigned i = 0; i < KFD_WATCHES; ++i)
      atomic_store(&live.watches[node][i].is_set, false);
    atomic_store(&live.watched[node], 0);
  }
}

static void let_runtime_go_on(void)
{
  atomic_fetch_add(&operations.heard, 1);
  live_futex_wake(&operations.heard);
}

void operation_forget(void)
{
  if (operations.event_fd >= 0)
    close(operations.event_fd);
  operations = (operations_t){.devices = operations.devices, .event_fd = -1};
  clear_watches();
  __atomic_store_n(&isa_debug_traps, false, __ATOMIC_RELAXED);
}

void operation_disable(void)
{
  if (!operations.has_debugger)
    return;
  operations.has_debugger = false;
  if (operations.event_fd >= 0)
    close(operations.event_fd);
  operations.event_fd = -1;
  operations.enabled = 0;
  clear_watches();
  attach_or_detach();
  for (live_queue_t *queue = live.queues; queue < live.queues + LIVE_QUEUES; ++queue)
    if (atomic_load(&queue->id))
      live_resume(queue);
  let_runtime_go_on();
}

static int32_t disable(const call_t *call)
{
  (void)call;
  operation_disable();
  return 0;
}

/* --- queues --- */

static uint32_t change_queues(const call_t *call, bool suspends)
{
  const uint64_t deadline = softgpu_clock_ns() + SUSPEND_NS;
  const uint64_t cleared = suspends ? call->debug->suspend.exceptions : 0;
  uint32_t done = 0;
  for (size_t i = 0; i < call->count; ++i) {
    live_queue_t *queue = live_queue_find(call->ids[i]);
    if (!queue || (suspends && !live_suspend(queue, deadline))) {
      call->ids[i] |= (uint32_t)KFD_QUEUE_INVALID;
      continue;
    }
    atomic_fetch_and(&queue->exceptions, ~cleared);
    if (!suspends)
      live_resume(queue);
    ++done;
  }
  put(call, call->ids, call->count * sizeof *call->ids, (uint32_t)(call->count * 4));
  return done;
}

static int32_t suspend(const call_t *call)
{
  return call->count == call->debug->suspend.count ? (int32_t)change_queues(call, true) : -EINVAL;
}

static int32_t resume(const call_t *call)
{
  return call->count == call->debug->resume.count ? (int32_t)change_queues(call, false) : -EINVAL;
}

/* The devices' numbers come from the thunk alone. */
static uint32_t device_of(uint32_t node)
{
  kfd_device_t devices[LIVE_NODES];
  const uint32_t count = operations.devices(devices, LIVE_NODES);
  return node > 0 && node <= count ? devices[node - 1].gpu_id : 0;
}

static uint32_t node_of(uint32_t gpu_id)
{
  for (uint32_t node = 1; node < LIVE_NODES; ++node)
    if (gpu_id && device_of(node) == gpu_id)
      return node;
  return 0;
}

static int32_t send(const call_t *call)
{
  const uint64_t exceptions = call->debug->send.exceptions;
  const uint32_t node = node_of(call->debug->send.gpu_id);
  if (exceptions & KFD_EXCEPTION(KFD_RUNTIME))
    let_runtime_go_on();
  for (live_queue_t *queue = live.queues; queue < live.queues + LIVE_QUEUES; ++queue) {
    const uint64_t id = atomic_load(&queue->id);
    const bool is_named = exceptions & KFD_QUEUE_EXCEPTIONS && id == call->debug->send.queue_id;
    const bool is_there = exceptions & KFD_DEVICE_EXCEPTIONS && queue->node == node;
    if (id && (is_named || is_there)) {
      atomic_store(&queue->delivers, true);
      live_futex_wake(&queue->gate);
    }
  }
  return 0;
}

/* Behind those that are there; what is between it and the next one is zero. */
static void put_entry(const call_t *call, uint32_t *used, const void *entry, size_t size)
{
  const uint32_t stride = call->debug->snapshot.entry_bytes;
  uint8_t *at = (uint8_t *)call->out + *used;
  memset(at, 0, stride);
  memcpy(at, entry, stride < size ? stride : size);
  *used += stride;
}

static bool has_room(const call_t *call, uint32_t used, uint32_t index)
{
  return index < call->debug->snapshot.count &&
         call->debug->snapshot.entry_bytes <= *call->bytes - used;
}

static int32_t end_snapshot(const call_t *call, uint32_t used, uint32_t count, size_t size)
{
  kfd_debug_t *debug = call->debug;
  *call->bytes = used;
  debug->snapshot.count = count;
  if (debug->snapshot.entry_bytes > size)
    debug->snapshot.entry_bytes = (uint32_t)size;
  return 0;
}

static int32_t snapshot_queues(const call_t *call)
{
  uint32_t count = 0, used = 0;
  for (live_queue_t *queue = live.queues; queue < live.queues + LIVE_QUEUES; ++queue) {
    const uint64_t id = atomic_load(&queue->id);
    if (!id || !has_room(call, used, count++))
      continue;
    const kfd_queue_t entry = {
        .exceptions = atomic_fetch_and(&queue->exceptions, ~call->debug->snapshot.exceptions),
        .ring = queue->ring,
        .write_pointer = queue->write_pointer,
        .read_pointer = queue->read_pointer,
        .save_area = (uintptr_t)queue->area,
        .id = (uint32_t)id,
        .gpu_id = device_of(queue->node),
        .ring_bytes = queue->ring_bytes,
        .type = KFD_QUEUE_AQL,
        .save_area_bytes = queue->area_bytes,
    };
    put_entry(call, &used, &entry, sizeof entry);
  }
  return end_snapshot(call, used, count, sizeof(kfd_queue_t));
}

static int32_t snapshot_devices(const call_t *call)
{
  kfd_device_t devices[LIVE_NODES];
  const uint32_t count = operations.devices(devices, LIVE_NODES);
  uint32_t used = 0;
  for (uint32_t i = 0; i < count && has_room(call, used, i); ++i)
    put_entry(call, &used, &devices[i], sizeof devices[i]);
  return end_snapshot(call, used, count, sizeof *devices);
}

/* --- settings --- */

static int32_t set_enabled(const call_t *call)
{
  operations.enabled = call->debug->enabled.exceptions;
  return 0;
}

/* Of exceptions that can be enabled for new waves, watchpoints are those that there are. */
static int32_t launch_override(const call_t *call)
{
  kfd_debug_t *debug = call->debug;
  const uint32_t before = atomic_load(&live.launch_traps), mask = debug->launch_override.mask;
  if (mask & ~(uint32_t)KFD_OVERRIDE_WATCH || debug->launch_override.mode > 1)
    return -EACCES;
  const uint32_t kept = debug->launch_override.mode == 0 ? before & ~mask : 0;
  atomic_store(&live.launch_traps, kept | (debug->launch_override.enable & mask));
  debug->launch_override.enable = before;
  debug->launch_override.mask = KFD_OVERRIDE_WATCH;
  return 0;
}

static int32_t launch_mode(const call_t *call)
{
  const uint32_t mode = call->debug->launch.mode;
  if (mode != KFD_LAUNCH_NORMAL && mode != KFD_LAUNCH_HALT && mode != KFD_LAUNCH_STEP)
    return -EINVAL;
  atomic_store(&live.launch_mode, mode);
  return 0;
}

/* softgpu is precise anyway. */
static int32_t set_flags(const call_t *call)
{
  return call->debug->flags.flags & ~3u ? -EINVAL : 0;
}

static int32_t set_watch(const call_t *call)
{
  kfd_debug_t *debug = call->debug;
  const uint32_t node = node_of(debug->watch.gpu_id);
  if (!node || debug->watch.mode > KFD_WATCH_ALL)
    return node ? -EINVAL : -ENODEV;
  for (uint32_t i = 0; i < KFD_WATCHES; ++i) {
    live_watch_t *watch = &live.watches[node][i];
    if (atomic_load(&watch->is_set))
      continue;
    const uint64_t mask = (uint64_t)(int64_t)(int32_t)debug->watch.mask;
    atomic_store(&watch->mask, mask);
    atomic_store(&watch->address, debug->watch.address);
    atomic_store(&watch->mode, debug->watch.mode);
    atomic_store(&watch->is_set, true);
    atomic_fetch_add(&live.watched[node], 1);
    debug->watch.id = i;
    return 0;
  }
  return -ENOMEM;
}

static int32_t clear_watch(const call_t *call)
{
  const uint32_t node = node_of(call->debug->clear_watch.gpu_id), id = call->debug->clear_watch.id;
  if (!node || id >= KFD_WATCHES || !atomic_exchange(&live.watches[node][id].is_set, false))
    return -EINVAL;
  atomic_fetch_sub(&live.watched[node], 1);
  return 0;
}

/* --- events --- */

/* The first queue that has something to tell, or NULL. */
static live_queue_t *telling_queue(void)
{
  for (live_queue_t *queue = live.queues; queue < live.queues + LIVE_QUEUES; ++queue)
    if (atomic_load(&queue->id) && atomic_load(&queue->exceptions) & operations.enabled)
      return queue;
  return NULL;
}

static bool runtime_tells(void)
{
  return operations.runtime_changed && operations.enabled & KFD_EXCEPTION(KFD_RUNTIME);
}

static int32_t query_event(const call_t *call)
{
  kfd_debug_t *debug = call->debug;
  const uint64_t cleared = debug->send.exceptions;
  live_queue_t *queue = telling_queue();
  debug->send.gpu_id = debug->send.queue_id = 0;
  if (queue) {
    debug->send.exceptions = atomic_fetch_and(&queue->exceptions, ~cleared);
    debug->send.gpu_id = device_of(queue->node);
    debug->send.queue_id = (uint32_t)atomic_load(&queue->id);
    return 0;
  }
  if (!runtime_tells())
    return -EAGAIN;
  debug->send.exceptions = KFD_EXCEPTION(KFD_RUNTIME);
  if (cleared & KFD_EXCEPTION(KFD_RUNTIME))
    operations.runtime_changed = false;
  return 0;
}

static int32_t exception_info(const call_t *call)
{
  kfd_debug_t *debug = call->debug;
  const kfd_runtime_t info = runtime();
  if (debug->exception_info.code != KFD_RUNTIME)
    return -EINVAL;
  if (!operations.runtime_changed)
    return -ENODATA;
  if (debug->exception_info.clear)
    operations.runtime_changed = false;
  debug->exception_info.info_bytes =
      put(call, &info, sizeof info, debug->exception_info.info_bytes);
  return 0;
}

/* With a debugger the runtime goes on when that says so. */
static void change_runtime(void)
{
  const uint32_t next = atomic_exchange(&operations.runtime_next, 0);
  if (!next)
    return;
  operations.runtime_state = next - 1;
  if (operations.has_debugger)
    operations.runtime_changed = true;
  else
    let_runtime_go_on();
  attach_or_detach();
}

void operation_tell(void)
{
  static const char byte = 'e';
  change_runtime();
  if (!operations.has_debugger || !(telling_queue() || runtime_tells()))
    return;
  struct pollfd pipe = {.fd = operations.event_fd, .events = POLLOUT};
  if (poll(&pipe, 1, 0) == 1 && pipe.revents & POLLOUT) { /* where it is full, it has not read */
    const ssize_t written = write(operations.event_fd, &byte, 1);
    (void)written;
  }
}

/* --- all of them --- */

int32_t operation_do(kfd_debug_t *debug, uint32_t *ids, size_t count, int fd, void *out,
                     uint32_t *bytes)
{
  static int32_t (*const all[KFD_OPS])(const call_t *) = {
      [KFD_ENABLE] = enable,
      [KFD_DISABLE] = disable,
      [KFD_SEND_RUNTIME_EVENT] = send,
      [KFD_SET_EXCEPTIONS_ENABLED] = set_enabled,
      [KFD_SET_WAVE_LAUNCH_OVERRIDE] = launch_override,
      [KFD_SET_WAVE_LAUNCH_MODE] = launch_mode,
      [KFD_SUSPEND_QUEUES] = suspend,
      [KFD_RESUME_QUEUES] = resume,
      [KFD_SET_ADDRESS_WATCH] = set_watch,
      [KFD_CLEAR_ADDRESS_WATCH] = clear_watch,
      [KFD_SET_FLAGS] = set_flags,
      [KFD_QUERY_DEBUG_EVENT] = query_event,
      [KFD_QUERY_EXCEPTION_INFO] = exception_info,
      [KFD_GET_QUEUE_SNAPSHOT] = snapshot_queues,
      [KFD_GET_DEVICE_SNAPSHOT] = snapshot_devices,
  };
  const bool has_snapshot =
      debug->op == KFD_GET_QUEUE_SNAPSHOT || debug->op == KFD_GET_DEVICE_SNAPSHOT;
  const call_t call = {debug, ids, count, fd, out, bytes};
  if (!has_snapshot)
    *bytes = 0;
  return debug->op < KFD_OPS ? all[debug->op](&call) : -EINVAL;
}
