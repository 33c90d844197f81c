/* A program to be debugged: the HSA runtime's part is played here, on softgpu's thunk.
 *
 *     debug_target THUNK
 *
 * It writes a target_places_t to its output and obeys lines of its input, each with a line:
 *     run KERNEL QUEUE GROUPS ITEMS   puts a dispatch on the queue         "put"
 *     wait QUEUE                      until the last one is done           "done" or what failed
 *     hold | release                  no thread but the first gets memory meanwhile, as if one that
 *                                     is stopped had the allocator's lock                  "held"
 *     destroy QUEUE                   "destroyed"
 *     crowd                           16 threads make a queue each, at once                "made"
 *     fork                            closes the device; a child opens it, runs a kernel and ends
 *                                     "child " and what waitpid() says
 *     close                           closes all descriptors that it does not know        "closed"
 *     exec                            becomes another program, which says "another" and waits
 *     quit                            ends at once, with all that there is
 *     end                             closes the device and returns */
#include <dlfcn.h>
#include <errno.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsakmt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/softgpu/debug/target.h"
#include "tests/softgpu/debug/target_code.h"

enum { PACKETS = 64, PAGE = 4096, LDS = 512, DESCRIPTOR = 64, CROWD = 16 };

typedef struct queue {
  amd_queue_t *own;
  hsa_kernel_dispatch_packet_t *ring;
  HsaQueueResource resource;
  amd_signal_t *done;
  uint64_t next;
  uint64_t *kernarg;
} queue_t;

static void *library;
static queue_t queues[TARGET_QUEUES];
static uint8_t *image; /* descriptors, then the code */
static struct {
  int version;
  void *map, *brk;
  int state;
  void *base;
} r_debug = {.version = 7};

static void check(bool ok, const char *what)
{
  if (ok)
    return;
  fprintf(stderr, "debug_target: %s\n", what);
  exit(3);
}

