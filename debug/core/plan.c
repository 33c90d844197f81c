#include "debug/core/plan.h"

#include <elf.h>

#include "base/checked.h"
#include "base/error.h"

enum { OVERHEAD = sizeof(Elf64_Phdr) + PLAN_ALIGN }; /* of a range */

void *plan_take(plan_arena_t *arena, uint64_t count, size_t size)
{
  uint64_t bytes;
  if (!checked_mul_u64(count, size, &bytes) || !checked_align_u64(bytes, PLAN_ALIGN, &bytes) ||
      bytes > arena->size - arena->used)
    return NULL;
  void *taken = arena->bytes + arena->used;
  arena->used += (size_t)bytes;
  return memset(taken, 0, (size_t)bytes);
}

/* ---- Ranges ---- */

uint64_t plan_room(const plan_t *plan)
{
  const uint64_t budget = plan->options->budget ? plan->options->budget : UINT64_MAX;
  const uint64_t used = plan->file_bytes + OVERHEAD;
  return plan->range_count < plan->range_room && used < budget ? budget - used : 0;
}

static void insert(plan_t *plan, size_t at, const core_range_t *range)
{
  core_range_t *place = &plan->ranges[at];
  memmove(place + 1, place, (plan->range_count - at) * sizeof(*place));
  *place = *range;
  ++plan->range_count;
  plan->file_bytes += OVERHEAD + range->size;
}

/* The first piece of [from, end) that no range has. False: there is none. */
static bool next_piece(const plan_t *plan, uint64_t from, uint64_t end, uint64_t *start,
                       uint64_t *stop, size_t *at)
{
  size_t i = core_range_behind(plan->ranges, plan->range_count, from);
  while (i < plan->range_count && plan->ranges[i].address <= from) {
    from = plan->ranges[i].address + plan->ranges[i].size;
    ++i;
  }
  *at = i;
  *start = from;
  *stop = i < plan->range_count && plan->ranges[i].address < end ? plan->ranges[i].address : end;
  return from < end;
}

/* What all pieces take, and whether that is there. */
static bool has_room(const plan_t *plan, const core_range_t *range)
{
  const uint64_t end = range->address + range->size;
  const uint64_t budget = plan->options->budget ? plan->options->budget : UINT64_MAX;
  uint64_t from = range->address, start, stop, used = plan->file_bytes;
  size_t at, count = plan->range_count;
  while (next_piece(plan, from, end, &start, &stop, &at)) {
    used += OVERHEAD + (stop - start);
    ++count;
    from = stop;
  }
  return used <= budget && count <= plan->range_room;
}

bool plan_add(plan_t *plan, const core_range_t *range, bool partly)
{
  uint64_t from = range->address, end, start, stop;
  size_t at;
  if (!checked_add_u64(range->address, range->size, &end))
    return false;
  if (!partly && !has_room(plan, range))
    return false;
  while (next_piece(plan, from, end, &start, &stop, &at)) {
    const uint64_t room = plan_room(plan);
    core_range_t piece = {start, stop - start, range->bytes + (start - range->address),
                          range->flags};
    if (piece.size > room) /* to the end of a line: what is shown of it is whole */
      piece.size =
          start + room > start ? ((start + room) & ~(uint64_t)(PLAN_ALIGN - 1)) - start : 0;
    if (piece.size > room || !piece.size)
      return false;
    insert(plan, at, &piece);
    if (piece.size < stop - start)
      return false;
    from = stop;
  }
  return true;
}

void plan_leave_out(plan_t *plan, uint64_t address, uint64_t size, uint32_t class, uint32_t reason)
{
  core_left_out_t *left_out = &plan->left_out;
  ++left_out->ranges;
  left_out->bytes += size;
  if (plan->listed_count < CORE_MOST_LISTED)
    plan->listed[plan->listed_count++] = (core_left_out_entry_t){address, size, class, reason};
}

bool plan_own(plan_t *plan, uint64_t size, uint64_t alignment, uint64_t *address)
{
  const uint64_t base = plan->from->own_base;
  uint64_t end;
  if (!checked_align_u64(plan->own_next, alignment, address) ||
      !checked_add_u64(*address, size, &end) || end < base || end - base > plan->from->own_size)
    return false;
  plan->own_next = end;
  return true;
}

core_view_t plan_view(const plan_t *plan)
{
  return (core_view_t){plan->ranges, plan->range_count, plan->amdgpu, plan->from->process.id,
                       plan->file_bytes};
}

/* ---- All of it ---- */

