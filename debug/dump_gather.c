/* Copies of what a core file is to have, by priority. */
#include "debug/dump_internal.h"

#include "debug/packets.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <string.h>

/* ---- Memory ---- */

/* False: they cannot be had, or not all of them. */
static bool copy(const dump_store_t *store, uint64_t address, unsigned char *to, uint64_t size,
                 dump_read_fn *read)
{
  enum { PIECE = 64 << 20 }; /* a call of the kernel's copies less than 2 GiB */
  for (uint64_t done = 0, piece; done < size; done += piece) {
    piece = size - done < PIECE ? size - done : PIECE;
    if (!read(store, address + done, to + done, (size_t)piece))
      return false;
  }
  return true;
}

void dump_add_range(dump_store_t *store, uint64_t address, uint64_t size, core_class_t kind,
                    dump_read_fn *read)
{
  const size_t most = kind == CORE_BUFFER ? DUMP_RANGES - DUMP_LATER : DUMP_RANGES;
  if (!size || store->all.memory_count >= most)
    return;
  const size_t before = store->arena.used;
  const bool wanted = dump_wants(store, kind);
  /* Of other queues these come last, and have room in the file before memory. They are small. */
  const bool counts = kind != CORE_QUEUE && kind != CORE_KERNARG;
  uint64_t have = !wanted ? 0 : size < store->left || !counts ? size : store->left;
  unsigned char *bytes = have ? arena_take(&store->arena, have) : NULL;
  const bool readable = !bytes || copy(store, address, bytes, have, read);
  if (!bytes || !readable) {
    store->arena.used = before;
    bytes = NULL;
    have = 0;
  }
  store->left -= counts ? have : 0;
  store->ranges[store->all.memory_count++] =
      (core_memory_t){.address = address,
                      .bytes = bytes,
                      .size = size,
                      .kind = kind,
                      .writes = kind != CORE_CODE,
                      .executes = kind == CORE_CODE,
                      .cut = wanted && readable ? size - have : 0};
}

bool dump_read_own(const dump_store_t *store, uint64_t address, void *to, size_t size)
{
  (void)store;
  return own_memory_copy(to, address, size);
}

static bool read_device(const dump_store_t *store, uint64_t address, void *to, size_t size)
{
  const debug_scene_t *around = store->scene->around;
  return around->read && around->read(around->context, address, to, size);
}

static bool leads_there(const debug_scene_t *around, const debug_allocation_t *allocation)
{
  uint64_t value;
  for (size_t i = 0; i < around->dispatch_count; ++i) {
    const rawhal_bytes_t kernargs = around->dispatches[i].kernargs;
    for (size_t at = 0; around->dispatches[i].running && at + sizeof(value) <= kernargs.size;
         at += sizeof(value)) {
      memcpy(&value, (const char *)kernargs.data + at, sizeof(value));
      if (value - allocation->base < allocation->size)
        return true;
    }
  }
  return false;
}

/* In the order in which they are copied. */
typedef enum rank {
  RANK_FAULT, /* the fault is in it, or within a page of it */
  RANK_NAMED, /* kernargs of what runs lead there */
  RANK_OTHER,
  RANKS,
} rank_t;

static rank_t rank_of(const dump_scene_t *scene, const debug_allocation_t *allocation)
{
  const rawhal_fault_t *fault = scene->queue.fault;
  if (fault->known & RAWHAL_FAULT_KNOWS_ADDRESS &&
      fault->address - (allocation->base - 4096) < allocation->size + 8192)
    return RANK_FAULT;
  return leads_there(scene->around, allocation) ? RANK_NAMED : RANK_OTHER;
}

