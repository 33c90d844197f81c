#include "front/faults.h"

#include "front/check.h"
#include "front/devices.h"
#include "front/door.h"
#include "front/flight.h"
#include "front/host_view.h"
#include "front/kernargs.h"
#include "front/plain_queues.h"
#include "front/probe/probes.h"
#include "front/proxies.h"
#include "front/report.h"
#include "front/unloaded.h"

#include "queue/limit/describe.h"

#include "base/clock.h"
#include "base/error.h"
#include "debug/agent.h"
#include "debug/dispatch.h"
#include "debug/gathered.h"
#include "debug/report.h"
#include "debug/runtime.h"
#include "debug/softgpu.h"
#include "debug/waves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static report_form_t form;
static debug_softgpu_t softgpu;
static dump_settings_t cores;

/* ---- What there is ---- */

typedef struct scene {
  const hsa_queue_t *queue; /* that has failed; NULL: not known */
  debug_gathered_t found;
  const front_device_t *device;                 /* NULL: not known */
  front_kernel_t *kernels[GATHERED_DISPATCHES]; /* to be given back; so are: */
  kernargs_t kernargs[GATHERED_DISPATCHES];
  probed_t *copies[GATHERED_DISPATCHES]; /* of dispatches that were probed: what ran; else NULL */
} scene_t;

/* Memory that was allocated for them alone may be too small. */
static void take_kernargs(kernargs_t *kernargs, const front_kernel_t *kernel,
                          const hsa_kernel_dispatch_packet_t *packet, debug_dispatch_t *dispatch)
{
  range_t range;
  const uint64_t address = (uint64_t)(uintptr_t)packet->kernarg_address;
  kernargs_take(kernargs, kernel, packet);
  if (kernargs->unread && ranges_live(address, &range)) {
    kernargs_give_back(kernargs);
    dispatch->supplied = range.size - (address - range.base);
    kernargs_copy(kernargs, packet, dispatch->supplied);
  }
}

static void add_dispatch(scene_t *scene, const hsa_queue_t *queue, uint64_t index,
                         const hsa_kernel_dispatch_packet_t *packet, front_kernel_t *kernel,
                         const lately_entry_t *ended)
{
  const size_t at = scene->found.count;
  debug_dispatch_t *dispatch = gathered_packet(&scene->found, queue, index, packet);
  probed_t *copy = scene->copies[at] = probes_copy(packet->kernel_object);
  scene->kernels[at] = kernel;
  if (copy)
    dispatch->kernel_object = probes_copy_of(copy);
  if (!kernel)
    return;
  dispatch->running = !ended;
  if (ended)
    kernargs_keep(&scene->kernargs[at], kernel, (rawhal_bytes_t){ended->words, ended->size});
  else
    take_kernargs(&scene->kernargs[at], kernel, packet, dispatch);
  dispatch->kernargs = scene->kernargs[at].bytes;
  dispatch->kernel = kernel->facts->name;
  dispatch->layout = kernel->layout;
  scene->found.descriptors[at] = kernel->facts->descriptor;
}

static debug_packets_t packets_of(const hsa_queue_t *queue, const uint64_t *failed,
                                  const uint64_t *oldest)
{
  return (debug_packets_t){.queue = queue,
                           .read = front.hsa.load_read_relaxed(queue),
                           .write = front.hsa.load_write_relaxed(queue),
                           .failed = failed,
                           .oldest = oldest};
}

/* What has ended is left out: the program may have written other kernargs over its own. */
static void add_queue(scene_t *scene, const hsa_queue_t *queue, const uint64_t *failed,
                      const uint64_t *oldest)
{
  const debug_packets_t packets = packets_of(queue, failed, oldest);
  hsa_kernel_dispatch_packet_t packet;
  uint64_t next = packets_first(&packets);
  while (scene->found.count < GATHERED_DISPATCHES && packets_next(&packets, &next, &packet)) {
    front_kernel_t *kernel = objects_kernel(packet.kernel_object, NULL);
    if (kernel || (failed && next - 1 == *failed) || unloaded_has(packet.kernel_object))
      add_dispatch(scene, queue, next - 1, &packet, kernel, NULL);
  }
}

