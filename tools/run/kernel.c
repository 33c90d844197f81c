/* rawhal run: from the request to the results. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/run/run.h"
#include "tools/shared/device.h"
#include "tools/shared/file.h"
#include "tools/shared/near.h"
#include "tools/shared/select.h"
#include "tools/shared/tool.h"

#define refuse(session, ...) tool_refuse(&(session)->error, __VA_ARGS__)

/* Everything a run holds; zero-initialised, released in one place. */
typedef struct session {
  const run_request_t *request;
  rawhal_instance_t *instance;
  rawhal_device_t *device;
  select_options_t options;
  select_t select;
  rawhal_executable_t *executable;
  const rawhal_device_kernel_t *kernel;
  rawhal_services_t *services; /* NULL: the kernel asks for none */
  rawhal_queue_t *queue;
  rawhal_buffer_t **buffers; /* one for each argument; NULL where it is none */
  unsigned char *blob;
  size_t blob_size;
  rawhal_dispatch_t dispatch;
  char warning[1000]; /* the first line of the library's that is one */
  rawhal_error_t error;
} session_t;

static void keep_warning(void *context, rawhal_severity_t severity, const char *message)
{
  session_t *s = context;
  if (severity >= RAWHAL_SEVERITY_WARNING && !*s->warning)
    snprintf(s->warning, sizeof(s->warning), "%s", message);
}

static bool open_device(session_t *s)
{
  char limit[64];
  snprintf(limit, sizeof(limit), "timeout_ms=%" PRIu64,
           (uint64_t)s->request->timeout_seconds * 1000);
  const rawhal_instance_options_t options = {.backend = s->request->backend,
                                             .softgpu_options =
                                                 device_softgpu_options(s->request->backend, limit),
                                             .size = sizeof(options),
                                             .log = keep_warning,
                                             .log_context = s};
  if (rawhal_instance_create(&options, &s->instance, &s->error))
    return false;
  s->device = rawhal_instance_device(s->instance, 0);
  return s->device || refuse(s, RAWHAL_NOT_FOUND, "the runtime lists no GPU");
}

static bool refuse_name(session_t *s, const near_names_t *others, size_t fitting)
{
  char nearest[NEAR_TEXT];
  near_text(others, nearest);
  return refuse(s, RAWHAL_NOT_FOUND,
                "no kernel '%s' in the %zu object%s that fit%s the device%s (rawhal inspect "
                "--brief lists the names)",
                s->request->kernel, fitting, fitting == 1 ? "" : "s", fitting == 1 ? "s" : "",
                nearest);
}

/* Finds the kernel in the objects that run on the device; several may fit: a library has one for
 * each of its translation units. */
static bool find_kernel(session_t *s)
{
  const rawhal_target_t *target = &rawhal_device_info(s->device)->target;
  const rawhal_string_t name = {s->request->kernel, strlen(s->request->kernel)};
  size_t best, fitting = 0;
  s->options = (select_options_t){.path = s->request->path,
                                  .target = target,
                                  .hsaco_flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS,
                                  .skip_unreadable = true};
  if (!select_open(&s->select, &s->options, &s->error) ||
      rawhal_container_select(s->select.container, target, &best, &s->error))
    return false;
  near_names_t others = {.wanted = name};
  for (; select_next(&s->select, &s->error); ++fitting) {
    if (!s->select.hsaco)
      return refuse_name(s, &others, fitting);
    if (rawhal_hsaco_find_kernel(s->select.hsaco, name))
      return true;
    near_look_at(&others, s->select.hsaco);
  }
  return false;
}

static bool load_kernel(session_t *s)
{
  const rawhal_string_t name = {s->request->kernel, strlen(s->request->kernel)};
  return !rawhal_executable_load(s->device, s->select.hsaco, &s->executable, &s->error) &&
         !rawhal_executable_kernel(s->executable, name, s->request->kernarg_size, &s->kernel,
                                   &s->error) &&
         run_services_manage(s->device, s->executable, &s->error);
}

/* ---- Geometry ---- */

