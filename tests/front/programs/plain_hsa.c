/* Dispatches by HSA alone, of kernel vector_add of a file of its own.
 *
 *     plain_hsa FILE loads      its code comes in by each of the ways there are
 *     plain_hsa FILE kernargs   its kernargs are in memory of each kind, rightly
 *     plain_hsa FILE mistakes   likewise, wrongly
 *     plain_hsa FILE unknown    its kernel is none
 *     plain_hsa FILE packets    other packets, while a dispatch is held back
 *     plain_hsa FILE copies     copies whose signals are none
 *
 * For each a line says whether it ran, was stopped, or had a wrong result; of copies, what the
 * runtime says. */
#include <fcntl.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

enum { ITEMS = 64, BYTES = ITEMS * sizeof(float), PAGE = 4096 };

typedef struct kernargs {
  float *c;
  const float *a, *b;
  uint32_t n;
} kernargs_t;

static unsigned char *file;
static size_t file_size;
static int file_descriptor;
static uint64_t kernel; /* where the code is that was loaded last */
static float *memory;   /* c, a and b */

static void *mapped(size_t size)
{
  void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return made == MAP_FAILED ? NULL : made;
}

static void *locked(void *host, size_t size)
{
  void *address;
  CALL(hsa_amd_memory_lock(host, size, gpus, 1, &address));
  return address;
}

/* ---- One dispatch ---- */

static atomic_bool stopped;

static void on_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
  (void)status, (void)queue, (void)data;
  atomic_store(&stopped, true);
}

static void write_kernargs(void *to)
{
  const kernargs_t kernargs = {memory, memory + ITEMS, memory + 2 * ITEMS, ITEMS};
  memcpy(to, &kernargs, sizeof(kernargs));
}

static hsa_queue_t *new_queue(void)
{
  hsa_queue_t *queue;
  CALL(hsa_queue_create(gpus[0], 64, HSA_QUEUE_TYPE_MULTI, on_error, NULL, UINT32_MAX, UINT32_MAX,
                        &queue));
  return queue;
}

static void wait_for(hsa_signal_t done)
{
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 1000000,
                                   HSA_WAIT_STATE_BLOCKED) > 0 &&
         !atomic_load(&stopped))
    continue;
}

static void put_dispatch(hsa_queue_t *queue, void *kernargs, hsa_signal_t done)
{
  const hsa_kernel_dispatch_packet_t packet = packet_of(kernel, ITEMS, kernargs, done);
  put(queue, queue, &packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | FENCES | 1 << 16);
}

static void dispatch(const char *how, void *kernargs)
{
  hsa_queue_t *queue = new_queue();
  hsa_signal_t done = new_signal();
  atomic_store(&stopped, false);
  memset(memory, 0, BYTES);
  put_dispatch(queue, kernargs, done);
  wait_for(done);
  bool right = true;
  for (int i = 0; i < ITEMS; ++i)
    right &= memory[i] == 3.0f * (float)i;
  printf("%s: %s\n", how, atomic_load(&stopped) ? "stopped" : right ? "ran" : "wrong");
  CALL(hsa_queue_destroy(queue));
  CALL(hsa_signal_destroy(done));
}

/* ---- Ways that code comes in ---- */

typedef hsa_status_t load_fn(hsa_executable_t executable);

static hsa_status_t by_reader(hsa_executable_t executable, hsa_code_object_reader_t reader)
{
  return hsa_executable_load_agent_code_object(executable, gpus[0], reader, NULL, NULL);
}

static hsa_status_t by_memory(hsa_executable_t executable)
{
  hsa_code_object_reader_t reader;
  CALL(hsa_code_object_reader_create_from_memory(file, file_size, &reader));
  return by_reader(executable, reader);
}

static hsa_status_t by_file(hsa_executable_t executable)
{
  hsa_code_object_reader_t reader;
  CALL(hsa_code_object_reader_create_from_file(file_descriptor, &reader));
  return by_reader(executable, reader);
}

static hsa_status_t by_part_of_file(hsa_executable_t executable)
{
  hsa_ven_amd_loader_1_02_pfn_t loader;
  hsa_code_object_reader_t reader;
  FILE *padded = tmpfile();
  if (!padded || fwrite("padding.", 8, 1, padded) != 1 || fwrite(file, file_size, 1, padded) != 1 ||
      fflush(padded))
    return HSA_STATUS_ERROR;
  CALL(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof(loader), &loader));
  CALL(loader.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
      fileno(padded), 8, file_size, &reader));
  return by_reader(executable, reader);
}

