/* Kernel dispatch packets: checks, scratch, execution, faults. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/cp/aql.h"
#include "softgpu/cp/kernel_name.h"
#include "softgpu/cp/prober.h"
#include "softgpu/cp/report.h"
#include "softgpu/cp/signal.h"
#include "softgpu/device/clock.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/opened.h"
#include "softgpu/device/option.h"
#include "softgpu/exports.h"
#include "softgpu/softgpu.h"

enum {
  DESCRIPTOR_BYTES = 64,
  MAX_WORKGROUP = 1024, /* work-items */
  /* A wave's scratch, at most: WAVESIZE of COMPUTE_TMPRING_SIZE, 13 bits, in KiB. From GFX10 on
   * runtimes stop the process where more is asked for; before, they refuse it. */
  MAX_WAVE_SCRATCH = 8191 << 10,
};

/* Reads a packet; the code of what is wrong with it, and why, or 0. */
static uint32_t dispatch_check(const hsa_kernel_dispatch_packet_t *packet,
                               softgpu_dispatch_t *dispatch, char text[128])
{
  unsigned dimensions =
      packet->setup & ((1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1);
  const uint32_t grid[3] = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z};
  const uint16_t group[3] = {packet->workgroup_size_x, packet->workgroup_size_y,
                             packet->workgroup_size_z};
  if (dimensions < 1 || dimensions > 3) {
    snprintf(text, 128, "the packet has %u dimensions", dimensions);
    return SOFTGPU_QUEUE_BAD_DIMENSIONS;
  }
  uint64_t items = 1;
  for (unsigned i = 0; i < 3; ++i) {
    dispatch->grid[i] = i < dimensions ? grid[i] : 1;
    dispatch->workgroup[i] = i < dimensions ? group[i] : 1;
    items *= dispatch->workgroup[i];
    if (dispatch->grid[i] == 0 || dispatch->workgroup[i] == 0) {
      snprintf(text, 128, "dimension %c has %u work-items in work-groups of %u", 'x' + i,
               (unsigned)dispatch->grid[i], (unsigned)dispatch->workgroup[i]);
      return SOFTGPU_QUEUE_BAD_DIMENSIONS;
    }
  }
  if (items > MAX_WORKGROUP) {
    snprintf(text, 128, "a work-group of %llu work-items; the device takes at most %u",
             (unsigned long long)items, MAX_WORKGROUP);
    return SOFTGPU_QUEUE_BAD_WORKGROUP;
  }
  if (packet->group_segment_size > softgpu_lds_bytes(dispatch->chip)) {
    snprintf(text, 128, "a group segment of %u bytes; the device has %u",
             (unsigned)packet->group_segment_size, (unsigned)softgpu_lds_bytes(dispatch->chip));
    return SOFTGPU_QUEUE_BAD_GROUP_SEGMENT;
  }
  if (packet->kernel_object % DESCRIPTOR_BYTES != 0 ||
      !softgpu_memory_reach(dispatch->node, packet->kernel_object, DESCRIPTOR_BYTES, false)) {
    snprintf(text, 128,
             "the kernel object is not a descriptor in live memory that the device may use");
    return SOFTGPU_QUEUE_BAD_CODE;
  }
  uint64_t signal = packet->completion_signal.handle;
  if (signal != 0 && !softgpu_signal_valid(dispatch->node, signal)) {
    snprintf(text, 128, "the completion signal 0x%llx is not a signal in live memory",
             (unsigned long long)signal);
    return SOFTGPU_QUEUE_BAD_PACKET;
  }
  return 0;
}

/* The queue's own signal is in memory that kernels can store into. */
static softgpu_step_t own_signal_refuse(softgpu_queue_t *queue)
{
  return softgpu_report(queue, SOFTGPU_QUEUE_BAD_PACKET, 0, NULL,
                        "the queue_inactive_signal of the queue is not a signal in live memory");
}

/* Asks the runtime by the queue's signal. */
static softgpu_step_t request_make(softgpu_queue_t *queue, softgpu_request_t request, int64_t code)
{
  queue->request = request;
  atomic_store(&queue->wants_scratch, request == SOFTGPU_REQUEST_SCRATCH);
  return softgpu_signal_store(queue->setup.node, softgpu_aql_own_signal(queue), code)
             ? SOFTGPU_STEP_WAITING
             : own_signal_refuse(queue);
}

softgpu_step_t softgpu_dispatch_request(softgpu_queue_t *queue)
{
  amd_queue_t *hsa = softgpu_aql_queue(queue);
  int64_t answer;
  if (!softgpu_signal_load(queue->setup.node, softgpu_aql_own_signal(queue), &answer))
    return own_signal_refuse(queue);
  if (answer != 0)
    return SOFTGPU_STEP_WAITING;
  if (queue->request == SOFTGPU_REQUEST_SCRATCH) {
    atomic_store(&queue->wants_scratch, false);
    queue->request = SOFTGPU_REQUEST_SCRATCH_GRANTED;
    return SOFTGPU_STEP_DONE;
  }
  /* The runtime stores 0 first and takes the mark away after. */
  if (__atomic_load_n(&hsa->queue_properties, __ATOMIC_ACQUIRE) &
      AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE)
    return SOFTGPU_STEP_WAITING;
  queue->request = SOFTGPU_REQUEST_NONE;
  return SOFTGPU_STEP_DONE;
}

