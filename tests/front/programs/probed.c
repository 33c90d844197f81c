/* Kernels that others look into: says what they made, and of each dispatch how many instructions its waves ran, where
 * the device counts them. usage: probed FIXTURES run ROUNDS | large | streams STREAMS LAUNCHES |
 * unload ROUNDS | churn STREAMS ROUNDS | leaves returns|destroys|shuts|at-once | fault [MORE] |
 * waits | fork */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "softgpu/waves.h"

/* ThreadSanitizer does not see into the runtime, by whose signals the program, the front and the device know what the
 * others have done to the device's memory: it would take each load and store of a kernel for a race. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
  return "called_from_lib:libhsa-runtime64.so.1\nrace:decode_slot\nrace:isa_load32\nrace:isa_"
         "store32\n";
}

enum { COUNT = 1000, SIDE = 32, PAGE = 4096 };

static const char *folder;
static hsa_queue_t *queue;
static softgpu_signal_instructions_fn *instructions_of;

/* One at a time: the file's bytes are in one place. */
static hsa_executable_t load(const char *name)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  char path[4096];
  (void)snprintf(path, sizeof(path), "%s/%s.co", folder, name);
  pthread_mutex_lock(&lock);
  const hsa_executable_t loaded = load_file(path);
  pthread_mutex_unlock(&lock);
  return loaded;
}

static uint64_t object_of(hsa_executable_t executable, const char *kernel)
{
  char name[64];
  (void)snprintf(name, sizeof(name), "%s.kd", kernel);
  return symbol(executable, name, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
}

static void stop(hsa_status_t status, hsa_queue_t *of, void *data)
{
  (void)of, (void)data;
  CALL(status);
}

static hsa_queue_t *new_queue(void)
{
  hsa_queue_t *made;
  CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, stop, NULL, UINT32_MAX, UINT32_MAX, &made));
  return made;
}

static void wait_for(hsa_signal_t signal)
{
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0)
    continue;
}

static void launch(hsa_queue_t *on, const hsa_kernel_dispatch_packet_t *packet, uint16_t dimensions)
{
  while (hsa_queue_load_write_index_relaxed(on) - hsa_queue_load_read_index_scacquire(on) >=
         on->size)
    continue;
  put(on, on, packet,
      HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER | FENCES |
          (uint32_t)dimensions << 16);
}

/* And waits, and says what it took. */
static void run(const char *name, hsa_kernel_dispatch_packet_t packet, uint16_t dimensions)
{
  const hsa_signal_t done = new_signal();
  packet.completion_signal = done;
  launch(queue, &packet, dimensions);
  wait_for(done);
  printf("%s ran", name);
  if (instructions_of) {
    uint64_t start = 0, end = 0;
    (void)instructions_of(done.handle, &start, &end);
    printf(" %llu instructions", (unsigned long long)(end - start));
  }
  printf("\n");
  CALL(hsa_signal_destroy(done));
}

static double weighted_floats(const float *values, unsigned count)
{
  double sum = 0;
  for (unsigned i = 0; i < count; ++i)
    sum += (double)values[i] * (i % 7);
  return sum;
}

/* ---- One after the other ---- */

typedef struct all {
  hsa_executable_t add, reduce, matmul, variables, empty;
  float *a, *b, *c;
  uint32_t *values, *sums;
} all_t;

typedef struct add_arguments {
  float *c, *a, *b;
  uint32_t n;
} add_arguments_t;

/* Of `items` the last ones may have nothing to do. */
static void run_add(const all_t *all, uint32_t items)
{
  add_arguments_t *arguments = host_memory(PAGE);
  *arguments = (add_arguments_t){all->c, all->a, all->b, COUNT};
  hsa_kernel_dispatch_packet_t packet =
      packet_of(object_of(all->add, "vector_add"), 64, arguments, (hsa_signal_t){0});
  packet.grid_size_x = items;
  run("vector_add", packet, 1);
  printf("  %.0f\n", weighted_floats(all->c, COUNT));
}

