/* The one writer of hidden arguments. Facts: AMDGPUUsage, "Kernel Argument Metadata" (value kinds,
 * code object V3 to V6); which value each gets is what HIP's runtime writes. */
#include "kernarg/hidden.h"

#include "base/error.h"

#include <string.h>

typedef struct hidden_kind {
  uint16_t source;  /* in hidden_values_t */
  uint16_t natural; /* bytes of the value; 0: the kind is zero-filled */
  bool pointer;     /* must not be cut */
} hidden_kind_t;

#define VALUE(member, bytes)                                                                       \
  {                                                                                                \
    .source = (uint16_t)offsetof(hidden_values_t, member), .natural = (bytes)                      \
  }
#define POINTER(member)                                                                            \
  {                                                                                                \
    .source = (uint16_t)offsetof(hidden_values_t, member), .natural = 8, .pointer = true           \
  }

/* Kinds that are not listed (hidden_none, kinds of the future) are zero-filled. */
static const hidden_kind_t hidden_kinds[UINT8_MAX + 1] = {
    [RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X] = VALUE(global_offset[0], 8),
    [RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Y] = VALUE(global_offset[1], 8),
    [RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Z] = VALUE(global_offset[2], 8),
    [RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X] = VALUE(block_count[0], 4),
    [RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Y] = VALUE(block_count[1], 4),
    [RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Z] = VALUE(block_count[2], 4),
    [RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X] = VALUE(group_size[0], 2),
    [RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Y] = VALUE(group_size[1], 2),
    [RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Z] = VALUE(group_size[2], 2),
    [RAWHAL_VALUE_HIDDEN_REMAINDER_X] = VALUE(remainder[0], 2),
    [RAWHAL_VALUE_HIDDEN_REMAINDER_Y] = VALUE(remainder[1], 2),
    [RAWHAL_VALUE_HIDDEN_REMAINDER_Z] = VALUE(remainder[2], 2),
    [RAWHAL_VALUE_HIDDEN_GRID_DIMS] = VALUE(grid_dims, 2),
    [RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER] = POINTER(printf_buffer),
    [RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER] = POINTER(hostcall_buffer),
    [RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG] = POINTER(multigrid_sync),
    [RAWHAL_VALUE_HIDDEN_HEAP_V1] = POINTER(heap),
    [RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE] = POINTER(default_queue),
    [RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION] = POINTER(completion_action),
    [RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE] = VALUE(dynamic_lds, 4),
    [RAWHAL_VALUE_HIDDEN_PRIVATE_BASE] = VALUE(private_base, 4),
    [RAWHAL_VALUE_HIDDEN_SHARED_BASE] = VALUE(shared_base, 4),
    [RAWHAL_VALUE_HIDDEN_QUEUE_PTR] = POINTER(queue_ptr),
};

rawhal_status_t hidden_plan_field(const rawhal_kernarg_argument_t *argument, size_t index,
                                  hidden_copy_t *field, rawhal_error_t *error)
{
  hidden_kind_t kind = hidden_kinds[argument->value_kind];
  if (kind.pointer && argument->size < kind.natural)
    return rawhal_fail(error, RAWHAL_MALFORMED,
                       "hidden argument %zu (%.*s) is a pointer declared with %u bytes", index,
                       RAWHAL_STRING_ARGS(argument->value_kind_text), argument->size);
  *field = (hidden_copy_t){
      .offset = argument->offset,
      .size = argument->size,
      .copied = argument->size < kind.natural ? argument->size : kind.natural,
      .source = kind.source,
      .natural = kind.natural,
  };
  return RAWHAL_OK;
}

/* Does `next` continue `run` both in the values and in the segment? */
static bool continues(const hidden_copy_t *run, const hidden_copy_t *next)
{
  if (next->offset != (uint64_t)run->offset + run->size)
    return false;
  if (run->copied == 0 && next->copied == 0)
    return true;
  return run->copied == run->size && next->copied == next->size &&
         next->source == run->source + run->copied;
}