static softgpu_step_t dispatch_end(softgpu_queue_t *queue,
                                   const hsa_kernel_dispatch_packet_t *packet, uint64_t start)
{
  amd_queue_t *hsa = softgpu_aql_queue(queue);
  bool once = packet->private_segment_size > 0 &&
              (__atomic_load_n(&hsa->queue_properties, __ATOMIC_ACQUIRE) &
               AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE);
  softgpu_total_add(&softgpu_totals.dispatches, 1);
  softgpu_step_t step = softgpu_aql_retire(queue, packet->completion_signal.handle, start);
  queue->request = SOFTGPU_REQUEST_NONE;
  if (once && step == SOFTGPU_STEP_DONE)
    step = request_make(queue, SOFTGPU_REQUEST_RECLAIM, SOFTGPU_QUEUE_RETURNS_SCRATCH);
  return step;
}

/* Code of programs is in the GPU's memory. The runtime's own kernels, which copy memory, are in the
 * host's; it ends the process when one fails. */
static bool is_of_the_runtime(uint64_t kernel_object)
{
  softgpu_allocation_t code;
  return softgpu_memory_find(kernel_object, &code) && !(code.flags & SOFTGPU_MEMORY_VRAM);
}

/* Its own kernels are code of the chip that it knows. */
static softgpu_chip_t chip_of(const softgpu_queue_t *queue, uint64_t kernel_object)
{
  const softgpu_queue_setup_t *setup = &queue->setup;
  return setup->listed != setup->chip && is_of_the_runtime(kernel_object) ? setup->listed
                                                                          : setup->chip;
}

/* Kernels that copy what is there, whether anything has written it or not: the runtime's, and those
 * that HIP brings for copies and fills. */
static bool copies_anything(uint64_t kernel_object)
{
  static const char of_hip[] = "__amd_rocclr_";
  char name[sizeof(of_hip)];
  return is_of_the_runtime(kernel_object) ||
         (softgpu_kernel_name(kernel_object, name, sizeof(name)) && strcmp(name, of_hip) == 0);
}

/* --- checks --- */

enum { NOTES = 1024 };

/* What is said stays until its dispatch takes it; without room, the oldest is forgotten. */
typedef struct note {
  uint64_t kernarg; /* 0: none */
  uint32_t from, to;
} note_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static note_t notes[NOTES];
static uint32_t next_note;

static note_t *note_find(uint64_t kernarg)
{
  for (uint32_t i = 0; i < NOTES; ++i)
    if (notes[i].kernarg == kernarg)
      return &notes[i];
  return NULL;
}

SOFTGPU_EXPORT bool softgpu_kernarg_missing(const void *kernarg, uint32_t from, uint32_t to)
{
  if (!kernarg || from > to || softgpu_forked())
    return false;
  pthread_mutex_lock(&lock);
  note_t *note = note_find((uintptr_t)kernarg);
  if (!note)
    note = &notes[next_note++ % NOTES];
  *note = (note_t){(uintptr_t)kernarg, from, to};
  pthread_mutex_unlock(&lock);
  return true;
}

/* Hands what was said about the dispatch's kernarg segment, if anything, to the dispatch. */
static void kernarg_take(softgpu_dispatch_t *dispatch)
{
  if (dispatch->kernarg == 0)
    return;
  pthread_mutex_lock(&lock);
  note_t *note = note_find(dispatch->kernarg);
  if (note) {
    dispatch->missing_from = note->from;
    dispatch->missing_to = note->to;
    *note = (note_t){0};
  }
  pthread_mutex_unlock(&lock);
}

static void checks_ask(softgpu_dispatch_t *dispatch)
{
  if (softgpu_option(SOFTGPU_OPTION_CHECK_LDS))
    dispatch->checks |= SOFTGPU_CHECK_LDS;
  if (softgpu_option(SOFTGPU_OPTION_CHECK_RACES))
    dispatch->checks |= SOFTGPU_CHECK_RACES;
  if (softgpu_option(SOFTGPU_OPTION_CHECK_STORES))
    dispatch->checks |= SOFTGPU_CHECK_STORES;
  if (softgpu_option(SOFTGPU_OPTION_CHECK_KERNARG)) {
    dispatch->checks |= SOFTGPU_CHECK_KERNARG;
    kernarg_take(dispatch);
  }
  if (softgpu_option(SOFTGPU_OPTION_CHECK_MEMORY) && !copies_anything(dispatch->kernel_object))
    dispatch->checks |= SOFTGPU_CHECK_MEMORY;
  if (softgpu_option(SOFTGPU_OPTION_CHECK_FREED))
    dispatch->checks |= SOFTGPU_CHECK_FREED;
}

