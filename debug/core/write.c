/* Laying out, checking, writing. */
#include <elf.h>
#include <errno.h>

#include "base/checked.h"
#include "base/error.h"
#include "debug/core/errno_text.h"
#include "debug/core/late.h"
#include "debug/core/plan.h"
#include "debug/core/save_area.h"
#include "debug/core/walk.h"

/* ---- What a description may say ---- */

static bool is_ring(const core_queue_t *queue)
{
  return queue->ring_bytes >= FORMAT_PACKET && is_power_of_two(queue->ring_bytes) &&
         queue->ring_bytes / FORMAT_PACKET <= FORMAT_MOST_PACKETS;
}

static rawhal_status_t check_queues(const core_description_t *from, rawhal_error_t *error)
{
  for (size_t i = 0; i < from->queue_count; ++i) {
    const core_queue_t *queue = &from->queues[i];
    if (queue->agent >= from->agent_count || !queue->bytes || queue->address % 64 ||
        !is_ring(queue))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "queue %zu: agent %u of %zu, at 0x%llx, a ring of %u bytes", i,
                         queue->agent, from->agent_count, (unsigned long long)queue->address,
                         queue->ring_bytes);
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_waves(const core_description_t *from, rawhal_error_t *error)
{
  for (size_t i = 0; i < from->wave_count; ++i) {
    const core_wave_t *wave = &from->waves[i];
    if (wave->queue >= from->queue_count || !wave->sgprs || wave->stop >= CORE_STOPS ||
        (wave->stop == CORE_STOP_TRAP && (!wave->trap || wave->trap > 14)) ||
        (wave->vgpr_count && !wave->vgprs) || (wave->agpr_count && !wave->agprs) ||
        (wave->lds_bytes && !wave->lds))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "wave %zu: queue %u of %zu, stop %d, trap %u, or registers missing", i,
                         wave->queue, from->queue_count, (int)wave->stop, wave->trap);
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_description(const core_description_t *from,
                                         const core_options_t *options, rawhal_error_t *error)
{
  if (!from->process.id || !from->process.thread_count || from->own_base % 4096 ||
      !options->scratch || (uintptr_t)options->scratch % 64 ||
      (options->abi && (options->abi < FORMAT_OLDEST_ABI || options->abi > FORMAT_NEWEST_ABI)))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "process %d of %zu threads, own addresses from 0x%llx, abi %u",
                       from->process.id, from->process.thread_count,
                       (unsigned long long)from->own_base, options->abi);
  for (size_t i = 0; i < from->memory_count; ++i)
    if (from->memory[i].kind >= CORE_CLASSES || from->memory[i].cut > from->memory[i].size ||
        from->memory[i].size > UINT64_MAX - from->memory[i].address)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "memory %zu: class %d, or past the end", i,
                         (int)from->memory[i].kind);
  const rawhal_status_t status = check_queues(from, error);
  return status ? status : check_waves(from, error);
}

size_t core_scratch_size(const core_description_t *from, const core_options_t *options)
{
  enum { FIXED = 64 << 10, OF_RANGE = 3 * sizeof(core_range_t), OF_OBJECT = 256, OF_QUEUE = 2048 };
  uint64_t bytes = FIXED + 2 * (uint64_t)from->wave_count;
  plan_t plan = {.from = from, .options = options};
  bytes += OF_RANGE * (uint64_t)from->memory_count + OF_OBJECT * (uint64_t)from->object_count;
  bytes += plan_notes_bytes(&plan);
  for (size_t i = 0; i < from->queue_count; ++i) {
    const core_agent_t *agents = from->agents;
    const uint32_t agent = from->queues[i].agent;
    bytes += OF_QUEUE + (agent < from->agent_count ? 512 * (uint64_t)agents[agent].xccs : 0);
  }
  for (size_t i = 0; i < from->wave_count; ++i) {
    const core_wave_t *wave = &from->waves[i];
    bytes += 1536 + 256 * (12 + (uint64_t)wave->vgpr_count + wave->agpr_count) + wave->lds_bytes;
  }
  return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

/* ---- Checking ---- */

/* The queue of the description that is the note's `index`-th. */
static size_t queue_of(const plan_t *plan, int64_t index)
{
  size_t i = 0;
  for (; i < plan->from->queue_count; ++i)
    if (plan->queues[i].type && index-- == 0)
      break;
  return i;
}

/* Leaves out one queue after the other that the debugger would refuse. */
static rawhal_status_t build_checked(plan_t *plan, rawhal_error_t *error)
{
  for (size_t attempts = 0; attempts <= plan->from->queue_count; ++attempts) {
    walk_finding_t finding;
    if (is_late(plan->options->deadline))
      return rawhal_fail(error, RAWHAL_TIMED_OUT, "the deadline passed before the first byte");
    const rawhal_status_t status = plan_build(plan, error);
    if (status != RAWHAL_OK)
      return status;
    const core_view_t view = plan_view(plan);
    if (core_walk(&view, NULL, &finding))
      return RAWHAL_OK;
    const size_t queue = finding.queue < 0 ? SIZE_MAX : queue_of(plan, finding.queue);
    if (queue >= plan->from->queue_count)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "a debugger would refuse it: %s, at 0x%llx",
                         core_mistake_text(finding.mistake), (unsigned long long)finding.address);
    plan->refused[queue] = finding.mistake;
  }
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a debugger would refuse every queue");
}

