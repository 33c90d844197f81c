/* The prepacked-blob rule and the block count, each in its one implementation. */
#include "kernarg/layout.h"

#include "base/error.h"

rawhal_status_t rawhal_kernarg_block_count(uint64_t bytes, uint32_t capacity, uint32_t *blocks,
                                           rawhal_error_t *error)
{
  if (!blocks)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "blocks is NULL");
  *blocks = 0;
  uint64_t count = bytes / KERNARG_BLOCK_BYTES + (bytes % KERNARG_BLOCK_BYTES != 0);
  if (count == 0)
    count = 1;
  if (count > UINT32_MAX || count > capacity)
    return rawhal_fail(
        error, RAWHAL_OUT_OF_RANGE, "%llu bytes of kernargs are %llu blocks of %d, more than %u",
        (unsigned long long)bytes, (unsigned long long)count, KERNARG_BLOCK_BYTES, capacity);
  *blocks = (uint32_t)count;
  return RAWHAL_OK;
}

/* Names the argument with the lowest offset that the blob cuts off. */
static rawhal_status_t fail_short(const rawhal_kernarg_layout_t *layout, size_t length,
                                  rawhal_error_t *error)
{
  const rawhal_kernarg_info_t *info = &layout->info;
  if (info->knowledge == RAWHAL_KERNARG_SIZE)
    return rawhal_fail_at(error, RAWHAL_OUT_OF_RANGE, length,
                          "blob ends at %zu, the kernarg segment has %u bytes (its arguments are "
                          "not known)",
                          length, info->segment_size);
  uint32_t first = UINT32_MAX;
  for (uint32_t k = 0; k < info->visible_count; ++k) {
    const rawhal_kernarg_argument_t *argument = &layout->arguments[layout->visible[k]];
    if (!argument->optional && argument_end(argument) > length &&
        (first == UINT32_MAX || argument->offset < layout->arguments[first].offset))
      first = layout->visible[k];
  }
  const rawhal_kernarg_argument_t *argument = &layout->arguments[first];
  return rawhal_fail_at(error, RAWHAL_OUT_OF_RANGE, length,
                        "blob ends at %zu, argument " ARGUMENT_FORMAT " occupies %u..%u", length,
                        ARGUMENT_ARGS(first, argument), argument->offset,
                        argument->offset + argument->size);
}

rawhal_status_t blob_check(const rawhal_kernarg_layout_t *layout, const void *blob, size_t length,
                           uint32_t flags, rawhal_error_t *error)
{
  if (flags & ~(uint32_t)(RAWHAL_KERNARG_CLAMP | RAWHAL_KERNARG_KEEP_HIDDEN))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown blob flags 0x%x", flags);
  if (!blob && length)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "blob is NULL but has %zu bytes", length);
  if (length > layout->blob_max && !(flags & RAWHAL_KERNARG_CLAMP))
    return rawhal_fail_at(error, RAWHAL_OUT_OF_RANGE, length,
                          "blob has %zu bytes, the kernarg segment %u (%zu rounded up to 16)",
                          length, layout->info.effective_size, layout->blob_max);
  /* A length near SIZE_MAX is long enough; adding the rounding to it would wrap. */
  size_t rounding = layout->blob_rounding;
  size_t padded = length > layout->blob_max ? length : (length + rounding) & ~rounding;
  return padded < layout->blob_min ? fail_short(layout, length, error) : RAWHAL_OK;
}

rawhal_status_t rawhal_kernarg_check(const rawhal_kernarg_layout_t *layout, const void *blob,
                                     size_t length, uint32_t flags, rawhal_error_t *error)
{
  if (!layout)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "layout is NULL");
  return blob_check(layout, blob, length, flags, error);
}
