/* Mistakes that HIP keeps its programs from, one by name, in a program that knows nothing of rawhal:
 *
 *     flights NAME FILE OTHERS     two code objects, for the device and for another chip
 *
 * All that is launched waits until it is let go. */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "device.h"

enum { PAGES = 8192 };

static hsa_queue_t *queue;
static hsa_signal_t done[2];
static volatile uint32_t *flag;
static hsa_executable_t executable;
static const char *others_file;
static atomic_bool failed;

static void on_error(hsa_status_t status, hsa_queue_t *source, void *data)
{
  (void)source, (void)data;
  printf("failed: %#x\n", (unsigned)status);
  atomic_store(&failed, true);
  hsa_signal_store_screlease(done[1], 0);
}

static void launch(int index, const char *name, void *kernargs)
{
  const uint64_t kernel = symbol(executable, name, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  const hsa_kernel_dispatch_packet_t packet = packet_of(kernel, 64, kernargs, done[index]);
  put(queue, queue, &packet,
      HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER | FENCES | 1 << 16);
}

static void *pages(void)
{
  return mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *kernargs_of(void *memory)
{
  void **kernargs = host_memory(4096);
  *kernargs = memory;
  return kernargs;
}

static void freed(void)
{
  void *memory = device_memory(1 << 20);
  launch(1, "fill.kd", kernargs_of(memory));
  CALL(hsa_amd_memory_pool_free(memory));
}

static void arguments(void)
{
  void *kernargs = kernargs_of(device_memory(4096));
  launch(1, "fill.kd", kernargs);
  CALL(hsa_amd_memory_pool_free(kernargs));
}

static void few(void) /* two pointers are taken */
{
  void **kernargs = host_memory(8);
  *kernargs = device_memory(4096);
  launch(1, "widen.kd", kernargs);
}

static void unloaded(void)
{
  launch(1, "fill.kd", kernargs_of(device_memory(4096)));
  CALL(hsa_executable_destroy(executable));
}

static void read_only(void)
{
  void *memory = pages();
  hsa_amd_svm_attribute_pair_t rights[] = {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu.handle},
                                           {HSA_AMD_SVM_ATTRIB_READ_ONLY, 1}};
  CALL(hsa_amd_svm_attributes_set(memory, PAGES, rights, 2));
  launch(1, "fill.kd", kernargs_of(memory));
}

static void destroyed(void)
{
  launch(1, "fill.kd", kernargs_of(device_memory(4096)));
  CALL(hsa_queue_destroy(queue));
  queue = NULL;
  hsa_signal_store_screlease(done[1], 0);
}

static void target(void)
{
  (void)load_file(others_file); /* which ends the program */
}

static const struct {
  const char *name;
  void (*make)(void);
} all[] = {
    {"freed_in_flight", freed}, {"arguments_freed", arguments}, {"few_arguments", few},
    {"unloaded", unloaded},     {"read_only", read_only},       {"destroyed", destroyed},
    {"target", target},
};

int main(int argc, char **argv)
{
  if (argc != 4)
    return 2;
  open_device();
  others_file = argv[3];
  executable = load_file(argv[2]);
  flag = host_memory(4096);
  for (int i = 0; i < 2; ++i)
    done[i] = new_signal();
  CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, on_error, NULL, UINT32_MAX, UINT32_MAX,
                        &queue));
  launch(0, "wait_for.kd", kernargs_of((void *)(uintptr_t)flag));
  executable = load_file(argv[2]); /* what waits stays, whatever happens to this one */
  for (size_t i = 0; i < sizeof(all) / sizeof(*all); ++i)
    if (strcmp(all[i].name, argv[1]) == 0)
      all[i].make();
  *flag = 1;
  while (hsa_signal_wait_scacquire(done[1], HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0)
    continue;
  if (queue)
    CALL(hsa_queue_destroy(queue));
  puts(atomic_load(&failed) ? "failed" : "done");
  return 0;
}
