/* rawhal replay: moments of a dispatch, and bytes, as the command line has them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsaco/preload.h"
#include "tools/replay/past.h"
#include "tools/shared/tool.h"

enum { DEFAULT_BYTES = 4, LANES = 64 };

/* ---- Words ---- */

/* All of the text; decimal, or hexadecimal after 0x. */
static bool whole_number(const char *text, size_t size, uint64_t top, uint64_t *value)
{
  char copied[32];
  if (!size || size >= sizeof(copied))
    return false;
  memcpy(copied, text, size);
  copied[size] = '\0';
  return tool_parse_number(copied, top, value);
}

/* What is behind the last colon, if that is a number, is taken off. False: there is none, and
 * `*count` stays. */
static bool take_count(const char *text, size_t *size, uint64_t *count)
{
  const char *colon = memrchr(text, ':', *size);
  if (!colon || !whole_number(colon + 1, (size_t)(text + *size - colon - 1), UINT64_MAX, count))
    return false;
  *size = (size_t)(colon - text);
  return true;
}

/* "3", "3,1", "3,1,0". */
static bool take_group(const char *text, size_t size, uint32_t group[3])
{
  const char *end = text + size;
  for (unsigned i = 0; i < 3; ++i) {
    const char *comma = memchr(text, ',', (size_t)(end - text)), *to = comma ? comma : end;
    uint64_t value;
    if (!whole_number(text, (size_t)(to - text), UINT32_MAX, &value))
      return false;
    group[i] = (uint32_t)value;
    if (!comma)
      return true;
    text = comma + 1;
  }
  return false;
}

/* NAME[+OFFSET]. */
static bool take_name(const char *text, size_t size, char name[PAST_NAME], uint64_t *offset)
{
  const char *plus = memrchr(text, '+', size);
  *offset = 0;
  if (plus && !whole_number(plus + 1, (size_t)(text + size - plus - 1), UINT64_MAX, offset))
    return false;
  size = plus ? (size_t)(plus - text) : size;
  if (size >= PAST_NAME)
    return false;
  memcpy(name, text, size);
  name[size] = '\0';
  return true;
}

