/* rawhal core: what a file has, collected by the reader of the debugger's rules. */
#include <stdlib.h>
#include <string.h>

#include "tools/core/core.h"

/* ---- Code objects ---- */

static const unsigned char *one_piece(const core_view_t *view, uint64_t address, uint64_t size)
{
  const size_t i = core_range_behind(view->ranges, view->count, address);
  if (i == view->count || view->ranges[i].address > address ||
      view->ranges[i].size - (address - view->ranges[i].address) < size)
    return NULL;
  return view->ranges[i].bytes + (address - view->ranges[i].address);
}

static int compare_functions(const void *a, const void *b)
{
  const core_function_t *one = a, *other = b;
  return one->address < other->address ? -1 : one->address > other->address;
}

/* Its functions; of kernels, whose symbols may be gone, what their descriptors say. */
static bool list_functions(core_code_t *code)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(code->hsaco);
  core_function_t function;
  for (size_t i = 0; i < info->symbol_count; ++i) {
    const rawhal_symbol_t *symbol = rawhal_hsaco_symbol(code->hsaco, i);
    function = (core_function_t){symbol->address, symbol->size, symbol->name};
    if (symbol->kind == RAWHAL_SYMBOL_FUNCTION && symbol->defined &&
        !list_add(&code->functions, &function, sizeof(function)))
      return false;
  }
  for (size_t i = 0; !code->functions.count && i < info->kernel_count; ++i) {
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(code->hsaco, i);
    if (!kernel->descriptor)
      continue;
    function = (core_function_t){kernel->descriptor->entry, 0, kernel->name};
    if (!list_add(&code->functions, &function, sizeof(function)))
      return false;
  }
  if (code->functions.count)
    qsort(code->functions.items, code->functions.count, sizeof(function), compare_functions);
  return true;
}

/* Not more of them than the file has bytes for: a list may name the same ones again and again. */
static bool open_code(core_contents_t *contents, core_code_t *code)
{
  const core_view_t *view = &contents->file->view;
  code->bytes = one_piece(view, code->object.address, code->object.size);
  if (!code->bytes || code->object.size > 2 * view->bytes - contents->opened)
    return true;
  contents->opened += code->object.size;
  const rawhal_status_t status =
      rawhal_hsaco_open(code->bytes, (size_t)code->object.size, NULL, &code->hsaco, NULL);
  return status == RAWHAL_OK ? list_functions(code) : status != RAWHAL_OUT_OF_MEMORY;
}

static const core_code_t *code_of(const core_contents_t *contents, uint64_t address, uint64_t *own)
{
  const core_code_t *codes = contents->codes.items;
  for (size_t i = 0; i < contents->codes.count; ++i) {
    const rawhal_segment_t *segment;
    *own = address - codes[i].object.delta;
    for (size_t k = 0; codes[i].hsaco && (segment = rawhal_hsaco_segment(codes[i].hsaco, k)); ++k)
      if (segment->type == PT_LOAD && segment->flags & PF_X && *own >= segment->address &&
          *own - segment->address < segment->memory_size)
        return &codes[i];
  }
  return NULL;
}

bool core_symbol(const core_contents_t *contents, uint64_t address, rawhal_string_t *name,
                 uint64_t *offset)
{
  uint64_t own;
  const core_code_t *code = code_of(contents, address, &own);
  if (!code)
    return false;
  const core_function_t *functions = code->functions.items;
  size_t low = 0, high = code->functions.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (functions[middle].address <= own)
      low = middle + 1;
    else
      high = middle;
  }
  if (!low ||
      (functions[low - 1].size && own - functions[low - 1].address >= functions[low - 1].size))
    return false;
  *name = functions[low - 1].name;
  *offset = own - functions[low - 1].address;
  return true;
}

/* ---- The walk ---- */

static bool keep(core_contents_t *contents, list_t *list, const void *item, size_t size)
{
  contents->starved |= !list_add(list, item, size);
  return !contents->starved;
}

