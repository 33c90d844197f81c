/* Compiling a layout from a kernel's facts. */
#include "kernarg/layout.h"

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/memory.h"

#include <stdlib.h>
#include <string.h>

/* The HSA runtime's kernarg allocations are at least this aligned. */
enum { LEAST_ALIGNMENT = 16 };

/* ---- Memory ---- */

static uint64_t reserve(uint64_t *total, uint64_t count, size_t size)
{
  uint64_t offset = (*total + 15) & ~UINT64_C(15);
  *total = offset + count * size; /* counts are 32 bits and sizes small: no overflow in 64 */
  return offset;
}

/* One zeroed block for the layout and its arrays; NULL when out of memory. */
static rawhal_kernarg_layout_t *layout_allocate(const allocator_t *allocator, uint32_t arguments,
                                                uint32_t hidden)
{
  uint32_t visible = arguments - hidden;
  uint64_t total = sizeof(rawhal_kernarg_layout_t);
  uint64_t argument_table = reserve(&total, arguments, sizeof(rawhal_kernarg_argument_t));
  uint64_t fields = reserve(&total, hidden, sizeof(hidden_copy_t));
  uint64_t runs = reserve(&total, hidden, sizeof(hidden_copy_t));
  uint64_t indices = reserve(&total, visible, sizeof(uint32_t));
  uint64_t names = reserve(&total, visible, sizeof(uint32_t));

  char *memory = total > SIZE_MAX ? NULL : allocate_zeroed(allocator, 1, (size_t)total);
  if (!memory)
    return NULL;
  rawhal_kernarg_layout_t *layout = (rawhal_kernarg_layout_t *)(void *)memory;
  layout->arguments = (rawhal_kernarg_argument_t *)(void *)(memory + argument_table);
  layout->hidden.fields = (hidden_copy_t *)(void *)(memory + fields);
  layout->hidden.runs = (hidden_copy_t *)(void *)(memory + runs);
  layout->visible = (uint32_t *)(void *)(memory + indices);
  layout->by_name = (uint32_t *)(void *)(memory + names);
  if (allocator)
    layout->allocator = *allocator;
  return layout;
}

void rawhal_kernarg_layout_destroy(rawhal_kernarg_layout_t *layout)
{
  if (layout)
    allocate_free(&layout->allocator, layout);
}

/* ---- Arguments ---- */

/* Copies the arguments; `*last_end` becomes the end of the one that reaches farthest. */
static rawhal_status_t copy_arguments(const rawhal_kernel_t *kernel,
                                      rawhal_kernarg_layout_t *layout, uint32_t *last_end,
                                      rawhal_error_t *error)
{
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const rawhal_argument_t *from = &kernel->arguments[i];
    rawhal_kernarg_argument_t *to = &layout->arguments[i];
    *to = (rawhal_kernarg_argument_t){
        .name = from->name,
        .type_name = from->detail->type_name,
        .value_kind_text = from->detail->value_kind_text,
        .offset = from->offset,
        .size = from->size,
        .value_kind = from->value_kind,
        .address_space = from->address_space,
        .hidden = from->value_kind >= RAWHAL_VALUE_HIDDEN_FIRST,
    };
    if (argument_end(to) > UINT32_MAX)
      return rawhal_fail_at(error, RAWHAL_MALFORMED, to->offset,
                            "argument " ARGUMENT_FORMAT " at %u with %u bytes ends past 4 GiB",
                            ARGUMENT_ARGS(i, to), to->offset, to->size);
    uint32_t end = to->offset + to->size;
    *last_end = end > *last_end ? end : *last_end;
    if (!to->hidden) {
      layout->visible[layout->info.visible_count++] = i;
      continue;
    }
    layout->hidden_begin = to->offset < layout->hidden_begin ? to->offset : layout->hidden_begin;
    rawhal_status_t status =
        hidden_plan_field(to, i, &layout->hidden.fields[layout->info.hidden_count++], error);
    if (status != RAWHAL_OK)
      return status;
  }
  layout->hidden.field_count = layout->info.hidden_count;
  hidden_plan_runs(&layout->hidden);
  return RAWHAL_OK;
}

