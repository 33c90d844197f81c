/* rawhal attach --peek, --poke and --core. */
#include "tools/attach/attach.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/whole.h"
#include "tools/shared/target.h"

enum { IN_ROW = 16, PIECE = 1 << 16 };
static const uint64_t memory_ns = UINT64_C(10000000000), core_ns = UINT64_C(300000000000);

/* Asks one door after the other, until one has what is asked for. */
static bool ask(const doors_t *doors, const door_request_t *request, const void *poked,
                uint64_t timeout, int *memory, uint64_t *bytes, rawhal_error_t *error)
{
  char text[DOOR_TEXT_BYTES];
  rawhal_error_t why;
  bool said = false;
  for (size_t i = 0; i < doors->count; ++i) {
    const bool answers = observer_answers(doors->list[i]);
    if (observer_ask(doors->list[i], request, poked, timeout, text, memory, bytes, &why) ==
        RAWHAL_OK)
      return true;
    if (answers || !said) /* one that answers knows best why not */
      *error = why;
    said = said || answers;
  }
  return false;
}

/* ---- Peek ---- */

typedef struct range {
  uint64_t address, bytes;
  bool found;
} range_t;

static bool is_within(void *context, const rawhal_event_t *event)
{
  range_t *range = context;
  range->found = event->type == RAWHAL_EVENT_ALLOCATE && range->bytes <= event->bytes &&
                 range->address - event->address <= event->bytes - range->bytes;
  return !range->found;
}

/* Without its help: only what it says is its memory, and only if the host has it. */
static bool read_outside(const doors_t *doors, uint64_t address, void *to, size_t size,
                         rawhal_error_t *error)
{
  range_t range = {.address = address, .bytes = size};
  uint64_t unlisted;
  for (size_t i = 0; !range.found && i < doors->count; ++i)
    observer_list(doors->list[i], is_within, &range, &unlisted);
  if (!range.found)
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "%zu bytes at 0x%" PRIx64 " are in no allocation that process %d lists",
                       size, address, (int)doors->process);
  return observer_read(doors->list[0], address, to, size) ||
         tool_refuse(error, RAWHAL_UNSUPPORTED,
                     "%zu bytes at 0x%" PRIx64 " cannot be read from outside process %d, which "
                     "answers nothing: it was not started with RAWHAL_DOOR=answers",
                     size, address, (int)doors->process);
}

static bool answers(const doors_t *doors)
{
  bool any = false;
  for (size_t i = 0; i < doors->count; ++i)
    any = any || observer_answers(doors->list[i]);
  return any;
}

static bool read_some(const doors_t *doors, uint64_t address, void *to, size_t size,
                      rawhal_error_t *error)
{
  const door_request_t request = {.ask = DOOR_PEEK, .address = address, .bytes = size};
  int memory;
  uint64_t bytes;
  if (!answers(doors))
    return read_outside(doors, address, to, size, error);
  if (!ask(doors, &request, NULL, memory_ns, &memory, &bytes, error))
    return false;
  const bool whole = memory >= 0 && bytes >= size && pread_whole(memory, to, size, 0) >= 0;
  if (memory >= 0)
    (void)close(memory);
  return whole || tool_refuse(error, RAWHAL_MALFORMED, "the process sent fewer bytes than asked");
}

static void dump(uint64_t address, const unsigned char *bytes, size_t size)
{
  for (size_t at = 0; at < size; at += IN_ROW) {
    const size_t count = size - at < IN_ROW ? size - at : IN_ROW;
    printf("0x%012" PRIx64 " ", address + at);
    for (size_t i = 0; i < IN_ROW; ++i)
      if (i < count)
        printf(" %02x", bytes[at + i]);
      else
        fputs("   ", stdout);
    fputs("  ", stdout);
    for (size_t i = 0; i < count; ++i)
      putchar(isprint(bytes[at + i]) ? bytes[at + i] : '.');
    putchar('\n');
  }
}

static bool put_pieces(const doors_t *doors, const attach_request_t *request, tool_target_t *target,
                       rawhal_error_t *error)
{
  unsigned char *piece = malloc(PIECE);
  bool done = piece || tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a copy");
  for (uint64_t at = 0; done && at < request->peek.bytes;) {
    const uint64_t left = request->peek.bytes - at;
    const size_t size = left < PIECE ? (size_t)left : PIECE;
    done = read_some(doors, request->peek.address + at, piece, size, error);
    if (done && !target)
      dump(request->peek.address + at, piece, size);
    else if (done && !tool_target_put(target, piece, size))
      done = tool_refuse(error, RAWHAL_RUNTIME, "cannot write '%.200s': %s", target->path,
                         strerror(errno));
    at += size;
  }
  free(piece);
  return done;
}

bool attach_peek(const doors_t *doors, const attach_request_t *request, rawhal_error_t *error)
{
  tool_target_t target;
  if (!request->output)
    return put_pieces(doors, request, NULL, error);
  return tool_target_open(&target, request->output, request->force, error) &&
         tool_target_close(&target, put_pieces(doors, request, &target, error), error);
}

/* ---- Poke ---- */

bool attach_poke(const doors_t *doors, const attach_request_t *request, rawhal_error_t *error)
{
  unsigned char bytes[DOOR_POKE_BYTES];
  const attach_place_t *poke = &request->poke;
  for (size_t i = 0; i < poke->bytes; ++i) {
    const char digits[] = {poke->hex[2 * i], poke->hex[2 * i + 1], '\0'};
    bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
  }
  const door_request_t asked = {.ask = DOOR_POKE, .address = poke->address, .bytes = poke->bytes};
  int memory;
  uint64_t none;
  if (!ask(doors, &asked, bytes, memory_ns, &memory, &none, error))
    return false;
  if (memory >= 0)
    (void)close(memory);
  return true;
}

/* ---- Core files ---- */

static bool put_memory(int memory, uint64_t bytes, tool_target_t *target, rawhal_error_t *error)
{
  unsigned char piece[PIECE];
  for (uint64_t at = 0; at < bytes;) {
    const size_t size = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;
    if (pread_whole(memory, piece, size, at) != (ssize_t)size)
      return tool_refuse(error, RAWHAL_RUNTIME, "the process's file cannot be read");
    if (!tool_target_put(target, piece, size))
      return tool_refuse(error, RAWHAL_RUNTIME, "cannot write '%.200s': %s", target->path,
                         strerror(errno));
    at += size;
  }
  return true;
}

bool attach_core(const doors_t *doors, const attach_request_t *request, rawhal_error_t *error)
{
  const door_request_t asked = {.ask = DOOR_CORE};
  tool_target_t target;
  int memory;
  uint64_t bytes;
  if (!tool_target_open(&target, request->core, request->force, error))
    return false;
  bool done = ask(doors, &asked, NULL, core_ns, &memory, &bytes, error);
  if (done && memory < 0)
    done = tool_refuse(error, RAWHAL_MALFORMED, "the process sent no file");
  if (done) {
    done = put_memory(memory, bytes, &target, error);
    (void)close(memory);
  }
  if (!tool_target_close(&target, done, error))
    return false;
  if (strcmp(request->core, "-") != 0) {
    fputs("wrote ", stdout);
    (void)tool_print_string(request->core);
    printf(" (%" PRIu64 " bytes)\n", bytes);
  }
  return true;
}
