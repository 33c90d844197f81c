#include "fuzz/services_checks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/budget.h"
#include "hal/services/hostcall.h"

/* ---- The input ---- */

const uint8_t *take_bytes(input_t *input, size_t size)
{
  const uint8_t *taken = input->data;
  size = size < input->size ? size : input->size;
  input->data += size;
  input->size -= size;
  return taken;
}

uint8_t take(input_t *input)
{
  return input->size ? *take_bytes(input, 1) : 0;
}

uint64_t take_number(input_t *input, unsigned bytes)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value |= (uint64_t)take(input) << (8 * i);
  return value;
}

void *copy_exactly(const void *bytes, size_t size)
{
  void *copy = malloc(size);
  CHECK(copy);
  if (size)
    memcpy(copy, bytes, size);
  return copy;
}

/* ---- The heap, against a byte for each page ---- */

enum { MAX_SLABS = 3, PAGES_A_SLAB = 512, MAX_PAGES = MAX_SLABS * PAGES_A_SLAB, MAX_STEPS = 64 };

typedef struct model {
  uint8_t used[MAX_PAGES];
  uint32_t lengths[MAX_PAGES]; /* of what was given out at a page */
} model_t;

/* Runs follow each other to the end, nothing stands between where they begin, and `used` is their sum. */
static void check_runs(const services_heap_t *heap)
{
  const uint32_t in_use = 1u << 31;
  uint64_t used = 0;
  uint32_t page = 0, length;
  for (; page < heap->pages; page += length) {
    length = heap->runs[page] & ~in_use;
    CHECK(length > 0 && length <= heap->pages - page);
    used += heap->runs[page] & in_use ? length * HEAP_PAGE : 0;
    for (uint32_t i = 1; i < length; ++i)
      CHECK(heap->runs[page + i] == 0);
  }
  CHECK(used == heap->used);
}

/* The lowest place, as far as there is one. */
static bool model_find(const model_t *model, uint32_t pages, uint64_t size, uint32_t *found)
{
  if (size == 0 || size > pages * HEAP_PAGE)
    return false;
  uint32_t count = (uint32_t)((size + HEAP_PAGE - 1) / HEAP_PAGE);
  uint32_t step = size >= HEAP_SLAB ? PAGES_A_SLAB : 1;
  for (uint32_t from = 0; from + count <= pages; from += step)
    if (!memchr(model->used + from, 1, count))
      return *found = from, true;
  return false;
}

static void heap_step(services_heap_t *heap, model_t *model, input_t *input)
{
  uint8_t kind = take(input);
  uint64_t number = take_number(input, kind & 2 ? 8 : 3);
  uint32_t page;
  if (kind & 1) {
    uint64_t address = kind & 4 ? number : heap->base + number % MAX_PAGES * HEAP_PAGE;
    uint64_t offset = address - heap->base;
    page = (uint32_t)(offset / HEAP_PAGE);
    bool given =
        offset < heap->pages * HEAP_PAGE && offset % HEAP_PAGE == 0 && model->lengths[page];
    CHECK(heap_give(heap, address) == given);
    if (given) {
      memset(model->used + page, 0, model->lengths[page]);
      model->lengths[page] = 0;
    }
    return;
  }
  bool fits = model_find(model, heap->pages, number, &page);
  CHECK(heap_take(heap, number) == (fits ? heap->base + page * HEAP_PAGE : 0));
  if (!fits)
    return;
  model->lengths[page] = (uint32_t)((number + HEAP_PAGE - 1) / HEAP_PAGE);
  memset(model->used + page, 1, model->lengths[page]);
}

static void heap_make(services_heap_t *heap, input_t *input)
{
  uint8_t first = take(input);
  uint64_t size = (1 + first % MAX_SLABS) * HEAP_SLAB;
  uint64_t base = first & 0x80 ? UINT64_MAX / HEAP_SLAB * HEAP_SLAB - size : 7 * HEAP_SLAB;
  *heap = (services_heap_t){0};
  CHECK(heap_open(heap, base, size, NULL, NULL) == RAWHAL_OK);
}

void check_heap(input_t *input)
{
  static model_t model;
  services_heap_t heap;
  budget_t budget = budget_begin(MAX_STEPS * MAX_PAGES * 64, 1 << 16);
  model = (model_t){0};
  heap_make(&heap, input);
  for (int i = 0; i < MAX_STEPS && input->size; ++i) {
    heap_step(&heap, &model, input);
    check_runs(&heap);
  }
  heap_close(&heap);
  budget_end(&budget);
}

/* ---- Hostcalls ---- */

/* Of the buffer, in words of 64 bits. */
enum { READY = 4, HEADERS = 8, HEADER_WORDS = 3, LANE_WORDS = HOSTCALL_WORDS };

typedef struct scene {
  hostcall_t hostcall;
  services_output_t output;
  services_heap_t heap;
  uint64_t *memory, *before;
  size_t words;
  uint64_t calls;
} scene_t;

static void print(void *context, rawhal_services_stream_t stream, const char *text, size_t size)
{
  scene_t *scene = context;
  CHECK(stream == RAWHAL_SERVICES_STDOUT || stream == RAWHAL_SERVICES_STDERR);
  CHECK(size > 0 && size < SERVICES_TEXT_BYTES && text == scene->output.text.data);
  ++scene->calls;
}

static uint64_t *payloads(const scene_t *scene, uint64_t *memory)
{
  return memory + scene->words - (size_t)scene->hostcall.packets * HOSTCALL_LANES * LANE_WORDS;
}

