/* Layouts, blobs, images and packing against the naive implementation of tests/kernarg. The input
 * describes a kernel's arguments, a launch and a blob; all that a code object's metadata could say
 * can be said, and more that it could not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernarg/naive.h"

enum { MAX_ARGUMENTS = 32, MAX_IMAGE = 4096, BLOB_ROOM = MAX_IMAGE + 64, UNTOUCHED = 0xfd };

/* ---- The input, zeros behind its end ---- */

typedef struct input {
  const uint8_t *data;
  size_t size;
} input_t;

static uint8_t take(input_t *input)
{
  if (!input->size)
    return 0;
  --input->size;
  return *input->data++;
}

/* Little-endian, `bytes` of them. */
static uint64_t take_number(input_t *input, unsigned bytes)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value |= (uint64_t)take(input) << (8 * i);
  return value;
}

/* Most sizes are small; a first byte of 255 announces one of 32 bits. */
static uint32_t take_size(input_t *input)
{
  uint8_t small = take(input);
  return small < 255 ? small : (uint32_t)take_number(input, 4);
}

typedef struct scene {
  rawhal_kernel_t kernel;
  rawhal_descriptor_t descriptor;
  rawhal_argument_t arguments[MAX_ARGUMENTS];
  uint32_t stated_size;
  rawhal_launch_t launch;
  naive_layout_t naive;
} scene_t;

enum { HAS_METADATA = 1, HAS_ARGUMENTS = 2, HAS_DESCRIPTOR = 4, STATES_SIZE = 8, ABSOLUTE = 16 };

/* An argument: kind, name, size, and its offset or the gap to the one before. */
static void take_argument(input_t *input, bool absolute, uint32_t *end, rawhal_argument_t *argument)
{
  static const char letters[] = "abcdefgh";
  static const rawhal_argument_detail_t detail = {.value_kind_text = {"kind", 4}};
  uint8_t name = take(input);
  *argument = (rawhal_argument_t){
      .value_kind = (uint8_t)(take(input) % RAWHAL_VALUE_KIND_COUNT),
      .detail = &detail,
      .name = {letters + name % 8, name >> 3 & 1},
      .size = take_size(input),
  };
  argument->offset = take_size(input) + (absolute ? 0 : *end);
  *end = argument->offset + argument->size; /* wraps as it likes: the library must notice */
}

static void take_scene(input_t *input, scene_t *scene)
{
  uint8_t flags = take(input);
  uint32_t end = 0;
  rawhal_kernel_t *kernel = &scene->kernel;
  kernel->name = (rawhal_string_t){"k", 1};
  kernel->has_metadata = flags & HAS_METADATA;
  kernel->has_arguments = kernel->has_metadata && flags & HAS_ARGUMENTS;
  kernel->descriptor = flags & HAS_DESCRIPTOR ? &scene->descriptor : NULL;
  scene->descriptor.kernarg_size = flags & HAS_DESCRIPTOR ? take_size(input) : 0;
  scene->stated_size = flags & STATES_SIZE ? take_size(input) : 0;
  if (kernel->has_metadata) {
    kernel->kernarg_segment_size = take_size(input);
    kernel->kernarg_segment_align = take_size(input);
  }
  kernel->arguments = scene->arguments;
  kernel->argument_count = kernel->has_arguments ? take(input) % MAX_ARGUMENTS : 0;
  for (uint32_t i = 0; i < kernel->argument_count; ++i)
    take_argument(input, flags & ABSOLUTE, &end, &scene->arguments[i]);
}

static void take_launch(input_t *input, rawhal_launch_t *launch)
{
  for (int d = 0; d < 3; ++d) {
    launch->grid[d] = take_size(input);
    launch->workgroup[d] = (uint16_t)take_size(input);
    launch->global_offset[d] = take_number(input, 2) << take(input) % 49;
  }
  launch->dimensions = take(input) % 4;
  launch->dynamic_lds = take_size(input);
  uint64_t *const addresses[] = {
      &launch->queue_ptr,     &launch->printf_buffer,     &launch->hostcall_buffer, &launch->heap,
      &launch->default_queue, &launch->completion_action, &launch->multigrid_sync};
  for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); ++i)
    *addresses[i] = take_number(input, 2) * UINT64_C(0x9e3779b97f4a7c15);
  launch->private_base_hi = (uint32_t)take_number(input, 4);
  launch->shared_base_hi = (uint32_t)take_number(input, 4);
}