#define CALL(name, ...)                                                                            \
  check(((__typeof__(&name))(uintptr_t)dlsym(library, #name))(__VA_ARGS__) ==                      \
            HSAKMT_STATUS_SUCCESS,                                                                 \
        #name)

static void *memory(uint32_t node, uint32_t gpu, size_t size)
{
  HsaMemFlags flags = {.ui32 = {.HostAccess = 1, .ExecuteAccess = 1}};
  void *made = NULL;
  HSAuint64 device = 0;
  CALL(hsaKmtAllocMemory, node, size, flags, &made);
  HSAuint32 nodes[2] = {1, gpu};
  CALL(hsaKmtMapMemoryToGPUNodes, made, size, &device, (HsaMemMapFlags){0}, gpu == 1 ? 1 : 2,
       nodes);
  return made;
}

static void make_queue(queue_t *queue, uint32_t node)
{
  queue->own = memory(0, node, PAGE);
  queue->ring = memory(node, node, PACKETS * sizeof *queue->ring);
  queue->done = memory(0, node, PAGE);
  queue->kernarg = memory(0, node, PAGE);
  for (unsigned i = 0; i < PACKETS; ++i)
    queue->ring[i].header = HSA_PACKET_TYPE_INVALID;
  queue->own->hsa_queue.base_address = queue->ring;
  queue->own->hsa_queue.size = PACKETS;
  queue->done->kind = AMD_SIGNAL_KIND_USER;
  amd_signal_t *inactive = memory(0, node, PAGE);
  inactive->kind = AMD_SIGNAL_KIND_USER;
  queue->own->queue_inactive_signal.handle = (uintptr_t)inactive;
  queue->resource.Queue_read_ptr_aql = (HSAuint64 *)&queue->own->read_dispatch_id;
  queue->resource.Queue_write_ptr_aql = (HSAuint64 *)&queue->own->write_dispatch_id;
  CALL(hsaKmtCreateQueue, node, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL, queue->ring,
       PACKETS * sizeof *queue->ring, NULL, &queue->resource);
}

/* 8 vector registers and 4 for accumulation; s[0:1] are the arguments' address. */
static void make_descriptor(uint8_t *at, const uint8_t *entry)
{
  const int64_t offset = entry - at;
  const uint32_t rsrc1 = 0x0af0000 | 1 /* 16 of both kinds */, rsrc2 = 2 << 1 | 1 << 7, rsrc3 = 2;
  const uint16_t properties = 1 << 3;
  memcpy(at + 16, &offset, sizeof offset);
  memcpy(at + 44, &rsrc3, sizeof rsrc3);
  memcpy(at + 48, &rsrc1, sizeof rsrc1);
  memcpy(at + 52, &rsrc2, sizeof rsrc2);
  memcpy(at + 56, &properties, sizeof properties);
}

static void run(unsigned kernel, queue_t *queue, unsigned groups, unsigned items)
{
  hsa_kernel_dispatch_packet_t packet = {
      .setup = 1,
      .workgroup_size_x = (uint16_t)items,
      .workgroup_size_y = 1,
      .workgroup_size_z = 1,
      .grid_size_x = groups * items,
      .grid_size_y = 1,
      .grid_size_z = 1,
      .group_segment_size = LDS,
      .kernel_object = (uintptr_t)image + kernel * DESCRIPTOR,
      .kernarg_address = queue->kernarg,
      .completion_signal = {(uintptr_t)queue->done},
  };
  hsa_kernel_dispatch_packet_t *slot = &queue->ring[queue->next % PACKETS];
  __atomic_store_n(&queue->done->value, 1, __ATOMIC_RELEASE);
  memcpy((char *)slot + 4, (char *)&packet + 4, sizeof packet - 4);
  __atomic_store_n((uint32_t *)(void *)slot,
                   (uint32_t)HSA_PACKET_TYPE_KERNEL_DISPATCH | (uint32_t)packet.setup << 16,
                   __ATOMIC_RELEASE);
  __atomic_store_n(&queue->own->write_dispatch_id, queue->next + 1, __ATOMIC_RELEASE);
  __atomic_store_n(queue->resource.Queue_DoorBell_aql, queue->next, __ATOMIC_RELEASE);
  ++queue->next;
  puts("put");
}

static void wait_for(queue_t *queue)
{
  char text[1024] = "it takes longer than ten seconds";
  size_t (*fault)(const void *, char *, size_t) =
      (size_t(*)(const void *, char *, size_t))(uintptr_t)dlsym(library, "softgpu_queue_fault");
  for (unsigned i = 0; i < 10000; ++i) {
    if (__atomic_load_n(&queue->done->value, __ATOMIC_ACQUIRE) == 0) {
      puts("done");
      return;
    }
    if (fault(&queue->own->hsa_queue, text, sizeof text))
      break;
    strcpy(text, "it takes longer than ten seconds");
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  puts(text);
}

/* --- memory that is not to be had --- */

static volatile bool is_held;
static __thread bool is_first; /* the thread */

#if !defined(__SANITIZE_ADDRESS__) /* which has functions of its own */
void *__libc_calloc(size_t count, size_t size);
void *__libc_malloc(size_t size);
void *__libc_memalign(size_t alignment, size_t size);
#define EVERYBODYS __attribute__((visibility("default")))

static void wait_for_memory(void)
{
  while (is_held && !is_first)
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

EVERYBODYS void *calloc(size_t count, size_t size)
{
  wait_for_memory();
  return __libc_calloc(count, size);
}

EVERYBODYS void *malloc(size_t size)
{
  wait_for_memory();
  return __libc_malloc(size);
}

EVERYBODYS void *aligned_alloc(size_t alignment, size_t size)
{
  wait_for_memory();
  return __libc_memalign(alignment, size);
}
#endif

/* --- several threads, and other processes --- */

static queue_t crowd[CROWD];
static pthread_barrier_t together;

static void *make_one(void *queue)
{
  pthread_barrier_wait(&together);
  make_queue(queue, 1);
  return NULL;
}

static void make_crowd(void)
{
  pthread_t threads[CROWD];
  pthread_barrier_init(&together, NULL, CROWD);
  for (unsigned i = 0; i < CROWD; ++i)
    check(pthread_create(&threads[i], NULL, make_one, &crowd[i]) == 0, "pthread_create");
  for (unsigned i = 0; i < CROWD; ++i)
    pthread_join(threads[i], NULL);
  puts("made");
}

/* A program has several threads. */
static void *beside(void *unused)
{
  for (;;)
    pause();
  return unused;
}

static void begin(target_places_t *places)
{
  HsaSystemProperties system;
  pthread_t thread;
  CALL(hsaKmtOpenKFD);
  int (*enable)(void *, bool) =
      (int (*)(void *, bool))(uintptr_t)dlsym(library, "hsaKmtRuntimeEnable");
  check(enable(&r_debug, true) == HSAKMT_STATUS_NOT_SUPPORTED, "hsaKmtRuntimeEnable");
  CALL(hsaKmtAcquireSystemProperties, &system);
  const uint32_t last = system.NumNodes - 1;
  image = memory(1, last, PAGE);
  for (unsigned i = 0; i < sizeof code / sizeof *code; ++i) {
    uint8_t *entry = image + 1024 + code[i].at;
    memcpy(entry, code[i].words, sizeof code[i].words);
    make_descriptor(image + i * DESCRIPTOR, entry);
  }
  *places = (target_places_t){.code = (uintptr_t)image + 1024, .r_debug = (uintptr_t)&r_debug};
  for (unsigned i = 0; i < TARGET_QUEUES; ++i) {
    const uint32_t node = i ? last : 1;
    make_queue(&queues[i], node);
    void *out = memory(0, node, PAGE);
    places->out[i] = (uintptr_t)out;
    queues[i].kernarg[0] = (uintptr_t)out;
  }
  check(pthread_create(&thread, NULL, beside, NULL) == 0, "pthread_create");
}

static void run_in_child(void)
{
  target_places_t places;
  int status = -1;
  CALL(hsaKmtCloseKFD);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    memset(queues, 0, sizeof queues);
    check(freopen("/dev/null", "w", stdout) != NULL, "/dev/null");
    begin(&places);
    run(KERNEL_WORK, queues, 1, 64);
    wait_for(queues);
    fflush(stdout);
    _exit(((uint32_t *)places.out[0])[1] == WORK_RESULT ? 0 : 1);
  }
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  printf("child %d\n", status);
}

/* One line. False: no such one, or the end. */
static bool obey(const char *line)
{
  unsigned kernel, number, groups, items;
  if (sscanf(line, "run %u %u %u %u", &kernel, &number, &groups, &items) == 4 && kernel < KERNELS &&
      number < TARGET_QUEUES)
    run(kernel, &queues[number], groups, items);
  else if (sscanf(line, "wait %u", &number) == 1 && number < TARGET_QUEUES)
    wait_for(&queues[number]);
  else if (sscanf(line, "destroy %u", &number) == 1 && number < TARGET_QUEUES) {
    CALL(hsaKmtDestroyQueue, queues[number].resource.QueueId);
    puts("destroyed");
  } else if (strcmp(line, "hold\n") == 0 || strcmp(line, "release\n") == 0) {
    is_held = *line == 'h';
    puts("held");
  } else if (strcmp(line, "crowd\n") == 0)
    make_crowd();
  else if (strcmp(line, "close\n") == 0) {
    for (int fd = 3; fd < 1024; ++fd)
      (void)close(fd);
    puts("closed");
  } else if (strcmp(line, "fork\n") == 0)
    run_in_child();
  else if (strcmp(line, "exec\n") == 0)
    execl("/bin/sh", "sh", "-c", "echo another; read line", NULL);
  else if (strcmp(line, "quit\n") == 0)
    _exit(0);
  else
    return false;
  return true;
}

int main(int argc, char **argv)
{
  target_places_t places;
  char line[128];
  alarm(290); /* a session of 1,000 steps, where much else runs */
  is_first = true;
  library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  check(library != NULL, "no thunk");
  setvbuf(stdout, NULL, _IOLBF, 0);
  begin(&places);
  check(write(STDOUT_FILENO, &places, sizeof places) == sizeof places, "no output");
  while (fgets(line, sizeof line, stdin) && obey(line))
    ;
  CALL(hsaKmtCloseKFD);
  fflush(stdout);
  _exit(0); /* the device's threads are not LeakSanitizer's to stop */
}