/* All are either being said or on the list of those that are not. */
static void check_messages(const hostcall_t *hostcall)
{
  uint64_t bytes = 0;
  uint32_t live = 0, unused = 0;
  CHECK(hostcall->message_count <= HOSTCALL_LANES * hostcall->packets);
  for (uint32_t i = 0; i < hostcall->message_count; ++i) {
    const hostcall_message_t *message = &hostcall->messages[i];
    CHECK(message->count <= message->capacity && message->capacity * 8 <= SERVICES_TEXT_BYTES);
    CHECK(message->live || message->capacity == 0);
    bytes += message->capacity * sizeof(*message->words);
    live += message->live;
  }
  for (uint32_t at = hostcall->free_message; at; ++unused) {
    CHECK(at <= hostcall->message_count && unused < hostcall->message_count);
    at = hostcall->messages[at - 1].next_free;
  }
  CHECK(bytes == hostcall->message_bytes && live + unused == hostcall->message_count);
}

/* Answers are two words of a lane and a bit of a packet's control word; the rest is the kernels'. */
static void check_answers(const scene_t *scene)
{
  uint64_t *now = scene->memory, *then = scene->before;
  size_t lanes = (size_t)scene->hostcall.packets * HOSTCALL_LANES;
  CHECK(now[READY] == 0);
  then[READY] = 0;
  for (uint32_t i = 0; i < scene->hostcall.packets; ++i) {
    size_t control = HEADERS + i * HEADER_WORDS + 2;
    CHECK(((now[control] ^ then[control]) & ~(UINT64_C(1) << 32)) == 0);
    CHECK(now[control] <= then[control]);
    then[control] = now[control];
  }
  for (size_t i = 0; i < lanes; ++i)
    memcpy(payloads(scene, then) + i * LANE_WORDS, payloads(scene, now) + i * LANE_WORDS, 16);
  CHECK(!memcmp(now, then, scene->words * 8));
}

static void serve(scene_t *scene)
{
  hostcall_t *hostcall = &scene->hostcall;
  uint64_t served = hostcall->served, refused = hostcall->refused, calls = scene->calls;
  memcpy(scene->before, scene->memory, scene->words * 8);
  hostcall_serve(hostcall);
  served = hostcall->served - served;
  refused = hostcall->refused - refused;
  CHECK(served <= hostcall->packets && refused <= served * HOSTCALL_LANES);
  CHECK(scene->calls - calls + refused <= served * HOSTCALL_LANES);
  check_answers(scene);
  check_messages(hostcall);
  if (hostcall->heap)
    check_runs(hostcall->heap);
}

/* As the device library asks, for one lane: a word for each bit of the last byte, the others are what is
 * there, such as the number of a message. */
static void request(scene_t *scene, input_t *input)
{
  uint8_t place = take(input), service = take(input), lane = take(input) % HOSTCALL_LANES;
  uint64_t packet = place & (scene->hostcall.packets - 1);
  uint64_t *header = scene->memory + HEADERS + packet * HEADER_WORDS;
  uint64_t *words = payloads(scene, scene->memory) + (packet * HOSTCALL_LANES + lane) * LANE_WORDS;
  uint8_t given = take(input), low = take(input);
  words[0] = (words[0] & ~UINT64_C(0xff)) | low;
  for (int i = 0; i < LANE_WORDS; ++i)
    if (given >> i & 1)
      words[i] = take_number(input, service == 2 ? 8 : 4);
  bool pushed = header[2] >> 32 & 1; /* more lanes of it */
  header[1] = (pushed ? header[1] : 0) | UINT64_C(1) << lane;
  header[2] = UINT64_C(1) << 32 | service;
  if (!pushed) {
    header[0] = scene->memory[READY];
    scene->memory[READY] = packet + scene->hostcall.packets;
  }
}

static void hostcall_step(scene_t *scene, input_t *input)
{
  enum { REQUEST, REQUEST_AND_SERVE, SERVE, POKE };
  uint8_t kind = take(input) % 4;
  if (kind == POKE) { /* anything anywhere */
    size_t at = take_number(input, 2) % scene->words;
    scene->memory[at] = take_number(input, 8);
    return;
  }
  if (kind != SERVE)
    request(scene, input);
  if (kind != REQUEST)
    serve(scene);
}

void check_hostcalls(input_t *input)
{
  /* Every lane of all packets may print 64 KiB, and does so each time it is served. */
  enum { STEPS_A_PACKET = HOSTCALL_LANES << 15, MOST_PACKETS = 8 };
  budget_t budget = budget_begin((uint64_t)MAX_STEPS * MOST_PACKETS * STEPS_A_PACKET,
                                 (1 << 20) + 16 * (uint64_t)input->size);
  static scene_t scene;
  scene = (scene_t){0};
  uint8_t first = take(input);
  hostcall_t *hostcall = &scene.hostcall;
  CHECK(output_open(&scene.output, first & 0x80 ? NULL : print, &scene, NULL, NULL) == RAWHAL_OK);
  hostcall->packets = 2u << first % 3;
  hostcall->output = &scene.output;
  if (first & 0x40) {
    heap_make(&scene.heap, input);
    hostcall->heap = &scene.heap;
  }
  size_t size = hostcall_bytes(hostcall->packets);
  scene.words = size / 8;
  scene.memory = aligned_alloc(64, size);
  scene.before = malloc(size);
  CHECK(scene.memory && scene.before);
  memset(scene.memory, 0, size);
  hostcall->memory = (unsigned char *)scene.memory;
  hostcall_layout(hostcall, 0x1000, 0x2000);
  for (int i = 0; i < MAX_STEPS && input->size; ++i)
    hostcall_step(&scene, input);
  serve(&scene);
  hostcall_close(hostcall);
  heap_close(&scene.heap);
  output_close(&scene.output);
  free(scene.memory);
  free(scene.before);
  budget_end(&budget);
}
