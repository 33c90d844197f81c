/* Dispatches of which a recording has to follow something, or to say that it does not: one after the other, each told
 * by its name. usage: recorded FOLDER [large]; the folder has the fixtures */
#include <hsa/amd_hsa_signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "device.h"

enum { ITEMS = 64, PAGE = 4096, MANY = 1100, DEVICE_MHZ = 100 /* of its counter */ };

static hsa_queue_t *queue, *other_queue;
static hsa_executable_t recorded, dump, bare, packet;
static uint32_t *in, *out;

/* ---- Setting up ---- */

static hsa_executable_t load(const char *folder, const char *name)
{
  char path[4096];
  (void)snprintf(path, sizeof(path), "%s/%s-gfx90a-v5.co", folder, name);
  return load_file(path);
}

static void set_variable(const char *name, const void *bytes, size_t size)
{
  const uint64_t address = symbol(recorded, name, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  CALL(hsa_memory_copy((void *)(uintptr_t)address, bytes, size));
}

static void stop(hsa_status_t status, hsa_queue_t *of, void *data)
{
  (void)of;
  (void)data;
  CALL(status);
}

/* ---- Launching ---- */

typedef struct launch {
  hsa_executable_t executable;
  const char *kernel, *name; /* NULL: that of the kernel */
  const void *arguments;
  size_t size;
  void *kernargs; /* where they are to be; NULL: in the host's memory */
  uint32_t private_bytes;
  bool no_group;
} launch_t;

static hsa_signal_t begin(hsa_queue_t *on, const launch_t *launch)
{
  char descriptor[64];
  (void)snprintf(descriptor, sizeof(descriptor), "%s.kd", launch->kernel);
  const uint64_t object =
      symbol(launch->executable, descriptor, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  const uint32_t group = (uint32_t)symbol(launch->executable, descriptor,
                                          HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
  void *kernargs = launch->kernargs;
  if (!kernargs)
    kernargs = host_memory(PAGE);
  if (launch->size && launch->kernargs)
    CALL(hsa_memory_copy(kernargs, launch->arguments, launch->size));
  else if (launch->size)
    memcpy(kernargs, launch->arguments, launch->size);
  printf("%s\n", launch->name ? launch->name : launch->kernel);
  const hsa_signal_t signal = new_signal();
  hsa_kernel_dispatch_packet_t made = packet_of(object, ITEMS, kernargs, signal);
  made.private_segment_size = launch->private_bytes;
  made.group_segment_size = launch->no_group ? 0 : group;
  put(on, on, &made,
      HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER | FENCES | 1 << 16);
  return signal;
}

static void wait_for(hsa_signal_t signal)
{
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0)
    continue;
}

static void end(hsa_signal_t signal)
{
  wait_for(signal);
  CALL(hsa_signal_destroy(signal));
}

#define RUN(kernel_, name_, ...)                                                                   \
  do {                                                                                             \
    const struct {                                                                                 \
      void *out;                                                                                   \
      __typeof__(__VA_ARGS__) more;                                                                \
    } arguments_ = {out, __VA_ARGS__};                                                             \
    end(begin(queue, &(launch_t){recorded, kernel_, name_, &arguments_, sizeof(arguments_), NULL,  \
                                 0, false}));                                                      \
  } while (0)

/* The signal has the dispatch's own times: what the kernel read of its clock, in cycles, lies between them. */
static void run_clock(void)
{
  const void *arguments[] = {out, NULL};
  uint32_t mhz;
  CALL(hsa_agent_get_info(gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, &mhz));
  CALL(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  const hsa_signal_t signal = begin(
      queue, &(launch_t){recorded, "clock_of", NULL, arguments, sizeof(arguments), NULL, 0, false});
  wait_for(signal);
  const amd_signal_t *times = (const amd_signal_t *)(uintptr_t)signal.handle;
  uint64_t cycles;
  memcpy(&cycles, out, sizeof(cycles));
  const uint64_t tick = cycles / mhz * DEVICE_MHZ + cycles % mhz * DEVICE_MHZ / mhz;
  if (tick + 1 < times->start_ts || tick > times->end_ts + 1) {
    fprintf(stderr, "recorded.c: it ran at %llu, the signal says from %llu to %llu\n",
            (unsigned long long)tick, (unsigned long long)times->start_ts,
            (unsigned long long)times->end_ts);
    exit(3);
  }
  CALL(hsa_signal_destroy(signal));
}

/* ---- What is followed ---- */

typedef struct __attribute__((packed)) packed {
  uint8_t n;
  uint64_t in;
} packed_t;
typedef struct inside {
  uint32_t n;
  uint64_t in;
} inside_t;
typedef struct halves {
  uint32_t low, high;
} halves_t;

static void run_followed(void)
{
  const uint64_t address = (uint64_t)(uintptr_t)in;
  uint64_t *at = device_memory(PAGE);
  CALL(hsa_memory_copy(at, &address, sizeof(address)));
  RUN("plain", NULL, in);
  RUN("halves", NULL, ((halves_t){(uint32_t)address, (uint32_t)(address >> 32)}));
  RUN("inside", NULL, ((inside_t){3, address}));
  /* the packed structure begins at a multiple of 1, right after the pointer */
  struct __attribute__((packed)) {
    void *out;
    packed_t given;
  } packed = {out, {5, address}};
  end(begin(queue, &(launch_t){recorded, "packed", NULL, &packed, sizeof(packed), NULL, 0, false}));
  RUN("sentinel", NULL, (void *)1);
  uint32_t table[] = {50, 60, 70, 80}, constants[] = {900, 800}; /* the runtime pins them */
  set_variable("table", table, sizeof(table));
  set_variable("constants", constants, sizeof(constants));
  RUN("variables", NULL, (void *)NULL);
  RUN("variables", "variables again", (void *)NULL);
  set_variable("where", &address, sizeof(address));
  RUN("by_variable", NULL, (void *)NULL);
  RUN("indirect", NULL, at);
  uint32_t *const usual = out;
  out = device_memory(PAGE);
  RUN("keeps", NULL, in);
  const uint64_t inner = symbol(recorded, "table", HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS);
  RUN("keeps", "a variable's address", (void *)(uintptr_t)inner);
  out = usual;
  /* kernargs that are the device's */
  const void *plain[] = {out, in};
  end(begin(queue, &(launch_t){recorded, "plain", "kernargs of the device", plain, sizeof(plain),
                               device_memory(PAGE), 0, false}));
}

/* ---- What is not ---- */

static void run_deep(void)
{
  uint64_t *at = device_memory(PAGE), *first = device_memory(PAGE), address = (uintptr_t)first;
  CALL(hsa_memory_copy(at, &address, sizeof(address)));
  address = (uintptr_t)device_memory(PAGE);
  CALL(hsa_memory_copy(first, &address, sizeof(address)));
  RUN("twice", NULL, at);
}

static void run_many(void)
{
  uint64_t *at = host_memory(MANY * sizeof(uint64_t));
  for (int i = 0; i < MANY; ++i)
    at[i] = (uintptr_t)(i ? device_memory(PAGE) : (void *)in);
  RUN("indirect", "many", at);
  for (int i = 1; i < MANY; ++i)
    CALL(hsa_amd_memory_pool_free((void *)(uintptr_t)at[i]));
}

/* What the device was given, and nobody may read. */
static void *unmapped(void)
{
  void *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
  CALL(hsa_amd_memory_lock(mapped, PAGE, &gpu, 1, &at));
  (void)mprotect(mapped, PAGE, PROT_NONE);
  return at;
}

static void run_shared(void)
{
  hsa_amd_ipc_memory_t handle;
  void *mine = device_memory(2 << 20), *theirs;
  CALL(hsa_memory_copy(mine, in, ITEMS * sizeof(*in)));
  CALL(hsa_amd_ipc_memory_create(mine, 2 << 20, &handle));
  CALL(hsa_amd_ipc_memory_attach(&handle, 2 << 20, 1, &gpu, &theirs));
  RUN("plain", "shared", theirs);
}

/* A kernel that waits, while another runs, and memory to which it has an address is freed. */
static void run_beside(void)
{
  uint32_t *flag = host_memory(PAGE);
  uint64_t *stale = device_memory(PAGE), address = (uintptr_t)device_memory(PAGE);
  CALL(hsa_memory_copy(stale, &address, sizeof(address)));
  const void *waits[] = {out, flag, stale};
  const hsa_signal_t waiting =
      begin(queue, &(launch_t){recorded, "waits", NULL, waits, sizeof(waits), NULL, 0, false});
  const void *plain[] = {device_memory(PAGE), in};
  end(begin(other_queue,
            &(launch_t){recorded, "plain", "beside", plain, sizeof(plain), NULL, 0, false}));
  CALL(hsa_amd_memory_pool_free((void *)(uintptr_t)address));
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  end(waiting);
}

static void run_noted(void)
{
  hsa_signal_t signal;
  run_deep();
  RUN("plain", "objects",
      (void *)(uintptr_t)symbol(dump, "dump_implicit.kd",
                                HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT));
  run_clock();
  uint32_t *next = host_memory(PAGE);
  RUN("order_of", NULL, next);
  end(begin(queue, &(launch_t){packet, "packet", NULL, &out, sizeof(out), NULL, 0, false}));
  RUN("image_of", NULL, ((inside_t){1, 0}));
  CALL(hsa_signal_create(1, 0, NULL, &signal));
  RUN("inside", "runtime", ((inside_t){3, signal.handle}));
  const struct {
    void *out;
    uint32_t used;
  } group = {out, 0};
  end(begin(queue, &(launch_t){recorded, "group_of", NULL, &group, sizeof(group), NULL, 0, true}));
  const void *plain[] = {out, in};
  end(begin(queue,
            &(launch_t){recorded, "plain", "stack", plain, sizeof(plain), NULL, PAGE, false}));
  end(begin(queue, &(launch_t){recorded, "idle", "kernargs", NULL, 0, unmapped(), 0, false}));
  struct {
    void *out;
    uint32_t words;
    unsigned char hidden[256];
  } service = {.out = out, .words = 1};
  memcpy((char *)&service + 96, &signal.handle, sizeof(signal.handle)); /* hidden_hostcall_buffer */
  end(begin(queue, &(launch_t){dump, "dump_implicit", "service", &service, sizeof(service), NULL, 0,
                               false}));
  const struct __attribute__((packed)) {
    void *out;
    uint32_t value;
  } store = {out, 9};
  end(begin(queue,
            &(launch_t){bare, "bare_store", "layout", &store, sizeof(store), NULL, 0, false}));
  RUN("sentinel", "unreadable", unmapped());
  run_shared();
  run_many();
  run_beside();
}

/* More than the recording may have. */
static void run_large(void)
{
  RUN("plain", "large", device_memory(8 << 20));
  RUN("plain", NULL, in);
}

int main(int count, char **words)
{
  if (count < 2)
    return 2;
  open_device();
  CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, stop, NULL, UINT32_MAX, UINT32_MAX, &queue));
  CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, stop, NULL, UINT32_MAX, UINT32_MAX,
                        &other_queue));
  recorded = load(words[1], "recorded");
  dump = load(words[1], "dump_implicit");
  bare = load(words[1], "bare");
  packet = load(words[1], "packet");
  in = device_memory(PAGE);
  out = device_memory(PAGE);
  uint32_t values[ITEMS];
  for (uint32_t i = 0; i < ITEMS; ++i)
    values[i] = 1000 + i;
  CALL(hsa_memory_copy(in, values, sizeof(values)));
  if (count > 2)
    return run_large(), 0;
  run_followed();
  run_noted();
  printf("done\n");
  return 0;
}