static bool is_hexadecimal(const char *text)
{
  return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static bool read_wave(const char *text, size_t size, past_moment_t *moment)
{
  const char *slash = memchr(text, '/', size), *wave = slash ? slash + 1 : text;
  moment->is_flat = !slash;
  return (!slash || take_group(text, (size_t)(slash - text), moment->group)) &&
         whole_number(wave, (size_t)(text + size - wave), UINT32_MAX, &moment->wave);
}

bool past_read_moment(const char *text, past_moment_t *moment)
{
  size_t size = strlen(text);
  *moment = (past_moment_t){.count = 1};
  const bool has_count = take_count(text, &size, &moment->count);
  if (!size)
    return false;
  if (isdigit((unsigned char)*text) && !is_hexadecimal(text))
    return has_count && read_wave(text, size, moment);
  moment->is_pc = true;
  moment->is_own = is_hexadecimal(text);
  if (!moment->count)
    return false;
  return moment->is_own ? whole_number(text, size, UINT64_MAX, &moment->offset)
                        : take_name(text, size, moment->symbol, &moment->offset);
}

bool past_read_bytes(const char *text, past_bytes_t *bytes)
{
  static const char lds[] = "lds@";
  size_t size = strlen(text);
  *bytes = (past_bytes_t){.bytes = DEFAULT_BYTES};
  (void)take_count(text, &size, &bytes->bytes);
  if (!size || !bytes->bytes || bytes->bytes > SOFTGPU_BACK_BYTES)
    return false;
  bytes->is_lds = size > strlen(lds) && !memcmp(text, lds, strlen(lds));
  if (isdigit((unsigned char)*text))
    return whole_number(text, size, UINT64_MAX, &bytes->address);
  if (!take_name(text, size, bytes->argument, &bytes->address) || !*bytes->argument)
    return false;
  if (!bytes->is_lds)
    return true;
  const char *group = bytes->argument + strlen(lds);
  return take_group(group, strlen(group), bytes->group);
}

/* ---- In the dispatch ---- */

static uint64_t own_to_now(const replay_t *replay)
{
  const rawhal_device_kernel_info_t *info = rawhal_device_kernel_info(replay->kernel);
  return info->kernel_object - info->kernel->descriptor->address;
}

static uint64_t entry_of(const replay_t *replay)
{
  return rawhal_device_kernel_info(replay->kernel)->kernel->descriptor->entry;
}

static bool find_wave(replay_t *replay, const past_moment_t *moment, softgpu_back_t *asked)
{
  const record_dispatch_t *dispatch = &replay->source->dispatch;
  uint64_t groups[3], items = 1, wave = moment->wave;
  memcpy(asked->workgroup, moment->group, sizeof(asked->workgroup));
  for (unsigned i = 0; i < 3; ++i) {
    items *= dispatch->workgroup[i];
    groups[i] = dispatch->workgroup[i]
                    ? ((uint64_t)dispatch->work_items[i] + dispatch->workgroup[i] - 1) /
                          dispatch->workgroup[i]
                    : 0;
  }
  const uint64_t waves = (items + LANES - 1) / LANES;
  if (moment->is_flat && waves && groups[0] && groups[1]) {
    const uint64_t group = wave / waves;
    wave %= waves;
    asked->workgroup[0] = (uint32_t)(group % groups[0]);
    asked->workgroup[1] = (uint32_t)(group / groups[0] % groups[1]);
    asked->workgroup[2] = (uint32_t)(group / groups[0] / groups[1]);
  }
  for (unsigned i = 0; i < 3; ++i)
    if (asked->workgroup[i] >= groups[i] || wave >= waves)
      return tool_refuse(&replay->error, RAWHAL_NOT_FOUND,
                         "--stop-at: there is no such wave: the dispatch has %" PRIu64 "x%" PRIu64
                         "x%" PRIu64 " work-groups of %" PRIu64 " waves",
                         groups[0], groups[1], groups[2], waves);
  asked->stop = SOFTGPU_BACK_AT_WAVE;
  asked->wave = (uint32_t)wave;
  asked->count = moment->count;
  return true;
}

static bool find_symbol(const replay_t *replay, const char *name, uint64_t *address)
{
  const rawhal_symbol_t *symbol;
  const rawhal_string_t own = rawhal_device_kernel_info(replay->kernel)->kernel->name;
  if (!*name || tool_text_is(own, name)) {
    *address = entry_of(replay);
    return true;
  }
  for (size_t i = 0; (symbol = rawhal_hsaco_symbol(replay->hsaco, i)); ++i)
    if (symbol->defined && symbol->kind == RAWHAL_SYMBOL_FUNCTION &&
        tool_text_is(symbol->name, name)) {
      *address = symbol->address;
      return true;
    }
  return false;
}

bool past_find_moment(replay_t *replay, const past_moment_t *moment, softgpu_back_t *asked)
{
  uint64_t base = 0;
  if (!moment->is_pc)
    return find_wave(replay, moment, asked);
  if (!moment->is_own && !find_symbol(replay, moment->symbol, &base))
    return tool_refuse(&replay->error, RAWHAL_NOT_FOUND,
                       "--stop-at: the code object has no function '%s'", moment->symbol);
  asked->stop = SOFTGPU_BACK_AT_PC;
  asked->pc = base + moment->offset + own_to_now(replay);
  asked->count = moment->count;
  return true;
}

/* By its name, or as %N by its number, which every kernel's arguments have. */
static bool is_argument(const rawhal_kernarg_argument_t *argument, size_t index, const char *name)
{
  uint64_t wanted;
  if (*name == '%' && whole_number(name + 1, strlen(name + 1), SIZE_MAX, &wanted))
    return wanted == index;
  return tool_text_is(argument->name, name);
}

/* The pointer that an argument was, in the recorded process. */
static bool find_argument(replay_t *replay, const char *name, uint64_t *pointer)
{
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(replay->kernel)->layout;
  const rawhal_bytes_t kernargs = replay->source->dispatch.kernargs;
  const rawhal_kernarg_argument_t *argument;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i)
    if (is_argument(argument, i, name) && argument->size == sizeof(*pointer) &&
        argument->offset <= kernargs.size && kernargs.size - argument->offset >= sizeof(*pointer)) {
      memcpy(pointer, (const char *)kernargs.data + argument->offset, sizeof(*pointer));
      return true;
    }
  return tool_refuse(
      &replay->error, RAWHAL_NOT_FOUND,
      "--last-write: the kernel has no pointer '%s' among its arguments (%%0 is the first "
      "one, %%1 the next)",
      name);
}

