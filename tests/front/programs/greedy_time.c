/* Ways to more of a device's time than a share allows, by HSA alone. What the device says that it
 * did is printed: nothing of it comes from above the runtime.
 *
 *     greedy_time calls WORD...   threads, each with one kind of call that returns when the device
 *                                 has done it. For each line of standard input: how many dispatches
 *                                 and copies the device has ended, and its ns of work
 *     greedy_time turns FILE MS   kernels of 2 ms as fast as they go, for so long
 *     greedy_time real FILE MS    likewise, where all of HSA's functions are given the device's own
 *                                 queue, of which a kernel tells
 *     greedy_time ring FILE MS    and packets are in its ring, too
 *     greedy_time both FILE MS    by two cooperative queues in turn, which are one to the runtime
 *     greedy_time late FILE MS    a kernel with a signal of its own behind a barrier that opens
 *                                 after so long, and how long the next one takes then
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <hsa/hsa_ext_image.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "softgpu/softgpu.h"

enum { BYTES = 1 << 20, SIDE = 128, TICKS_EACH = 200000, TICKS_A_MS = 100000 };

/* ---- What there is ---- */

static double seconds_of(clockid_t clock)
{
  struct timespec now = {0};
  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds(void)
{
  return seconds_of(CLOCK_MONOTONIC);
}

/* What threads of the device's have had of the processors. */
static double device_seconds(void)
{
  double sum = 0;
  DIR *folder = opendir("/proc/self/task");
  for (struct dirent *each; folder && (each = readdir(folder));) {
    char path[300], name[32] = "";
    (void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", each->d_name);
    FILE *file = fopen(path, "r");
    const bool known = file && fgets(name, sizeof(name), file);
    if (file)
      (void)fclose(file);
    if (known && strncmp(name, "softgpu-", 8) ==
                     0) /* the clock of that thread: its kernel's way to say so */
      sum += seconds_of((clockid_t)(~(unsigned)atoi(each->d_name) << 3 | 6));
  }
  if (folder)
    (void)closedir(folder);
  return sum;
}

/* ---- Calls ---- */

typedef struct call {
  void *to, *from;
  hsa_ext_image_t image, other;
  hsa_ext_image_region_t all;
} call_t;

static void copy(const call_t *c)
{
  CALL(hsa_memory_copy(c->to, c->from, BYTES));
}

static void fill(const call_t *c)
{
  CALL(hsa_amd_memory_fill(c->to, 7, BYTES / 4));
}

static void clear(const call_t *c)
{
  static const float color[4] = {1, 2, 3, 4};
  CALL(hsa_ext_image_clear(gpu, c->image, color, &c->all));
}

static void import(const call_t *c)
{
  CALL(hsa_ext_image_import(gpu, c->from, 0, 0, c->image, &c->all));
}

static void export(const call_t *c)
{
  CALL(hsa_ext_image_export(gpu, c->image, c->to, 0, 0, &c->all));
}

static void image_copy(const call_t *c)
{
  const hsa_dim3_t origin = {0};
  CALL(hsa_ext_image_copy(gpu, c->image, &origin, c->other, &origin, &c->all.range));
}

/* Memory of the program's own that the device may use. */
static void *mapped(void)
{
  void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? exit(1), NULL : memset(memory, 1, BYTES);
}

static void *host(void)
{
  return host_memory(BYTES);
}

static void *device(void)
{
  return device_memory(BYTES);
}

static void *locked(void)
{
  void *address;
  CALL(hsa_amd_memory_lock(mapped(), BYTES, &gpu, 1, &address));
  return address;
}

static const struct kind {
  const char *word;
  void (*call)(const call_t *call);
  void *(*to)(void), *(*from)(void);
} kinds[] = {
    {"copy", copy, device, device},    {"up", copy, device, mapped},
    {"down", copy, mapped, device},    {"fill", fill, device, device},
    {"fill-host", fill, host, device}, {"fill-locked", fill, locked, device},
    {"clear", clear, NULL, NULL},      {"import", import, NULL, NULL},
    {"export", export, NULL, NULL},    {"image", image_copy, NULL, NULL},
};

static hsa_ext_image_t new_image(void)
{
  const hsa_ext_image_descriptor_t what = {
      .geometry = HSA_EXT_IMAGE_GEOMETRY_2D,
      .width = SIDE,
      .height = SIDE,
      .format = {HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA}};
  hsa_ext_image_data_info_t data;
  hsa_ext_image_t image;
  CALL(hsa_ext_image_data_get_info(gpu, &what, HSA_ACCESS_PERMISSION_RW, &data));
  const uintptr_t at = (uintptr_t)device_memory(data.size + data.alignment) + data.alignment - 1;
  CALL(hsa_ext_image_create(gpu, &what, (void *)(at & ~(data.alignment - 1)),
                            HSA_ACCESS_PERMISSION_RW, &image));
  return image;
}

static void *repeat(void *data)
{
  const struct kind *kind = data;
  call_t call = {.all = {.range = {SIDE, SIDE, 1}}};
  call.to = kind->to ? kind->to() : host_memory(BYTES);
  call.from = kind->from ? kind->from() : host_memory(BYTES);
  if (!kind->to) {
    call.image = new_image();
    call.other = new_image();
  }
  for (;;)
    kind->call(&call);
  return NULL;
}

static bool start(const char *word)
{
  pthread_t thread;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); ++i)
    if (strcmp(kinds[i].word, word) == 0)
      return pthread_create(&thread, NULL, repeat, (void *)(uintptr_t)&kinds[i]) == 0;
  return false;
}