/* ---- What has ended, of queues that have proxies ---- */

/* Of the oldest dispatch that has not ended, or had not when the queue died. False: all have, or it
 * is not known. */
static bool oldest_packet(proxy_t *proxy, uint64_t *packet)
{
  uint64_t ticket = 0;
  bool ours;
  pthread_mutex_lock(&proxy->harvest);
  const bool dead = atomic_load(&proxy->died_at) != 0;
  const bool any = dead ? proxy->loses : flight_oldest(proxy, &ticket, &ours);
  const lately_entry_t *entry =
      any && proxy->lately ? lately_entry(proxy->lately, dead ? proxy->lost : ticket) : NULL;
  if (entry)
    *packet = entry->packet;
  pthread_mutex_unlock(&proxy->harvest);
  return entry;
}

/* From what was kept when it went. Its packet is in the ring unless others are in its place. */
static void add_entry(scene_t *scene, const proxy_t *proxy, const lately_entry_t *entry)
{
  const uint64_t size = proxy->real->size;
  const hsa_kernel_dispatch_packet_t *ring = proxy->real->base_address,
                                     *packet = &ring[entry->packet & (size - 1)];
  front_kernel_t *kernel = proxy->real_write - entry->packet <= size
                               ? objects_kernel(packet->kernel_object, NULL)
                               : NULL;
  if (kernel)
    add_dispatch(scene, proxy->real, entry->packet, packet, kernel, entry);
}

/* A thread that launches has the lock for a moment, unless it waits for who reads a trace. */
static bool lock_soon(proxy_t *proxy)
{
  enum { TRIES = 100 };
  static const uint64_t nap = 100000;
  for (int i = 0; i < TRIES; ++i) {
    if (!pthread_mutex_trylock(&proxy->lock))
      return true;
    clock_nap(nap);
  }
  return false;
}

/* The latest first, of those before a packet. */
static void add_ended(scene_t *scene, proxy_t *proxy, uint64_t before)
{
  if (!proxy->lately || !lock_soon(proxy))
    return;
  uint64_t ticket = proxy->tickets;
  for (int left = LATELY_DISPATCHES; ticket && left && scene->found.count < GATHERED_DISPATCHES;
       --left) {
    const lately_entry_t *entry = lately_entry(proxy->lately, --ticket);
    if (entry && entry->packet < before)
      add_entry(scene, proxy, entry);
  }
  pthread_mutex_unlock(&proxy->lock);
}

static void add_range(scene_t *scene, const range_t *range)
{
  gathered_memory(&scene->found, &(debug_allocation_t){
                                     .base = range->base,
                                     .size = range->size,
                                     .number = range->number,
                                     .made_at = range->made_at,
                                     .freed_at = range->freed_at,
                                     .owner = range->owner,
                                     .reachable = scene->device && !range->freed_at &&
                                                  check_given(scene->device, range, range->base)});
}

/* What only the runtime knows of: no hook has seen it. */
static void add_unseen(void *context, uint64_t address)
{
  range_t range;
  scene_t *scene = context;
  if (host_view_find(address, &range) && !range.number && !gathered_has(&scene->found, range.base))
    add_range(scene, &range);
}