static bool set_geometry(session_t *s)
{
  const run_request_t *request = s->request;
  for (int i = 0; i < 3; ++i) {
    uint64_t items = request->grid[i];
    if (!request->grid[i] || !request->block[i])
      return refuse(s, RAWHAL_INVALID_ARGUMENT, "%s is 0 in dimension %c",
                    request->grid[i]         ? "--block"
                    : request->grid_in_items ? "--items"
                                             : "--grid",
                    'x' + i);
    if (request->block[i] > UINT16_MAX)
      return refuse(s, RAWHAL_OUT_OF_RANGE, "--block is %" PRIu64 " in dimension %c, more than %u",
                    request->block[i], 'x' + i, UINT16_MAX);
    if ((!request->grid_in_items &&
         __builtin_mul_overflow(request->grid[i], request->block[i], &items)) ||
        items > UINT32_MAX)
      return refuse(s, RAWHAL_OUT_OF_RANGE,
                    "the grid overflows in dimension %c: %" PRIu64 " %s of %" PRIu64
                    " work-items, more than %" PRIu32 " in all",
                    'x' + i, request->grid[i],
                    request->grid_in_items ? "items in groups" : "groups", request->block[i],
                    UINT32_MAX);
    s->dispatch.work_items[i] = (uint32_t)items;
    s->dispatch.workgroup[i] = (uint16_t)request->block[i];
  }
  s->dispatch.dynamic_lds = request->dynamic_lds;
  return true;
}

/* Of Triton's entry, once its kernel is loaded. */
static bool set_triton_geometry(session_t *s)
{
  uint32_t programs[3];
  for (int i = 0; i < 3; ++i) {
    if (s->request->grid[i] > UINT32_MAX)
      return refuse(s, RAWHAL_OUT_OF_RANGE, "--grid is %" PRIu64 " in dimension %c, more than %u",
                    s->request->grid[i], 'x' + i, UINT32_MAX);
    programs[i] = (uint32_t)s->request->grid[i];
  }
  return !rawhal_triton_dispatch(s->request->triton, s->device, s->kernel, programs, &s->dispatch,
                                 &s->error);
}

/* ---- Arguments ---- */

/* Any number of bytes: fill stores whole dwords, the rest is written. */
static bool zero_buffer(session_t *s, rawhal_buffer_t *buffer)
{
  static const unsigned char zeros[4];
  size_t size = rawhal_buffer_size(buffer), rest = size % 4;
  return !rawhal_buffer_fill(buffer, 0, 0, size - rest, &s->error) &&
         !rawhal_buffer_write(buffer, size - rest, zeros, rest, &s->error);
}

/* As the argument has it before the kernel runs. */
static bool fill_buffer(session_t *s, size_t index)
{
  const run_argument_t *argument = &s->request->arguments[index];
  if (argument->data)
    return !rawhal_buffer_write(s->buffers[index], 0, argument->data, argument->size, &s->error);
  return zero_buffer(s, s->buffers[index]);
}

static bool make_buffer(session_t *s, size_t index, uint64_t *address)
{
  const run_argument_t *argument = &s->request->arguments[index];
  if (!argument->size)
    return refuse(s, RAWHAL_INVALID_ARGUMENT,
                  "'%s' is an empty file, but a buffer needs at least one byte", argument->word);
  if (rawhal_buffer_allocate(s->device, RAWHAL_MEMORY_DEVICE, argument->size, &s->buffers[index],
                             &s->error))
    return false;
  *address = rawhal_buffer_address(s->buffers[index]);
  return fill_buffer(s, index);
}

static const rawhal_kernarg_argument_t *next_visible(const rawhal_kernarg_layout_t *layout,
                                                     size_t *index)
{
  const rawhal_kernarg_argument_t *argument;
  while ((argument = rawhal_kernarg_layout_argument(layout, *index)) && argument->hidden)
    ++*index;
  return argument;
}