/* ---- Checks ---- */

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
  for (char letter = 'a'; letter <= 'h'; ++letter) {
    size_t found, expected = 0, count = 0;
    for (uint32_t i = 0; i < scene->kernel.argument_count; ++i) {
      const rawhal_argument_t *argument = &scene->arguments[i];
      if (rawhal_argument_is_hidden(argument) || !argument->name.size ||
          *argument->name.data != letter)
        continue;
      expected = i;
      ++count;
    }
    rawhal_status_t status =
        rawhal_kernarg_layout_find(layout, (rawhal_string_t){&letter, 1}, &found, NULL);
    REQUIRE(status == (count == 0   ? RAWHAL_NOT_FOUND
                       : count == 1 ? RAWHAL_OK
                                    : RAWHAL_INVALID_ARGUMENT));
    REQUIRE(status || found == expected);
  }
}

/* Arguments read back are the image's bytes; their text fits whatever room it is given. */
static void check_arguments(const scene_t *scene, const rawhal_kernarg_layout_t *layout,
                            const uint8_t *image, size_t length)
{
  for (uint32_t i = 0; i < scene->kernel.argument_count; ++i) {
    const rawhal_argument_t *argument = &scene->arguments[i];
    uint64_t end = (uint64_t)argument->offset + argument->size;
    rawhal_bytes_t value;
    rawhal_status_t status = rawhal_kernarg_get(layout, i, image, length, &value, NULL);
    REQUIRE(status == (end <= length ? RAWHAL_OK : RAWHAL_OUT_OF_RANGE));
    REQUIRE(status || (value.data == image + argument->offset && value.size == argument->size));
    char whole[512];
    size_t size = rawhal_kernarg_format(layout, i, image, length, whole, sizeof(whole));
    REQUIRE(size < sizeof(whole) && strlen(whole) == size);
    char *cut = (char *)exactly(size / 2, 0);
    REQUIRE(rawhal_kernarg_format(layout, i, image, length, cut, size / 2) == size);
    REQUIRE(size / 2 == 0 || !strncmp(whole, cut, size / 2 - 1));
    free(cut);
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
  REQUIRE(!status == !error.message[0]);
  REQUIRE(!length ||
          rawhal_kernarg_check(layout, NULL, length, flags, NULL) == RAWHAL_INVALID_ARGUMENT);
  if (naive->image_size > MAX_IMAGE)
    return;
  if (!expected)
    expected = naive_launch(&scene->kernel, &scene->launch);
  uint8_t *image = exactly(naive->image_size, UNTOUCHED);
  REQUIRE(rawhal_kernarg_write_blob(layout, blob, length, flags, &scene->launch, image,
                                    naive->image_size, NULL) == expected);
  for (uint64_t i = 0; i < naive->image_size; ++i)
    REQUIRE(image[i] == (expected ? UNTOUCHED
                                  : naive_image_byte(&scene->kernel, naive, blob, length, flags,
                                                     &scene->launch, i)));
  check_arguments(scene, layout, image, naive->image_size);
  free(image);
}

/* Pointers, single arguments and a blob of the same values make one image. */
static void check_pointers(const scene_t *scene, const rawhal_kernarg_layout_t *layout,
                           const uint8_t *values)
{
  const naive_layout_t *naive = &scene->naive;
  const void *pointers[MAX_ARGUMENTS];
  size_t count = 0;
  if (!naive->arguments_known || naive->image_size > MAX_IMAGE)
    return;
  uint8_t *blob = exactly(naive->effective_size, 0);
  for (uint32_t i = 0; i < scene->kernel.argument_count; ++i) {
    const rawhal_argument_t *argument = &scene->arguments[i];
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  input_t input = {data, size};
  scene_t scene = {0};
  rawhal_kernarg_layout_t *layout;
  take_scene(&input, &scene);
  take_launch(&input, &scene.launch);
  scene.naive = naive_compile(&scene.kernel, scene.stated_size);
  rawhal_status_t status =
      rawhal_kernarg_layout_create(&scene.kernel, scene.stated_size, &layout, NULL);
  REQUIRE(status == scene.naive.status);
  REQUIRE(!status == !!layout);
  if (status)
    return 0;
  check_info(&scene, layout);
  check_names(&scene, layout);

  /* A blob of any length, and those on both sides of the rule's limits. */
  uint32_t flags = take(&input) % 4;
  uint64_t lengths[] = {take_number(&input, 2) % BLOB_ROOM, scene.naive.explicit_end,
                        scene.naive.explicit_end - 1,       scene.naive.segment_size,
                        scene.naive.effective_size,         scene.naive.effective_size + 16};
  uint8_t values[BLOB_ROOM];
  for (size_t i = 0; i < sizeof(values); ++i)
    values[i] = input.size ? input.data[i % input.size] : (uint8_t)i;
  for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); ++i) {
    if (lengths[i] > BLOB_ROOM)
      continue;
    uint8_t *blob = exactly(lengths[i], 0);
    memcpy(blob, values, lengths[i]);
    check_blob(&scene, layout, blob, lengths[i], flags);
    free(blob);
  }
  check_pointers(&scene, layout, values);
  rawhal_kernarg_layout_destroy(layout);
  return 0;
}