static void run_reduce(const all_t *all)
{
  enum { GROUPS = 4, ITEMS = 256 };
  uint32_t **arguments = host_memory(PAGE), sum = 0;
  arguments[0] = all->sums, arguments[1] = all->values;
  hsa_kernel_dispatch_packet_t packet =
      packet_of(object_of(all->reduce, "reduce"), ITEMS, arguments, (hsa_signal_t){0});
  packet.grid_size_x = GROUPS * ITEMS;
  packet.group_segment_size = ITEMS * sizeof(uint32_t);
  run("reduce", packet, 1);
  for (uint32_t i = 0; i < GROUPS; ++i)
    sum += all->sums[i] * (i + 1);
  printf("  %u\n", sum);
}

static void run_matmul(const all_t *all)
{
  enum { TILE = 16 };
  struct {
    float *c, *a, *b;
    uint32_t n;
  } *arguments = host_memory(PAGE);
  arguments->c = all->c, arguments->a = all->a, arguments->b = all->b, arguments->n = SIDE;
  hsa_kernel_dispatch_packet_t packet =
      packet_of(object_of(all->matmul, "matmul"), TILE, arguments, (hsa_signal_t){0});
  packet.workgroup_size_y = TILE;
  packet.grid_size_x = packet.grid_size_y = SIDE;
  packet.group_segment_size = 2 * TILE * TILE * sizeof(float);
  run("matmul", packet, 2);
  printf("  %.0f\n", weighted_floats(all->c, SIDE * SIDE));
}

static void run_variables(const all_t *all)
{
  uint32_t **arguments = host_memory(PAGE);
  arguments[0] = all->sums;
  run("use_variables",
      packet_of(object_of(all->variables, "use_variables"), 1, arguments, (hsa_signal_t){0}), 1);
  printf("  %u %u\n", all->sums[0], all->sums[1]);
}

/* Nothing in it can be probed. */
static void run_empty(const all_t *all)
{
  run("empty", packet_of(object_of(all->empty, "empty"), 64, NULL, (hsa_signal_t){0}), 1);
}

static all_t load_all(void)
{
  const all_t all = {.empty = load("empty-gfx90a-v5"),
                     .add = load("vector_add-gfx90a-v4"),
                     .reduce = load("reduce-gfx90a-v5"),
                     .matmul = load("matmul-gfx90a-v5"),
                     .variables = load("variables-gfx90a-v5"),
                     .a = host_memory(SIDE * SIDE * sizeof(float)),
                     .b = host_memory(SIDE * SIDE * sizeof(float)),
                     .c = host_memory(SIDE * SIDE * sizeof(float)),
                     .values = host_memory(PAGE),
                     .sums = host_memory(PAGE)};
  for (uint32_t i = 0; i < SIDE * SIDE; ++i) {
    all.a[i] = (float)(i % 13);
    all.b[i] = (float)(i % 5);
    all.values[i] = i * 3 % 101;
  }
  return all;
}

/* 200 waves. */
static void run_large(void)
{
  enum { ITEMS = 200 * 64 };
  const all_t all = load_all();
  run_add(&all, ITEMS);
}

static void run_all(int rounds)
{
  const all_t all = load_all();
  for (int i = 0; i < rounds; ++i) {
    run_add(&all, COUNT); /* the last work-group has 40 work-items */
    run_reduce(&all);
    run_matmul(&all);
    run_variables(&all);
    run_empty(&all);
  }
}

/* ---- From several threads ---- */

typedef struct stream {
  pthread_t thread;
  hsa_executable_t code;
  uint32_t launches;
  bool right;
} stream_t;