/* As LLVM's runtime for OpenMP does. */
static hsa_status_t by_code_object(hsa_executable_t executable)
{
  hsa_code_object_t object;
  CALL(hsa_code_object_deserialize(file, file_size, NULL, &object));
  return hsa_executable_load_code_object(executable, gpus[0], object, NULL);
}

/* What is left of a load that failed stays in the executable. */
static hsa_status_t by_second(hsa_executable_t executable)
{
  hsa_code_object_reader_t reader;
  CALL(hsa_code_object_reader_create_from_memory(file, file_size, &reader));
  if (hsa_executable_load_program_code_object(executable, reader, NULL, NULL) == HSA_STATUS_SUCCESS)
    return HSA_STATUS_ERROR;
  return by_reader(executable, reader);
}

static hsa_status_t by_program(hsa_executable_t executable)
{
  hsa_code_object_reader_t reader;
  CALL(hsa_code_object_reader_create_from_memory(file, file_size, &reader));
  return hsa_executable_load_program_code_object(executable, reader, NULL, NULL);
}

static hsa_status_t load(load_fn *way, bool older)
{
  hsa_executable_t executable;
  hsa_executable_symbol_t symbol;
  if (older)
    CALL(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL, &executable));
  else
    CALL(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                   &executable));
  hsa_status_t result = way(executable);
  if (result == HSA_STATUS_SUCCESS)
    result = hsa_executable_freeze(executable, NULL);
  if (result == HSA_STATUS_SUCCESS)
    result = hsa_executable_get_symbol_by_name(executable, "vector_add.kd", gpus, &symbol);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  return hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel);
}

/* By which entries of the runtime's tables. */
static const struct {
  const char *create, *load;
  load_fn *way;
  bool older;
} ways[] = {
    {"hsa_code_object_reader_create_from_memory", "hsa_executable_load_agent_code_object",
     by_memory, false},
    {"hsa_code_object_reader_create_from_memory", "hsa_executable_load_agent_code_object",
     by_memory, true},
    {"hsa_code_object_reader_create_from_file", "hsa_executable_load_agent_code_object", by_file,
     false},
    {"hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size",
     "hsa_executable_load_agent_code_object", by_part_of_file, false},
    {"hsa_code_object_deserialize", "hsa_executable_load_code_object", by_code_object, false},
    {"hsa_code_object_deserialize", "hsa_executable_load_code_object", by_code_object, true},
    {"hsa_code_object_reader_create_from_memory", "hsa_executable_load_program_code_object",
     by_program, false},
    {"hsa_code_object_reader_create_from_memory",
     "hsa_executable_load_agent_code_object, after one that failed", by_second, false},
};

static void try_loads(void)
{
  kernargs_t *kernargs = host_memory(sizeof(*kernargs));
  write_kernargs(kernargs);
  for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); ++i) {
    char how[200];
    (void)snprintf(how, sizeof(how), "%s, %s%s", ways[i].create, ways[i].load,
                   ways[i].older ? ", hsa_executable_create" : "");
    if (load(ways[i].way, ways[i].older) == HSA_STATUS_SUCCESS)
      dispatch(how, kernargs);
    else
      printf("%s: not loaded\n", how);
  }
}

/* ---- Places of kernargs ---- */

static void try_kernargs(void)
{
  char *host = mapped(3 * PAGE), *address;
  void *other;
  other = host_memory(PAGE);
  write_kernargs(other);
  dispatch("the runtime's", other);
  write_kernargs(host);
  dispatch("locked", locked(host, PAGE));
  /* Neither begins nor ends with a page, and the kernargs are on both sides of one. */
  address = locked(host + PAGE + 96, PAGE + 4000 - 96);
  write_kernargs(host + 2 * PAGE - 16);
  dispatch("locked, across pages", address + PAGE - 16 - 96);
  write_kernargs(host + PAGE + 96);
  dispatch("locked, at the beginning", address);
  write_kernargs(host + 2 * PAGE + 4000 - 32);
  dispatch("locked, at the end", address + PAGE + 4000 - 96 - 32);
  other = device_memory(PAGE);
  write_kernargs(host);
  CALL(hsa_memory_copy(other, host, sizeof(kernargs_t)));
  dispatch("a device's", other);
  hsa_amd_ipc_memory_t shown;
  void *seen;
  CALL(hsa_amd_ipc_memory_create(other, PAGE, &shown));
  CALL(hsa_amd_ipc_memory_attach(&shown, PAGE, 1, gpus, &seen));
  dispatch("a device's, by another process's way", seen);
  char *managed = mapped(PAGE);
  hsa_amd_svm_attribute_pair_t all[] = {
      {HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE, gpus[0].handle}};
  write_kernargs(managed);
  CALL(hsa_amd_svm_attributes_set(managed, PAGE, all, 1));
  dispatch("managed", managed);
  if (gpu_count < 2)
    return;
  CALL(hsa_amd_memory_pool_allocate(device_pools[1], PAGE, 0, &other));
  CALL(hsa_amd_agents_allow_access(1, gpus, NULL, other));
  CALL(hsa_memory_copy(other, host, sizeof(kernargs_t)));
  dispatch("another device's", other);
}