static void add_memory(scene_t *scene, const rawhal_fault_t *fault)
{
  enum { UNSEEN = GATHERED_DISPATCHES * GATHERED_WORDS + 1 + UNLOADED };
  unloaded_t unloaded[UNLOADED];
  const size_t room = ranges_list(NULL, 0);
  range_t *listed = malloc(room * sizeof(*listed) + 1);
  scene->found.memory = malloc((room + UNSEEN) * sizeof(*scene->found.memory));
  scene->found.memory_room = scene->found.memory ? room + UNSEEN : 0;
  const size_t count = listed ? ranges_list(listed, room) : 0;
  for (size_t i = 0; i < count && i < room; ++i)
    add_range(scene, &listed[i]);
  free(listed);
  const size_t gone = unloaded_list(unloaded, UNLOADED);
  for (size_t i = 0; i < gone && i < UNLOADED; ++i)
    gathered_memory(&scene->found, &(debug_allocation_t){.base = unloaded[i].base,
                                                         .size = unloaded[i].size,
                                                         .owner = unloaded[i].agent,
                                                         .freed_at = unloaded[i].at,
                                                         .code = true});
  if (fault->known & RAWHAL_FAULT_KNOWS_ADDRESS)
    add_unseen(scene, fault->address);
  gathered_words(&scene->found, add_unseen, scene);
}

static bool read_memory(void *context, uint64_t address, void *to, size_t size)
{
  (void)context;
  return host_read(address, to, size);
}

/* ---- Telling ---- */

static void put_text(const rawhal_fault_t *fault)
{
  static char text[32 << 10]; /* with `lock`, and more than a report takes */
  pthread_mutex_lock(&lock);
  const bool lines = form == REPORT_TEXT;
  size_t size = (size_t)snprintf(text, sizeof(text), "%s", lines ? "rawhal: " : "");
  size += report_into(fault, form, text + size, sizeof(text) - size - 1);
  size += (size_t)snprintf(text + size, sizeof(text) - size, "%s", lines ? "" : "\n");
  front_report_text(text, size);
  pthread_mutex_unlock(&lock);
}

/* The code of each copy that ran, once. */
static bool copy_at(const scene_t *scene, size_t index, dump_code_t *code)
{
  for (size_t i = 0; i < scene->found.count; ++i) {
    bool is_first = scene->copies[i] != NULL;
    for (size_t j = 0; j < i && is_first; ++j)
      is_first = scene->copies[j] != scene->copies[i];
    if (!is_first || index-- != 0)
      continue;
    object_loaded_t loaded;
    const rawhal_bytes_t bytes = probes_copy_code(scene->copies[i], &loaded);
    *code = (dump_code_t){loaded.base, loaded.size, loaded.delta, bytes};
    return true;
  }
  return false;
}

/* The code of each kernel of the scene, once. */
static bool code_at(void *context, size_t index, dump_code_t *code)
{
  const scene_t *scene = context;
  for (size_t i = 0; i < scene->found.count; ++i) {
    object_loaded_t loaded;
    bool is_first = scene->kernels[i] != NULL;
    for (size_t j = 0; j < i && is_first; ++j)
      is_first = !scene->kernels[j] || scene->kernels[j]->object != scene->kernels[i]->object;
    if (!is_first || !objects_loaded(scene->found.dispatches[i].kernel_object, &loaded) ||
        index-- != 0)
      continue;
    *code = (dump_code_t){loaded.base, loaded.size, loaded.delta,
                          object_given(scene->kernels[i]->object)};
    return true;
  }
  return copy_at(scene, index, code);
}

static void gather(dump_t *dump, scene_t *scene, const rawhal_fault_t *fault)
{
  rawhal_target_t target;
  const bool is_told =
      rawhal_target_parse(rawhal_string(scene->device->executes), &target, NULL) == RAWHAL_OK;
  const core_agent_t agent =
      debug_agent(front.hsa.agent_get_info, (hsa_agent_t){scene->found.device},
                  (uint32_t)(scene->device - front.devices), is_told ? target.processor : "");
  const debug_scene_t around = gathered_scene(&scene->found, read_memory);
  char limits[1024] = "";
  print_t lines = print_into(limits, sizeof(limits));
  limit_describe(scene->device->limiter, &lines);
  const dump_scene_t all = {.around = &around,
                            .queue = {.hsa_queue = scene->queue,
                                      .softgpu = &softgpu,
                                      .fault = fault,
                                      .dispatches = around.dispatches,
                                      .dispatch_count = around.dispatch_count},
                            .agents = &agent,
                            .agent_count = 1,
                            .limits = rawhal_string(limits),
                            .context = scene,
                            .code = code_at};
  dump_gather(dump, &all);
}