static void *run_stream(void *context)
{
  stream_t *stream = context;
  hsa_queue_t *own = new_queue();
  const hsa_signal_t done = new_signal();
  add_arguments_t *arguments = host_memory(PAGE);
  float *out = host_memory(PAGE), *in = host_memory(PAGE);
  *arguments = (add_arguments_t){out, in, in, 64};
  for (uint32_t i = 0; i < 64; ++i)
    in[i] = (float)i;
  hsa_kernel_dispatch_packet_t packet =
      packet_of(object_of(stream->code, "vector_add"), 64, arguments, (hsa_signal_t){0});
  for (uint32_t i = 0; i < stream->launches; ++i) {
    packet.completion_signal.handle = i + 1 == stream->launches ? done.handle : 0;
    launch(own, &packet, 1);
  }
  wait_for(done);
  stream->right = true;
  for (uint32_t i = 0; i < 64; ++i)
    stream->right &= out[i] == (float)(i * 2);
  CALL(hsa_queue_destroy(own));
  return NULL;
}

static void run_streams(int count, uint32_t launches, void *(*run_one)(void *))
{
  stream_t *streams = calloc((size_t)count, sizeof(*streams));
  const hsa_executable_t code = load("vector_add-gfx90a-v4");
  bool right = streams != NULL;
  for (int i = 0; right && i < count; ++i) {
    streams[i] = (stream_t){.code = code, .launches = launches};
    if (pthread_create(&streams[i].thread, NULL, run_one, &streams[i]))
      exit(5);
  }
  for (int i = 0; streams && i < count; ++i) {
    (void)pthread_join(streams[i].thread, NULL);
    right &= streams[i].right;
  }
  free(streams);
  printf("%s\n", right ? "right" : "wrong");
}

/* ---- Code that goes while it runs ---- */

static uint64_t *waiting(uint32_t **flag, uint32_t **out)
{
  uint64_t *arguments = host_memory(PAGE);
  *flag = host_memory(PAGE), *out = host_memory(PAGE);
  arguments[0] = (uintptr_t)*out, arguments[1] = (uintptr_t)*flag;
  return arguments;
}

/* What the kernel leaves in its last place. */
static uint32_t unload_running(hsa_queue_t *on)
{
  uint32_t *flag, *out;
  uint64_t *arguments = waiting(&flag, &out);
  const hsa_executable_t code = load("recorded-gfx90a-v5");
  const hsa_signal_t done = new_signal();
  const hsa_kernel_dispatch_packet_t packet =
      packet_of(object_of(code, "waits"), 64, arguments, done);
  launch(on, &packet, 1);
  CALL(hsa_executable_destroy(code));
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  wait_for(done);
  CALL(hsa_signal_destroy(done));
  return out[63];
}

static void run_unload(int rounds)
{
  for (int i = 0; i < rounds; ++i)
    printf("%u\n", unload_running(queue));
}

/* Code that comes and goes, while others' runs, and as soon as its own has ended. */
static void *run_churn(void *context)
{
  stream_t *stream = context;
  hsa_queue_t *own = new_queue();
  uint64_t *arguments = host_memory(PAGE);
  uint32_t *out = host_memory(PAGE), *in = host_memory(PAGE);
  arguments[0] = (uintptr_t)out, arguments[1] = (uintptr_t)in;
  const hsa_signal_t done = new_signal();
  stream->right = true;
  for (uint32_t i = 0; i < stream->launches; ++i) {
    const hsa_executable_t code = load("recorded-gfx90a-v5");
    in[63] = i;
    hsa_signal_store_relaxed(done, 1);
    const hsa_kernel_dispatch_packet_t packet =
        packet_of(object_of(code, "plain"), 64, arguments, done);
    launch(own, &packet, 1);
    wait_for(done);
    CALL(hsa_executable_destroy(code));
    stream->right &= out[63] == i + 1;
  }
  CALL(hsa_signal_destroy(done));
  CALL(hsa_queue_destroy(own));
  return NULL;
}

/* Until it is killed. */
static void run_waits(void)
{
  uint32_t *flag, *out;
  uint64_t *arguments = waiting(&flag, &out);
  run_all(1);
  const hsa_kernel_dispatch_packet_t packet =
      packet_of(object_of(load("recorded-gfx90a-v5"), "waits"), 64, arguments, (hsa_signal_t){0});
  launch(queue, &packet, 1);
  printf("ready\n");
  (void)fflush(stdout);
  for (;;)
    (void)pause();
}