bool past_find_bytes(replay_t *replay, const past_bytes_t *bytes, softgpu_back_t *asked,
                     uint64_t *recorded)
{
  uint64_t base = 0;
  asked->space = bytes->is_lds ? SOFTGPU_BACK_LDS : SOFTGPU_BACK_MEMORY;
  asked->bytes = bytes->bytes;
  asked->address = *recorded = bytes->address;
  memcpy(asked->lds_group, bytes->group, sizeof(asked->lds_group));
  if (bytes->is_lds)
    return true;
  if (*bytes->argument && !find_argument(replay, bytes->argument, &base))
    return false;
  *recorded = base + bytes->address;
  const replay_buffer_t *buffer = replay_find(replay, *recorded);
  const uint64_t inside = buffer ? *recorded - buffer->before->address : 0;
  if (!buffer || buffer->state != REPLAY_MEMORY || inside > buffer->before->content.size ||
      bytes->bytes > buffer->before->content.size - inside)
    return tool_refuse(&replay->error, RAWHAL_NOT_FOUND,
                       "--last-write: the %" PRIu64 " bytes at 0x%" PRIx64
                       " are not in one of the %zu buffers that the dispatch has",
                       bytes->bytes, *recorded, replay->buffer_count);
  asked->address = buffer->now + inside;
  return true;
}

/* ---- In words ---- */

static uint64_t first_of_waves(const replay_t *replay)
{
  const rawhal_descriptor_t *descriptor =
      rawhal_device_kernel_info(replay->kernel)->kernel->descriptor;
  return descriptor->entry + preload_prologue(descriptor);
}

static void find_place(const replay_t *replay, uint64_t pc_offset, past_place_t *place)
{
  const rawhal_bytes_t object = rawhal_hsaco_info(replay->hsaco)->bytes;
  const rawhal_string_t kernel = rawhal_device_kernel_info(replay->kernel)->kernel->name;
  const rawhal_symbol_t *symbol;
  *place = (past_place_t){
      .is_found = true, .pc_offset = pc_offset, .own = first_of_waves(replay) + pc_offset};
  uint64_t nearest = entry_of(replay);
  rawhal_string_t name = kernel;
  bool is_found = false;
  for (size_t i = 0; (symbol = rawhal_hsaco_symbol(replay->hsaco, i)); ++i)
    if (symbol->defined && symbol->kind == RAWHAL_SYMBOL_FUNCTION &&
        place->own - symbol->address < symbol->size && !is_found) {
      nearest = symbol->address;
      name = symbol->name;
      is_found = true;
    }
  (void)snprintf(place->symbol, sizeof(place->symbol), "%.*s",
                 name.size < PAST_NAME ? (int)name.size : PAST_NAME - 1, name.data);
  place->offset = place->own - nearest;
  if (!lines_find(object, place->own, &place->source))
    *place->source.file = '\0';
}

const past_place_t *past_place(const replay_t *replay, uint64_t pc_offset)
{
  past_place_t *place = &replay->past->places[pc_offset / 4 % PAST_PLACES];
  if (!place->is_found || place->pc_offset != pc_offset)
    find_place(replay, pc_offset, place);
  return place;
}
