/* usage: 7_faults FILE */
#include "tutorial.h"

int main(int argc, char **argv)
{
  rawhal_instance_t *instance;
  rawhal_executable_t *executable;
  const rawhal_device_kernel_t *kernel;
  rawhal_buffer_t *memory;
  if (argc != 2)
    return 2;
  check(rawhal_instance_create(NULL, &instance, &error));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  check(rawhal_executable_open_file(device, argv[1], NULL, &executable, &error));
  check(rawhal_executable_kernel(executable, RAWHAL_STRING("fault_trap"), 0, &kernel, &error));
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, 4096, &memory, &error));

  uint32_t fatal = 1;
  const rawhal_dispatch_t dispatch = {.kernel = kernel,
                                      .work_items = {1, 1, 1},
                                      .workgroup = {1, 1, 1},
                                      .blob = &fatal,
                                      .blob_size = sizeof(fatal)};
  rawhal_queue_t *queue;
  rawhal_ticket_t ticket, next;
  check(rawhal_queue_create(device, NULL, &queue, &error));
  check(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  if (rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error) != RAWHAL_OK)
    printf("wait: %s: %s\n", rawhal_status_name(error.status), error.message);
  if (rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &next, &error) != RAWHAL_OK)
    printf("submit: %s, ticket %llu\n", rawhal_status_name(error.status), (unsigned long long)next);
  rawhal_queue_destroy(queue);

  fatal = 0;
  check(rawhal_queue_create(device, NULL, &queue, &error));
  check(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
  printf("another queue goes on\n");
  rawhal_queue_destroy(queue);
  rawhal_buffer_free(memory);
  rawhal_executable_destroy(executable);
  rawhal_instance_destroy(instance);
  return 0;
}
