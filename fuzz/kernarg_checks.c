#include "fuzz/kernarg_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 0xfd };

#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                              \
      __builtin_trap();                                                                            \
    }                                                                                              \
  } while (0)

/* Exactly `size` bytes: a sanitizer sees the first one beyond. */
static uint8_t *exactly(size_t size, int fill)
{
  uint8_t *bytes = malloc(size);
  REQUIRE(bytes); /* of no bytes, too: NULL would mean no blob */
  memset(bytes, fill, size);
  return bytes;
}

static void check_info(const scene_t *scene, const rawhal_kernarg_layout_t *layout)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  const naive_layout_t *naive = &scene->naive;
  REQUIRE((info->knowledge == RAWHAL_KERNARG_ARGUMENTS) == naive->arguments_known);
  REQUIRE(info->segment_size == naive->segment_size);
  REQUIRE(info->effective_size == naive->effective_size);
  REQUIRE(info->explicit_end == naive->explicit_end);
  REQUIRE(info->alignment == naive->alignment);
  REQUIRE(info->block_count * UINT64_C(64) == naive->image_size);
  REQUIRE(info->visible_count + info->hidden_count == scene->kernel.argument_count);

  rawhal_kernarg_layout_t *again;
  REQUIRE(!rawhal_kernarg_layout_create(&scene->kernel, scene->stated_size, &again, NULL));
  REQUIRE(info->signature == rawhal_kernarg_layout_info(again)->signature);
  REQUIRE(info->blob_signature == rawhal_kernarg_layout_info(again)->blob_signature);
  rawhal_kernarg_layout_destroy(again);
}

/* A name leads to the one visible argument that has it. */
static void check_names(const scene_t *scene, const rawhal_kernarg_layout_t *layout)
{
  const rawhal_kernel_t *kernel = &scene->kernel;
  for (uint32_t k = 0; k < kernel->argument_count; ++k) {
    const rawhal_string_t name = kernel->arguments[k].name;
    size_t found, expected = 0, count = 0;
    for (uint32_t i = 0; i < kernel->argument_count; ++i) {
      const rawhal_argument_t *argument = &kernel->arguments[i];
      if (rawhal_argument_is_hidden(argument) || !name.size || argument->name.size != name.size ||
          memcmp(argument->name.data, name.data, name.size) != 0)
        continue;
      expected = i;
      ++count;
    }
    rawhal_status_t status = rawhal_kernarg_layout_find(layout, name, &found, NULL);
    REQUIRE(status == (count == 0   ? RAWHAL_NOT_FOUND
                       : count == 1 ? RAWHAL_OK
                                    : RAWHAL_INVALID_ARGUMENT));
    REQUIRE(status != RAWHAL_OK || found == expected);
  }
  size_t found;
  REQUIRE(rawhal_kernarg_layout_find(layout, (rawhal_string_t){"\xff no such", 9}, &found, NULL) ==
          RAWHAL_NOT_FOUND);
}

/* Arguments read back are the image's bytes; their text fits whatever room it is given. */
static void check_arguments(const scene_t *scene, const rawhal_kernarg_layout_t *layout,
                            const uint8_t *image, size_t length)
{
  for (uint32_t i = 0; i < scene->kernel.argument_count; ++i) {
    const rawhal_argument_t *argument = &scene->kernel.arguments[i];
    uint64_t end = (uint64_t)argument->offset + argument->size;
    rawhal_bytes_t value;
    rawhal_status_t status = rawhal_kernarg_get(layout, i, image, length, &value, NULL);
    REQUIRE(status == (end <= length ? RAWHAL_OK : RAWHAL_OUT_OF_RANGE));
    REQUIRE(status != RAWHAL_OK ||
            (value.data == image + argument->offset && value.size == argument->size));
    size_t size = rawhal_kernarg_format(layout, i, image, length, NULL, 0);
    char *whole = (char *)exactly(size + 1, 0);
    REQUIRE(rawhal_kernarg_format(layout, i, image, length, whole, size + 1) == size);
    REQUIRE(strlen(whole) == size);
    char *cut = (char *)exactly(size / 2, 0);
    REQUIRE(rawhal_kernarg_format(layout, i, image, length, cut, size / 2) == size);
    REQUIRE(size / 2 == 0 || !strncmp(whole, cut, size / 2 - 1));
    free(cut);
    free(whole);
  }
}

