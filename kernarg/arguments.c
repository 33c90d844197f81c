/* Single arguments: into a blob, out of an image, and as text. */
#include "kernarg/layout.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/print.h"

#include <string.h>

static rawhal_status_t argument_at(const rawhal_kernarg_layout_t *layout, size_t index,
                                   const rawhal_kernarg_argument_t **argument,
                                   rawhal_error_t *error)
{
  if (!layout)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "layout is NULL");
  *argument = rawhal_kernarg_layout_argument(layout, index);
  if (!*argument)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "argument %zu of a kernel that has %u", index,
                       layout->info.visible_count + layout->info.hidden_count);
  return RAWHAL_OK;
}

/* ---- Into a blob ---- */

rawhal_status_t argument_check(const rawhal_kernarg_layout_t *layout, size_t index, size_t size,
                               const rawhal_kernarg_argument_t **found, rawhal_error_t *error)
{
  rawhal_status_t status = argument_at(layout, index, found, error);
  if (status != RAWHAL_OK)
    return status;
  if ((*found)->hidden)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "argument " ARGUMENT_FORMAT " is hidden: the launch writes it",
                       ARGUMENT_ARGS(index, *found));
  if (size != (*found)->size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "argument " ARGUMENT_FORMAT " has %u bytes, %zu given",
                       ARGUMENT_ARGS(index, *found), (*found)->size, size);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_kernarg_set(const rawhal_kernarg_layout_t *layout, size_t index,
                                   const void *value, size_t size, void *blob, size_t length,
                                   rawhal_error_t *error)
{
  const rawhal_kernarg_argument_t *argument = NULL;
  rawhal_status_t status = argument_check(layout, index, size, &argument, error);
  if (status != RAWHAL_OK)
    return status;
  if ((!value && size) || !blob)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", blob ? "value" : "blob");
  status = blob_check(layout, blob, length, RAWHAL_KERNARG_CLAMP, error);
  if (status != RAWHAL_OK)
    return status;
  if (argument_end(argument) > length)
    return rawhal_fail_at(error, RAWHAL_OUT_OF_RANGE, length,
                          "blob ends at %zu, argument " ARGUMENT_FORMAT " occupies %u..%u", length,
                          ARGUMENT_ARGS(index, argument), argument->offset,
                          argument->offset + argument->size);
  if (size)
    memcpy((unsigned char *)blob + argument->offset, value, size);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_kernarg_set_named(const rawhal_kernarg_layout_t *layout,
                                         rawhal_string_t name, const void *value, size_t size,
                                         void *blob, size_t length, rawhal_error_t *error)
{
  size_t index;
  rawhal_status_t status = rawhal_kernarg_layout_find(layout, name, &index, error);
  if (status != RAWHAL_OK)
    return status;
  return rawhal_kernarg_set(layout, index, value, size, blob, length, error);
}

/* ---- Out of an image ---- */

rawhal_status_t rawhal_kernarg_get(const rawhal_kernarg_layout_t *layout, size_t index,
                                   const void *image, size_t length, rawhal_bytes_t *value,
                                   rawhal_error_t *error)
{
  if (!value)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "value is NULL");
  *value = (rawhal_bytes_t){NULL, 0};
  const rawhal_kernarg_argument_t *argument = NULL;
  rawhal_status_t status = argument_at(layout, index, &argument, error);
  if (status != RAWHAL_OK)
    return status;
  if (!image)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "image is NULL");
  if (!range_within(argument->offset, argument->size, length))
    return rawhal_fail_at(error, RAWHAL_OUT_OF_RANGE, length,
                          "image ends at %zu, argument " ARGUMENT_FORMAT " occupies %u..%u", length,
                          ARGUMENT_ARGS(index, argument), argument->offset,
                          argument->offset + argument->size);
  *value = (rawhal_bytes_t){(const unsigned char *)image + argument->offset, argument->size};
  return RAWHAL_OK;
}

rawhal_status_t rawhal_kernarg_get_named(const rawhal_kernarg_layout_t *layout,
                                         rawhal_string_t name, const void *image, size_t length,
                                         rawhal_bytes_t *value, rawhal_error_t *error)
{
  if (!value)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "value is NULL");
  *value = (rawhal_bytes_t){NULL, 0};
  size_t index;
  rawhal_status_t status = rawhal_kernarg_layout_find(layout, name, &index, error);
  if (status != RAWHAL_OK)
    return status;
  return rawhal_kernarg_get(layout, index, image, length, value, error);
}

/* ---- As text ---- */

static void put_printable(print_t *to, rawhal_string_t string)
{
  for (size_t i = 0; i < string.size; ++i) {
    unsigned char c = (unsigned char)string.data[i];
    print(to, "%c", c < 0x20 || c == 0x7f ? '?' : c);
  }
}

static void put_value(print_t *to, const rawhal_kernarg_argument_t *argument,
                      const unsigned char *bytes)
{
  enum { SHOWN = 32 };
  uint32_t size = argument->size;
  uint64_t number = 0;
  if (size == 1 || size == 2 || size == 4 || size == 8) {
    for (uint32_t i = 0; i < size; ++i)
      number |= (uint64_t)bytes[i] << (8 * i);
    if (argument->value_kind == RAWHAL_VALUE_BY_VALUE || argument->hidden)
      print(to, "%llu (0x%llx)", (unsigned long long)number, (unsigned long long)number);
    else
      print(to, "0x%llx", (unsigned long long)number);
    return;
  }
  for (uint32_t i = 0; i < size && i < SHOWN; ++i)
    print(to, "%s%02x", i ? " " : "", bytes[i]);
  if (size > SHOWN)
    print(to, " ...");
}

size_t rawhal_kernarg_format(const rawhal_kernarg_layout_t *layout, size_t index, const void *image,
                             size_t length, char *text, size_t size)
{
  print_t out = print_into(text, size);
  const rawhal_kernarg_argument_t *argument =
      layout ? rawhal_kernarg_layout_argument(layout, index) : NULL;
  if (!argument)
    return 0;
  print(&out, "%zu ", index);
  if (argument->name.size) {
    print(&out, "'");
    put_printable(&out, argument->name);
    print(&out, "' ");
  }
  print(&out, "(");
  put_printable(&out, argument->value_kind_text);
  print(&out, ") %u..%u = ", argument->offset, argument->offset + argument->size);
  if (image && range_within(argument->offset, argument->size, length))
    put_value(&out, argument, (const unsigned char *)image + argument->offset);
  else
    print(&out, "missing");
  return out.length;
}
