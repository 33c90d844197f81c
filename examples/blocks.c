/* How often each basic block of a kernel ran: the kernel, of which there is no source here, with
 * counters between its instructions, beside the original.
 *
 * usage: blocks FILE.co   (tests/fixtures/reduce-gfx90a-v5.co) */
#include <rawhal/rawhal.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUPS = 64, SIZE = 256, COUNT = GROUPS * SIZE };

static rawhal_error_t error;

static void check(rawhal_status_t status)
{
  if (status != RAWHAL_OK) {
    fprintf(stderr, "blocks: %s: %s\n", rawhal_status_name(status), error.message);
    exit(1);
  }
}

int main(int argc, char **argv)
{
  rawhal_hsaco_t *original, *probed;
  check(rawhal_hsaco_open_file(argc > 1 ? argv[1] : "reduce.co", NULL, &original, &error));
  const rawhal_string_t name = RAWHAL_STRING("reduce");
  const rawhal_probe_spec_t spec = {.size = sizeof(spec), .kinds = RAWHAL_PROBE_BLOCKS};
  rawhal_probe_plan_t *plan;
  check(rawhal_probe_plan(rawhal_hsaco_find_kernel(original, name), &spec, &plan, &error));
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(plan);
  rawhal_bytes_t code;
  check(rawhal_probe_apply(plan, RAWHAL_PROBE_NOWHERE, &code, &error)); /* it does not read PC */
  check(rawhal_hsaco_open(code.data, code.size, NULL, &probed, &error));

  rawhal_instance_t *instance;
  check(rawhal_instance_create(NULL, &instance, &error));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  rawhal_executable_t *executable;
  check(rawhal_executable_load(device, probed, &executable, &error));
  const rawhal_device_kernel_t *kernel;
  check(rawhal_executable_kernel(executable, name, 0, &kernel, &error));
  rawhal_buffer_t *sums, *values, *records;
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, GROUPS * 4, &sums, &error));
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, COUNT * 4, &values, &error));
  const size_t bytes = (size_t)rawhal_probe_buffer_bytes(plan, 0);
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, bytes, &records, &error));
  memset(rawhal_buffer_host(records), 0, bytes);
  for (uint32_t i = 0; i < COUNT; ++i)
    ((uint32_t *)rawhal_buffer_host(values))[i] = i;

  /* The original's arguments, and behind them the probes'. */
  const uint64_t pointers[] = {rawhal_buffer_address(sums), rawhal_buffer_address(values)};
  const rawhal_probe_argument_t argument = {.buffer = rawhal_buffer_address(records)};
  char *blob = calloc(1, info->kernarg_size);
  if (!blob)
    return 1;
  memcpy(blob, pointers, sizeof(pointers));
  memcpy(blob + info->argument_offset, &argument, sizeof(argument));
  const rawhal_dispatch_t dispatch = {
      kernel, {COUNT, 1, 1}, {SIZE, 1, 1}, .blob = blob, .blob_size = info->kernarg_size};
  rawhal_queue_t *queue;
  check(rawhal_queue_create(device, NULL, &queue, &error));
  rawhal_ticket_t ticket;
  check(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));

  const uint64_t *counters =
      (uint64_t *)((char *)rawhal_buffer_host(records) + sizeof(rawhal_probe_header_t));
  uint64_t sum = 0;
  for (size_t i = 0; i < info->point_count; ++i) {
    const rawhal_probe_point_t *block = &info->points[i];
    const uint64_t times = counters[block->counter];
    printf("+0x%-4x %3u instructions, %5llu times\n", block->offset, block->instructions,
           (unsigned long long)times);
    sum += times * block->instructions;
  }
  printf("%llu instructions of waves in all\n", (unsigned long long)sum);
  rawhal_queue_destroy(queue);
  rawhal_executable_destroy(executable);
  rawhal_buffer_free(records);
  rawhal_buffer_free(values);
  rawhal_buffer_free(sums);
  rawhal_instance_destroy(instance);
  rawhal_hsaco_close(probed);
  rawhal_probe_free(plan, &code);
  rawhal_probe_plan_destroy(plan);
  rawhal_hsaco_close(original);
  free(blob);
  return 0;
}