static void check_blob(const scene_t *scene, const rawhal_kernarg_layout_t *layout,
                       const uint8_t *blob, size_t length, uint32_t flags)
{
  const naive_layout_t *naive = &scene->naive;
  rawhal_error_t error = {.status = RAWHAL_OK};
  rawhal_status_t expected = naive_check(naive, length, flags);
  rawhal_status_t status = rawhal_kernarg_check(layout, blob, length, flags, &error);
  REQUIRE(status == expected);
  REQUIRE((status == RAWHAL_OK) == !error.message[0]);
  REQUIRE(!length ||
          rawhal_kernarg_check(layout, NULL, length, flags, NULL) == RAWHAL_INVALID_ARGUMENT);
  if (naive->image_size > CHECKS_MOST_IMAGE)
    return;
  if (expected == RAWHAL_OK)
    expected = naive_launch(&scene->kernel, &scene->launch);
  uint8_t *image = exactly(naive->image_size, UNTOUCHED);
  REQUIRE(rawhal_kernarg_write_blob(layout, blob, length, flags, &scene->launch, image,
                                    naive->image_size, NULL) == expected);
  for (uint64_t i = 0; i < naive->image_size; ++i)
    REQUIRE(image[i] == (expected != RAWHAL_OK
                             ? UNTOUCHED
                             : naive_image_byte(&scene->kernel, naive, blob, length, flags,
                                                &scene->launch, i)));
  check_arguments(scene, layout, image, naive->image_size);
  free(image);
}

/* Pointers, single arguments and a blob of the same values make one image. */
static void check_pointers(const scene_t *scene, const rawhal_kernarg_layout_t *layout)
{
  const uint8_t *values = scene->values;
  const naive_layout_t *naive = &scene->naive;
  const void *pointers[CHECKS_MOST_ARGUMENTS];
  size_t count = 0;
  if (!naive->arguments_known || naive->image_size > CHECKS_MOST_IMAGE)
    return;
  uint8_t *blob = exactly(naive->effective_size, 0);
  for (uint32_t i = 0; i < scene->kernel.argument_count; ++i) {
    const rawhal_argument_t *argument = &scene->kernel.arguments[i];
    rawhal_status_t status =
        rawhal_kernarg_set(layout, i, values, argument->size, blob, naive->effective_size, NULL);
    bool hidden = rawhal_argument_is_hidden(argument);
    REQUIRE(status == (hidden ? RAWHAL_INVALID_ARGUMENT : RAWHAL_OK));
    if (!hidden)
      pointers[count++] = values;
  }
  rawhal_status_t expected = naive_launch(&scene->kernel, &scene->launch);
  uint8_t *one = exactly(naive->image_size, UNTOUCHED);
  uint8_t *other = exactly(naive->image_size, UNTOUCHED);
  REQUIRE(rawhal_kernarg_write_pointers(layout, pointers, count, &scene->launch, one,
                                        naive->image_size, NULL) == expected);
  REQUIRE(rawhal_kernarg_write_blob(layout, blob, naive->effective_size, 0, &scene->launch, other,
                                    naive->image_size, NULL) == expected);
  REQUIRE(!memcmp(one, other, naive->image_size));
  REQUIRE(rawhal_kernarg_write_pointers(layout, pointers, count + 1, &scene->launch, one,
                                        naive->image_size, NULL) == RAWHAL_INVALID_ARGUMENT);
  free(blob);
  free(one);
  free(other);
}

/* ---- Bindings ---- */

/* Is this argument a binding, a constant, or what makes the kernel one without bindings? */
static bool is_binding(const rawhal_argument_t *argument)
{
  return argument->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER && argument->size == 8;
}

static bool fits_hal(const scene_t *scene)
{
  bool fits = scene->naive.arguments_known;
  for (uint32_t i = 0; i < scene->kernel.argument_count; ++i) {
    const rawhal_argument_t *argument = &scene->kernel.arguments[i];
    fits &= rawhal_argument_is_hidden(argument) || is_binding(argument) ||
            argument->value_kind == RAWHAL_VALUE_BY_VALUE;
  }
  return fits;
}

