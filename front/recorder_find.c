#include "front/devices.h"
#include "front/recording.h"

#include "front/host_view.h"
#include "queue/gate/pointer.h"
#include "record/code.h"

/* ---- What is at an address ---- */

static record_memory_t find_object(uint64_t address, record_found_t *found)
{
  object_loaded_t loaded;
  if (!objects_loaded(address, &loaded))
    return RECORD_MEMORY_NONE;
  for (size_t i = 0; i < loaded.variables.count; ++i) {
    const variables_range_t *variables = &loaded.variables.ranges[i];
    *found = (record_found_t){.base = variables->address + loaded.delta, .size = variables->size};
    if (address - found->base < found->size)
      return RECORD_MEMORY_VARIABLES;
  }
  return RECORD_MEMORY_CODE;
}

/* What came by other ways than those that are hooked. */
static record_memory_t ask_runtime(uint64_t address, record_found_t *found)
{
  static const record_memory_t kinds[] = {[GATE_POINTER_NOWHERE] = RECORD_MEMORY_NONE,
                                          [GATE_POINTER_PROGRAM] = RECORD_MEMORY_PROGRAM,
                                          [GATE_POINTER_SHARED] = RECORD_MEMORY_SHARED,
                                          [GATE_POINTER_RUNTIME] = RECORD_MEMORY_RUNTIME};
  hsa_amd_pointer_info_t info;
  if (!gate_pointer_is_one(address) || !devices_pointer((const void *)(uintptr_t)address, &info))
    return RECORD_MEMORY_NONE;
  *found = (record_found_t){.base = (uint64_t)(uintptr_t)info.agentBaseAddress,
                            .size = info.sizeInBytes};
  return kinds[gate_pointer_of(address, &info)];
}

static record_memory_t found_range(const range_t *range, record_found_t *found)
{
  *found = (record_found_t){range->base, range->size, range->number};
  return RECORD_MEMORY_PROGRAM;
}

static record_memory_t find_memory(void *context, uint64_t address, bool runtime,
                                   record_found_t *found)
{
  range_t range;
  (void)context;
  if (ranges_live(address, &range))
    return found_range(&range, found);
  record_memory_t kind = find_object(address, found);
  if (kind == RECORD_MEMORY_NONE && runtime)
    kind = ask_runtime(address, found);
  if (kind == RECORD_MEMORY_NONE && ranges_ending(address, &range))
    kind = found_range(&range, found);
  return kind;
}

static bool is_there(void *context, uint64_t base, uint64_t number)
{
  range_t now;
  record_found_t found;
  object_loaded_t loaded;
  (void)context;
  if (number)
    return ranges_live(base, &now) && now.number == number;
  return objects_loaded(base, &loaded) || ask_runtime(base, &found) != RECORD_MEMORY_NONE;
}

/* A device's memory by the runtime: the host's way to it is slow, if there is one. */
static bool read_memory(void *context, uint64_t address, void *to, size_t size)
{
  uint64_t host;
  (void)context;
  return host_view(address, size, &host) == HOST_VIEW_DEVICE
             ? front.hsa.memory_copy(to, (const void *)(uintptr_t)address, size) ==
                   HSA_STATUS_SUCCESS
             : host_read(address, to, size);
}

static const record_world_t world = {find_memory, is_there, read_memory};

/* ---- What a dispatch leads to ---- */

static uint32_t code_of(const front_kernel_t *kernel)
{
  enum { KNOWN = 1u << 30 };
  front_kernel_t *changed = (front_kernel_t *)kernel;
  uint32_t code = atomic_load(&changed->code);
  if (code)
    return code;
  code = record_code_of(kernel->facts, object_bytes(kernel->object)) | KNOWN;
  atomic_store(&changed->code, code);
  return code;
}

static void find_variables(record_capture_t *capture, uint64_t kernel_object)
{
  object_loaded_t loaded = {0};
  const bool known = objects_loaded(kernel_object, &loaded);
  const record_place_t place = {loaded.base, loaded.size, loaded.delta};
  record_capture_variables(capture, &place, &loaded.variables, known && !loaded.unreadable);
}

void recording_find(recorder_capture_t *recording, const hsa_kernel_dispatch_packet_t *packet,
                    const kernargs_t *kernargs)
{
  record_capture_t *capture = &recording->capture;
  const uint64_t address = (uint64_t)(uintptr_t)packet->kernarg_address;
  uint64_t least, end;
  capture->kernel = recording->kernel->facts;
  capture->layout = recording->kernel->layout;
  capture->world = &world;
  ranges_bounds(&capture->least, &capture->end);
  objects_bounds(&least, &end);
  if (end && (!capture->end || least < capture->least))
    capture->least = least;
  if (end > capture->end)
    capture->end = end;
  find_variables(capture, packet->kernel_object);
  if (kernargs->unread)
    record_capture_note(capture, RECORD_NOTE_KERNARGS, 0, address);
  else
    record_capture_kernargs(capture, kernargs->bytes);
  record_capture_note_packet(capture, packet->group_segment_size, packet->private_segment_size,
                             code_of(recording->kernel));
}

void recording_take_kernargs(kernargs_t *kernargs, const front_kernel_t *kernel,
                             const hsa_kernel_dispatch_packet_t *packet)
{
  kernargs_take(kernargs, kernel, packet);
  if (!kernargs->unread)
    return;
  const size_t size = rawhal_kernarg_layout_info(kernel->layout)->segment_size;
  void *to = size > sizeof(kernargs->room) ? kernargs->heap : kernargs->room;
  const uint64_t address = (uint64_t)(uintptr_t)packet->kernarg_address;
  uint64_t host;
  if (!to || host_view(address, size, &host) != HOST_VIEW_DEVICE ||
      !read_memory(NULL, address, to, size))
    return;
  kernargs->bytes = (rawhal_bytes_t){to, size};
  kernargs->unread = false;
}
