/* Writing images: the visible part from a blob or from pointers, zeros, then hidden arguments. */
#include "kernarg/layout.h"

#include "base/error.h"

#include <string.h>

static rawhal_status_t check_image(const rawhal_kernarg_layout_t *layout, const void *image,
                                   size_t size, rawhal_error_t *error)
{
  if (!image)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "image is NULL");
  if (size < layout->image_size)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "the image needs %zu bytes (%u blocks of 64), there are %zu",
                       layout->image_size, layout->info.block_count, size);
  return RAWHAL_OK;
}

rawhal_status_t image_write_checked(const rawhal_kernarg_layout_t *layout, const void *blob,
                                    size_t length, uint32_t flags, const rawhal_launch_t *launch,
                                    void *image, rawhal_error_t *error)
{
  bool hidden = layout->hidden.field_count != 0;
  hidden_values_t values;
  rawhal_status_t status =
      hidden ? hidden_values_compute(&layout->hidden, launch, &values, error) : RAWHAL_OK;
  if (status != RAWHAL_OK)
    return status;
  size_t copied = length < layout->blob_max ? length : layout->blob_max;
  unsigned char *bytes = image;
  if (copied)
    memcpy(bytes, blob, copied);
  memset(bytes + copied, 0, layout->image_size - copied);
  if (hidden) {
    size_t kept = flags & RAWHAL_KERNARG_KEEP_HIDDEN ? copied : 0;
    hidden_write(&layout->hidden, &values, kept, copied <= layout->hidden_begin, bytes);
  }
  return RAWHAL_OK;
}

bool image_blob_bytes(const rawhal_kernarg_layout_t *layout, size_t length, uint32_t flags,
                      size_t *bytes)
{
  const size_t copied = length < layout->blob_max ? length : layout->blob_max;
  const size_t kept = flags & RAWHAL_KERNARG_KEEP_HIDDEN ? copied : 0;
  *bytes = copied;
  for (uint32_t i = 0; i < layout->hidden.field_count; ++i) {
    const hidden_copy_t *field = &layout->hidden.fields[i];
    if ((uint64_t)field->offset + field->size > kept && field->offset < *bytes)
      *bytes = field->offset;
  }
  bool all = true;
  for (uint32_t i = 0; i < layout->info.visible_count; ++i) {
    const rawhal_kernarg_argument_t *argument = &layout->arguments[layout->visible[i]];
    all &= argument_end(argument) <= *bytes || argument->offset >= copied || !argument->size;
  }
  return all || *bytes == copied;
}

rawhal_status_t rawhal_kernarg_write_blob(const rawhal_kernarg_layout_t *layout, const void *blob,
                                          size_t length, uint32_t flags,
                                          const rawhal_launch_t *launch, void *image, size_t size,
                                          rawhal_error_t *error)
{
  if (!layout)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "layout is NULL");
  rawhal_status_t status = blob_check(layout, blob, length, flags, error);
  if (status == RAWHAL_OK)
    status = check_image(layout, image, size, error);
  if (status != RAWHAL_OK)
    return status;
  return image_write_checked(layout, blob, length, flags, launch, image, error);
}

/* Nearly all arguments are pointers or words: copies of a known size need no call. */
static inline void copy_argument(unsigned char *to, const void *from, uint32_t size)
{
  switch (size) {
  case 4:
    memcpy(to, from, 4);
    break;
  case 8:
    memcpy(to, from, 8);
    break;
  default:
    memcpy(to, from, size);
  }
}

static rawhal_status_t check_pointers(const rawhal_kernarg_layout_t *layout,
                                      const void *const *arguments, size_t count,
                                      rawhal_error_t *error)
{
  const rawhal_kernarg_info_t *info = &layout->info;
  if (info->knowledge != RAWHAL_KERNARG_ARGUMENTS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the kernel's arguments are not known: it takes a prepacked blob");
  if (count != info->visible_count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%zu arguments given, the kernel has %u",
                       count, info->visible_count);
  if (!arguments && count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "arguments is NULL");
  for (size_t k = 0; k < count; ++k) {
    const rawhal_kernarg_argument_t *argument = &layout->arguments[layout->visible[k]];
    if (!arguments[k] && !argument->optional && argument->size)
      return rawhal_fail_at(error, RAWHAL_INVALID_ARGUMENT, argument->offset,
                            "argument " ARGUMENT_FORMAT " is NULL",
                            ARGUMENT_ARGS(layout->visible[k], argument));
  }
  return RAWHAL_OK;
}

rawhal_status_t image_check_blob(const rawhal_kernarg_layout_t *layout,
                                 const rawhal_launch_t *launch, rawhal_error_t *error)
{
  hidden_values_t values;
  return layout->hidden.field_count ? hidden_values_compute(&layout->hidden, launch, &values, error)
                                    : RAWHAL_OK;
}

/* The rules of pointer arrays, and the values of the hidden arguments. */
static rawhal_status_t prepare_pointers(const rawhal_kernarg_layout_t *layout,
                                        const void *const *arguments, size_t count,
                                        const rawhal_launch_t *launch, hidden_values_t *values,
                                        rawhal_error_t *error)
{
  rawhal_status_t status = check_pointers(layout, arguments, count, error);
  if (status == RAWHAL_OK && layout->hidden.field_count)
    status = hidden_values_compute(&layout->hidden, launch, values, error);
  return status;
}

rawhal_status_t image_check_pointers(const rawhal_kernarg_layout_t *layout,
                                     const void *const *arguments, size_t count,
                                     const rawhal_launch_t *launch, rawhal_error_t *error)
{
  hidden_values_t values;
  return prepare_pointers(layout, arguments, count, launch, &values, error);
}

rawhal_status_t rawhal_kernarg_write_pointers(const rawhal_kernarg_layout_t *layout,
                                              const void *const *arguments, size_t count,
                                              const rawhal_launch_t *launch, void *image,
                                              size_t size, rawhal_error_t *error)
{
  if (!layout)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "layout is NULL");
  hidden_values_t values;
  rawhal_status_t status = prepare_pointers(layout, arguments, count, launch, &values, error);
  if (status == RAWHAL_OK)
    status = check_image(layout, image, size, error);
  if (status != RAWHAL_OK)
    return status;

  unsigned char *bytes = image;
  memset(bytes, 0, layout->image_size);
  for (size_t k = 0; k < count; ++k) {
    const rawhal_kernarg_argument_t *argument = &layout->arguments[layout->visible[k]];
    if (arguments[k])
      copy_argument(bytes + argument->offset, arguments[k], argument->size);
  }
  if (layout->hidden.field_count)
    hidden_write(&layout->hidden, &values, 0, true, bytes);
  return RAWHAL_OK;
}