/* Appends the fields that have values, or those that have none, to the runs. */
static void append_runs(hidden_plan_t *plan, bool with_values)
{
  hidden_copy_t *run = NULL;
  for (uint32_t i = 0; i < plan->field_count; ++i) {
    const hidden_copy_t *field = &plan->fields[i];
    if (field->size == 0 || (field->copied != 0) != with_values)
      continue;
    if (run && continues(run, field)) {
      run->size += field->size;
      run->copied += field->copied;
    } else {
      run = &plan->runs[plan->run_count++];
      *run = *field;
    }
  }
}

void hidden_plan_runs(hidden_plan_t *plan)
{
  for (uint32_t i = 0; i < plan->field_count; ++i)
    plan->narrow |= plan->fields[i].copied < plan->fields[i].natural;
  append_runs(plan, true);
  plan->value_run_count = plan->run_count;
  append_runs(plan, false);
}

/* A value cut to its field must not lose bits: a kernel would read a wrong number. Little-endian on
 * both sides, so the bytes past the field are the high ones. */
static rawhal_status_t check_narrow(const hidden_plan_t *plan, const hidden_values_t *values,
                                    rawhal_error_t *error)
{
  const unsigned char *bytes = (const unsigned char *)values;
  for (uint32_t i = 0; i < plan->field_count; ++i) {
    const hidden_copy_t *field = &plan->fields[i];
    for (uint32_t k = field->copied; k < field->natural; ++k)
      if (bytes[field->source + k])
        return rawhal_fail_at(error, RAWHAL_OUT_OF_RANGE, field->offset,
                              "hidden argument at %u has %u bytes, too few for this launch's value",
                              field->offset, field->size);
  }
  return RAWHAL_OK;
}

rawhal_status_t hidden_values_compute(const hidden_plan_t *plan, const rawhal_launch_t *launch,
                                      hidden_values_t *values, rawhal_error_t *error)
{
  if (!launch)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the kernel has hidden arguments, so a launch is needed");
  rawhal_status_t status = launch_known(launch, error);
  if (status != RAWHAL_OK)
    return status;
  for (int d = 0; d < 3; ++d) {
    uint32_t grid = launch->work_items[d], group = launch->workgroup[d];
    if (group == 0)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "work-group size %c is 0", 'x' + d);
    values->block_count[d] = grid / group;
    values->group_size[d] = (uint16_t)group;
    values->remainder[d] = (uint16_t)(grid % group);
    values->global_offset[d] = launch->global_offset[d];
  }
  values->grid_dims = launch->dimensions ? launch->dimensions : 3;
  values->printf_buffer = launch->printf_buffer;
  values->hostcall_buffer = launch->hostcall_buffer;
  values->multigrid_sync = launch->multigrid_sync;
  values->heap = launch->heap;
  values->default_queue = launch->default_queue;
  values->completion_action = launch->completion_action;
  values->dynamic_lds = launch->dynamic_lds;
  values->private_base = launch->private_base_hi;
  values->shared_base = launch->shared_base_hi;
  values->queue_ptr = launch->queue_ptr;
  return plan->narrow ? check_narrow(plan, values, error) : RAWHAL_OK;
}

void hidden_write(const hidden_plan_t *plan, const hidden_values_t *values, size_t kept, bool clean,
                  unsigned char *image)
{
  /* Runs span several arguments; only whole arguments may be kept. */
  const hidden_copy_t *copies = kept ? plan->fields : plan->runs;
  uint32_t count = kept ? plan->field_count : clean ? plan->value_run_count : plan->run_count;
  for (uint32_t i = 0; i < count; ++i) {
    const hidden_copy_t *copy = &copies[i];
    if ((uint64_t)copy->offset + copy->size <= kept)
      continue;
    memcpy(image + copy->offset, (const unsigned char *)values + copy->source, copy->copied);
    memset(image + copy->offset + copy->copied, 0, copy->size - copy->copied);
  }
}