static void add_allocations(dump_store_t *store)
{
  enum { MOST = 1 << 16 }; /* of them more are in no file */
  typedef struct found {
    uint64_t base, size;
    rank_t rank;
  } found_t;
  const debug_scene_t *around = store->scene->around;
  const size_t before = store->arena.used;
  found_t *found = arena_take(&store->arena, MOST * sizeof(*found));
  size_t count = 0;
  debug_allocation_t allocation;
  debug_cursor_t cursor = {0};
  while (found && count < MOST && around->allocation &&
         around->allocation(around->context, &cursor, &allocation))
    if (!allocation.freed_at)
      found[count++] =
          (found_t){allocation.base, allocation.size, rank_of(store->scene, &allocation)};
  for (rank_t rank = 0; rank < RANKS; ++rank)
    for (size_t i = 0; i < count; ++i)
      if (found[i].rank == rank)
        dump_add_range(store, found[i].base, found[i].size,
                       rank == RANK_OTHER ? CORE_BUFFER : CORE_NEAR, read_device);
  if (store->arena.used == before + MOST * sizeof(*found))
    store->arena.used = before;
}

/* ---- Code, queues, waves ---- */

/* NULL: there is no room. */
static const void *copy_object(dump_store_t *store, rawhal_bytes_t object)
{
  void *copied = object.size <= store->left ? arena_take(&store->arena, object.size) : NULL;
  if (!copied)
    return NULL;
  store->left -= object.size;
  return memcpy(copied, object.data, object.size);
}

static bool next_code(const dump_store_t *store, size_t index, dump_code_t *code)
{
  const dump_scene_t *scene = store->scene;
  return index < DUMP_OBJECTS && scene->code && scene->code(scene->context, index, code);
}

static void add_code(dump_store_t *store)
{
  dump_code_t code;
  for (size_t i = 0; next_code(store, i, &code); ++i)
    dump_add_range(store, code.address, code.size, CORE_CODE, dump_read_own);
  for (size_t i = 0; next_code(store, i, &code); ++i)
    if (code.object.size) /* without bytes it is none, for which a debugger would refuse the file */
      store->objects[store->all.object_count++] =
          (core_object_t){{copy_object(store, code.object), code.object.size}, code.delta};
}

/* The packets in flight, of a ring that may begin anew between them. */
static void add_packets(dump_store_t *store, const core_queue_t *queue)
{
  const amd_queue_t *amd = queue->bytes;
  const uint64_t packets = queue->ring_bytes / PACKET_BYTES, first = amd->read_dispatch_id;
  const uint64_t all = amd->write_dispatch_id - first, flight = all < packets ? all : packets;
  const uint64_t at = packets ? first % packets : 0,
                 before = flight < packets - at ? flight : packets - at;
  dump_add_range(store, queue->ring + at * PACKET_BYTES, before * PACKET_BYTES, CORE_QUEUE,
                 dump_read_own);
  dump_add_range(store, queue->ring, (flight - before) * PACKET_BYTES, CORE_QUEUE, dump_read_own);
}

/* False: it cannot be read, or there is no room. */
static bool describe_queue(dump_store_t *store, const dump_queue_t *queue, core_queue_t *to)
{
  const hsa_queue_t *hsa_queue = queue->hsa_queue;
  void *bytes = store->all.queue_count < DUMP_QUEUES && hsa_queue
                    ? arena_take(&store->arena, CORE_QUEUE_BYTES)
                    : NULL;
  if (!bytes || !own_memory_copy(bytes, (uint64_t)(uintptr_t)hsa_queue, CORE_QUEUE_BYTES))
    return false;
  const amd_queue_t *amd = bytes;
  *to = (core_queue_t){
      .agent = queue->agent,
      .id = (uint32_t)amd->hsa_queue.id,
      .address = (uint64_t)(uintptr_t)hsa_queue,
      .bytes = bytes,
      .ring = (uint64_t)(uintptr_t)amd->hsa_queue.base_address,
      .ring_bytes = amd->hsa_queue.size * PACKET_BYTES,
      .scratch = amd->scratch_backing_memory_location,
  };
  return true;
}