static void explain(scene_t *scene, rawhal_fault_t *fault)
{
  add_memory(scene, fault);
  if (fault->kind == RAWHAL_FAULT_TIME_LIMIT)
    (void)debug_waves_stand(&softgpu, scene->queue, fault, &scene->found.stand);
  gathered_explain(&scene->found, read_memory, fault);
}

/* Its waves have been noted. */
static void explain_again(scene_t *scene, rawhal_fault_t *fault)
{
  if (debug_waves_stand(&softgpu, scene->queue, fault, &scene->found.stand))
    gathered_explain(&scene->found, read_memory, fault);
}

/* Gives back what the scene has. `dumps`: a core file is written, where one is wanted. */
static void finish(scene_t *scene, const rawhal_fault_t *fault, bool dumps)
{
  dump_t dump;
  char said[DUMP_SAID] = "";
  dumps = dumps && scene->device && dump_begin(&dump, &cores, -1);
  if (dumps)
    gather(&dump, scene, fault);
  for (size_t i = 0; i < scene->found.count; ++i) {
    kernargs_give_back(&scene->kernargs[i]);
    objects_release(scene->kernels[i]);
    probed_release(scene->copies[i]);
  }
  free(scene->found.memory);
  free(scene);
  if (dumps)
    (void)dump_end(&dump, said, sizeof(said));
  if (!*said)
    return;
  front_report("%s", said);
  front_door_dump(fault->queue_id, said);
}

static void tell(scene_t *scene, rawhal_fault_t *fault)
{
  explain(scene, fault);
  put_text(fault);
  front_door_fault(fault);
  finish(scene, fault, true);
}

static scene_t *make_scene(const front_device_t *device)
{
  scene_t *scene = calloc(1, sizeof(*scene));
  if (!scene)
    return NULL;
  scene->device = device;
  scene->found.device = device ? device->agent.handle : 0;
  return scene;
}

/* NULL: there is nobody to tell, or no memory. */
static scene_t *scene_of(const front_device_t *device)
{
  return front.faults && !front_orphaned() ? make_scene(device) : NULL;
}

/* A copy with probes has failed: where, in the original; and that it was one, with the device's own
 * words. */
static void show_original(const scene_t *scene, rawhal_fault_t *fault)
{
  char own[sizeof(fault->device_text)];
  const rawhal_descriptor_t *descriptor = *scene->found.descriptors;
  uint64_t offset = (uint64_t)fault->pc_offset;
  bool is_probe = false;
  if (!(fault->known & RAWHAL_FAULT_KNOWS_DISPATCH) || !*scene->copies)
    return;
  (void)snprintf(own, sizeof(own), "%s", fault->device_text);
  const bool known = fault->known & RAWHAL_FAULT_KNOWS_PC && descriptor &&
                     probes_copy_origin(*scene->copies, &offset, &is_probe);
  (void)snprintf(fault->device_text, sizeof(fault->device_text),
                 "in its copy with probes%s%s%.500s", is_probe ? ", at one of them" : "",
                 *own ? ": " : "", own);
  if (!known)
    return;
  fault->pc_offset = (int64_t)offset;
  fault->pc = dispatch_entry(scene->found.dispatches, descriptor) + offset;
}

void faults_tell(const front_device_t *device, const hsa_queue_t *queue, proxy_t *proxy,
                 hsa_status_t status)
{
  scene_t *scene = scene_of(device);
  if (!scene)
    return;
  rawhal_fault_t fault = {.size = sizeof(fault),
                          .kind = debug_kind_of_status((int32_t)status),
                          .hsa_status = (int32_t)status,
                          .queue_id = queue->id};
  scene->queue = queue;
  const bool told = debug_softgpu_fault(&softgpu, queue, &fault);
  uint64_t oldest = fault.packet;
  const bool known = told || (proxy && oldest_packet(proxy, &oldest));
  add_queue(scene, queue, told ? &fault.packet : NULL, known ? &oldest : NULL);
  if (scene->found.count == 1)
    fault.known |= RAWHAL_FAULT_KNOWS_DISPATCH;
  show_original(scene, &fault);
  if (proxy && known)
    add_ended(scene, proxy, oldest);
  tell(scene, &fault);
}