static void try_mistakes(void)
{
  char *host = mapped(2 * PAGE), *address = locked(host, 2 * PAGE);
  void *other;
  write_kernargs(host + 2 * PAGE - 16 - sizeof(kernargs_t));
  dispatch("the host's address", host);
  dispatch("beyond the end", address + 2 * PAGE - 16);
  other = mapped(PAGE);
  write_kernargs(other);
  dispatch("the host's", other);
  if (munmap(host, PAGE))
    exit(1);
  dispatch("unmapped", address);
  dispatch("unmapped, in part", address + PAGE - 16);
  CALL(hsa_amd_memory_unlock(host));
  dispatch("unlocked", address);
  other = host_memory(PAGE);
  write_kernargs(other);
  CALL(hsa_amd_memory_pool_free(other));
  dispatch("freed", other);
  CALL(hsa_amd_memory_pool_allocate(host_pool, PAGE, 0, &other));
  write_kernargs(other);
  dispatch("the runtime's, and not given", other);
  if (gpu_count < 2)
    return;
  CALL(hsa_amd_memory_pool_allocate(device_pools[1], PAGE, 0, &other));
  dispatch("another device's", other);
}

/* ---- No kernels ---- */

static void try_unknown(void)
{
  const uint64_t known = kernel;
  kernargs_t *kernargs = host_memory(sizeof(*kernargs));
  write_kernargs(kernargs);
  kernel = known + 64;
  dispatch("beside its descriptor", kernargs);
  void *copy = device_memory(2 * PAGE);
  CALL(
      hsa_memory_copy(copy, (const void *)known, 64)); /* its code is at another place from there */
  kernel = (uint64_t)copy;
  dispatch("where nothing was loaded", kernargs);
  kernel = 0;
  dispatch("nowhere", kernargs);
}

/* ---- Packets of other kinds ---- */

/* Something else is held back, where little time is allowed: then packets are looked at. */
static void try_packets(void)
{
  hsa_queue_t *holding = new_queue();
  kernargs_t *kernargs = host_memory(sizeof(*kernargs));
  write_kernargs(kernargs);
  for (int i = 0; i < 60; ++i)
    put_dispatch(holding, kernargs, (hsa_signal_t){0});
  static const struct {
    const char *how;
    uint32_t first;
    uint64_t words[8]; /* from the 8th byte: what a barrier waits for */
  } kinds[] = {
      {"a barrier", HSA_PACKET_TYPE_BARRIER_AND, {0}},
      {"a barrier of no signal", HSA_PACKET_TYPE_BARRIER_AND, {0, 0x1000}},
      {"any of none", HSA_PACKET_TYPE_BARRIER_OR, {0, 0x7f0000000040, 0x7f0000000040}},
      {"a value's barrier", HSA_PACKET_TYPE_VENDOR_SPECIFIC | 2 << 16, {0}},
      {"commands", HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1 << 16, {0}},
  };
  for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); ++i) {
    hsa_queue_t *queue = new_queue();
    hsa_signal_t done = new_signal();
    uint64_t packet[8] = {0};
    atomic_store(&stopped, false);
    memcpy(packet, kinds[i].words, sizeof(packet));
    packet[7] = done.handle;
    put(queue, queue, packet, kinds[i].first | FENCES);
    wait_for(done);
    printf("%s: %s\n", kinds[i].how, atomic_load(&stopped) ? "stopped" : "ran");
    CALL(hsa_queue_destroy(queue));
    CALL(hsa_signal_destroy(done));
  }
  CALL(hsa_queue_destroy(holding));
}

/* ---- Copies ---- */

static hsa_signal_t gone_signal(void)
{
  hsa_signal_t gone = new_signal();
  CALL(hsa_signal_destroy(gone));
  return gone;
}

static void *target, *managed_memory;

static hsa_status_t copy(const hsa_signal_t *waits_for, hsa_signal_t done)
{
  return hsa_amd_memory_async_copy(target, gpus[0], memory, gpus[0], BYTES, waits_for ? 1 : 0,
                                   waits_for, done);
}