static uint32_t flags_of(const core_memory_t *memory)
{
  return PF_R | (memory->writes ? PF_W : 0) | (memory->executes ? PF_X : 0);
}

static bool is_wanted(const plan_t *plan, core_class_t class)
{
  return class < CORE_KERNARG || !plan->options->classes ||
         plan->options->classes & CORE_CLASS_BIT(class);
}

/* How much of a range is there, from its begin. */
static uint64_t there(const plan_t *plan, const core_memory_t *memory)
{
  const core_view_t view = plan_view(plan);
  return core_view_has(&view, memory->address, memory->size, NULL);
}

static void add_memory(plan_t *plan, const core_memory_t *memory)
{
  const uint64_t have = memory->bytes ? memory->size - memory->cut : 0;
  const core_range_t range = {memory->address, have, memory->bytes, flags_of(memory)};
  const uint32_t reason = !is_wanted(plan, memory->kind)   ? CORE_REASON_POLICY
                          : !memory->bytes && !memory->cut ? CORE_REASON_UNREADABLE
                                                           : CORE_REASON_BUDGET;
  if (reason == CORE_REASON_BUDGET && have)
    (void)plan_add(plan, &range, true);
  const uint64_t done = there(plan, memory);
  if (done < memory->size)
    plan_leave_out(plan, memory->address + done, memory->size - done, memory->kind, reason);
}

static void add_class(plan_t *plan, core_class_t class)
{
  for (size_t i = 0; i < plan->from->memory_count; ++i)
    if (plan->from->memory[i].kind == class)
      add_memory(plan, &plan->from->memory[i]);
}

rawhal_status_t plan_init(plan_t *plan, const core_description_t *description,
                          const core_options_t *options, rawhal_error_t *error)
{
  *plan = (plan_t){.from = description,
                   .options = options,
                   .abi = options->abi ? options->abi : CORE_ABI_DEFAULT,
                   .arena = {options->scratch, options->scratch_size, 0}};
  const uint64_t room = 3 * (uint64_t)description->memory_count + description->object_count +
                        16 * (uint64_t)description->queue_count + 64;
  plan->range_room = room < PLAN_MOST_RANGES ? (size_t)room : PLAN_MOST_RANGES;
  plan->notes_room = (size_t)plan_notes_bytes(plan);
  plan->refused = plan_take(&plan->arena, description->queue_count + 1, sizeof(*plan->refused));
  plan->chosen = plan_take(&plan->arena, description->wave_count + 1, 1);
  plan->queues = plan_take(&plan->arena, description->queue_count + 1, sizeof(*plan->queues));
  plan->listed = plan_take(&plan->arena, CORE_MOST_LISTED, sizeof(*plan->listed));
  plan->ranges = plan_take(&plan->arena, plan->range_room + 1, sizeof(*plan->ranges));
  plan->notes = plan_take(&plan->arena, plan->notes_room, 1);
  if (!plan->refused || !plan->chosen || !plan->queues || !plan->listed || !plan->ranges ||
      !plan->notes)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "the scratch of %zu bytes is too small",
                       options->scratch_size);
  return RAWHAL_OK;
}

rawhal_status_t plan_build(plan_t *plan, rawhal_error_t *error)
{
  const uint64_t budget = plan->options->budget;
  plan->range_count = plan->queue_count = plan->listed_count = 0;
  plan->left_out = (core_left_out_t){0};
  plan->own_next = plan->from->own_base;
  const uint64_t list = OVERHEAD + plan_list_bytes(plan); /* is kept free until its turn comes */
  plan->file_bytes = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + plan->notes_room + list;
  if (budget && plan->file_bytes > budget)
    return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED,
                       "it needs at least %llu bytes, for notes and a list, and %s is %llu",
                       (unsigned long long)plan->file_bytes,
                       plan->options->bound ? plan->options->bound : "the budget",
                       (unsigned long long)budget);
  const size_t used = plan->arena.used; /* what is laid out anew takes it again */
  rawhal_status_t status = RAWHAL_OK;
  for (core_class_t class = CORE_QUEUE; class < CORE_CLASSES && status == RAWHAL_OK; ++class) {
    if (class == CORE_QUEUE)
      status = plan_queues(plan, error);
    if (class == CORE_OBJECT) {
      plan->file_bytes -= list;
      status = plan_objects(plan, error);
    }
    if (class == CORE_WAVES)
      plan_waves(plan);
    if (status == RAWHAL_OK)
      add_class(plan, class);
  }
  plan->arena.used = used;
  if (status == RAWHAL_OK)
    plan_notes(plan);
  return status;
}