static bool see_agent(void *context, const walk_agent_t *agent)
{
  core_contents_t *contents = context;
  return keep(contents, &contents->agents, agent, sizeof(*agent));
}

static bool see_object(void *context, const walk_object_t *object)
{
  core_contents_t *contents = context;
  const core_code_t code = {.object = *object};
  if (!keep(contents, &contents->codes, &code, sizeof(code)))
    return false;
  core_code_t *kept = (core_code_t *)contents->codes.items + contents->codes.count - 1;
  contents->starved = !open_code(contents, kept);
  return !contents->starved;
}

static bool see_queue(void *context, const walk_queue_t *queue)
{
  core_contents_t *contents = context;
  return keep(contents, &contents->queues, queue, sizeof(*queue));
}

static bool see_wave(void *context, const walk_wave_t *wave)
{
  core_contents_t *contents = context;
  return keep(contents, &contents->waves, wave, sizeof(*wave));
}

bool core_contents_read(core_contents_t *contents, const core_file_t *file, rawhal_error_t *error)
{
  const walk_visitor_t visitor = {see_agent, see_object, see_queue, see_wave, NULL, contents};
  *contents = (core_contents_t){.file = file};
  contents->shown = core_walk(&file->view, &visitor, &contents->finding);
  return !contents->starved ||
         tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for what the file lists");
}

void core_contents_free(core_contents_t *contents)
{
  core_code_t *codes = contents->codes.items;
  for (size_t i = 0; i < contents->codes.count; ++i) {
    list_free(&codes[i].functions);
    rawhal_hsaco_close(codes[i].hsaco);
  }
  list_free(&contents->codes);
  list_free(&contents->agents);
  list_free(&contents->queues);
  list_free(&contents->waves);
}

uint32_t core_queue_id(const core_contents_t *contents, size_t index)
{
  const walk_queue_t *queues = contents->queues.items;
  for (size_t i = 0; i < contents->queues.count; ++i)
    if (queues[i].index == index)
      return queues[i].entry.id;
  return 0;
}

rawhal_string_t core_queue_label(const core_contents_t *contents, uint64_t id)
{
  const rawhal_bytes_t note = core_own_note(contents->file, CORE_NOTE_DISPATCHES);
  core_record_t record;
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);)
    if (record.type == CORE_RECORD_DISPATCH && record.as.dispatch.queue == id)
      return record.as.dispatch.queue_label;
  return (rawhal_string_t){0};
}

/* ---- Near the address ---- */

static uint64_t distance(const core_note_allocation_t *allocation, uint64_t address)
{
  if (address < allocation->base)
    return allocation->base - address;
  const uint64_t offset = address - allocation->base;
  return offset < allocation->size ? 0 : offset - allocation->size + 1;
}

void core_near_find(core_near_t *near, rawhal_bytes_t allocations, rawhal_bytes_t cause)
{
  core_record_t record;
  rawhal_fault_t fault;
  *near = (core_near_t){0};
  near->any = core_notes_fault(cause, &fault) && fault.known & RAWHAL_FAULT_KNOWS_ADDRESS;
  for (uint64_t cursor = 0; near->any && core_notes_next(allocations, &cursor, &record);) {
    if (record.type != CORE_RECORD_ALLOCATION)
      continue;
    const uint64_t far = distance(&record.as.allocation, fault.address);
    size_t at = near->count < CORE_NEAREST ? near->count++ : CORE_NEAREST;
    for (; at && near->distances[at - 1] > far; --at)
      if (at < CORE_NEAREST)
        near->distances[at] = near->distances[at - 1];
    if (at < CORE_NEAREST)
      near->distances[at] = far;
  }
}

bool core_is_near(const core_near_t *near, const core_note_allocation_t *allocation,
                  uint64_t address)
{
  return !near->any ||
         (near->count && distance(allocation, address) <= near->distances[near->count - 1]);
}
