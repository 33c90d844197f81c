/* The notes: threads of the host, the GPUs, ours. */
#include <elf.h>

#include "debug/core/plan.h"

enum {
  /* struct elf_prstatus and elf_prpsinfo of x86-64, <sys/procfs.h>. */
  PRSTATUS_BYTES = 336,
  PRSTATUS_SIGNAL = 12,
  PRSTATUS_ID = 32,
  PRSTATUS_REGISTERS = 112,
  PRPSINFO_BYTES = 136,
  PRPSINFO_STATE = 1,
  PRPSINFO_ID = 24,
  PRPSINFO_PROGRAM = 40,
  PROGRAM_BYTES = 16,
  ARGUMENTS_BYTES = 80,
};

static uint64_t rounded(uint64_t bytes)
{
  return (bytes + 3) & ~(uint64_t)3;
}

static uint64_t note_bytes(const char *owner, uint64_t bytes)
{
  return sizeof(Elf64_Nhdr) + rounded(strlen(owner) + 1) + rounded(bytes);
}

static uint64_t amdgpu_bytes(const plan_t *plan)
{
  return sizeof(core_format_note_t) + sizeof(core_format_runtime_t) +
         plan->from->agent_count * sizeof(core_format_agent_t) +
         plan->from->queue_count * sizeof(core_format_queue_t);
}

static size_t left_out_bytes(size_t listed)
{
  static const core_left_out_t left_out;
  static const core_left_out_entry_t entry;
  return CORE_NOTES_HEAD + record_bytes(CORE_RECORD_LEFT_OUT, &left_out) +
         listed * record_bytes(CORE_RECORD_LEFT_OUT_ENTRY, &entry);
}

uint64_t plan_notes_bytes(const plan_t *plan)
{
  const core_description_t *from = plan->from;
  uint64_t bytes = from->process.thread_count * note_bytes("CORE", PRSTATUS_BYTES) +
                   note_bytes("CORE", PRPSINFO_BYTES) + note_bytes("AMDGPU", amdgpu_bytes(plan)) +
                   note_bytes("RAWHAL", left_out_bytes(CORE_MOST_LISTED));
  for (size_t i = 0; i < from->note_count; ++i)
    bytes += note_bytes(from->notes[i].owner, from->notes[i].bytes.size);
  return bytes;
}

/* Room for the contents of a note, which follow its head. */
static unsigned char *begin(plan_t *plan, const char *owner, uint32_t type, size_t size)
{
  const Elf64_Nhdr head = {(uint32_t)strlen(owner) + 1, (uint32_t)size, type};
  unsigned char *at = plan->notes + plan->notes_size;
  memcpy(at, &head, sizeof(head));
  memcpy(at + sizeof(head), owner, head.n_namesz);
  plan->notes_size += (size_t)note_bytes(owner, size);
  return at + sizeof(head) + rounded(head.n_namesz);
}

static void put_thread(plan_t *plan, const core_thread_t *thread)
{
  unsigned char *at = begin(plan, "CORE", NT_PRSTATUS, PRSTATUS_BYTES);
  const int16_t current = (int16_t)thread->signal;
  memcpy(at, &thread->signal, sizeof(thread->signal));
  memcpy(at + PRSTATUS_SIGNAL, &current, sizeof(current));
  memcpy(at + PRSTATUS_ID, &thread->id, sizeof(thread->id));
  memcpy(at + PRSTATUS_REGISTERS, thread->registers, sizeof(thread->registers));
}

static void put_text(unsigned char *at, const char *text, size_t room)
{
  const size_t size = text ? strnlen(text, room - 1) : 0;
  if (size)
    memcpy(at, text, size);
}

static void put_process(plan_t *plan, const core_process_t *process)
{
  unsigned char *at = begin(plan, "CORE", NT_PRPSINFO, PRPSINFO_BYTES);
  at[PRPSINFO_STATE] = 'R';
  memcpy(at + PRPSINFO_ID, &process->id, sizeof(process->id));
  put_text(at + PRPSINFO_PROGRAM, process->program, PROGRAM_BYTES);
  put_text(at + PRPSINFO_PROGRAM + PROGRAM_BYTES, process->arguments, ARGUMENTS_BYTES);
}