static void add_kernargs(dump_store_t *store, const dump_queue_t *queue)
{
  for (size_t i = 0; i < queue->dispatch_count; ++i) {
    const rawhal_bytes_t kernargs = queue->dispatches[i].kernargs;
    if (queue->dispatches[i].running)
      dump_add_range(store, (uint64_t)(uintptr_t)kernargs.data, kernargs.size, CORE_KERNARG,
                     dump_read_own);
  }
}

static const core_stop_t stops[] = {
    [RAWHAL_FAULT_UNKNOWN] = CORE_STOP_OTHER,
    [RAWHAL_FAULT_MEMORY] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_READ_ONLY] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_NO_ACCESS] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_LDS] = CORE_STOP_ADDRESS,
    [RAWHAL_FAULT_SCRATCH] = CORE_STOP_ADDRESS,
    [RAWHAL_FAULT_KERNARG] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_MISALIGNED] = CORE_STOP_ADDRESS,
    [RAWHAL_FAULT_INSTRUCTION] = CORE_STOP_ILLEGAL,
    [RAWHAL_FAULT_FETCH] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_TRAP] = CORE_STOP_TRAP,
    [RAWHAL_FAULT_TIME_LIMIT] = CORE_STOP_OTHER,
    [RAWHAL_FAULT_UNWRITTEN] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_LDS_UNWRITTEN] = CORE_STOP_ADDRESS,
    [RAWHAL_FAULT_LDS_RACE] = CORE_STOP_ADDRESS,
    [RAWHAL_FAULT_MOMENT] = CORE_STOP_OTHER,
};

static core_stop_t stop_of(const rawhal_fault_t *fault, const softgpu_wave_t *wave)
{
  if (wave->state != SOFTGPU_WAVE_FAULTED || !fault)
    return CORE_STOP_NONE;
  return (size_t)fault->kind < sizeof(stops) / sizeof(*stops) ? stops[fault->kind]
                                                              : CORE_STOP_OTHER;
}

/* Waves that were noted for a report may be those of a dispatch that has ended since. */
static bool is_in_flight(const dump_queue_t *queue, uint64_t packet)
{
  const rawhal_fault_t *fault = queue->fault;
  for (size_t i = 0; i < queue->dispatch_count; ++i)
    if (queue->dispatches[i].running && queue->dispatches[i].packet == packet)
      return true;
  return fault && fault->known & (RAWHAL_FAULT_KNOWS_DISPATCH | RAWHAL_FAULT_KNOWS_PC) &&
         fault->packet == packet;
}

/* NULL: there are none, or there is no room. */
static const void *copy_registers(dump_store_t *store, const void *from, size_t size)
{
  void *copied = from ? arena_take(&store->arena, size) : NULL;
  return copied ? memcpy(copied, from, size) : NULL;
}

/* They are softgpu's, of which there are 32 MiB at most, and go with the queue. False: there is no
 * room. */
static bool copy_wave(dump_store_t *store, core_wave_t *to, const softgpu_wave_t *wave)
{
  const core_wave_t *before = to > store->waves ? to - 1 : NULL;
  const bool again = before && before->queue == to->queue && before->packet == to->packet &&
                     before->lds_bytes == to->lds_bytes &&
                     !memcmp(before->group, to->group, sizeof(to->group));
  to->sgprs = copy_registers(store, wave->sgprs, CORE_SGPRS * sizeof(*wave->sgprs));
  to->vgprs = copy_registers(store, wave->vgprs, wave->vgpr_count * sizeof(*wave->vgprs));
  to->agprs = copy_registers(store, wave->agprs, wave->agpr_count * sizeof(*wave->agprs));
  to->lds = again ? before->lds : copy_registers(store, wave->lds, wave->lds_bytes);
  return to->sgprs && (to->vgprs || !to->vgpr_count) && (to->agprs || !to->agpr_count) &&
         (to->lds || !to->lds_bytes);
}

/* Waves of the queue that was described last. */
typedef struct waves {
  dump_store_t *store;
  const dump_queue_t *queue;
} waves_t;

