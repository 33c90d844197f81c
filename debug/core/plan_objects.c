/* r_debug, its list, and the code objects that this names. */
#include <elf.h>
#include <stdio.h>

#include "base/error.h"
#include "debug/core/plan.h"

enum { URI_BYTES = 96 };

/* One code object in the list, as it stands in the file. */
typedef struct entry {
  core_format_link_t link;
  char uri[URI_BYTES];
} entry_t;

typedef struct list_head {
  core_format_r_debug_t r_debug;
  char gap[24];
} list_head_t;

/* The bytes of its file, whole: a part of them is no object. */
static bool add_object(plan_t *plan, const core_object_t *object, uint64_t *address)
{
  core_range_t range = {.size = object->bytes.size, .bytes = object->bytes.data, .flags = PF_R};
  const uint64_t next = plan->own_next;
  if (range.bytes && plan_own(plan, range.size, PLAN_ALIGN, &range.address) &&
      plan_add(plan, &range, false)) {
    *address = range.address;
    return true;
  }
  plan->own_next = next;
  plan_leave_out(plan, object->delta, object->bytes.size, CORE_OBJECT, CORE_REASON_BUDGET);
  return false;
}

/* The debugger knows one object for each delta. */
static bool is_again(const core_description_t *from, size_t index)
{
  for (size_t i = 0; i < index; ++i)
    if (from->objects[i].delta == from->objects[index].delta)
      return true;
  return false;
}

static void link_entries(entry_t *entries, size_t count, uint64_t at)
{
  for (size_t i = 0; i < count; ++i) {
    core_format_link_t *link = &entries[i].link;
    link->name = at + i * sizeof(*entries) + offsetof(entry_t, uri);
    link->next = i + 1 < count ? at + (i + 1) * sizeof(*entries) : 0;
    link->previous = i ? at + (i - 1) * sizeof(*entries) : 0;
  }
}

uint64_t plan_list_bytes(const plan_t *plan)
{
  return sizeof(list_head_t) + plan->from->object_count * sizeof(entry_t);
}

rawhal_status_t plan_objects(plan_t *plan, rawhal_error_t *error)
{
  const core_description_t *from = plan->from;
  const size_t size = (size_t)plan_list_bytes(plan);
  unsigned char *block = plan_take(&plan->arena, 1, size);
  core_range_t range = {.size = size, .bytes = block, .flags = PF_R | PF_W};
  size_t count = 0;
  if (!block)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "the scratch is too small for %zu code objects",
                       from->object_count);
  if (!plan_own(plan, size, 4096, &range.address) || !plan_add(plan, &range, false))
    return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "no room for the list of code objects");
  entry_t *entries = (entry_t *)(block + sizeof(list_head_t));
  for (size_t i = 0; i < from->object_count; ++i) {
    uint64_t address;
    if (is_again(from, i) || !add_object(plan, &from->objects[i], &address))
      continue;
    entries[count].link.delta = from->objects[i].delta;
    (void)snprintf(entries[count].uri, URI_BYTES, "memory://%d#offset=0x%llx&size=%zu",
                   from->process.id, (unsigned long long)address, from->objects[i].bytes.size);
    ++count;
  }
  link_entries(entries, count, range.address + sizeof(list_head_t));
  const core_format_r_debug_t r_debug = {.version = plan->abi,
                                         .map = count ? range.address + sizeof(list_head_t) : 0};
  memcpy(block, &r_debug, sizeof(r_debug));
  plan->r_debug = range.address;
  return RAWHAL_OK;
}
