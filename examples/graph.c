/* A graph: 100 dispatches checked and packed once, launched with another argument each time. Node i
 * writes its bias to word i.
 *
 * usage: graph FILE.co   (tests/fixtures/write_ids-gfx90a-v5.co) */
#include <rawhal/rawhal.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100, LAUNCHES = 50, BIAS = 3 /* index of the argument */ };

static rawhal_error_t error;

static void check(rawhal_status_t status)
{
  if (status == RAWHAL_OK)
    return;
  fprintf(stderr, "graph: %s: %s\n", rawhal_status_name(status), error.message);
  exit(1);
}

int main(int argc, char **argv)
{
  rawhal_hsaco_t *hsaco;
  check(rawhal_hsaco_open_file(argc > 1 ? argv[1] : "write_ids.co", NULL, &hsaco, &error));
  rawhal_instance_t *instance;
  check(rawhal_instance_create(NULL, &instance, &error));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  rawhal_executable_t *executable;
  check(rawhal_executable_load(device, hsaco, &executable, &error));
  const rawhal_device_kernel_t *kernel;
  rawhal_string_t name = RAWHAL_STRING("write_ids");
  check(rawhal_executable_kernel(executable, name, 0, &kernel, &error));
  rawhal_buffer_t *out;
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, COUNT * 4, &out, &error));
  const uint32_t *words = rawhal_buffer_host(out);

  struct {
    uint64_t out;
    uint32_t width, height, bias;
  } blobs[COUNT];
  rawhal_dispatch_t dispatches[COUNT];
  for (uint32_t i = 0; i < COUNT; ++i) {
    blobs[i].out = rawhal_buffer_address(out) + 4 * i;
    blobs[i].width = blobs[i].height = 1;
    blobs[i].bias = i;
    dispatches[i] = (rawhal_dispatch_t){.kernel = kernel,
                                        .work_items = {1, 1, 1},
                                        .workgroup = {1, 1, 1},
                                        .blob = &blobs[i],
                                        .blob_size = 20};
  }
  rawhal_queue_t *queue;
  rawhal_graph_t *graph;
  rawhal_graph_exec_t *exec;
  check(rawhal_queue_create(device, NULL, &queue, &error));
  check(rawhal_graph_create(device, &graph, &error));
  for (uint32_t i = 0; i < COUNT; ++i) /* after no other: they may overlap */
    check(rawhal_graph_add_kernel(graph, &dispatches[i], NULL, 0, NULL, &error));
  check(rawhal_graph_instantiate(graph, NULL, &exec, &error));
  rawhal_graph_destroy(graph);

  int right = 0;
  for (uint32_t launch = 0; launch < LAUNCHES; ++launch) {
    uint32_t changed = launch % COUNT, value = 1000 + launch;
    const rawhal_graph_binding_t bias = {.kind = RAWHAL_GRAPH_ARGUMENT,
                                         .node = changed,
                                         .index = BIAS,
                                         .bytes = sizeof(value),
                                         .value = &value};
    rawhal_ticket_t ticket;
    check(rawhal_graph_launch(queue, exec, &bias, 1, RAWHAL_FOREVER, &ticket, &error));
    check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
    right += words[changed] == value && words[COUNT - 1] == COUNT - 1;
  }
  printf("%d of %d launches are right\n", right, LAUNCHES);
  rawhal_graph_exec_destroy(exec);
  rawhal_queue_destroy(queue);
  rawhal_buffer_free(out);
  rawhal_executable_destroy(executable);
  rawhal_instance_destroy(instance);
  rawhal_hsaco_close(hsaco);
  return right == LAUNCHES ? 0 : 1;
}
