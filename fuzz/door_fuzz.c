/* What an observer makes of the memory that another process shares, of its queues and of its
 * answers: any words, which change between its looks. The input is a list of what the process
 * writes, and of when the observer looks. */
#include "debug/door/observe_internal.h"
#include "fuzz/budget.h"
#include "fuzz/input.h"

#include <fcntl.h>
#include <hsa/amd_hsa_queue.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NEAR_SLOTS = 24, NEAR_ENTRIES = 16, MOST_LISTS = 4, MOST_ASKS = 16, REPLY_BYTES = 256 };

/* ---- The input, zeros behind its end ---- */

static size_t take_bytes(input_t *input, void *to, size_t size)
{
  const size_t count = size < input->size ? size : input->size;
  if (count)
    memcpy(to, input->data, count);
  input->data += count;
  input->size -= count;
  return count;
}

static uint64_t take_word(input_t *input)
{
  const uint8_t small = take(input);
  uint64_t word = small;
  if (small >= 254)
    (void)take_bytes(input, &word, sizeof(word));
  return small == 253 ? UINT64_MAX : word;
}

/* ---- The process ---- */

typedef struct world {
  input_t *input;
  observer_t observer;
  uint64_t lost;
  unsigned lists, asks;
} world_t;

static door_memory_t memory;

static void write_head(world_t *world)
{
  memory.head.next = world->observer.next + take_word(world->input) - take(world->input);
  memory.head.unlisted = take_word(world->input);
  memory.head.types = take_word(world->input);
  memory.head.until = take_word(world->input);
}

static void write_slot(world_t *world)
{
  const uint64_t number = world->observer.next + take(world->input) % NEAR_SLOTS;
  door_slot_t *slot = &memory.slots[number % DOOR_SLOTS];
  slot->number = number + 1 + take_word(world->input);
  (void)take_bytes(world->input, slot->words, sizeof(slot->words));
}

static void write_entry(world_t *world)
{
  door_entry_t *entry = &memory.entries[take(world->input) % NEAR_ENTRIES];
  entry->version = take_word(world->input);
  (void)take_bytes(world->input, entry->words, (size_t)take(world->input) % 32 * 8);
}

/* What was written, for the next input; slots that are far were read only. */
static void clear(void)
{
  memset(&memory.head, 0, sizeof(memory.head));
  memset(memory.entries, 0, NEAR_ENTRIES * sizeof(memory.entries[0]));
  for (size_t i = 0; i < DOOR_SLOTS; ++i)
    if (memory.slots[i].number || memory.slots[i].words[0])
      memset(&memory.slots[i], 0, sizeof(memory.slots[i]));
}

/* ---- The observer ---- */

static volatile uint8_t sum;

static void check_event(const rawhal_event_t *event)
{
  if (event->type <= RAWHAL_EVENT_NONE || event->type >= RAWHAL_EVENT_TYPES || event->fault ||
      event->text.size > DOOR_RECORD_BYTES)
    __builtin_trap();
  for (size_t i = 0; i < event->text.size; ++i)
    sum = (uint8_t)(sum + (uint8_t)event->text.data[i]);
}

static bool see(void *context, const rawhal_event_t *event)
{
  (void)context;
  check_event(event);
  return true;
}

static void look(world_t *world)
{
  rawhal_event_t event;
  for (int i = 0; i < 4 && observer_next(&world->observer, &event, &world->lost); ++i) {
    check_event(&event);
    if (!(world->observer.types & RAWHAL_EVENT_BIT(event.type)))
      __builtin_trap();
  }
}

static void list(world_t *world)
{
  uint64_t unlisted;
  if (world->lists++ < MOST_LISTS)
    observer_list(&world->observer, see, NULL, &unlisted);
}

static bool see_packet(void *context, uint64_t index, const hsa_kernel_dispatch_packet_t *packet)
{
  (void)index;
  sum = (uint8_t)(sum + packet->grid_size_x);
  return ++*(unsigned *)context < 64;
}

static void look_at_queue(world_t *world)
{
  static amd_queue_t queue;
  static uint8_t ring[64 * 64];
  observer_queue_t state;
  hsa_kernel_dispatch_packet_t packet;
  unsigned count = 0;
  memset(&queue, 0, sizeof(queue));
  (void)take_bytes(world->input, ring, sizeof(ring) / 8);
  queue.hsa_queue.base_address = ring;
  queue.hsa_queue.size = (uint32_t)take_word(world->input) & 0x8000fff; /* a large one takes long */
  queue.read_dispatch_id = take_word(world->input);
  queue.write_dispatch_id = queue.read_dispatch_id + take_word(world->input);
  const uint64_t address = take(world->input) == 1 ? take_word(world->input) : (uintptr_t)&queue;
  if (observer_queue(&world->observer, address, &state, see_packet, &count))
    (void)observer_packet(&world->observer, &state, take_word(world->input), &packet);
}

