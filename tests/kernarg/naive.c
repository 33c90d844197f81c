#include "naive.h"

static uint64_t end_of(const rawhal_argument_t *argument)
{
  return (uint64_t)argument->offset + argument->size;
}

static bool overlap(const rawhal_argument_t *a, const rawhal_argument_t *b)
{
  return a->size && b->size && a->offset < end_of(b) && b->offset < end_of(a);
}

static bool is_pointer(int kind)
{
  switch (kind) {
  case RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER:
  case RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER:
  case RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG:
  case RAWHAL_VALUE_HIDDEN_HEAP_V1:
  case RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE:
  case RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION:
  case RAWHAL_VALUE_HIDDEN_QUEUE_PTR:
    return true;
  default:
    return false;
  }
}

static uint64_t hidden_value(int kind, const rawhal_launch_t *launch)
{
  const uint32_t *grid = launch->work_items;
  const uint16_t *group = launch->workgroup;
  switch (kind) {
  case RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X:
  case RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Y:
  case RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Z:
    return launch->global_offset[kind - RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X];
  case RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X:
  case RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Y:
  case RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Z: {
    int d = kind - RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X;
    return grid[d] / group[d];
  }
  case RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X:
  case RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Y:
  case RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Z:
    return group[kind - RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X];
  case RAWHAL_VALUE_HIDDEN_REMAINDER_X:
  case RAWHAL_VALUE_HIDDEN_REMAINDER_Y:
  case RAWHAL_VALUE_HIDDEN_REMAINDER_Z: {
    int d = kind - RAWHAL_VALUE_HIDDEN_REMAINDER_X;
    return grid[d] - (uint64_t)(grid[d] / group[d]) * group[d];
  }
  case RAWHAL_VALUE_HIDDEN_GRID_DIMS:
    return launch->dimensions == 0 ? 3 : launch->dimensions;
  case RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER:
    return launch->printf_buffer;
  case RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER:
    return launch->hostcall_buffer;
  case RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG:
    return launch->multigrid_sync;
  case RAWHAL_VALUE_HIDDEN_HEAP_V1:
    return launch->heap;
  case RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE:
    return launch->default_queue;
  case RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION:
    return launch->completion_action;
  case RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE:
    return launch->dynamic_lds;
  case RAWHAL_VALUE_HIDDEN_PRIVATE_BASE:
    return launch->private_base_hi;
  case RAWHAL_VALUE_HIDDEN_SHARED_BASE:
    return launch->shared_base_hi;
  case RAWHAL_VALUE_HIDDEN_QUEUE_PTR:
    return launch->queue_ptr;
  default:
    return 0;
  }
}

static uint64_t round_up(uint64_t value, uint64_t step)
{
  while (value % step)
    ++value;
  return value;
}

naive_layout_t naive_compile(const rawhal_kernel_t *kernel, uint32_t stated_size)
{
  naive_layout_t layout = {.status = RAWHAL_OK, .arguments_known = kernel->has_arguments};
  uint64_t last_end = 0, described = kernel->descriptor ? kernel->descriptor->kernarg_size : 0;
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const rawhal_argument_t *a = &kernel->arguments[i];
    bool malformed = end_of(a) > UINT32_MAX || (is_pointer(a->value_kind) && a->size < 8);
    for (uint32_t k = 0; k < i; ++k)
      malformed |= overlap(a, &kernel->arguments[k]);
    if (malformed) {
      layout.status = RAWHAL_MALFORMED;
      return layout;
    }
    if (end_of(a) > last_end)
      last_end = end_of(a);
  }

  bool told = kernel->has_metadata || kernel->has_arguments || described || last_end;
  uint64_t told_size = kernel->kernarg_segment_size ? kernel->kernarg_segment_size
                       : described                  ? described
                                                    : last_end;
  if (!told && !told_size && !stated_size)
    layout.status = RAWHAL_INVALID_ARGUMENT;
  if (stated_size && (told_size || kernel->has_arguments) && stated_size != told_size)
    layout.status = RAWHAL_INVALID_ARGUMENT;
  if (layout.status != RAWHAL_OK)
    return layout;
  layout.segment_size = told_size ? told_size : stated_size;

  layout.alignment = kernel->kernarg_segment_align < 16 ? 16 : kernel->kernarg_segment_align;
  uint64_t power = 16;
  while (power < layout.alignment)
    power *= 2;
  if (power != layout.alignment) {
    layout.status = RAWHAL_MALFORMED;
    return layout;
  }

  layout.effective_size = layout.segment_size;
  if (layout.effective_size < described)
    layout.effective_size = described;
  if (layout.effective_size < last_end)
    layout.effective_size = last_end;
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const rawhal_argument_t *a = &kernel->arguments[i];
    if (a->value_kind < RAWHAL_VALUE_HIDDEN_FIRST && end_of(a) <= layout.segment_size &&
        end_of(a) > layout.explicit_end)
      layout.explicit_end = end_of(a);
  }
  layout.image_size = layout.effective_size ? round_up(layout.effective_size, 64) : 64;
  return layout;
}

rawhal_status_t naive_check(const naive_layout_t *layout, size_t length, uint32_t flags)
{
  if (!(flags & RAWHAL_KERNARG_CLAMP) && length > round_up(layout->effective_size, 16))
    return RAWHAL_OUT_OF_RANGE;
  bool enough = layout->arguments_known ? length >= layout->explicit_end
                                        : round_up(length, 8) >= layout->segment_size;
  return enough ? RAWHAL_OK : RAWHAL_OUT_OF_RANGE;
}

rawhal_status_t naive_launch(const rawhal_kernel_t *kernel, const rawhal_launch_t *launch)
{
  bool any = false, lost = false;
  for (uint32_t i = 0; i < kernel->argument_count; ++i)
    any |= kernel->arguments[i].value_kind >= RAWHAL_VALUE_HIDDEN_FIRST;
  if (!any)
    return RAWHAL_OK;
  if (!launch->workgroup[0] || !launch->workgroup[1] || !launch->workgroup[2])
    return RAWHAL_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const rawhal_argument_t *a = &kernel->arguments[i];
    if (a->value_kind >= RAWHAL_VALUE_HIDDEN_FIRST && a->size < 8)
      lost |= hidden_value(a->value_kind, launch) >> (8 * a->size) != 0;
  }
  return lost ? RAWHAL_OUT_OF_RANGE : RAWHAL_OK;
}

uint8_t naive_image_byte(const rawhal_kernel_t *kernel, const naive_layout_t *layout,
                         const uint8_t *blob, size_t length, uint32_t flags,
                         const rawhal_launch_t *launch, uint64_t position)
{
  uint64_t room = round_up(layout->effective_size, 16);
  uint64_t used = length < room ? length : room;
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const rawhal_argument_t *a = &kernel->arguments[i];
    if (a->value_kind < RAWHAL_VALUE_HIDDEN_FIRST || position < a->offset || position >= end_of(a))
      continue;
    if ((flags & RAWHAL_KERNARG_KEEP_HIDDEN) && end_of(a) <= used)
      return blob[position];
    uint64_t byte = position - a->offset;
    return byte < 8 ? (uint8_t)(hidden_value(a->value_kind, launch) >> (8 * byte)) : 0;
  }
  return position < used ? blob[position] : 0;
}