static bool add_wave(void *context, const softgpu_wave_t *wave, size_t size)
{
  const waves_t *waves = context;
  dump_store_t *store = waves->store;
  if (size < sizeof(*wave) || store->all.wave_count == DUMP_WAVES)
    return false;
  if (wave->state == SOFTGPU_WAVE_ENDED || !is_in_flight(waves->queue, wave->packet_index))
    return true;
  const uint32_t number = (uint32_t)store->all.queue_count - 1;
  core_wave_t *to = &store->waves[store->all.wave_count];
  *to = (core_wave_t){
      .queue = number,
      .packet = wave->packet_index,
      .index = wave->index,
      .stop = stop_of(waves->queue->fault, wave),
      .pc = wave->pc,
      .exec = wave->exec,
      .scc = wave->scc,
      .m0 = wave->m0,
      .mode = wave->mode,
      .vgpr_count = wave->vgpr_count,
      .agpr_count = wave->agpr_count,
      .scratch = wave->scratch,
      .lds_bytes = wave->lds_bytes,
  };
  memcpy(to->group, wave->workgroup, sizeof(to->group));
  if (to->stop == CORE_STOP_TRAP)
    to->trap = (uint32_t)waves->queue->fault->address;
  if (!copy_wave(store, to, wave))
    return false;
  ++store->all.wave_count;
  if (wave->scratch)
    store->queues[number].slice_bytes = wave->scratch_bytes;
  return true;
}

/* Its packets, all or those in flight, and its waves. False: it cannot be told. */
static bool add_queue(dump_store_t *store, const dump_queue_t *queue, bool all)
{
  waves_t waves = {store, queue};
  core_queue_t *to = &store->queues[store->all.queue_count];
  if (!describe_queue(store, queue, to))
    return false;
  ++store->all.queue_count;
  if (all)
    dump_add_range(store, to->ring, to->ring_bytes, CORE_QUEUE, dump_read_own);
  else
    add_packets(store, to);
  if (queue->softgpu && queue->softgpu->waves)
    (void)queue->softgpu->waves(queue->hsa_queue, add_wave, &waves);
  return true;
}

/* Arguments, and the waves' private memory, of the queue that was added last. */
static void add_contents(dump_store_t *store, const dump_queue_t *queue)
{
  const uint32_t number = (uint32_t)store->all.queue_count - 1;
  add_kernargs(store, queue);
  for (size_t i = 0; i < store->all.wave_count; ++i)
    if (store->waves[i].queue == number && store->waves[i].scratch)
      dump_add_range(store, store->waves[i].scratch, store->queues[number].slice_bytes,
                     CORE_SCRATCH, dump_read_own);
}

void dump_gather_other(dump_store_t *store, const dump_queue_t *queue)
{
  if (!add_queue(store, queue, false))
    return;
  add_contents(store, queue);
  dump_add_dispatches(store, queue);
}

/* ---- All of it ---- */

bool dump_gather_scene(dump_store_t *store, const dump_scene_t *scene)
{
  store->waves = arena_take(&store->arena, DUMP_WAVES * sizeof(*store->waves));
  store->ranges = arena_take(&store->arena, DUMP_RANGES * sizeof(*store->ranges));
  if (!store->waves || !store->ranges)
    return false;
  core_agent_t *agents = arena_take(&store->arena, scene->agent_count * sizeof(*agents));
  if (!agents)
    return false;
  memcpy(agents, scene->agents, scene->agent_count * sizeof(*agents));
  store->scene = scene;
  store->all = (core_description_t){.agents = agents,
                                    .agent_count = scene->agent_count,
                                    .queues = store->queues,
                                    .waves = store->waves,
                                    .memory = store->ranges,
                                    .objects = store->objects,
                                    .notes = store->notes,
                                    .own_base = store->all.own_base,
                                    .own_size = store->all.own_size};
  const bool told =
      add_queue(store, &scene->queue, true); /* what has room first in the file, too */
  add_code(store);
  if (told)
    add_contents(store, &scene->queue);
  add_allocations(store);
  dump_add_notes(store);
  return true;
}