/* The argument that slot number `index` of a kind is for. */
static const rawhal_argument_t *nth(const scene_t *scene, bool binding, size_t index, uint32_t *at)
{
  for (*at = 0; *at < scene->kernel.argument_count; ++*at) {
    const rawhal_argument_t *argument = &scene->kernel.arguments[*at];
    if (!rawhal_argument_is_hidden(argument) && is_binding(argument) == binding && !index--)
      return argument;
  }
  return NULL;
}

/* All bytes of a packed blob: the bindings, the constants, and zeros between them. */
static void check_packed(const scene_t *scene, const rawhal_bindings_t *hal,
                         const uint64_t *bindings, const uint8_t *blob, size_t length)
{
  uint8_t *expected = exactly(length, 0);
  const rawhal_bindings_info_t *info = rawhal_bindings_info(hal);
  for (size_t kind = 0; kind < 2; ++kind)
    for (size_t i = 0; i < (kind ? info->constant_count : info->binding_count); ++i) {
      const rawhal_binding_slot_t *slot =
          kind ? rawhal_bindings_constant(hal, i) : rawhal_bindings_binding(hal, i);
      uint32_t at;
      const rawhal_argument_t *argument = nth(scene, !kind, i, &at);
      REQUIRE(slot && argument && slot->argument == at && slot->size == argument->size);
      REQUIRE(slot->native_offset == argument->offset);
      const uint8_t *from =
          kind ? scene->values + slot->source : (const uint8_t *)&bindings[slot->source];
      if ((uint64_t)argument->offset + argument->size <= length && argument->size)
        memcpy(expected + argument->offset, from, argument->size);
    }
  REQUIRE(!memcmp(expected, blob, length));
  free(expected);
}