/* The first that the packet processor has not taken: others may have ended. */
static bool find_pending(const hsa_queue_t *queue, uint64_t *index)
{
  const debug_packets_t packets = packets_of(queue, NULL, NULL);
  hsa_kernel_dispatch_packet_t packet;
  uint64_t next = packets.read;
  if (!packets_next(&packets, &next, &packet))
    return false;
  *index = next - 1;
  return true;
}

void faults_tell_destroyed(const front_device_t *device, const hsa_queue_t *queue)
{
  rawhal_fault_t fault = {.size = sizeof(fault),
                          .kind = RAWHAL_FAULT_DESTROYED,
                          .known = RAWHAL_FAULT_KNOWS_DISPATCH,
                          .queue_id = queue->id};
  scene_t *scene = find_pending(queue, &fault.packet) ? scene_of(device) : NULL;
  if (!scene)
    return;
  scene->queue = queue;
  add_queue(scene, queue, &fault.packet, NULL);
  tell(scene, &fault);
}

/* NULL: there is no memory for it, and the fault has no more than its queue. */
static scene_t *scene_of_hang(proxy_t *proxy, const faults_hang_t *hang, rawhal_fault_t *fault)
{
  const hsa_queue_t *queue = proxy->real;
  *fault = (rawhal_fault_t){
      .size = sizeof(*fault), .kind = RAWHAL_FAULT_TIME_LIMIT, .queue_id = queue->id};
  scene_t *scene = make_scene(proxy->device);
  if (!scene)
    return NULL;
  scene->queue = queue;
  scene->found.waits = hang->waits;
  add_queue(scene, queue, hang->waits ? NULL : &hang->packet, &hang->packet);
  add_ended(scene, proxy, hang->packet);
  fault->known = hang->waits ? 0 : RAWHAL_FAULT_KNOWS_DISPATCH;
  explain(scene, fault);
  if (fault->entry && debug_waves_describe(&softgpu, queue, fault->entry, fault->device_text,
                                           sizeof(fault->device_text)))
    explain_again(scene, fault);
  return scene;
}

void faults_tell_hang(proxy_t *proxy, const faults_hang_t *hang, char *line, size_t size)
{
  rawhal_fault_t fault;
  scene_t *scene = scene_of_hang(proxy, hang, &fault);
  hang_say(&fault, hang->ns, "packet", hang->packet, hang->waits, line, size);
  if (front.faults && (hang->dumps || form == REPORT_JSON))
    put_text(&fault);
  if (hang->dumps)
    front_door_fault(&fault);
  if (scene)
    finish(scene, &fault, front.faults && hang->dumps);
}

void faults_say_hang(proxy_t *proxy, const faults_hang_t *hang, char *line, size_t size)
{
  rawhal_fault_t fault;
  scene_t *scene = scene_of_hang(proxy, hang, &fault);
  hang_say(&fault, hang->ns, "packet", hang->packet, hang->waits, line, size);
  if (scene)
    finish(scene, &fault, false);
}

bool faults_dump_begin(dump_t *dump, int descriptor)
{
  return dump_begin(dump, &cores, descriptor);
}