/* ---- Overlap ---- */

static int compare_offsets(const void *a, const void *b, void *context)
{
  const rawhal_kernarg_argument_t *arguments = context;
  uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
  if (arguments[i].offset != arguments[j].offset)
    return arguments[i].offset < arguments[j].offset ? -1 : 1;
  return i < j ? -1 : 1;
}

void layout_order(const rawhal_kernarg_layout_t *layout, uint32_t *order, uint32_t count)
{
  for (uint32_t i = 0; i < count; ++i)
    order[i] = i;
  qsort_r(order, count, sizeof(*order), compare_offsets, layout->arguments);
}

static rawhal_status_t fail_overlap(const rawhal_kernarg_layout_t *layout, uint32_t first,
                                    uint32_t second, rawhal_error_t *error)
{
  const rawhal_kernarg_argument_t *a = &layout->arguments[first], *b = &layout->arguments[second];
  return rawhal_fail_at(error, RAWHAL_MALFORMED, b->offset,
                        "argument " ARGUMENT_FORMAT " at %u..%u overlaps argument " ARGUMENT_FORMAT
                        " at %u..%u",
                        ARGUMENT_ARGS(second, b), b->offset, b->offset + b->size,
                        ARGUMENT_ARGS(first, a), a->offset, a->offset + a->size);
}

/* Walks the arguments in offset order; `order` NULL means they are. Arguments of no bytes occupy
 * nothing. When they turn out not to be in order, `*unsorted` is set and the walk ends. */
static rawhal_status_t walk_for_overlap(const rawhal_kernarg_layout_t *layout, uint32_t count,
                                        const uint32_t *order, bool *unsorted,
                                        rawhal_error_t *error)
{
  uint64_t end = 0;
  uint32_t previous = 0, previous_offset = 0;
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t i = order ? order[k] : k;
    const rawhal_kernarg_argument_t *argument = &layout->arguments[i];
    if (argument->offset < previous_offset) {
      *unsorted = true;
      return RAWHAL_OK;
    }
    previous_offset = argument->offset;
    if (argument->size == 0)
      continue;
    if (argument->offset < end)
      return fail_overlap(layout, previous, i, error);
    end = argument_end(argument);
    previous = i;
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_overlap(const rawhal_kernarg_layout_t *layout, uint32_t count,
                                     rawhal_error_t *error)
{
  bool unsorted = false;
  rawhal_status_t status = walk_for_overlap(layout, count, NULL, &unsorted, error);
  if (status != RAWHAL_OK || !unsorted)
    return status;
  uint32_t *order = allocate(&layout->allocator, (size_t)count * sizeof(*order));
  if (!order)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to sort %u arguments", count);
  layout_order(layout, order, count);
  status = walk_for_overlap(layout, count, order, &unsorted, error);
  allocate_free(&layout->allocator, order);
  return status;
}

/* ---- The segment's numbers ---- */

static rawhal_status_t declare(const rawhal_kernel_t *kernel, uint32_t stated_size,
                               uint32_t last_end, rawhal_kernarg_info_t *info,
                               rawhal_error_t *error)
{
  uint32_t described = kernel->descriptor ? kernel->descriptor->kernarg_size : 0;
  info->knowledge = kernel->has_arguments ? RAWHAL_KERNARG_ARGUMENTS : RAWHAL_KERNARG_SIZE;
  info->segment_size = kernel->kernarg_segment_size;
  if (info->segment_size == 0)
    info->segment_size = described ? described : last_end;

  if (info->segment_size == 0 && !kernel->has_arguments) {
    if (!kernel->has_metadata && stated_size == 0)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the kernarg size of '%.*s' is unknown: it has no metadata, and its "
                         "descriptor says 0; state the size",
                         RAWHAL_STRING_ARGS(kernel->name));
    info->segment_size = stated_size;
  } else if (stated_size && stated_size != info->segment_size) {
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a kernarg size of %u is stated, but '%.*s' itself says %u", stated_size,
                       RAWHAL_STRING_ARGS(kernel->name), info->segment_size);
  }
  info->effective_size = info->segment_size > described ? info->segment_size : described;
  if (info->effective_size < last_end)
    info->effective_size = last_end;

  info->alignment = kernel->kernarg_segment_align;
  if (info->alignment < LEAST_ALIGNMENT)
    info->alignment = LEAST_ALIGNMENT;
  if (!is_power_of_two(info->alignment))
    return rawhal_fail(error, RAWHAL_MALFORMED,
                       "kernarg segment alignment %u is not a power of two", info->alignment);
  return rawhal_kernarg_block_count(info->effective_size, UINT32_MAX, &info->block_count, error);
}