static void check_hal(const scene_t *scene, const rawhal_kernarg_layout_t *layout)
{
  rawhal_bindings_t *hal;
  rawhal_error_t error = {.status = RAWHAL_OK};
  rawhal_status_t status = rawhal_bindings_create(layout, &hal, &error);
  REQUIRE(fits_hal(scene) ? status == RAWHAL_OK || status == RAWHAL_CAP_EXCEEDED
                          : status == RAWHAL_UNSUPPORTED);
  REQUIRE((status == RAWHAL_OK) == !!hal && status == error.status);
  if (status != RAWHAL_OK)
    return;
  const rawhal_bindings_info_t *info = rawhal_bindings_info(hal);
  uint64_t bindings[CHECKS_MOST_ARGUMENTS];
  for (size_t i = 0; i < CHECKS_MOST_ARGUMENTS; ++i)
    bindings[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  REQUIRE(!rawhal_bindings_binding(hal, info->binding_count));
  REQUIRE(!rawhal_bindings_constant(hal, info->constant_count));
  uint64_t end = scene->naive.explicit_end;
  for (uint64_t length = end;
       length <= end + 20 && info->constant_bytes <= sizeof(scene->values) && length <= CHECKS_ROOM;
       length += 10) {
    uint8_t *blob = exactly(length, UNTOUCHED);
    REQUIRE(!rawhal_bindings_pack(hal, bindings, info->binding_count, scene->values,
                                  info->constant_bytes, blob, length, NULL));
    check_packed(scene, hal, bindings, blob, length);
    REQUIRE(rawhal_bindings_pack(hal, bindings, info->binding_count + 1, scene->values,
                                 info->constant_bytes, blob, length,
                                 NULL) == RAWHAL_INVALID_ARGUMENT);
    REQUIRE(rawhal_bindings_pack(hal, bindings, info->binding_count, scene->values,
                                 info->constant_bytes + 1, blob, length,
                                 NULL) == RAWHAL_INVALID_ARGUMENT);
    if (length == end && end)
      REQUIRE(rawhal_bindings_pack(hal, bindings, info->binding_count, scene->values,
                                   info->constant_bytes, blob, end - 1,
                                   NULL) == RAWHAL_OUT_OF_RANGE);
    free(blob);
  }
  rawhal_bindings_destroy(hal);
}

/* ---- Geometry ---- */

/* The rules of rawhal_launch_check(), each by itself. The first that is broken decides. */
static rawhal_status_t naive_geometry(const rawhal_kernel_t *kernel, const rawhal_launch_t *launch)
{
  unsigned used = launch->dimensions ? launch->dimensions : 3;
  uint64_t flat = 1;
  if (used > 3)
    return RAWHAL_INVALID_ARGUMENT;
  for (unsigned d = 0; d < 3; ++d) {
    if (!launch->work_items[d] || !launch->workgroup[d])
      return RAWHAL_INVALID_ARGUMENT;
    if (d >= used && (launch->work_items[d] > 1 || launch->workgroup[d] > 1))
      return RAWHAL_INVALID_ARGUMENT;
    flat *= launch->workgroup[d];
  }
  for (unsigned d = 0; d < 3; ++d) {
    uint64_t grid = launch->work_items[d], group = launch->workgroup[d];
    uint64_t groups = (grid + group - 1) / group;
    if (kernel->reqd_workgroup_size[d] && kernel->reqd_workgroup_size[d] != group)
      return RAWHAL_INVALID_ARGUMENT;
    if (kernel->uniform_work_group_size && groups * group != grid)
      return RAWHAL_INVALID_ARGUMENT;
    if (kernel->max_num_workgroups[d] && groups > kernel->max_num_workgroups[d])
      return RAWHAL_OUT_OF_RANGE;
  }
  return kernel->max_flat_workgroup_size && flat > kernel->max_flat_workgroup_size
             ? RAWHAL_OUT_OF_RANGE
             : RAWHAL_OK;
}

/* The launch as it is, and one that the kernel cannot object to, if there is any. */
static void check_geometry(const scene_t *scene)
{
  rawhal_launch_t launch = scene->launch;
  for (int fitting = 0; fitting < 2; ++fitting) {
    rawhal_error_t error = {.status = RAWHAL_OK};
    rawhal_status_t status = rawhal_launch_check(&scene->kernel, &launch, &error);
    REQUIRE(status == naive_geometry(&scene->kernel, &launch));
    REQUIRE(status == error.status && (status == RAWHAL_OK) == !error.message[0]);
    launch.dimensions = 0;
    for (int d = 0; d < 3; ++d) {
      uint32_t required = scene->kernel.reqd_workgroup_size[d];
      launch.workgroup[d] = (uint16_t)(required ? required : 1);
      launch.work_items[d] = launch.workgroup[d];
    }
  }
}

/* ---- All of it ---- */

void kernarg_checks(scene_t *scene)
{
  rawhal_kernarg_layout_t *layout;
  check_geometry(scene);
  rawhal_status_t status =
      rawhal_kernarg_layout_create(&scene->kernel, scene->stated_size, &layout, NULL);
  REQUIRE((status == RAWHAL_OK) == !!layout);
  if (scene->kernel.argument_count > CHECKS_MOST_ARGUMENTS) {
    rawhal_kernarg_layout_destroy(layout);
    return;
  }
  scene->naive = naive_compile(&scene->kernel, scene->stated_size);
  REQUIRE(status == scene->naive.status);
  if (status != RAWHAL_OK)
    return;
  check_info(scene, layout);
  check_names(scene, layout);

  /* A blob of any length, and those on both sides of the rule's limits. */
  const naive_layout_t *naive = &scene->naive;
  const uint64_t lengths[] = {scene->blob_length,      naive->explicit_end,
                              naive->explicit_end - 1, naive->segment_size,
                              naive->effective_size,   naive->effective_size + 16};
  for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); ++i) {
    if (lengths[i] > CHECKS_ROOM)
      continue;
    uint8_t *blob = exactly(lengths[i], 0);
    memcpy(blob, scene->values, lengths[i]);
    check_blob(scene, layout, blob, lengths[i], scene->flags);
    free(blob);
  }
  check_pointers(scene, layout);
  check_hal(scene, layout);
  rawhal_kernarg_layout_destroy(layout);
}