static int calls(int count, char **words)
{
  char line[16];
  softgpu_counters_fn *ask = (softgpu_counters_fn *)dlsym(RTLD_DEFAULT, "softgpu_counters");
  for (int i = 0; i < count; ++i)
    if (!start(words[i]))
      return 2;
  while (ask && fgets(line, sizeof(line), stdin)) {
    softgpu_counters_t now;
    ask(&now, sizeof(now));
    printf("%llu %.0f\n", (unsigned long long)(now.dispatches + now.copies),
           device_seconds() * 1e9);
    (void)fflush(stdout);
  }
  _exit(0);
}

/* ---- Kernels ---- */

typedef struct kernargs {
  uint64_t *used;
  uint64_t ticks;
} kernargs_t;

static hsa_executable_t executable;
static hsa_queue_t *queue, *ring; /* what functions are given, and where packets are */
static kernargs_t *kernargs;

static void load(const char *path)
{
  executable = load_file(path);
  CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
  ring = queue;
  kernargs = host_memory(4096);
  kernargs->used = (uint64_t *)(kernargs + 16);
  kernargs->ticks = TICKS_EACH;
}

static uint64_t kernel(const char *name)
{
  return symbol(executable, name, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
}

static void dispatch(uint64_t object, hsa_signal_t done)
{
  const hsa_kernel_dispatch_packet_t packet = packet_of(object, 1, kernargs, done);
  put(queue, ring, &packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | FENCES | 1 << 16);
}

/* False: not in so many seconds. */
static bool is_done(hsa_signal_t done, double within)
{
  for (const double began = seconds(); seconds() - began < within;)
    if (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 1000000,
                                  HSA_WAIT_STATE_BLOCKED) < 1)
      return true;
  return false;
}

static void run(uint64_t object, hsa_signal_t done)
{
  hsa_signal_store_relaxed(done, 1);
  dispatch(object, done);
  (void)is_done(done, 1000);
}

/* Each in its turn, and what is left when one of them has gone. */
static int both(double lasts)
{
  const uint64_t object = kernel("turn.kd");
  hsa_queue_t *made[2];
  hsa_signal_t done = new_signal();
  unsigned count = 0;
  for (int i = 0; i < 2; ++i)
    CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_COOPERATIVE, NULL, NULL, UINT32_MAX, UINT32_MAX,
                          &made[i]));
  const double began = seconds();
  for (; count < 4 || seconds() - began < lasts; ++count) {
    queue = ring = made[count % 2];
    run(object, done);
  }
  const double took = seconds() - began;
  CALL(hsa_queue_destroy(made[0]));
  queue = ring = made[1];
  run(object, done);
  CALL(hsa_queue_destroy(made[1]));
  printf("%.2f percent of %.2f s\n", 100.0 * count * TICKS_EACH / 1e8 / took, took);
  return 0;
}

static int turns(double lasts)
{
  const uint64_t object = kernel("turn.kd");
  hsa_signal_t done = new_signal();
  const uint64_t before = *kernargs->used;
  const double began = seconds();
  while (seconds() - began < lasts) {
    hsa_signal_store_relaxed(done, 1);
    dispatch(object, done);
    (void)is_done(done, lasts - (seconds() - began)); /* it may never come */
  }
  const double took = seconds() - began;
  const double used = (double)(*kernargs->used - before) / TICKS_A_MS / 1e3;
  printf("%.2f percent of %.2f s\n", 100 * used / took, took);
  (void)fflush(stdout);
  _exit(0);
}

static hsa_queue_t *real_queue(void)
{
  hsa_signal_t done = new_signal();
  uint64_t *told = kernargs->used;
  run(kernel("queue.kd"), done);
  hsa_queue_t *real = (hsa_queue_t *)(uintptr_t)*told;
  *told = 0;
  return real;
}

static int late(double waits)
{
  const uint64_t object = kernel("turn.kd");
  hsa_signal_t opens = new_signal(), own = new_signal(), next = new_signal();
  hsa_barrier_and_packet_t barrier = {.dep_signal = {opens}};
  run(object, own);
  hsa_signal_store_relaxed(own, 1);
  put(queue, ring, &barrier, HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER);
  dispatch(object, own);
  const double began = seconds();
  (void)is_done(own, waits);
  const bool waited = hsa_signal_load_scacquire(own) == 1;
  const double opened = seconds();
  hsa_signal_store_screlease(opens, 0);
  (void)is_done(own, 1000);
  run(object, next);
  const double after = seconds() - opened;
  printf("%s %.3f s, and the next in %.3f s: %s\n", waited ? "waited" : "did not wait",
         opened - began, after,
         waited && after < (opened - began) / 2 ? "no penalty" : "a penalty");
  return 0;
}

int main(int count, char **arguments)
{
  const char *how = count > 2 ? arguments[1] : "";
  open_device();
  if (strcmp(how, "calls") == 0)
    return calls(count - 2, arguments + 2);
  if (count < 4)
    return 2;
  load(arguments[2]);
  const double lasts = atof(arguments[3]) / 1e3;
  if (strcmp(how, "late") == 0)
    return late(lasts);
  if (strcmp(how, "both") == 0)
    return both(lasts);
  if (strcmp(how, "turns"))
    queue = real_queue();
  if (strcmp(how, "ring") == 0)
    ring = queue;
  return turns(lasts);
}
