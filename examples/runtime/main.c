/* A runtime of its own that has rawhal do the kernels.
 *
 * It has called hsa_init() first and owns its agent, queue, signals and memory, and copies by
 * itself. rawhal loads a raw code object, checks and packs arguments, and writes its packets to
 * that queue beside the runtime's own. Nothing is copied or waited for on the host in between:
 *
 *     runtime's copies --copied--> rawhal's kernel --computed--> runtime's copy back --returned-->
 *
 * usage: runtime FILE.co   (tests/fixtures/vector_add-gfx90a-v5.co)
 * On a machine without a GPU: softgpu-run runtime FILE.co */
#include "runtime.h"

#include <rawhal/rawhal.h>

enum { COUNT = 1 << 16, BYTES = COUNT * sizeof(float) };

/* What rawhal has of the runtime's. */
typedef struct kernels {
  rawhal_instance_t *instance;
  rawhal_device_t *device;
  rawhal_hsaco_t *hsaco;
  rawhal_executable_t *executable;
  const rawhal_device_kernel_t *add;
  rawhal_queue_t *queue;
} kernels_t;

static rawhal_error_t error;

static void check(rawhal_status_t status)
{
  if (status != RAWHAL_OK)
    runtime_die(rawhal_status_name(status), error.message);
}

/* The runtime's own error callback passes on what its queue says. */
static void queue_stopped(int32_t hsa_status, void *context)
{
  kernels_t *kernels = context;
  if (kernels->queue)
    (void)!rawhal_queue_report(kernels->queue, hsa_status, NULL);
}

static void kernels_open(kernels_t *kernels, runtime_t *runtime, const char *file)
{
  check(rawhal_hsaco_open_file(file, NULL, &kernels->hsaco, &error));
  check(rawhal_instance_create(NULL, &kernels->instance, &error));
  check(rawhal_instance_find_device(kernels->instance, runtime->agent.handle, &kernels->device,
                                    &error));
  check(rawhal_executable_load(kernels->device, kernels->hsaco, &kernels->executable, &error));
  check(rawhal_executable_kernel(kernels->executable, RAWHAL_STRING("vector_add"), 0, &kernels->add,
                                 &error));
  rawhal_queue_options_t options = {.hsa_queue = runtime->queue};
  check(rawhal_queue_create(kernels->device, &options, &kernels->queue, &error));
}

static void kernels_close(kernels_t *kernels)
{
  rawhal_queue_destroy(kernels->queue);
  kernels->queue = NULL;
  rawhal_executable_destroy(kernels->executable);
  rawhal_instance_destroy(kernels->instance);
  rawhal_hsaco_close(kernels->hsaco);
}

/* c = a + b on the runtime's addresses, after `copied` and before `computed`. */
static void add(kernels_t *kernels, uint64_t c, uint64_t a, uint64_t b, hsa_signal_t copied,
                hsa_signal_t computed)
{
  struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {c, a, b, COUNT};
  rawhal_dispatch_t dispatch = {.kernel = kernels->add,
                                .work_items = {COUNT, 1, 1},
                                .workgroup = {256, 1, 1},
                                .blob = &blob,
                                .blob_size = 28};
  rawhal_dependency_t after = {.signal = copied.handle, .value = 0};
  check(rawhal_queue_barrier(kernels->queue, &after, 1, RAWHAL_FOREVER, NULL, &error));
  check(rawhal_queue_submit(kernels->queue, &dispatch, 1, RAWHAL_FOREVER, NULL, &error));
  check(rawhal_queue_signal(kernels->queue, computed.handle, RAWHAL_FOREVER, NULL, &error));
}

/* The runtime's memory is rawhal's as a buffer, too, where that is wanted. */
static int right_by_rawhal(kernels_t *kernels, void *c, const float *a, const float *b)
{
  static float got[COUNT];
  rawhal_buffer_t *buffer;
  rawhal_ticket_t ticket;
  check(rawhal_buffer_import(kernels->device, c, BYTES, &buffer, &error));
  check(rawhal_queue_read(kernels->queue, buffer, 0, got, BYTES, RAWHAL_FOREVER, &ticket, &error));
  check(rawhal_queue_wait(kernels->queue, ticket, RAWHAL_FOREVER, &error));
  rawhal_buffer_free(buffer);
  int right = 0;
  for (int i = 0; i < COUNT; ++i)
    right += got[i] == a[i] + b[i];
  return right;
}

int main(int argc, char **argv)
{
  static kernels_t kernels;
  runtime_t runtime;
  runtime_open(&runtime, queue_stopped, &kernels);
  kernels_open(&kernels, &runtime, argc > 1 ? argv[1] : "vector_add.co");

  float *a = runtime_host(&runtime, BYTES), *b = runtime_host(&runtime, BYTES);
  float *sums = runtime_host(&runtime, BYTES);
  void *device[3]; /* c, a, b */
  for (int i = 0; i < 3; ++i)
    device[i] = runtime_device(&runtime, BYTES);
  for (int i = 0; i < COUNT; ++i)
    a[i] = (float)i, b[i] = 0.5f;

  hsa_signal_t copied = runtime_signal(2), computed = runtime_signal(1);
  hsa_signal_t returned = runtime_signal(1), passed = runtime_signal(1);
  runtime_copy(&runtime, device[1], a, BYTES, NULL, copied);
  runtime_copy(&runtime, device[2], b, BYTES, NULL, copied);
  add(&kernels, (uint64_t)(uintptr_t)device[0], (uint64_t)(uintptr_t)device[1],
      (uint64_t)(uintptr_t)device[2], copied, computed);
  runtime_barrier(&runtime, passed); /* a packet of the runtime's in the same queue */
  runtime_copy(&runtime, sums, device[0], BYTES, &computed, returned);
  runtime_wait(returned);
  runtime_wait(passed);

  int right = 0;
  for (int i = 0; i < COUNT; ++i)
    right += sums[i] == a[i] + b[i];
  int again = right_by_rawhal(&kernels, device[0], a, b);
  printf("%d and %d of %d sums are right, on %s\n", right, again, COUNT,
         rawhal_device_info(kernels.device)->description);
  kernels_close(&kernels);
  runtime_close(&runtime);
  return right == COUNT && again == COUNT ? 0 : 1;
}
