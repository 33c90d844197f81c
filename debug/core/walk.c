#include "debug/core/walk_internal.h"

#include "base/checked.h"

enum { OLDEST_KFD_MINOR = 13, COST = 64 };

bool walk_fail(walk_t *walk, core_mistake_t mistake, uint64_t address)
{
  walk->finding->mistake = mistake;
  walk->finding->address = address;
  return false;
}

bool walk_partial(walk_t *walk, core_mistake_t mistake, uint64_t address)
{
  walk->finding->seen |= UINT64_C(1) << mistake;
  return !walk->visitor->partial ||
         walk->visitor->partial(walk->visitor->context, mistake, address);
}

bool walk_pay(walk_t *walk, uint64_t cost, uint64_t address)
{
  if (walk->left < cost)
    return walk_fail(walk, MISTAKE_TOO_MUCH, address);
  walk->left -= cost;
  return true;
}

bool walk_read(walk_t *walk, uint64_t address, void *bytes, size_t size, core_mistake_t mistake)
{
  return walk_pay(walk, size + COST, address) &&
         (core_view_read(walk->view, address, bytes, size) || walk_fail(walk, mistake, address));
}

static const unsigned char *note_at(const walk_t *walk, uint64_t offset)
{
  return (const unsigned char *)walk->view->note.data + offset;
}

/* An entry may be shorter or longer than what is known of it: the rest is 0, or not looked at. */
static void take_entry(void *entry, size_t ours, const unsigned char *at, uint32_t size)
{
  memset(entry, 0, ours);
  memcpy(entry, at, size < ours ? size : ours);
}

static uint64_t agents_at(const walk_t *walk)
{
  return sizeof(walk->head) + walk->head.runtime_bytes;
}

core_format_agent_t walk_agent_at(const walk_t *walk, size_t index)
{
  core_format_agent_t entry;
  take_entry(&entry, sizeof(entry), note_at(walk, agents_at(walk) + index * walk->head.agent_bytes),
             walk->head.agent_bytes);
  return entry;
}

static core_format_queue_t queue_at(const walk_t *walk, size_t index)
{
  core_format_queue_t entry;
  const uint64_t at = agents_at(walk) + (uint64_t)walk->head.agents * walk->head.agent_bytes +
                      index * walk->head.queue_bytes;
  take_entry(&entry, sizeof(entry), note_at(walk, at), walk->head.queue_bytes);
  return entry;
}

/* The note's head, whose sizes account for all of it. */
static bool read_head(walk_t *walk)
{
  const rawhal_bytes_t note = walk->view->note;
  core_format_note_t *head = &walk->head;
  if (!note.size)
    return walk_fail(walk, MISTAKE_NO_NOTE, 0);
  if (note.size < sizeof(*head))
    return walk_fail(walk, MISTAKE_NOTE_SIZE, 0);
  memcpy(head, note.data, sizeof(*head));
  uint64_t total;
  if (head->runtime_bytes % 8 || head->agent_bytes % 8 || head->queue_bytes % 8 ||
      (head->agents && !head->agent_bytes) || (head->queues && !head->queue_bytes) ||
      !checked_add_u64(sizeof(*head), head->runtime_bytes, &total) ||
      !checked_add_u64(total, (uint64_t)head->agents * head->agent_bytes, &total) ||
      !checked_add_u64(total, (uint64_t)head->queues * head->queue_bytes, &total) ||
      total != note.size)
    return walk_fail(walk, MISTAKE_NOTE_SIZE, 0);
  if (head->kfd_major != FORMAT_KFD_MAJOR || head->kfd_minor < OLDEST_KFD_MINOR)
    return walk_fail(walk, MISTAKE_KFD_VERSION, 0);
  take_entry(&walk->runtime, sizeof(walk->runtime), note_at(walk, sizeof(*head)),
             head->runtime_bytes < sizeof(walk->runtime) ? (uint32_t)head->runtime_bytes
                                                         : (uint32_t)sizeof(walk->runtime));
  return true;
}

static bool may_be_debugged(const core_format_agent_t *agent)
{
  const uint32_t both = FORMAT_DEBUG | FORMAT_DEBUG_FIRMWARE;
  return (agent->capability & both) == both;
}

static bool look_at_agent(walk_t *walk, size_t index)
{
  const walk_visitor_t *visitor = walk->visitor;
  const core_format_agent_t entry = walk_agent_at(walk, index);
  const walk_agent_t agent = {index, core_chip_of(entry.gfx_target_version), entry};
  if (!walk_pay(walk, COST + index, 0))
    return false;
  for (size_t i = 0; i < index; ++i)
    if (walk_agent_at(walk, i).gpu_id == entry.gpu_id)
      return walk_fail(walk, MISTAKE_GPU_ID, entry.gpu_id);
  if (!agent.chip && !walk_partial(walk, MISTAKE_CHIP, entry.gpu_id))
    return false;
  if (agent.chip && (!entry.simds || !entry.waves_per_simd || !entry.arrays ||
                     !entry.arrays_per_engine || !entry.xccs))
    return walk_fail(walk, MISTAKE_NODE, entry.gpu_id);
  if (agent.chip && !may_be_debugged(&entry) &&
      !walk_partial(walk, MISTAKE_CAPABILITY, entry.gpu_id))
    return false;
  return !visitor->agent || visitor->agent(visitor->context, &agent);
}