/* ---- Answers, by a thread, as the process has one ---- */

static struct {
  int ends[2], passed[4]; /* sealed, one that can change, a file, sealed without its bytes */
  unsigned char reply[REPLY_BYTES];
  size_t bytes;
  int first, count; /* of the descriptors */
} liar;

static void send_reply(int to)
{
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(liar.passed))] = {0};
  struct iovec part = {liar.reply, liar.bytes};
  struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
  if (liar.count) {
    header.msg_control = control;
    header.msg_controllen = CMSG_LEN((size_t)liar.count * sizeof(int));
    struct cmsghdr *head = CMSG_FIRSTHDR(&header);
    *head = (struct cmsghdr){
        .cmsg_len = header.msg_controllen, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(head), liar.passed + liar.first, (size_t)liar.count * sizeof(int));
  }
  (void)sendmsg(to, &header, MSG_NOSIGNAL);
}

static void *lie(void *unused)
{
  for (;;) {
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    unsigned char request[sizeof(door_request_t) + DOOR_POKE_BYTES];
    struct iovec part = {request, sizeof(request)};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof(control)};
    int to;
    if (recvmsg(liar.ends[0], &header, 0) <= 0 || !CMSG_FIRSTHDR(&header))
      continue;
    memcpy(&to, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(to));
    send_reply(to);
    (void)close(to);
  }
  return unused;
}

static int make_memory(size_t written, off_t size, int seals)
{
  static const unsigned char bytes[4096];
  const int fd = memfd_create("liar", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  if (write(fd, bytes, written) < 0 || ftruncate(fd, size) != 0 ||
      fcntl(fd, F_ADD_SEALS, seals) != 0)
    __builtin_trap();
  return fd;
}

static int begin_liar(void)
{
  pthread_t thread;
  const int fixed = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, liar.ends) != 0 ||
      pthread_create(&thread, NULL, lie, NULL) != 0)
    __builtin_trap();
  liar.passed[0] = make_memory(4096, 4096, fixed);
  liar.passed[1] = make_memory(4096, 4096, F_SEAL_GROW);
  liar.passed[2] = open("/dev/null", O_RDONLY | O_CLOEXEC);
  liar.passed[3] = make_memory(1, (off_t)1 << 40, fixed);
  return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static void check_answer(rawhal_status_t status, int fd, uint64_t bytes, const char *text)
{
  unsigned char last;
  if ((status != RAWHAL_OK && fd >= 0) || (bytes && fd < 0) ||
      strnlen(text, DOOR_TEXT_BYTES) == DOOR_TEXT_BYTES)
    __builtin_trap();
  if (bytes && pread(fd, &last, 1, (off_t)(bytes - 1)) != 1)
    __builtin_trap();
  if (fd >= 0)
    (void)close(fd);
}

static void ask(world_t *world)
{
  static char text[DOOR_TEXT_BYTES];
  const door_request_t request = {0, take(world->input), take(world->input), 3};
  const door_reply_t whole = {DOOR_REQUEST_MAGIC, take(world->input) % 20, take_word(world->input)};
  rawhal_error_t error;
  int fd;
  uint64_t bytes;
  if (world->asks++ >= MOST_ASKS)
    return;
  memcpy(liar.reply, &whole, sizeof(whole));
  liar.bytes = sizeof(whole) + take_bytes(world->input, liar.reply + sizeof(whole),
                                          take(world->input) % (REPLY_BYTES - sizeof(whole)));
  if (take(world->input) == 1)
    liar.bytes = take_bytes(world->input, liar.reply, sizeof(whole));
  liar.first = take(world->input) % 4;
  liar.count = take(world->input) % (5 - liar.first);
  const rawhal_status_t status = observer_ask(&world->observer, &request, "abc",
                                              UINT64_C(60000000000), text, &fd, &bytes, &error);
  check_answer(status, fd, bytes, text);
}

static void want(world_t *world)
{
  observer_want(&world->observer, take_word(world->input));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static void (*const steps[])(world_t *) = {
      write_head, write_slot, write_slot, write_entry, want, look, list, look_at_queue, ask};
  static int pidfd = -1;
  input_t input = {data, size};
  world_t world = {.input = &input};
  pidfd = pidfd < 0 ? begin_liar() : pidfd;
  world.observer = (observer_t){.process = getpid(), .pidfd = pidfd, .memory = &memory};
  memory.head.socket = liar.ends[1];
  world.observer.opened.ticks = take_word(&input);
  world.observer.opened.ns = take_word(&input);
  world.observer.next = take_word(&input);
  observer_want(&world.observer, RAWHAL_EVENTS_ALL);
  const budget_t budget = budget_begin((1 << 24) + 20000 * (uint64_t)size, 1 << 20);
  while (input.size)
    steps[take(&input) % (sizeof(steps) / sizeof(*steps))](&world);
  budget_end(&budget);
  clear();
  return 0;
}
