/* A batch with dependencies: two sums that may overlap, then one that needs both, with one
 * doorbell; and a second queue that waits for it on the device.
 * x = a + b, y = a + a, z = x + y, w = z + z.
 *
 * usage: batch FILE.co   (tests/fixtures/vector_add-gfx90a-v5.co) */
#include <rawhal/rawhal.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 12, BYTES = COUNT * sizeof(float), A = 0, B, X, Y, Z, W, BUFFERS };

static rawhal_error_t error;
static rawhal_buffer_t *buffers[BUFFERS];

static void check(rawhal_status_t status)
{
  if (status != RAWHAL_OK) {
    fprintf(stderr, "batch: %s: %s\n", rawhal_status_name(status), error.message);
    exit(1);
  }
}

int main(int argc, char **argv)
{
  rawhal_hsaco_t *hsaco;
  check(rawhal_hsaco_open_file(argc > 1 ? argv[1] : "vector_add.co", NULL, &hsaco, &error));
  rawhal_instance_t *instance;
  check(rawhal_instance_create(NULL, &instance, &error));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  rawhal_executable_t *executable;
  check(rawhal_executable_load(device, hsaco, &executable, &error));
  const rawhal_device_kernel_t *kernel;
  check(rawhal_executable_kernel(executable, RAWHAL_STRING("vector_add"), 0, &kernel, &error));
  for (int i = 0; i < BUFFERS; ++i)
    check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, BYTES, &buffers[i], &error));
  float *a = rawhal_buffer_host(buffers[A]), *b = rawhal_buffer_host(buffers[B]);
  for (int i = 0; i < COUNT; ++i)
    a[i] = (float)i, b[i] = 0.5f;

  rawhal_queue_t *first, *second;
  check(rawhal_queue_create(device, NULL, &first, &error));
  check(rawhal_queue_create(device, NULL, &second, &error));
  static const int sums[4][3] = {{X, A, B}, {Y, A, A}, {Z, X, Y}, {W, Z, Z}};
  uint64_t blobs[4][4]; /* three pointers and, in 28 bytes, a count */
  rawhal_dispatch_t dispatches[4];
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 3; ++k)
      blobs[i][k] = rawhal_buffer_address(buffers[sums[i][k]]);
    blobs[i][3] = COUNT;
    dispatches[i] = (rawhal_dispatch_t){kernel, {COUNT, 1, 1}, {256, 1, 1}, .blob = blobs[i]};
    dispatches[i].blob_size = 28;
  }
  dispatches[1].flags = RAWHAL_DISPATCH_OVERLAP; /* y beside x; z waits for both, by default */
  rawhal_dependency_t batch = {.queue = first};
  rawhal_ticket_t last;
  check(rawhal_queue_submit(first, dispatches, 3, RAWHAL_FOREVER, &batch.ticket, &error));
  check(rawhal_queue_barrier(second, &batch, 1, RAWHAL_FOREVER, NULL, &error));
  check(rawhal_queue_submit(second, &dispatches[3], 1, RAWHAL_FOREVER, &last, &error));
  check(rawhal_queue_wait(second, last, RAWHAL_FOREVER, &error));

  int right = 0;
  const float *w = rawhal_buffer_host(buffers[W]);
  for (int i = 0; i < COUNT; ++i)
    right += w[i] == 2 * (a[i] + b[i] + a[i] + a[i]);
  printf("%d of %d sums are right\n", right, COUNT);
  rawhal_queue_destroy(second);
  rawhal_queue_destroy(first);
  rawhal_executable_destroy(executable);
  for (int i = 0; i < BUFFERS; ++i)
    rawhal_buffer_free(buffers[i]);
  rawhal_instance_destroy(instance);
  rawhal_hsaco_close(hsaco);
  return right == COUNT ? 0 : 1;
}