static softgpu_limits_t limits_of(softgpu_queue_t *queue, uint64_t kernel_object)
{
  softgpu_limits_t limits = {.timeout_ns = softgpu_option(SOFTGPU_OPTION_TIMEOUT_MS) * 1000000,
                             .stop = &queue->stop,
                             .units = atomic_load(&queue->units),
                             .all_units = queue->setup.compute_units,
                             .notes = queue->notes,
                             .executed = &queue->executed};
  if (is_of_the_runtime(kernel_object))
    limits.timeout_ns = 0;
  return limits;
}

softgpu_step_t softgpu_dispatch_step(softgpu_queue_t *queue,
                                     const hsa_kernel_dispatch_packet_t *slot)
{
  const amd_queue_t *hsa = softgpu_aql_queue(queue);
  hsa_kernel_dispatch_packet_t packet;
  memcpy(&packet, slot, sizeof(packet));
  softgpu_dispatch_t dispatch = {
      .chip = chip_of(queue, packet.kernel_object),
      .sram_ecc = queue->setup.sram_ecc,
      .node = queue->setup.node,
      .private_bytes = packet.private_segment_size,
      .group_bytes = packet.group_segment_size,
      .kernel_object = packet.kernel_object,
      .kernarg = (uintptr_t)packet.kernarg_address,
      .packet = (uintptr_t)slot,
      .queue = (uintptr_t)hsa,
      .dispatch_id = queue->next,
      .shared_aperture_hi = queue->setup.shared_aperture_hi,
      .private_aperture_hi = queue->setup.private_aperture_hi,
      .gws = atomic_load(&queue->has_gws) ? &queue->gws : NULL,
      .interrupt = softgpu_signal_interrupt,
  };
  char text[128];
  uint32_t code = dispatch_check(&packet, &dispatch, text);
  if (code != 0)
    return softgpu_report(queue, code, packet.kernel_object, NULL, text);
  /* The kernel's descriptor is only asked where 64 lanes have not enough. */
  const bool may_want = packet.private_segment_size > hsa->scratch_wave64_lane_byte_size;
  const uint32_t lanes = may_want ? softgpu_lanes(&dispatch) : 64;
  const uint64_t wave_scratch = (uint64_t)packet.private_segment_size * lanes;
  const uint64_t granted = (uint64_t)hsa->scratch_wave64_lane_byte_size * 64;
  if (wave_scratch > granted) {
    const bool is_too_much = dispatch.chip >= SOFTGPU_GFX9_COUNT && wave_scratch > MAX_WAVE_SCRATCH;
    if (!is_too_much && queue->request == SOFTGPU_REQUEST_NONE)
      return request_make(queue, SOFTGPU_REQUEST_SCRATCH,
                          lanes == 32 ? SOFTGPU_QUEUE_WANTS_SCRATCH_32
                                      : SOFTGPU_QUEUE_WANTS_SCRATCH);
    snprintf(text, sizeof(text), "the dispatch needs %u bytes of scratch per work-item and %s %u",
             (unsigned)packet.private_segment_size, is_too_much ? "can have" : "got",
             (unsigned)((is_too_much ? MAX_WAVE_SCRATCH : granted) / lanes));
    return softgpu_report(queue, SOFTGPU_QUEUE_BAD_GROUP_SEGMENT, packet.kernel_object, NULL, text);
  }
  dispatch.scratch_base = hsa->scratch_backing_memory_location;
  /* Newer runtimes leave the size out, which is in the buffer resource as well. */
  dispatch.scratch_bytes = hsa->scratch_backing_memory_byte_size
                               ? hsa->scratch_backing_memory_byte_size
                               : hsa->scratch_resource_descriptor[2];

  checks_ask(&dispatch);
  const softgpu_limits_t limits = limits_of(queue, packet.kernel_object);
  softgpu_fault_t fault = {0};
  void *probed = softgpu_prober_loaded && !is_of_the_runtime(packet.kernel_object)
                     ? softgpu_prober_begin(queue, &packet, &dispatch)
                     : NULL;
  uint64_t start = softgpu_clock_ticks();
  bool done = softgpu_execute(&dispatch, &limits, &fault);
  uint64_t slowdown = softgpu_option(SOFTGPU_OPTION_SLOWDOWN);
  if (probed)
    softgpu_prober_loaded->end(probed, done);
  if (slowdown > 1)
    softgpu_queue_doze(queue, (softgpu_clock_ticks() - start) * 10 * (slowdown - 1));
  if (done)
    return dispatch_end(queue, &packet, start);
  if (fault.kind == SOFTGPU_FAULT_STOPPED)
    return SOFTGPU_STEP_STOPPED;
  return softgpu_report(queue, softgpu_report_code(fault.kind), packet.kernel_object, &fault, NULL);
}
