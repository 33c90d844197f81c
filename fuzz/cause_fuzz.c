/* From a fault to its causes and to reports: a kernel's layout, its arguments, allocations and
 * memory, none of which is as it should be. */
#include "debug/cause.h"
#include "debug/report.h"
#include "fuzz/budget.h"
#include "fuzz/input.h"

#include <string.h>

enum { ARGUMENTS = 12, WORDS = 96, BUFFERS = 12, DISPATCHES = 4, KERNELS = 2 };

/* ---- The input, zeros behind its end ---- */

static uint32_t take_size(input_t *input)
{
  const uint8_t small = take(input);
  uint32_t value = 0;
  for (int i = 0; small == 255 && i < 4; ++i)
    value |= (uint32_t)take(input) << (8 * i);
  return small == 255 ? value : small;
}

/* Few places, so that they meet: near null, near one of four bases, at the end of all. */
static uint64_t take_address(input_t *input)
{
  static const uint64_t places[] = {0,       0x7f0000000000, 0x7f0000001000, 0x7f0000100000,
                                    1 << 20, 0x123400000000, UINT64_MAX,     UINT64_MAX - 4096};
  const uint8_t place = take(input);
  const uint64_t offset = take_size(input);
  return place & 8 ? places[place % 8] - offset : places[place % 8] + offset;
}

/* ---- A scene ---- */

typedef struct world {
  rawhal_argument_t arguments[KERNELS][ARGUMENTS];
  rawhal_kernel_t kernels[KERNELS];
  rawhal_kernarg_layout_t *layouts[KERNELS];
  uint64_t words[WORDS]; /* of arguments, and of memory */
  debug_allocation_t buffers[BUFFERS];
  debug_dispatch_t dispatches[DISPATCHES];
  size_t buffer_count, read, dispatch_count;
} world_t;

static void take_kernel(input_t *input, world_t *world, size_t index)
{
  static const char names[] = "a\x1b\xff\xe2\x80\xaeout\nb\0c";
  static const rawhal_argument_detail_t detail = {.value_kind_text = {"kind", 4}};
  rawhal_kernel_t *kernel = &world->kernels[index];
  uint32_t end = 0;
  kernel->name = (rawhal_string_t){names, take(input) % sizeof(names)};
  kernel->has_metadata = kernel->has_arguments = true;
  kernel->arguments = world->arguments[index];
  kernel->argument_count = take(input) % ARGUMENTS;
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    rawhal_argument_t *argument = &world->arguments[index][i];
    argument->detail = &detail;
    argument->value_kind = take(input);
    argument->name = (rawhal_string_t){names, take(input) % sizeof(names)};
    argument->size = take_size(input);
    argument->offset = end + take(input) % 9;
    end = argument->offset + argument->size;
  }
  if (rawhal_kernarg_layout_create(kernel, 0, &world->layouts[index], NULL) != RAWHAL_OK)
    world->layouts[index] = NULL;
}

static void take_buffer(input_t *input, debug_allocation_t *buffer)
{
  const uint8_t flags = take(input);
  *buffer = (debug_allocation_t){.base = take_address(input),
                                 .size = flags & 1 ? take_address(input) : take_size(input),
                                 .number = take(input),
                                 .made_at = take(input),
                                 .freed_at = flags & 2 ? take(input) : 0,
                                 .owner = flags & 4,
                                 .reachable = flags & 8,
                                 .read_only = flags & 16};
  memset(buffer->label, flags, flags & 32 ? sizeof(buffer->label) : 1);
}