/* Packs argument `given` of the command line into `place`, argument `index` of the layout. */
static bool pack_argument(session_t *s, const rawhal_kernarg_layout_t *layout, size_t given,
                          size_t index, const rawhal_kernarg_argument_t *place)
{
  const run_argument_t *argument = &s->request->arguments[given];
  const void *bytes = &argument->value;
  uint64_t value = 0;
  size_t size = argument->size;
  switch (argument->kind) {
  case RUN_SCALAR:
    break;
  case RUN_BYTES:
    bytes = argument->data;
    break;
  case RUN_LDS: { /* dynamic group memory follows the static part, each piece 16-aligned */
    uint32_t *top = &s->dispatch.dynamic_lds;
    uint32_t base = rawhal_device_kernel_info(s->kernel)->group_segment_size;
    value = ((uint64_t)base + *top + 15) & ~(uint64_t)15;
    uint64_t end = value + argument->size;
    if (end > UINT32_MAX)
      return refuse(s, RAWHAL_OUT_OF_RANGE, "'%s' exceeds the group memory of the device",
                    argument->word);
    *top = (uint32_t)(end - base);
    bytes = &value;
    size = 4;
    break;
  }
  default:
    bytes = &value;
    size = 8;
    if (place->value_kind != RAWHAL_VALUE_GLOBAL_BUFFER && place->size != 8)
      return refuse(s, RAWHAL_INVALID_ARGUMENT,
                    "argument %zu '%.*s' is not a pointer: it takes %" PRIu32
                    " bytes by value, not '%s'",
                    given, (int)place->name.size, place->name.data, place->size, argument->word);
    if (argument->kind == RUN_BUFFER && !make_buffer(s, given, &value))
      return false;
  }
  if (size != place->size)
    return refuse(s, RAWHAL_INVALID_ARGUMENT,
                  "argument %zu '%.*s' takes %" PRIu32 " bytes, '%s' has %zu", given,
                  (int)place->name.size, place->name.data, place->size, argument->word, size);
  return !rawhal_kernarg_set(layout, index, bytes, size, s->blob, s->blob_size, &s->error);
}

static bool pack_arguments(session_t *s)
{
  const run_request_t *request = s->request;
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(s->kernel)->layout;
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  for (size_t i = 0; i < request->argument_count; ++i)
    if (request->arguments[i].kind == RUN_BLOB && request->argument_count > 1)
      return refuse(s, RAWHAL_INVALID_ARGUMENT, "'%s' must be the only ARG",
                    request->arguments[i].word);
  if (request->argument_count == 1 && request->arguments[0].kind == RUN_BLOB) {
    s->dispatch.blob = request->arguments[0].data;
    s->dispatch.blob_size = request->arguments[0].size;
    return true;
  }
  if (info->knowledge != RAWHAL_KERNARG_ARGUMENTS && request->argument_count)
    return refuse(s, RAWHAL_INVALID_ARGUMENT,
                  "the arguments of '%s' are unknown: give them as one blob:FILE", request->kernel);
  if (request->argument_count != info->visible_count)
    return refuse(s, RAWHAL_INVALID_ARGUMENT, "'%s' takes %" PRIu32 " argument%s, %zu given",
                  request->kernel, info->visible_count, info->visible_count == 1 ? "" : "s",
                  request->argument_count);
  s->blob_size = info->effective_size;
  s->blob = calloc(1, s->blob_size + 1);
  if (!s->blob)
    return refuse(s, RAWHAL_OUT_OF_MEMORY, "no memory for %zu bytes of arguments", s->blob_size);
  size_t index = 0;
  for (size_t given = 0; given < request->argument_count; ++given, ++index) {
    const rawhal_kernarg_argument_t *place = next_visible(layout, &index);
    if (!pack_argument(s, layout, given, index, place))
      return false;
  }
  s->dispatch.blob = s->blob;
  s->dispatch.blob_size = s->blob_size;
  return true;
}

/* ---- The run ---- */

/* What a launch before has left does not go into the next. */
static bool fill_buffers(session_t *s)
{
  for (size_t i = 0; i < s->request->argument_count; ++i)
    if (s->buffers[i] && !fill_buffer(s, i))
      return false;
  return true;
}

static bool launch(session_t *s, run_outcome_t *outcome)
{
  /* softgpu stops the kernel itself and says where it was; the margin lets it be first. */
  const uint64_t seconds = s->request->timeout_seconds;
  const uint64_t deadline =
      seconds ? rawhal_deadline_after((seconds + 5) * 1000000000u) : RAWHAL_FOREVER;
  rawhal_ticket_t ticket;
  const uint64_t start = clock_now();
  if (rawhal_queue_submit(s->queue, &s->dispatch, 1, deadline, &ticket, &s->error) ||
      rawhal_queue_wait(s->queue, ticket, deadline, &s->error))
    return false;
  outcome->wall_ns[outcome->count] = clock_now() - start;
  if (s->services && rawhal_services_flush(s->services, s->executable, &s->error))
    return false;
  uint64_t start_ns = 0, end_ns = 0;
  if (rawhal_queue_timing(s->queue, ticket, &start_ns, &end_ns, &s->error) || end_ns <= start_ns)
    outcome->device_known = false; /* the result counts more than its time */
  else
    outcome->device_ns[outcome->count] = end_ns - start_ns;
  if (rawhal_queue_instructions(s->queue, ticket, &outcome->instructions, &s->error))
    outcome->instructions = 0;
  ++outcome->count;
  return true;
}

