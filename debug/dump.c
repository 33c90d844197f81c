#include "debug/dump_internal.h"
#include "debug/permit.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/own_memory.h"

#include <errno.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- Memory ---- */

/* Adds a range, with a copy of its bytes where they can be had; else it is listed as left out. */
static void add_range(dump_t *dump, uint64_t address, uint64_t size, core_class_t kind,
                      bool (*read)(const dump_t *dump, uint64_t address, void *to, size_t size))
{
  if (!size || dump->all.memory_count == DUMP_RANGES)
    return;
  const size_t before = dump->arena.used;
  void *bytes = dump_wants(dump, kind) ? arena_take(&dump->arena, size) : NULL;
  if (bytes && !read(dump, address, bytes, size)) {
    dump->arena.used = before;
    bytes = NULL;
  }
  dump->ranges[dump->all.memory_count++] = (core_memory_t){.address = address,
                                                           .bytes = bytes,
                                                           .size = size,
                                                           .kind = kind,
                                                           .writes = kind != CORE_CODE,
                                                           .executes = kind == CORE_CODE};
}

static bool read_own(const dump_t *dump, uint64_t address, void *to, size_t size)
{
  (void)dump;
  return own_memory_copy(to, address, size);
}

static bool read_device(const dump_t *dump, uint64_t address, void *to, size_t size)
{
  const debug_scene_t *around = dump->scene->around;
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

/* Next to the fault: in it, or within a page of it. */
static bool is_near(const rawhal_fault_t *fault, const debug_allocation_t *allocation)
{
  return fault->known & RAWHAL_FAULT_KNOWS_ADDRESS &&
         fault->address - (allocation->base - 4096) < allocation->size + 8192;
}

static void add_allocations(dump_t *dump)
{
  const debug_scene_t *around = dump->scene->around;
  debug_allocation_t allocation;
  for (size_t i = 0; around->allocation && around->allocation(around->context, i, &allocation); ++i)
    if (!allocation.freed_at)
      add_range(dump, allocation.base, allocation.size,
                is_near(dump->scene->fault, &allocation) || leads_there(around, &allocation)
                    ? CORE_NEAR
                    : CORE_BUFFER,
                read_device);
}

/* ---- Code, queue, waves, threads ---- */

static void add_code(dump_t *dump)
{
  dump_code_t code;
  for (size_t i = 0; dump->all.object_count < DUMP_OBJECTS && dump->scene->code &&
                     dump->scene->code(dump->scene->context, i, &code);
       ++i) {
    dump->objects[dump->all.object_count++] = (core_object_t){code.object, code.delta};
    add_range(dump, code.address, code.size, CORE_CODE, read_own);
  }
}

static void add_queue(dump_t *dump)
{
  const debug_scene_t *around = dump->scene->around;
  const hsa_queue_t *hsa_queue = dump->scene->hsa_queue;
  const amd_queue_t *amd = dump->scene->hsa_queue;
  dump->queue = (core_queue_t){
      .id = (uint32_t)hsa_queue->id,
      .address = (uint64_t)(uintptr_t)amd,
      .bytes = arena_take(&dump->arena, CORE_QUEUE_BYTES),
      .ring = (uint64_t)(uintptr_t)hsa_queue->base_address,
      .ring_bytes = hsa_queue->size * 64,
      .scratch = amd->scratch_backing_memory_location,
  };
  if (!dump->queue.bytes ||
      !own_memory_copy((void *)(uintptr_t)dump->queue.bytes, dump->queue.address, CORE_QUEUE_BYTES))
    return;
  dump->all.queues = &dump->queue;
  dump->all.queue_count = 1;
  add_range(dump, dump->queue.ring, dump->queue.ring_bytes, CORE_QUEUE, read_own);
  for (size_t i = 0; i < around->dispatch_count; ++i) {
    const rawhal_bytes_t kernargs = around->dispatches[i].kernargs;
    if (around->dispatches[i].running)
      add_range(dump, (uint64_t)(uintptr_t)kernargs.data, kernargs.size, CORE_KERNARG, read_own);
  }
}

static const core_stop_t stops[] = {
    [RAWHAL_FAULT_UNKNOWN] = CORE_STOP_OTHER,       [RAWHAL_FAULT_MEMORY] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_READ_ONLY] = CORE_STOP_MEMORY,    [RAWHAL_FAULT_NO_ACCESS] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_LDS] = CORE_STOP_ADDRESS,         [RAWHAL_FAULT_SCRATCH] = CORE_STOP_ADDRESS,
    [RAWHAL_FAULT_KERNARG] = CORE_STOP_MEMORY,      [RAWHAL_FAULT_MISALIGNED] = CORE_STOP_ADDRESS,
    [RAWHAL_FAULT_INSTRUCTION] = CORE_STOP_ILLEGAL, [RAWHAL_FAULT_FETCH] = CORE_STOP_MEMORY,
    [RAWHAL_FAULT_TRAP] = CORE_STOP_TRAP,           [RAWHAL_FAULT_TIME_LIMIT] = CORE_STOP_OTHER,
};