static void take_dispatch(input_t *input, world_t *world, debug_dispatch_t *dispatch)
{
  const uint8_t flags = take(input), start = take(input) % WORDS;
  const size_t most = (WORDS - start) * sizeof(*world->words), size = take_size(input);
  *dispatch = (debug_dispatch_t){
      .ticket = take(input),
      .packet = take(input),
      .kernel = world->kernels[flags & 1].name,
      .layout = flags & 2 ? world->layouts[flags & 1] : NULL,
      .kernargs = {flags & 4 ? NULL : world->words + start, size < most ? size : most},
      .kernarg_address = flags & 8 ? take_address(input) : 0,
      .supplied = flags & 16 ? take_size(input) : 0,
      .grid = {take_size(input), take_size(input), take_size(input)},
      .workgroup = {take(input), take(input), (uint16_t)take_size(input)},
      .group_bytes = take_size(input),
      .private_bytes = take_size(input),
      .submitted_at = take(input),
      .running = flags & 32,
  };
}

static bool allocation(void *context, debug_cursor_t *cursor, debug_allocation_t *told)
{
  const world_t *world = context;
  if (cursor->index >= world->buffer_count)
    return false;
  *told = world->buffers[cursor->index++];
  return true;
}

static bool read_memory(void *context, uint64_t address, void *to, size_t size)
{
  world_t *world = context;
  world->read += size;
  if (!size || size > 4096 || world->read > 1 << 20)
    __builtin_trap();
  memset(to, 0, size);
  memcpy(to, world->words, size < sizeof(world->words) ? size : sizeof(world->words));
  return address % 5;
}

/* ---- What must be so ---- */

static void check_text(void *context, const char *piece, size_t size)
{
  (void)context;
  for (size_t i = 0; i < size; ++i)
    if (((unsigned char)piece[i] < 0x20 && piece[i] != '\n') || piece[i] == 0x7f)
      __builtin_trap();
}

static void check_causes(const rawhal_fault_t *fault)
{
  uint32_t sum = 0;
  if (fault->cause_count > RAWHAL_FAULT_CAUSES)
    __builtin_trap();
  for (uint32_t i = 0; i < fault->cause_count; ++i) {
    const rawhal_cause_t *cause = &fault->causes[i];
    sum += cause->confidence;
    if ((i && cause->confidence > cause[-1].confidence) || sum > 100 || !*cause->text ||
        strnlen(cause->text, sizeof(cause->text)) == sizeof(cause->text))
      __builtin_trap();
    check_text(NULL, cause->text, strlen(cause->text));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static world_t world;
  static rawhal_fault_t fault;
  input_t input = {data, size};
  memset(&world, 0, sizeof(world));
  fault = (rawhal_fault_t){.kind = take(&input) % 18,
                           .known = take(&input),
                           .address = take_address(&input),
                           .pc = take_address(&input),
                           .bytes = take_size(&input),
                           .access = take(&input) % 5,
                           .group = {take_size(&input), take_size(&input), take(&input)}};
  for (size_t i = 0; i < KERNELS; ++i)
    take_kernel(&input, &world, i);
  world.buffer_count = take(&input) % BUFFERS;
  for (size_t i = 0; i < world.buffer_count; ++i)
    take_buffer(&input, &world.buffers[i]);
  world.dispatch_count = take(&input) % DISPATCHES;
  for (size_t i = 0; i < world.dispatch_count; ++i)
    take_dispatch(&input, &world, &world.dispatches[i]);
  for (size_t i = 0; i < WORDS; ++i)
    world.words[i] = take_address(&input);
  const debug_scene_t scene = {.now = take(&input),
                               .dispatches = world.dispatches,
                               .dispatch_count = world.dispatch_count,
                               .context = &world,
                               .allocation = allocation,
                               .read = take(&input) & 1 ? read_memory : NULL};
  const budget_t budget = budget_begin(1 << 22, 1 << 20);
  cause_find(&scene, &fault);
  check_causes(&fault);
  for (report_form_t form = REPORT_LINE; form <= REPORT_JSON; ++form)
    report(&fault, form, check_text, NULL);
  budget_end(&budget);
  for (size_t i = 0; i < KERNELS; ++i)
    rawhal_kernarg_layout_destroy(world.layouts[i]);
  return 0;
}