static core_format_agent_t agent_entry(const core_agent_t *agent)
{
  enum { TRAP_ON_LAUNCH = 0x80, WATCHPOINTS = 2 << 8, PRECISE = 0x30000, WATCH_MASK = 6 | 58 << 4 };
  const uint64_t lds = UINT64_C(1) << 48, scratch = UINT64_C(2) << 48;
  return (core_format_agent_t){
      .lds_base = lds,
      .lds_limit = lds + UINT32_MAX,
      .scratch_base = scratch,
      .scratch_limit = scratch + UINT32_MAX,
      .memory_base = agent->memory_base,
      .memory_limit = agent->memory_limit,
      .gpu_id = agent->gpu_id,
      .location = agent->location,
      .vendor = agent->vendor,
      .device = agent->device,
      .revision = agent->revision,
      .subsystem_vendor = agent->subsystem_vendor,
      .subsystem_device = agent->subsystem_device,
      .firmware = agent->firmware,
      .gfx_target_version = agent->gfx_target_version,
      .simds = agent->simds,
      .waves_per_simd = agent->waves_per_simd,
      .arrays = agent->arrays,
      .arrays_per_engine = agent->arrays_per_engine,
      .xccs = agent->xccs,
      .capability = FORMAT_DEBUG | FORMAT_DEBUG_FIRMWARE | TRAP_ON_LAUNCH | WATCHPOINTS | PRECISE,
      .debug_prop = WATCH_MASK | (agent->gfx_target_version >= 90400 ? FORMAT_ALWAYS_TTMPS : 0)};
}

static void put_gpus(plan_t *plan)
{
  const core_description_t *from = plan->from;
  core_format_note_t head = {.version = 1,
                             .kfd_major = FORMAT_KFD_MAJOR,
                             .kfd_minor = FORMAT_KFD_MINOR,
                             .runtime_bytes = sizeof(core_format_runtime_t),
                             .agents = (uint32_t)from->agent_count,
                             .agent_bytes = sizeof(core_format_agent_t),
                             .queue_bytes = sizeof(core_format_queue_t)};
  const core_format_runtime_t runtime = {plan->r_debug, FORMAT_RUNTIME_ENABLED, 1};
  for (size_t i = 0; i < from->queue_count; ++i)
    head.queues += plan->queues[i].type != 0;
  plan->queue_count = head.queues;
  const size_t size = sizeof(head) + sizeof(runtime) +
                      from->agent_count * sizeof(core_format_agent_t) +
                      head.queues * sizeof(core_format_queue_t);
  unsigned char *at = begin(plan, "AMDGPU", FORMAT_AMDGPU_NOTE, size);
  plan->amdgpu = (rawhal_bytes_t){at, size};
  at = (unsigned char *)memcpy(at, &head, sizeof(head)) + sizeof(head);
  at = (unsigned char *)memcpy(at, &runtime, sizeof(runtime)) + sizeof(runtime);
  for (size_t i = 0; i < from->agent_count; ++i, at += sizeof(core_format_agent_t)) {
    const core_format_agent_t entry = agent_entry(&from->agents[i]);
    memcpy(at, &entry, sizeof(entry));
  }
  for (size_t i = 0; i < from->queue_count; ++i)
    if (plan->queues[i].type)
      at = (unsigned char *)memcpy(at, &plan->queues[i], sizeof(*plan->queues)) +
           sizeof(*plan->queues);
}

static void put_left_out(plan_t *plan)
{
  const size_t size = left_out_bytes(plan->listed_count);
  core_notes_t notes;
  core_notes_begin(&notes, begin(plan, "RAWHAL", CORE_NOTE_LEFT_OUT, size), size);
  (void)core_notes_put(&notes, CORE_RECORD_LEFT_OUT, &plan->left_out);
  for (size_t i = 0; i < plan->listed_count; ++i)
    (void)core_notes_put(&notes, CORE_RECORD_LEFT_OUT_ENTRY, &plan->listed[i]);
}

void plan_notes(plan_t *plan)
{
  const core_description_t *from = plan->from;
  plan->notes_size = 0;
  memset(plan->notes, 0, plan->notes_room);
  put_thread(plan, &from->process.threads[0]); /* a debugger's first thread, before the process */
  put_process(plan, &from->process);
  for (size_t i = 1; i < from->process.thread_count; ++i)
    put_thread(plan, &from->process.threads[i]);
  put_gpus(plan);
  for (size_t i = 0; i < from->note_count; ++i) {
    const core_note_t *note = &from->notes[i];
    unsigned char *at = begin(plan, note->owner, note->type, note->bytes.size);
    if (note->bytes.size)
      memcpy(at, note->bytes.data, note->bytes.size);
  }
  put_left_out(plan);
}