static hsa_status_t copy_rectangle(const hsa_signal_t *waits_for, hsa_signal_t done)
{
  const hsa_pitched_ptr_t to = {target, 64, 0}, from = {memory, 64, 0};
  const hsa_dim3_t at = {0, 0, 0}, range = {64, 1, 1};
  return hsa_amd_memory_async_copy_rect(&to, &at, &from, &at, &range, gpus[0], hsaHostToDevice,
                                        waits_for ? 1 : 0, waits_for, done);
}

static hsa_status_t prefetch(const hsa_signal_t *waits_for, hsa_signal_t done)
{
  return hsa_amd_svm_prefetch_async(managed_memory, PAGE, gpus[0], waits_for ? 1 : 0, waits_for,
                                    done);
}

/* A signal that came to be where one was that a copy was to count down. */
static void try_successor(void)
{
  enum { MOST = 64, VALUE = 5 };
  const hsa_signal_t gone = gone_signal();
  hsa_signal_t next = {0};
  const hsa_status_t result = copy(NULL, gone);
  for (int i = 0; i < MOST && next.handle != gone.handle; ++i)
    CALL(hsa_signal_create(VALUE, 0, NULL, &next));
  hsa_signal_t done = new_signal(); /* of a copy by the same engine */
  CALL(copy(NULL, done));
  wait_for(done);
  printf("copy, its successor: 0x%x\n",
         next.handle == gone.handle && hsa_signal_load_scacquire(next) != VALUE ? 0u
                                                                                : (unsigned)result);
}

static void try_copies(void)
{
  static _Alignas(64) uint64_t nothing[16];
  static const struct {
    const char *how;
    hsa_status_t (*copy)(const hsa_signal_t *waits_for, hsa_signal_t done);
    bool looks; /* the runtime does, at all of them and before it does anything */
  } kinds[] = {
      {"copy", copy, true}, {"rectangle", copy_rectangle, true}, {"prefetch", prefetch, false}};
  const hsa_signal_t none = {(uint64_t)nothing}, good = new_signal();
  target = device_memory(PAGE);
  managed_memory = mapped(PAGE);
  hsa_amd_svm_attribute_pair_t all = {HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpus[0].handle};
  CALL(hsa_amd_svm_attributes_set(managed_memory, PAGE, &all, 1));
  for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); ++i) {
    const hsa_signal_t gone = gone_signal();
    printf("%s, waits for none: 0x%x\n", kinds[i].how, (unsigned)kinds[i].copy(&none, good));
    if (!kinds[i].looks)
      continue;
    printf("%s, waits for one that is gone: 0x%x\n", kinds[i].how,
           (unsigned)kinds[i].copy(&gone, good));
    printf("%s, counts none: 0x%x\n", kinds[i].how, (unsigned)kinds[i].copy(NULL, none));
    printf("%s, counts one that is gone: 0x%x\n", kinds[i].how,
           (unsigned)kinds[i].copy(NULL, gone));
  }
  try_successor();
  if (hsa_signal_load_scacquire(good) != 1)
    printf("what was refused: counted\n");
}

/* ---- ---- */

static bool read_file(const char *path)
{
  struct stat about;
  file_descriptor = open(path, O_RDONLY);
  if (file_descriptor < 0 || fstat(file_descriptor, &about))
    return false;
  file_size = (size_t)about.st_size;
  file = malloc(file_size);
  return file && pread(file_descriptor, file, file_size, 0) == about.st_size;
}

int main(int count, char **arguments)
{
  (void)setvbuf(stdout, NULL, _IOLBF, 0);
  if (count != 3 || !read_file(arguments[1]))
    return 2;
  open_device();
  memory = host_memory(3 * BYTES);
  for (int i = 0; i < ITEMS; ++i) {
    memory[ITEMS + i] = (float)i;
    memory[2 * ITEMS + i] = 2.0f * (float)i;
  }
  if (strcmp(arguments[2], "loads") == 0) {
    try_loads();
  } else {
    CALL(load(by_memory, false));
    if (strcmp(arguments[2], "kernargs") == 0)
      try_kernargs();
    else if (strcmp(arguments[2], "unknown") == 0)
      try_unknown();
    else if (strcmp(arguments[2], "packets") == 0)
      try_packets();
    else if (strcmp(arguments[2], "copies") == 0)
      try_copies();
    else
      try_mistakes();
  }
  CALL(hsa_shut_down());
  return 0;
}
