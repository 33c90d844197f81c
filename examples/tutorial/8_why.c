/* usage: 8_why FILE */
#include "tutorial.h"

static void report(const rawhal_fault_t *fault)
{
  printf("%s in kernel %s, ticket %llu\n", rawhal_fault_kind_name(fault->kind), fault->kernel,
         (unsigned long long)fault->ticket);
  if (fault->known & RAWHAL_FAULT_KNOWS_OBJECT)
    printf("at 0x%llx of the code object, by work-group %u, wave %u, lane %u\n",
           (unsigned long long)fault->object_address, fault->group[0], fault->wave, fault->lane);
  for (uint32_t i = 0; i < fault->cause_count; ++i)
    printf("%u%% %s: %s\n", fault->causes[i].confidence,
           rawhal_cause_kind_name(fault->causes[i].kind), fault->causes[i].text);
}

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
  check(rawhal_executable_kernel(executable, RAWHAL_STRING("fill"), 0, &kernel, &error));
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 4096, &memory, &error));
  rawhal_buffer_label(memory, "image");

  struct {
    uint64_t out;
    uint32_t value;
  } blob = {rawhal_buffer_address(memory), 7};
  const rawhal_dispatch_t dispatch = {.kernel = kernel,
                                      .work_items = {1280, 1, 1}, /* of 4 bytes: 256 too many */
                                      .workgroup = {256, 1, 1},
                                      .blob = &blob,
                                      .blob_size = sizeof(blob)};
  rawhal_queue_t *queue;
  rawhal_ticket_t ticket;
  rawhal_fault_t fault = {.size = sizeof(fault)};
  check(rawhal_queue_create(device, NULL, &queue, &error));
  check(rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  if (rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error) == RAWHAL_FAULT) {
    check(rawhal_queue_fault(queue, &fault, &error));
    report(&fault);
  }
  rawhal_queue_destroy(queue);
  rawhal_buffer_free(memory);
  rawhal_executable_destroy(executable);
  rawhal_instance_destroy(instance);
  return 0;
}