/* Arguments past the declared segment are optional; the others decide what a blob must have. */
static void set_blob_rule(rawhal_kernarg_layout_t *layout)
{
  rawhal_kernarg_info_t *info = &layout->info;
  for (uint32_t i = 0; i < info->visible_count + info->hidden_count; ++i) {
    rawhal_kernarg_argument_t *argument = &layout->arguments[i];
    uint64_t end = argument_end(argument);
    argument->optional = end > info->segment_size;
    if (!argument->hidden && !argument->optional && end > info->explicit_end)
      info->explicit_end = (uint32_t)end;
  }
  bool sized_only = info->knowledge == RAWHAL_KERNARG_SIZE;
  layout->blob_min = sized_only ? info->segment_size : info->explicit_end;
  layout->blob_rounding = sized_only ? 7 : 0;
  layout->blob_max = ((size_t)info->effective_size + 15) & ~(size_t)15;
  layout->image_size = (size_t)info->block_count * KERNARG_BLOCK_BYTES;
}

static rawhal_status_t compile(const rawhal_kernel_t *kernel, uint32_t stated_size,
                               rawhal_kernarg_layout_t *layout, rawhal_error_t *error)
{
  uint32_t last_end = 0;
  layout->hidden_begin = SIZE_MAX;
  rawhal_status_t status = copy_arguments(kernel, layout, &last_end, error);
  if (status == RAWHAL_OK)
    status = check_overlap(layout, kernel->argument_count, error);
  if (status == RAWHAL_OK)
    status = declare(kernel, stated_size, last_end, &layout->info, error);
  if (status != RAWHAL_OK)
    return status;
  set_blob_rule(layout);
  layout_sort_names(layout);
  layout_sign(layout);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_kernarg_layout_create(const rawhal_kernel_t *kernel, uint32_t stated_size,
                                             rawhal_kernarg_layout_t **layout,
                                             rawhal_error_t *error)
{
  if (!layout)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "layout is NULL");
  *layout = NULL;
  if (!kernel)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "kernel is NULL");

  uint32_t hidden = 0;
  for (uint32_t i = 0; i < kernel->argument_count; ++i)
    hidden += kernel->arguments[i].value_kind >= RAWHAL_VALUE_HIDDEN_FIRST;
  rawhal_kernarg_layout_t *made =
      layout_allocate(hsaco_allocator(kernel->object), kernel->argument_count, hidden);
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a layout of %u arguments",
                       kernel->argument_count);
  rawhal_status_t status = compile(kernel, stated_size, made, error);
  if (status != RAWHAL_OK) {
    rawhal_kernarg_layout_destroy(made);
    return status;
  }
  *layout = made;
  return RAWHAL_OK;
}

/* ---- Looking at it ---- */

const rawhal_kernarg_info_t *rawhal_kernarg_layout_info(const rawhal_kernarg_layout_t *layout)
{
  return &layout->info;
}

const rawhal_kernarg_argument_t *
rawhal_kernarg_layout_argument(const rawhal_kernarg_layout_t *layout, size_t index)
{
  size_t count = (size_t)layout->info.visible_count + layout->info.hidden_count;
  return index < count ? &layout->arguments[index] : NULL;
}
