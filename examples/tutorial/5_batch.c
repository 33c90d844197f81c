/* usage: 5_batch FILE */
#include "tutorial.h"

enum { COUNT = 64, ROUNDS = 10 };

int main(int argc, char **argv)
{
  rawhal_instance_t *instance;
  rawhal_executable_t *executable;
  const rawhal_device_kernel_t *kernel;
  rawhal_buffer_t *memory;
  rawhal_queue_t *queue;
  if (argc != 2)
    return 2;
  check(rawhal_instance_create(NULL, &instance, &error));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  check(rawhal_executable_open_file(device, argv[1], NULL, &executable, &error));
  check(rawhal_executable_kernel(executable, RAWHAL_STRING("vector_add"), 0, &kernel, &error));
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, 3 * COUNT * 4, &memory, &error));
  check(rawhal_queue_create(device, NULL, &queue, &error));
  float *x = rawhal_buffer_host(memory), *y = x + COUNT, *z = y + COUNT;
  for (int i = 0; i < COUNT; ++i)
    x[i] = 1;

  /* y = x + x, z = y + y: the second waits for the first, as it lacks RAWHAL_DISPATCH_OVERLAP. */
  const uint64_t at = rawhal_buffer_address(memory), bytes = 4 * COUNT;
  struct {
    uint64_t c, a, b;
    uint32_t n;
  } blobs[2] = {{at + bytes, at, at, COUNT}, {at + 2 * bytes, at + bytes, at + bytes, COUNT}};
  rawhal_dispatch_t both[2];
  for (int i = 0; i < 2; ++i)
    both[i] = (rawhal_dispatch_t){.kernel = kernel,
                                  .work_items = {COUNT, 1, 1},
                                  .workgroup = {64, 1, 1},
                                  .blob = &blobs[i],
                                  .blob_size = 28};
  rawhal_ticket_t ticket;
  check(rawhal_queue_submit(queue, both, 2, RAWHAL_FOREVER, &ticket, &error));
  check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
  printf("one batch: z = %g\n", z[0]);

  /* Checked once, submitted with another blob each time: x = x + x. */
  rawhal_graph_t *graph;
  rawhal_graph_exec_t *exec;
  check(rawhal_graph_create(device, &graph, &error));
  check(rawhal_graph_add_batch(graph, both, 1, NULL, &error));
  check(rawhal_graph_instantiate(graph, NULL, &exec, &error));
  blobs[0].c = at;
  for (int round = 0; round < ROUNDS; ++round)
    check(rawhal_graph_launch_blob(queue, exec, &blobs[0], 28, RAWHAL_FOREVER, &ticket, &error));
  check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
  printf("%d launches: x = %g\n", ROUNDS, x[0]);
  rawhal_graph_exec_destroy(exec);
  rawhal_graph_destroy(graph);
  rawhal_queue_destroy(queue);
  rawhal_buffer_free(memory);
  rawhal_executable_destroy(executable);
  rawhal_instance_destroy(instance);
  return 0;
}