static bool find_agent(const walk_t *walk, uint32_t gpu_id, core_format_agent_t *agent,
                       size_t *index)
{
  for (*index = 0; *index < walk->head.agents; ++*index) {
    *agent = walk_agent_at(walk, *index);
    if (agent->gpu_id == gpu_id)
      return true;
  }
  return false;
}

/* What stands in its amd_queue_t, which is found from where the read index is. */
static bool read_queue(walk_t *walk, walk_queue_t *queue, const core_format_agent_t *agent)
{
  const uint64_t base = queue->entry.read_pointer - FORMAT_READ_ID;
  uint32_t tmpring;
  if (!walk_read(walk, queue->entry.write_pointer, &queue->write_id, 8, MISTAKE_QUEUE_MEMORY) ||
      !walk_read(walk, queue->entry.read_pointer, &queue->read_id, 8, MISTAKE_QUEUE_MEMORY) ||
      !walk_read(walk, base + FORMAT_TMPRING, &tmpring, 4, MISTAKE_QUEUE_MEMORY) ||
      !walk_read(walk, base + FORMAT_SCRATCH_BASE, &queue->scratch, 8, MISTAKE_QUEUE_MEMORY))
    return false;
  const uint32_t engines = agent->arrays / agent->arrays_per_engine;
  queue->slots = tmpring & 0xfff;
  queue->slice_bytes = (uint64_t)(tmpring >> 12 & 0x1fff) * 1024;
  queue->per_engine = engines && queue->slots % engines == 0 ? queue->slots / engines : 0;
  return true;
}

static bool look_at_queue(walk_t *walk, size_t index)
{
  const walk_visitor_t *visitor = walk->visitor;
  walk_queue_t queue = {.index = index, .entry = queue_at(walk, index)};
  core_format_agent_t agent;
  walk->finding->queue = (int64_t)index;
  if (!walk_pay(walk, COST + walk->head.agents, 0))
    return false;
  if (!find_agent(walk, queue.entry.gpu_id, &agent, &queue.agent))
    return walk_fail(walk, MISTAKE_GPU_ID, queue.entry.gpu_id);
  const core_chip_t *chip = core_chip_of(agent.gfx_target_version);
  if (!chip || !may_be_debugged(&agent))
    return true; /* its agent says so already */
  if (queue.entry.type != FORMAT_QUEUE_AQL)
    return walk_partial(walk, MISTAKE_QUEUE_TYPE, queue.entry.ring) &&
           (!visitor->queue || visitor->queue(visitor->context, &queue));
  const uint32_t bytes = queue.entry.ring_bytes;
  if (bytes < FORMAT_PACKET || !is_power_of_two(bytes) ||
      bytes / FORMAT_PACKET > FORMAT_MOST_PACKETS)
    return walk_fail(walk, MISTAKE_RING, queue.entry.ring);
  if (!read_queue(walk, &queue, &agent))
    return false;
  return (!visitor->queue || visitor->queue(visitor->context, &queue)) &&
         walk_waves(walk, &queue, &agent, chip);
}

static bool look_at_all(walk_t *walk)
{
  if (!read_head(walk) || (!walk->view->process && !walk_partial(walk, MISTAKE_NO_PROCESS, 0)))
    return false;
  for (size_t i = 0; i < walk->head.agents; ++i)
    if (!look_at_agent(walk, i))
      return false;
  if (walk->runtime.state == 0)
    return walk_partial(walk, MISTAKE_INACTIVE, 0);
  if (walk->runtime.state != FORMAT_RUNTIME_ENABLED)
    return walk_fail(walk, MISTAKE_RUNTIME_STATE, 0);
  if (!walk_objects(walk))
    return false;
  for (size_t i = 0; i < walk->head.queues; ++i)
    if (!look_at_queue(walk, i))
      return false;
  walk->finding->queue = WALK_NO_QUEUE;
  return true;
}

bool core_walk(const core_view_t *view, const walk_visitor_t *visitor, walk_finding_t *finding)
{
  static const walk_visitor_t nobody = {0};
  enum { AT_LEAST = 64 << 10, OF_EACH_BYTE = 4 };
  walk_t walk = {.view = view, .visitor = visitor ? visitor : &nobody, .finding = finding};
  *finding = (walk_finding_t){.queue = WALK_NO_QUEUE};
  /* Not of each range: many of a file that lies may be the same bytes. */
  if (!checked_mul_u64(OF_EACH_BYTE, view->bytes, &walk.left) ||
      !checked_add_u64(walk.left, AT_LEAST, &walk.left))
    walk.left = UINT64_MAX;
  return look_at_all(&walk);
}
