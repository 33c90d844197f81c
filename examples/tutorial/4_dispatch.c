/* usage: 4_dispatch FILE */
#include "tutorial.h"

enum { COUNT = 1000 };

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
  check(rawhal_executable_kernel(executable, RAWHAL_STRING("vector_add"), 0, &kernel, &error));
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, 3 * COUNT * 4, &memory, &error));
  float *c = rawhal_buffer_host(memory), *a = c + COUNT, *b = a + COUNT;
  for (int i = 0; i < COUNT; ++i) {
    a[i] = (float)i;
    b[i] = 0.5f;
  }

  const uint64_t address = rawhal_buffer_address(memory);
  const struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {address, address + 4 * COUNT, address + 8 * COUNT, COUNT};
  const rawhal_dispatch_t dispatch = {.kernel = kernel,
                                      .work_items = {COUNT, 1, 1},
                                      .workgroup = {64, 1, 1},
                                      .blob = &blob,
                                      .blob_size = 28};
  rawhal_queue_t *queue;
  rawhal_ticket_t ticket;
  uint64_t start, end;
  check(rawhal_queue_create(device, NULL, &queue, &error));
  check(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
  check(rawhal_queue_timing(queue, ticket, &start, &end, &error));
  printf("%g + %g = %g, after %llu ns on the device\n", a[999], b[999], c[999],
         (unsigned long long)(end - start));
  rawhal_queue_destroy(queue);
  rawhal_buffer_free(memory);
  rawhal_executable_destroy(executable);
  rawhal_instance_destroy(instance);
  return 0;
}
