/* One kernel of a code object, with a prepacked blob: c = a + b.
 *
 * usage: vector_add FILE   (tests/fixtures/vector_add-gfx90a-v5.co, or vector_add.bundle) */
#include <rawhal/rawhal.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 20, BYTES = COUNT * sizeof(float) };

static rawhal_error_t error;

static void check(rawhal_status_t status)
{
  if (status == RAWHAL_OK)
    return;
  fprintf(stderr, "vector_add: %s: %s\n", rawhal_status_name(status), error.message);
  exit(1);
}

int main(int argc, char **argv)
{
  static float a[COUNT], b[COUNT], c[COUNT];
  for (int i = 0; i < COUNT; ++i)
    a[i] = (float)i, b[i] = 0.5f;

  rawhal_instance_t *instance;
  check(rawhal_instance_create(NULL, &instance, &error));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  rawhal_executable_t *executable;
  const char *path = argc > 1 ? argv[1] : "vector_add.co";
  check(rawhal_executable_open_file(device, path, NULL, &executable, &error));
  const rawhal_device_kernel_t *kernel;
  check(rawhal_executable_kernel(executable, RAWHAL_STRING("vector_add"), 0, &kernel, &error));
  rawhal_buffer_t *buffers[3];
  for (int i = 0; i < 3; ++i)
    check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, BYTES, &buffers[i], &error));
  check(rawhal_buffer_write(buffers[1], 0, a, BYTES, &error));
  check(rawhal_buffer_write(buffers[2], 0, b, BYTES, &error));

  /* Exactly the kernarg segment of vector_add(c, a, b, n): 28 bytes, nothing after them. */
  struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {rawhal_buffer_address(buffers[0]), rawhal_buffer_address(buffers[1]),
            rawhal_buffer_address(buffers[2]), COUNT};
  rawhal_dispatch_t dispatch = {
      .kernel = kernel,
      .work_items = {COUNT, 1, 1},
      .workgroup = {256, 1, 1},
      .blob = &blob,
      .blob_size = 28,
  };
  rawhal_queue_t *queue;
  rawhal_ticket_t ticket;
  check(rawhal_queue_create(device, NULL, &queue, &error));
  check(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
  check(rawhal_buffer_read(buffers[0], 0, c, BYTES, &error));

  int right = 0;
  for (int i = 0; i < COUNT; ++i)
    right += c[i] == a[i] + b[i];
  printf("%d of %d sums are right, on %s\n", right, COUNT, rawhal_device_info(device)->description);
  rawhal_queue_destroy(queue);
  for (int i = 0; i < 3; ++i)
    rawhal_buffer_free(buffers[i]);
  rawhal_executable_destroy(executable);
  rawhal_instance_destroy(instance);
  return right == COUNT ? 0 : 1;
}