static core_stop_t stop_of(const rawhal_fault_t *fault, const softgpu_wave_t *wave)
{
  if (wave->state != SOFTGPU_WAVE_FAULTED)
    return CORE_STOP_NONE;
  return (size_t)fault->kind < sizeof(stops) / sizeof(*stops) ? stops[fault->kind]
                                                              : CORE_STOP_OTHER;
}

/* Waves that were noted for a report may be those of a dispatch that has ended since. */
static bool is_in_flight(const dump_t *dump, uint64_t packet)
{
  const debug_scene_t *around = dump->scene->around;
  const rawhal_fault_t *fault = dump->scene->fault;
  for (size_t i = 0; i < around->dispatch_count; ++i)
    if (around->dispatches[i].running && around->dispatches[i].packet == packet)
      return true;
  return fault->known & (RAWHAL_FAULT_KNOWS_DISPATCH | RAWHAL_FAULT_KNOWS_PC) &&
         fault->packet == packet;
}

/* Registers stay softgpu's, which keeps them until the queue is destroyed. */
static bool add_wave(void *context, const softgpu_wave_t *wave, size_t size)
{
  dump_t *dump = context;
  if (size < sizeof(*wave) || dump->all.wave_count == DUMP_WAVES)
    return false;
  if (wave->state == SOFTGPU_WAVE_ENDED || !is_in_flight(dump, wave->packet_index))
    return true;
  core_wave_t *to = &dump->waves[dump->all.wave_count++];
  *to = (core_wave_t){
      .packet = wave->packet_index,
      .index = wave->index,
      .stop = stop_of(dump->scene->fault, wave),
      .pc = wave->pc,
      .exec = wave->exec,
      .scc = wave->scc,
      .m0 = wave->m0,
      .mode = wave->mode,
      .sgprs = wave->sgprs,
      .vgprs = wave->vgprs,
      .agprs = wave->agprs,
      .vgpr_count = wave->vgpr_count,
      .agpr_count = wave->agpr_count,
      .scratch = wave->scratch,
      .lds = wave->lds,
      .lds_bytes = wave->lds_bytes,
  };
  memcpy(to->group, wave->workgroup, sizeof(to->group));
  if (to->stop == CORE_STOP_TRAP)
    to->trap = (uint32_t)dump->scene->fault->address;
  if (wave->scratch)
    dump->queue.slice_bytes = wave->scratch_bytes;
  return true;
}

/* struct user_regs_struct's order. */
static const int registers[CORE_REGISTERS] = {
    REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX, REG_R11, REG_R10, REG_R9,
    REG_R8,  REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, -1,      REG_RIP, -1,
    REG_EFL, REG_RSP, -1,      -1,      -1,      -1,      -1,      -1,      -1,
};

static void add_thread(dump_t *dump, const ucontext_t *here)
{
  dump->thread = (core_thread_t){.id = (int32_t)gettid(), .signal = 0};
  for (int i = 0; i < CORE_REGISTERS; ++i)
    if (registers[i] >= 0)
      dump->thread.registers[i] = (uint64_t)here->uc_mcontext.gregs[registers[i]];
  const uint64_t stack = (uint64_t)here->uc_mcontext.gregs[REG_RSP] & ~UINT64_C(4095);
  uint64_t size = 0;
  char byte;
  while (size < DUMP_STACK && own_memory_copy(&byte, stack + size, 1))
    size += 4096;
  add_range(dump, stack, size, CORE_HOST, read_own);
}

/* ---- Writing ---- */

