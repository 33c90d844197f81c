/* A memory fault of which hardware tells no queue, only an address: a copy that goes past the end of memory that a
 * kernel, which is running, is given.
 *
 *     fault_event FILE handled     the program has a handler, and goes on
 *     fault_event FILE ended       so it has, and the kernel has ended, and its kernargs are others by then
 *     fault_event FILE unhandled   the runtime ends it */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "device.h"

enum { BYTES = 1 << 20 };

static atomic_bool told;

static hsa_status_t on_event(const hsa_amd_event_t *event, void *data)
{
  (void)data;
  printf("event %d\n", (int)event->event_type);
  atomic_store(&told, true);
  return HSA_STATUS_SUCCESS;
}

static void wait_for(hsa_signal_t signal)
{
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0)
    continue;
}

int main(int argc, char **argv)
{
  hsa_queue_t *queue;
  if (argc != 3)
    return 2;
  open_device();
  const int ended = strcmp(argv[2], "ended") == 0;
  if (ended || strcmp(argv[2], "handled") == 0)
    CALL(hsa_amd_register_system_event_handler(on_event, NULL));
  const hsa_executable_t executable = load_file(argv[1]);
  const uint64_t kernel =
      symbol(executable, "wait_for.kd", HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  volatile uint32_t *flag = host_memory(BYTES);
  void **kernargs = host_memory(4096);
  *kernargs = (void *)(uintptr_t)flag;
  *flag = (uint32_t)ended;
  CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
  const hsa_signal_t done = new_signal(), copied = new_signal();
  const hsa_kernel_dispatch_packet_t packet = packet_of(kernel, 1, kernargs, done);
  put(queue, queue, &packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | FENCES | 1 << 16);
  if (ended) {
    wait_for(done);
    *kernargs = NULL;
  }
  CALL(hsa_amd_memory_async_copy((char *)(uintptr_t)flag + BYTES, gpu, kernargs, cpu, 64, 0, NULL,
                                 copied));
  while (!atomic_load(&told))
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  *flag = 1;
  wait_for(done);
  CALL(hsa_queue_destroy(queue));
  puts("done");
  return 0;
}