/* What is launched is not waited for. */
static void run_leaves(const char *how)
{
  enum { LAUNCHES = 16 };
  uint64_t *arguments = host_memory(PAGE);
  arguments[0] = (uintptr_t)host_memory(PAGE), arguments[1] = (uintptr_t)host_memory(PAGE);
  const hsa_kernel_dispatch_packet_t packet =
      packet_of(object_of(load("recorded-gfx90a-v5"), "plain"), 64, arguments, (hsa_signal_t){0});
  for (int i = 0; i < LAUNCHES; ++i)
    launch(queue, &packet, 1);
  if (strcmp(how, "destroys") == 0)
    CALL(hsa_queue_destroy(queue));
  if (strcmp(how, "shuts") == 0)
    CALL(hsa_shut_down());
  if (strcmp(how, "at-once") == 0)
    _exit(0);
}

/* A kernel that stores where there is nothing: its queue ends. */
static void ends_here(hsa_status_t status, hsa_queue_t *of, void *data)
{
  (void)of;
  __atomic_store_n((hsa_status_t *)data, status, __ATOMIC_RELEASE);
}

static void run_fault(int more)
{
  struct {
    uint32_t *out;
    int64_t index;
    uint32_t value;
  } *arguments = host_memory(PAGE);
  static hsa_status_t ended = HSA_STATUS_SUCCESS;
  hsa_queue_t *own;
  CALL(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, ends_here, &ended, UINT32_MAX, UINT32_MAX,
                        &own));
  arguments->out = host_memory(PAGE), arguments->index = 1 << 30, arguments->value = 1;
  const hsa_kernel_dispatch_packet_t packet =
      packet_of(object_of(load("fault-gfx90a-v5"), "fault_store"), 1, arguments, (hsa_signal_t){0});
  launch(own, &packet, 1);
  while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) == HSA_STATUS_SUCCESS)
    continue;
  printf("status 0x%x\n", (unsigned)ended);
  CALL(hsa_queue_destroy(own)); /* its handler may still run */
  arguments->index = 0;
  for (int i = 0; i < more; ++i)
    run("fault_store", packet, 1);
}

/* One child before there is a runtime, which has one of its own, and one after that, which has none. */
static pid_t forked(void)
{
  (void)fflush(stdout);
  const pid_t child = fork();
  if (child < 0)
    exit(6);
  return child;
}

static int status_of(pid_t child)
{
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

static void open_all(void)
{
  open_device();
  instructions_of =
      (softgpu_signal_instructions_fn *)dlsym(RTLD_DEFAULT, "softgpu_signal_instructions");
  queue = new_queue();
}

static int run_fork(void)
{
  const pid_t first = forked();
  open_all();
  run_all(2);
  if (!first)
    exit(0);
  const pid_t second = forked();
  if (!second)
    exit(7);
  const int one = status_of(first), other = status_of(second);
  printf("children %d %d\n", one, WIFEXITED(other) ? WEXITSTATUS(other) : -1);
  run_all(1);
  return 0;
}

int main(int count, char **words)
{
  if (count < 3)
    return 2;
  folder = words[1];
  const char *what = words[2];
  if (strcmp(what, "fork") == 0)
    return run_fork();
  open_all();
  if (strcmp(what, "run") == 0 && count == 4)
    run_all(atoi(words[3]));
  else if (strcmp(what, "large") == 0)
    run_large();
  else if (strcmp(what, "streams") == 0 && count == 5)
    run_streams(atoi(words[3]), (uint32_t)atoi(words[4]), run_stream);
  else if (strcmp(what, "churn") == 0 && count == 5)
    run_streams(atoi(words[3]), (uint32_t)atoi(words[4]), run_churn);
  else if (strcmp(what, "leaves") == 0 && count == 4)
    run_leaves(words[3]);
  else if (strcmp(what, "unload") == 0 && count == 4)
    run_unload(atoi(words[3]));
  else if (strcmp(what, "fault") == 0)
    run_fault(count == 4 ? atoi(words[3]) : 0);
  else if (strcmp(what, "waits") == 0)
    run_waits();
  else
    return 2;
  return 0;
}
