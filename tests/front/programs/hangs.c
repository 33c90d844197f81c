/* Queues that do not get on, until a line comes on the standard input, after which all of them do:
 *
 *     hangs FILE endless    a kernel that waits for a word of memory
 *     hangs FILE device     the same, and the program ends when both queues have failed
 *     hangs FILE waves      a wave that does, and three at a barrier
 *     hangs FILE cycle      barriers of two queues that wait for each other's ends
 *     hangs FILE signal     barriers of two queues that wait for a signal that nobody sets
 *     hangs FILE behind     a barrier that waits for such a kernel of another queue */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "device.h"

static hsa_queue_t *queues[2];
static hsa_signal_t ends[2];
static atomic_int failed;

static void on_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
  (void)data;
  printf("queue %d failed: %#x\n", queue == queues[1], (unsigned)status);
  atomic_fetch_add(&failed, 1);
  for (int i = 0; i < 2; ++i)
    hsa_signal_store_screlease(ends[i], 0); /* what the program waits for */
}

static void put_barrier(int queue, hsa_signal_t awaited, hsa_signal_t end)
{
  const hsa_barrier_and_packet_t packet = {.dep_signal = {awaited}, .completion_signal = end};
  put(queues[queue], queues[queue], &packet, HSA_PACKET_TYPE_BARRIER_AND | FENCES);
}

static void put_kernel(const char *path, const char *name, uint16_t work_items, void **kernargs)
{
  const uint64_t kernel = symbol(load_file(path), name, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  const hsa_kernel_dispatch_packet_t packet = packet_of(kernel, work_items, kernargs, ends[0]);
  put(queues[0], queues[0], &packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | FENCES | 1 << 16);
}

int main(int argc, char **argv)
{
  if (argc != 3)
    return 2;
  open_device();
  uint32_t *flag = host_memory(4096);
  void **kernargs = host_memory(4096);
  *kernargs = (void *)(uintptr_t)flag;
  hsa_signal_t nobodys;
  CALL(hsa_signal_create(7, 0, NULL, &nobodys));
  for (int i = 0; i < 2; ++i) {
    CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, on_error, NULL, UINT32_MAX, UINT32_MAX,
                          &queues[i]));
    ends[i] = new_signal();
  }
  const char what = *argv[2];
  if (what == 'e' || what == 'b' || what == 'd')
    put_kernel(argv[1], "wait_for.kd", 64, kernargs);
  if (what == 'w')
    put_kernel(argv[1], "half_barrier.kd", 256, kernargs);
  if (what == 'e' || what == 'w' || what == 'd')
    hsa_signal_store_screlease(ends[1], 0);
  if (what == 'b')
    put_barrier(1, ends[0], ends[1]);
  for (int i = 0; i < 2 && (what == 'c' || what == 's'); ++i)
    put_barrier(i, what == 'c' ? ends[1 - i] : nobodys, ends[i]);
  char line[16];
  if (fgets(line, sizeof(line), stdin)) {
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(nobodys, 0);
    if (what == 'c')
      hsa_signal_store_screlease(ends[0], 0);
  }
  for (int i = 0; i < 2; ++i)
    while (hsa_signal_wait_scacquire(ends[i], HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                     HSA_WAIT_STATE_BLOCKED) > 0)
      continue;
  while (what == 'd' && atomic_load(&failed) < 2)
    sched_yield();
  for (int i = 0; i < 2; ++i)
    CALL(hsa_queue_destroy(queues[i]));
  puts(atomic_load(&failed) ? "failed" : "done");
  return 0;
}
