/* usage: 6_limits FILE */
#include "tutorial.h"

int main(int argc, char **argv)
{
  rawhal_limit_config_t *limits;
  rawhal_instance_t *instance;
  rawhal_executable_t *executable;
  const rawhal_device_kernel_t *kernel;
  rawhal_buffer_t *memory, *more;
  rawhal_queue_t *queue;
  if (argc != 2)
    return 2;
  check(rawhal_limit_config_create(&limits, &error));
  check(rawhal_limit_config_set(limits, RAWHAL_LIMIT_MEMORY, 32 << 20, &error));
  check(rawhal_limit_config_set(limits, RAWHAL_LIMIT_GPU_SHARE, 500000, &error)); /* ppm */
  const rawhal_instance_options_t options = {.limits = limits};
  check(rawhal_instance_create(&options, &instance, &error));
  rawhal_limit_config_destroy(limits);

  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  uint64_t total, available;
  rawhal_device_memory(device, &total, &available);
  printf("a device of %llu MiB\n", (unsigned long long)total >> 20);
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 24 << 20, &memory, &error));
  if (rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 16 << 20, &more, &error) != RAWHAL_OK)
    printf("%s: %s\n", rawhal_status_name(error.status), error.message);

  check(rawhal_executable_open_file(device, argv[1], NULL, &executable, &error));
  check(rawhal_executable_kernel(executable, RAWHAL_STRING("vector_add"), 0, &kernel, &error));
  check(rawhal_queue_create(device, NULL, &queue, &error));
  const uint64_t at = rawhal_buffer_address(memory);
  const struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {at, at, at, 64};
  const rawhal_dispatch_t dispatch = {.kernel = kernel,
                                      .work_items = {64, 1, 1},
                                      .workgroup = {64, 1, 1},
                                      .blob = &blob,
                                      .blob_size = 28};
  rawhal_ticket_t ticket;
  rawhal_status_t status;
  int refused = 0;
  do
    status = rawhal_queue_submit(queue, &dispatch, 1, 0, &ticket, &error);
  while (status == RAWHAL_OK || (status == RAWHAL_WOULD_BLOCK && ++refused < 3));
  printf("%s, %d times; waiting, it goes\n", rawhal_status_name(status), refused);
  check(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
  rawhal_queue_destroy(queue);
  rawhal_executable_destroy(executable);
  rawhal_buffer_free(memory);
  rawhal_instance_destroy(instance);
  return 0;
}