bool faults_dump_queue(proxy_t *proxy, const uint64_t *oldest, dump_t *dump)
{
  const hsa_queue_t *queue = proxy->real;
  scene_t *scene = make_scene(proxy->device);
  if (!scene)
    return false;
  rawhal_fault_t fault = {.size = sizeof(fault), .queue_id = queue->id};
  (void)debug_waves_describe(&softgpu, queue, 0, fault.device_text, sizeof(fault.device_text));
  (void)snprintf(fault.device_text, sizeof(fault.device_text), DUMP_FOR_OBSERVER);
  scene->queue = queue;
  if (oldest) {
    add_queue(scene, queue, NULL, oldest);
    add_ended(scene, proxy, *oldest);
  }
  add_memory(scene, &fault);
  gather(dump, scene, &fault);
  finish(scene, &fault, false);
  return true;
}

/* ---- What hardware tells: an address and a device ---- */

/* HSA_AMD_GPU_HW_EXCEPTION_EVENT of later headers: the GPU was reset. */
enum { HW_EXCEPTION_EVENT = 1 };

static scene_t *visited_for; /* with `lock` */

static void visit(proxy_t *proxy, notice_t *notice)
{
  uint64_t oldest;
  (void)notice;
  if (proxy->device != visited_for->device)
    return;
  (void)flight_harvest(proxy);
  const bool known = oldest_packet(proxy, &oldest);
  add_queue(visited_for, proxy->real, NULL, known ? &oldest : NULL);
}

static void visit_ended(proxy_t *proxy, notice_t *notice)
{
  uint64_t oldest = UINT64_MAX;
  (void)notice;
  if (proxy->device != visited_for->device)
    return;
  (void)oldest_packet(proxy, &oldest);
  add_ended(visited_for, proxy, oldest);
}

static void visit_plain(void *context, const hsa_queue_t *queue)
{
  add_queue(context, queue, NULL, NULL);
}

/* Of several handlers the runtime calls each, and goes on as if there were none when none of them
 * says that it has dealt with it; this one never does. */
static hsa_status_t on_event(const hsa_amd_event_t *event, void *data)
{
  (void)data;
  const hsa_amd_gpu_memory_fault_info_t *told = &event->memory_fault;
  const bool lost = (int)event->event_type == HW_EXCEPTION_EVENT;
  scene_t *scene = lost || event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT
                       ? scene_of(device_known(told->agent)) /* at one place in both */
                       : NULL;
  if (!scene)
    return HSA_STATUS_ERROR;
  plain_queues_each(scene->device, visit_plain, scene);
  pthread_mutex_lock(&lock);
  visited_for = scene;
  proxies_each(visit);
  proxies_each(visit_ended);
  pthread_mutex_unlock(&lock);
  rawhal_fault_t fault = {.size = sizeof(fault), .kind = RAWHAL_FAULT_DEVICE_LOST};
  if (!lost)
    fault = (rawhal_fault_t){.size = sizeof(fault),
                             .kind = debug_kind_of_reasons(told->fault_reason_mask),
                             .known = RAWHAL_FAULT_KNOWS_ADDRESS,
                             .address = told->virtual_address};
  tell(scene, &fault);
  return HSA_STATUS_ERROR;
}

/* ---- Coming and going ---- */

rawhal_status_t faults_open(rawhal_error_t *error)
{
  const char *named = getenv("RAWHAL_FAULTS"); /* of whoever started it: it names no file */
  named = named ? named : "";
  const bool json = strcmp(named, "json") == 0;
  front.faults = json || strcmp(named, "text") == 0;
  form = json ? REPORT_JSON : REPORT_TEXT;
  rawhal_status_t status = dump_settings_read(&cores, error);
  if (status != RAWHAL_OK)
    return status;
  if (front.faults || !*named || strcmp(named, "off") == 0)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "RAWHAL_FAULTS: expected off, text or json, got '%.40s'", named);
}

void faults_begin(void)
{
  if (front.faults || front.hangs || front.shown)
    debug_softgpu_find_loaded(&softgpu);
  if (front.faults)
    (void)front.hsa.register_event_handler(on_event, NULL);
}

bool faults_on_softgpu(void)
{
  return softgpu.fault_text != NULL;
}

void faults_close(void)
{
  plain_queues_close();
  front.faults = false;
}

void faults_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  plain_queues_abandon();
}
