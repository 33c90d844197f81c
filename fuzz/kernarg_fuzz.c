/* Layouts, blobs, images and packing against the naive implementation of tests/kernarg. The input
 * describes a kernel's arguments, a launch and a blob; all that a code object's metadata could say
 * can be said, and more that it could not. */
#include "fuzz/budget.h"
#include "fuzz/input.h"
#include "fuzz/kernarg_checks.h"

enum { MAX_ARGUMENTS = 32 };

/* ---- The input, zeros behind its end ---- */

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

/* What the scene's kernel points to. */
typedef struct facts {
  rawhal_descriptor_t descriptor;
  rawhal_argument_t arguments[MAX_ARGUMENTS];
} facts_t;

enum { HAS_METADATA = 1, HAS_ARGUMENTS = 2, HAS_DESCRIPTOR = 4, STATES_SIZE = 8, ABSOLUTE = 16 };

/* An argument: kind, name, size, and its offset or the gap to the one before. */
static void take_argument(input_t *input, bool absolute, uint32_t *end, rawhal_argument_t *argument)
{
  static const char letters[] = "abcdefgh";
  static const rawhal_argument_detail_t detail = {.value_kind_text = {"kind", 4}};
  uint8_t name = take(input);
  *argument = (rawhal_argument_t){
      .value_kind = take(input), /* kinds of the future, too */
      .detail = &detail,
      .name = {letters + name % 8, name >> 3 & 1},
      .size = take_size(input),
  };
  argument->offset = take_size(input) + (absolute ? 0 : *end);
  *end = argument->offset + argument->size; /* wraps as it likes: the library must notice */
}

static void take_scene(input_t *input, scene_t *scene, facts_t *facts)
{
  uint8_t flags = take(input);
  uint32_t end = 0;
  rawhal_kernel_t *kernel = &scene->kernel;
  kernel->name = (rawhal_string_t){"k", 1};
  kernel->has_metadata = flags & HAS_METADATA;
  kernel->has_arguments = kernel->has_metadata && flags & HAS_ARGUMENTS;
  kernel->descriptor = flags & HAS_DESCRIPTOR ? &facts->descriptor : NULL;
  facts->descriptor.kernarg_size = flags & HAS_DESCRIPTOR ? take_size(input) : 0;
  scene->stated_size = flags & STATES_SIZE ? take_size(input) : 0;
  if (kernel->has_metadata) {
    kernel->kernarg_segment_size = take_size(input);
    kernel->kernarg_segment_align = take_size(input);
  }
  kernel->arguments = facts->arguments;
  kernel->argument_count = kernel->has_arguments ? take(input) % MAX_ARGUMENTS : 0;
  for (uint32_t i = 0; i < kernel->argument_count; ++i)
    take_argument(input, flags & ABSOLUTE, &end, &facts->arguments[i]);
}

static void take_launch(input_t *input, rawhal_launch_t *launch)
{
  for (int d = 0; d < 3; ++d) {
    launch->work_items[d] = take_size(input);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static scene_t scene;
  static facts_t facts;
  input_t input = {data, size};
  scene = (scene_t){0};
  facts = (facts_t){0};
  take_scene(&input, &scene, &facts);
  take_launch(&input, &scene.launch);
  scene.flags = take(&input) % 4;
  scene.blob_length = take_number(&input, 2) % CHECKS_ROOM;
  for (size_t i = 0; i < sizeof(scene.values); ++i)
    scene.values[i] = input.size ? input.data[i % input.size] : (uint8_t)i;
  budget_t budget = budget_begin(1 << 21, 1 << 20);
  kernarg_checks(&scene);
  budget_end(&budget);
  return 0;
}