static bool add_all(dump_t *dump, const ucontext_t *here)
{
  dump->waves = arena_take(&dump->arena, DUMP_WAVES * sizeof(*dump->waves));
  dump->ranges = arena_take(&dump->arena, DUMP_RANGES * sizeof(*dump->ranges));
  if (!dump->waves || !dump->ranges)
    return false;
  dump->all.waves = dump->waves;
  dump->all.memory = dump->ranges;
  dump->all.objects = dump->objects;
  dump->all.agents = dump->scene->agent;
  dump->all.agent_count = 1;
  add_thread(dump, here);
  dump->all.process = (core_process_t){.id = (int32_t)getpid(),
                                       .program = program_invocation_short_name,
                                       .arguments = program_invocation_name,
                                       .threads = &dump->thread,
                                       .thread_count = 1};
  add_code(dump);
  if (dump->scene->hsa_queue)
    add_queue(dump);
  if (dump->all.queue_count && dump->scene->softgpu && dump->scene->softgpu->waves)
    (void)dump->scene->softgpu->waves(dump->scene->hsa_queue, add_wave, dump);
  add_allocations(dump);
  dump_add_notes(dump);
  return true;
}

static rawhal_status_t write_file(dump_t *dump, char path[CORE_PATH_BYTES], core_written_t *written,
                                  rawhal_error_t *error)
{
  core_options_t options = {
      .budget = dump->settings->budget,
      .classes = dump->settings->classes,
      .deadline = clock_now() + DUMP_SECONDS * (uint64_t)CLOCK_SECOND,
  };
  options.scratch_size = core_scratch_size(&dump->all, &options);
  options.scratch = options.scratch_size ? arena_take(&dump->arena, options.scratch_size) : NULL;
  if (!options.scratch)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "there is too much to write");
  return core_write_file(&dump->all, &options, dump->settings->pattern, path, written, error);
}

/* The folder of what the pattern names. */
static void folder_of(const char *pattern, char folder[CORE_PATH_BYTES])
{
  const core_process_t process = {.id = (int32_t)getpid(),
                                  .program = program_invocation_short_name};
  char *slash = core_file_name(&process, pattern, folder) ? strrchr(folder, '/') : NULL;
  if (slash)
    *slash = '\0';
  else
    snprintf(folder, CORE_PATH_BYTES, ".");
}

static rawhal_status_t gather_and_write(const dump_settings_t *settings, const dump_scene_t *scene,
                                        char path[CORE_PATH_BYTES], core_written_t *written,
                                        rawhal_error_t *error)
{
  ucontext_t here;
  (void)getcontext(&here);
  const size_t copies = settings->budget ? settings->budget : DUMP_UNBOUNDED;
  dump_t *dump;
  arena_t arena = {.size = 2 * copies + DUMP_SPARE};
  arena.base = mmap(NULL, arena.size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *own = mmap(NULL, DUMP_OWN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  rawhal_status_t status = RAWHAL_OUT_OF_MEMORY;
  if (arena.base == MAP_FAILED || own == MAP_FAILED) {
    status = rawhal_fail(error, status, "no address space");
  } else {
    dump = arena_take(&arena, sizeof(*dump));
    *dump = (dump_t){.settings = settings, .scene = scene, .arena = arena};
    dump->all.own_base = (uint64_t)(uintptr_t)own;
    dump->all.own_size = DUMP_OWN;
    status = add_all(dump, &here) ? write_file(dump, path, written, error)
                                  : rawhal_fail(error, status, "the budget is too small");
  }
  if (own != MAP_FAILED)
    (void)munmap(own, DUMP_OWN);
  if (arena.base != MAP_FAILED)
    (void)munmap(arena.base, arena.size);
  return status;
}

bool dump_write(const dump_settings_t *settings, const dump_scene_t *scene, char *said, size_t size)
{
  char folder[CORE_PATH_BYTES], path[CORE_PATH_BYTES] = "";
  core_written_t written = {0};
  rawhal_error_t error;
  if (!*settings->pattern)
    return false;
  folder_of(settings->pattern, folder);
  permit_t permit;
  if (!permit_take(&permit, folder, program_invocation_short_name, settings->per_hour,
                   time(NULL))) {
    snprintf(said, size,
             "no core file: this hour's have been written (RAWHAL_CORE_PER_HOUR=%" PRIu32 ")",
             settings->per_hour);
    return true;
  }
  const bool whole = gather_and_write(settings, scene, path, &written, &error) == RAWHAL_OK;
  permit_end(&permit, whole);
  if (!whole)
    snprintf(said, size, "no core file: %s", error.message);
  else
    snprintf(said, size, "core file %s: %" PRIu64 " bytes, %zu waves, %" PRIu64 " bytes left out",
             path, written.bytes, written.waves, written.left_out_bytes);
  return true;
}