static bool dispatch(session_t *s, run_outcome_t *outcome)
{
  if (!run_services_make(s->request, s->device, s->kernel, &s->services, &s->error))
    return false;
  const rawhal_queue_options_t options = {
      .packets = 64, .submissions = 1, .services = rawhal_services_queue(s->services)};
  if (rawhal_queue_create(s->device, &options, &s->queue, &s->error))
    return false;
  s->dispatch.kernel = s->kernel;
  outcome->device_known = true;
  for (uint32_t i = 0; i < s->request->repeat; ++i)
    if ((i && !fill_buffers(s)) || !launch(s, outcome))
      return false;
  outcome->device = rawhal_device_info(s->device);
  outcome->loaded = rawhal_executable_info(s->executable);
  outcome->object = rawhal_hsaco_info(s->select.hsaco);
  return true;
}

static bool write_results(session_t *s)
{
  for (size_t i = 0; i < s->request->argument_count; ++i) {
    const run_argument_t *argument = &s->request->arguments[i];
    if (!argument->out_path)
      continue;
    unsigned char *bytes = malloc(argument->size);
    if (!bytes)
      return refuse(s, RAWHAL_OUT_OF_MEMORY, "no memory for %zu bytes", argument->size);
    bool done = !rawhal_buffer_read(s->buffers[i], 0, bytes, argument->size, &s->error);
    done = done && tool_write_file(argument->out_path, bytes, argument->size, &s->error);
    free(bytes);
    if (!done)
      return false;
    if (s->request->json)
      continue;
    fputs("wrote     ", stdout);
    tool_print_string(argument->out_path);
    printf(" (%zu bytes)\n", argument->size);
  }
  return true;
}

static void release(session_t *s)
{
  rawhal_queue_destroy(s->queue);
  rawhal_services_destroy(s->services);
  for (size_t i = 0; s->buffers && i < s->request->argument_count; ++i)
    rawhal_buffer_free(s->buffers[i]);
  free(s->buffers);
  free(s->blob);
  rawhal_executable_destroy(s->executable);
  select_close(&s->select);
  rawhal_instance_destroy(s->instance);
}

/* Before the first buffer is made: all of them have to fit. */
static bool check_memory(session_t *s)
{
  uint64_t total, available, wanted = 0;
  for (size_t i = 0; i < s->request->argument_count; ++i)
    if (s->request->arguments[i].kind == RUN_BUFFER &&
        __builtin_add_overflow(wanted, s->request->arguments[i].size, &wanted))
      wanted = UINT64_MAX;
  rawhal_device_memory(s->device, &total, &available);
  return wanted <= total || refuse(s, RAWHAL_OUT_OF_MEMORY,
                                   "the buffers of the arguments need %" PRIu64
                                   " bytes, but only %" PRIu64 " are available to this process",
                                   wanted, total);
}

static bool run_session(session_t *s, run_outcome_t *outcome)
{
  const bool triton = s->request->triton != NULL;
  if (!run_output_check(s->request, &s->error) || !(triton || set_geometry(s)) || !open_device(s) ||
      !find_kernel(s) || !load_kernel(s) || !(!triton || set_triton_geometry(s)) ||
      !check_memory(s) || !pack_arguments(s) || !dispatch(s, outcome))
    return false;
  if (!s->request->json)
    run_report_text(outcome);
  if (!write_results(s))
    return false;
  if (s->request->json)
    run_report_json(outcome);
  return true;
}

int run_kernel(const run_request_t *request)
{
  session_t s = {.request = request};
  run_outcome_t outcome = {.request = request, .dispatch = &s.dispatch, .warning = s.warning};
  s.buffers = calloc(request->argument_count + 1, sizeof(*s.buffers));
  outcome.wall_ns = calloc(request->repeat, sizeof(*outcome.wall_ns));
  outcome.device_ns = calloc(request->repeat, sizeof(*outcome.device_ns));
  bool done = (s.buffers && outcome.wall_ns && outcome.device_ns) ||
              refuse(&s, RAWHAL_OUT_OF_MEMORY, "out of memory");
  done = done && run_session(&s, &outcome);
  int status = TOOL_OK;
  if (!done)
    status = tool_fail("run", &s.error);
  free(outcome.wall_ns);
  free(outcome.device_ns);
  release(&s);
  return status;
}
