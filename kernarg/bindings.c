/* Bindings and one dense stream of constants. */
#include "kernarg/layout.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

struct rawhal_bindings {
  allocator_t allocator; /* whose the layout is */
  rawhal_bindings_info_t info;
  uint32_t explicit_end;           /* of the native layout */
  rawhal_binding_slot_t *bindings; /* both in one array after the struct */
  rawhal_binding_slot_t *constants;
};

/* min(size, 8) rounded down to a power of two; 1 for constants of no bytes. */
static uint32_t constant_alignment(uint32_t size)
{
  return size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
}

static bool is_binding(const rawhal_kernarg_argument_t *argument)
{
  return argument->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER && argument->size == 8;
}

/* Counts, and refuses what is neither. */
static rawhal_status_t count_slots(const rawhal_kernarg_layout_t *native,
                                   rawhal_bindings_info_t *info, rawhal_error_t *error)
{
  if (native->info.knowledge != RAWHAL_KERNARG_ARGUMENTS)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the kernel's arguments are not known: it takes a prepacked blob");
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < native->info.visible_count; ++k) {
    uint32_t index = native->visible[k];
    const rawhal_kernarg_argument_t *argument = &native->arguments[index];
    if (is_binding(argument)) {
      ++info->binding_count;
    } else if (argument->value_kind == RAWHAL_VALUE_BY_VALUE) {
      ++info->constant_count;
      (void)checked_align_u64(bytes, constant_alignment(argument->size), &bytes);
      bytes += argument->size;
    } else {
      return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, argument->offset,
                            "argument " ARGUMENT_FORMAT
                            " with %u bytes is neither a binding nor a constant",
                            ARGUMENT_ARGS(index, argument), argument->size);
    }
  }
  if (bytes > UINT32_MAX)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "%llu bytes of constants, more than 4 GiB",
                       (unsigned long long)bytes);
  info->constant_bytes = (uint32_t)bytes;
  return RAWHAL_OK;
}

static void fill_slots(const rawhal_kernarg_layout_t *native, rawhal_bindings_t *layout)
{
  uint32_t bindings = 0, constants = 0, stream = 0;
  for (uint32_t k = 0; k < native->info.visible_count; ++k) {
    uint32_t index = native->visible[k];
    const rawhal_kernarg_argument_t *argument = &native->arguments[index];
    rawhal_binding_slot_t slot = {
        .argument = index, .native_offset = argument->offset, .size = argument->size};
    if (is_binding(argument)) {
      slot.source = bindings;
      layout->bindings[bindings++] = slot;
      continue;
    }
    uint32_t alignment = constant_alignment(argument->size);
    slot.source = (stream + alignment - 1) & ~(alignment - 1);
    stream = slot.source + argument->size;
    layout->constants[constants++] = slot;
  }
}

rawhal_status_t rawhal_bindings_create(const rawhal_kernarg_layout_t *native,
                                       rawhal_bindings_t **layout, rawhal_error_t *error)
{
  if (!layout)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "layout is NULL");
  *layout = NULL;
  if (!native)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "native layout is NULL");
  rawhal_bindings_info_t info = {0};
  rawhal_status_t status = count_slots(native, &info, error);
  if (status != RAWHAL_OK)
    return status;
  size_t slots = (size_t)info.binding_count + info.constant_count;
  rawhal_bindings_t *made =
      allocate(&native->allocator, sizeof(*made) + slots * sizeof(rawhal_binding_slot_t));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu bindings and constants",
                       slots);
  made->allocator = native->allocator;
  made->info = info;
  made->explicit_end = native->info.explicit_end;
  made->bindings = (rawhal_binding_slot_t *)(made + 1);
  made->constants = made->bindings + info.binding_count;
  fill_slots(native, made);
  *layout = made;
  return RAWHAL_OK;
}

void rawhal_bindings_destroy(rawhal_bindings_t *layout)
{
  if (layout)
    allocate_free(&layout->allocator, layout);
}

const rawhal_bindings_info_t *rawhal_bindings_info(const rawhal_bindings_t *layout)
{
  return &layout->info;
}

const rawhal_binding_slot_t *rawhal_bindings_binding(const rawhal_bindings_t *layout, size_t index)
{
  return index < layout->info.binding_count ? &layout->bindings[index] : NULL;
}

const rawhal_binding_slot_t *rawhal_bindings_constant(const rawhal_bindings_t *layout, size_t index)
{
  return index < layout->info.constant_count ? &layout->constants[index] : NULL;
}

/* Copies each slot's bytes from `source`, whose slots are `stride` bytes apart per source unit. */
static void scatter(const rawhal_binding_slot_t *slots, uint32_t count, const void *source,
                    size_t stride, unsigned char *blob, size_t length)
{
  for (uint32_t i = 0; i < count; ++i) {
    const rawhal_binding_slot_t *slot = &slots[i];
    if (slot->size && range_within(slot->native_offset, slot->size, length))
      memcpy(blob + slot->native_offset,
             (const unsigned char *)source + (size_t)slot->source * stride, slot->size);
  }
}

rawhal_status_t rawhal_bindings_pack(const rawhal_bindings_t *layout, const uint64_t *bindings,
                                     size_t binding_count, const void *constants,
                                     size_t constant_bytes, void *blob, size_t length,
                                     rawhal_error_t *error)
{
  if (!layout || !blob)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", layout ? "blob" : "layout");
  const rawhal_bindings_info_t *info = &layout->info;
  if (binding_count != info->binding_count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%zu bindings given, the kernel has %u",
                       binding_count, info->binding_count);
  if (constant_bytes != info->constant_bytes)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%zu bytes of constants given, the kernel has %u", constant_bytes,
                       info->constant_bytes);
  if ((!bindings && binding_count) || (!constants && constant_bytes))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       !bindings && binding_count ? "bindings" : "constants");
  if (length < layout->explicit_end)
    return rawhal_fail_at(error, RAWHAL_OUT_OF_RANGE, length,
                          "the blob has %zu bytes, the arguments end at %u", length,
                          layout->explicit_end);
  memset(blob, 0, length);
  scatter(layout->bindings, info->binding_count, bindings, sizeof(*bindings), blob, length);
  scatter(layout->constants, info->constant_count, constants, 1, blob, length);
  return RAWHAL_OK;
}