/* ---- Writing ---- */

typedef struct output {
  core_put_fn *put;
  void *context;
  uint64_t offset, deadline;
  rawhal_error_t *error;
  rawhal_status_t status;
} output_t;

static bool put(output_t *output, const void *bytes, uint64_t size)
{
  enum { PIECE = 1 << 20 };
  const unsigned char *from = bytes;
  while (size) {
    const size_t piece = size < PIECE ? (size_t)size : PIECE;
    if (is_late(output->deadline)) {
      output->status =
          rawhal_fail(output->error, RAWHAL_TIMED_OUT, "the deadline passed after %llu bytes",
                      (unsigned long long)output->offset);
      return false;
    }
    if (!output->put(output->context, from, piece)) {
      const int code = errno;
      output->status =
          rawhal_fail(output->error, code == ETIMEDOUT ? RAWHAL_TIMED_OUT : RAWHAL_RUNTIME,
                      "%s after %llu bytes", errno_text(code), (unsigned long long)output->offset);
      return false;
    }
    output->offset += piece;
    from += piece;
    size -= piece;
  }
  return true;
}

static uint64_t place(uint64_t offset, uint64_t address)
{
  return offset + ((address - offset) & (PLAN_ALIGN - 1));
}

static bool put_headers(const plan_t *plan, output_t *output, uint64_t *end)
{
  const Elf64_Ehdr header = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_CORE,
      .e_machine = EM_X86_64,
      .e_version = EV_CURRENT,
      .e_phoff = sizeof(Elf64_Ehdr),
      .e_ehsize = sizeof(Elf64_Ehdr),
      .e_phentsize = sizeof(Elf64_Phdr),
      .e_phnum = (uint16_t)(plan->range_count + 1)};
  uint64_t offset = sizeof(header) + (plan->range_count + 1) * sizeof(Elf64_Phdr);
  const Elf64_Phdr notes = {
      .p_type = PT_NOTE, .p_offset = offset, .p_filesz = plan->notes_size, .p_align = 4};
  if (!put(output, &header, sizeof(header)) || !put(output, &notes, sizeof(notes)))
    return false;
  offset += plan->notes_size;
  for (size_t i = 0; i < plan->range_count; ++i) {
    const core_range_t *range = &plan->ranges[i];
    offset = place(offset, range->address);
    const Elf64_Phdr load = {.p_type = PT_LOAD,
                             .p_flags = range->flags,
                             .p_offset = offset,
                             .p_vaddr = range->address,
                             .p_filesz = range->size,
                             .p_memsz = range->size,
                             .p_align = PLAN_ALIGN};
    if (!put(output, &load, sizeof(load)))
      return false;
    offset += range->size;
  }
  *end = offset;
  return put(output, plan->notes, plan->notes_size);
}

static bool put_all(const plan_t *plan, output_t *output)
{
  static const unsigned char zeros[PLAN_ALIGN];
  uint64_t end;
  if (!put_headers(plan, output, &end))
    return false;
  for (size_t i = 0; i < plan->range_count; ++i) {
    const core_range_t *range = &plan->ranges[i];
    if (!put(output, zeros, place(output->offset, range->address) - output->offset) ||
        !put(output, range->bytes, range->size))
      return false;
  }
  return output->offset == end;
}

rawhal_status_t core_write(const core_description_t *description, const core_options_t *options,
                           core_put_fn *put_bytes, void *context, core_written_t *written,
                           rawhal_error_t *error)
{
  plan_t plan;
  *written = (core_written_t){0};
  rawhal_status_t status = check_description(description, options, error);
  if (status == RAWHAL_OK)
    status = plan_init(&plan, description, options, error);
  if (status == RAWHAL_OK)
    status = build_checked(&plan, error);
  if (status != RAWHAL_OK)
    return status;
  output_t output = {
      .put = put_bytes, .context = context, .deadline = options->deadline, .error = error};
  if (!put_all(&plan, &output))
    return output.status ? output.status : rawhal_fail(error, RAWHAL_RUNTIME, "a length is wrong");
  written->bytes = output.offset;
  written->left_out_bytes = plan.left_out.bytes;
  written->queues = plan.queue_count;
  for (size_t i = 0; i < description->wave_count; ++i)
    written->waves += plan.chosen[i];
  return RAWHAL_OK;
}
