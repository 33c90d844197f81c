#include "record/pointers.h"

#include <string.h>

record_argument_t record_argument_of(uint8_t kind, uint32_t size, bool hidden)
{
  static const uint8_t services[] = {
      RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER,      RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER,
      RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG, RAWHAL_VALUE_HIDDEN_HEAP_V1,
      RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE,      RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION,
      RAWHAL_VALUE_HIDDEN_QUEUE_PTR,          RAWHAL_VALUE_QUEUE};
  static const uint8_t images[] = {RAWHAL_VALUE_SAMPLER, RAWHAL_VALUE_IMAGE, RAWHAL_VALUE_PIPE};
  if (size == RECORD_WORD && memchr(services, kind, sizeof(services)))
    return RECORD_ARGUMENT_SERVICE;
  if (hidden)
    return RECORD_ARGUMENT_HIDDEN;
  if (size == RECORD_WORD && memchr(images, kind, sizeof(images)))
    return RECORD_ARGUMENT_IMAGE;
  return size == RECORD_WORD && kind == RAWHAL_VALUE_GLOBAL_BUFFER ? RECORD_ARGUMENT_POINTER
                                                                   : RECORD_ARGUMENT_VALUE;
}

static const unsigned char all_values[RECORD_WORD];

static void look(const void *segment, unsigned char *bytes, size_t at, record_pointer_fn *is,
                 void *context)
{
  uint64_t word;
  if (memcmp(bytes + at, all_values, RECORD_WORD) != 0)
    return;
  memcpy(&word, (const char *)segment + at, sizeof(word));
  if (word && is(context, at, word))
    memset(bytes + at, RECORD_BYTE_POINTER, RECORD_WORD);
}

void record_find_pointers(const void *segment, unsigned char *bytes, size_t size,
                          record_pointer_fn *is, void *context)
{
  static const size_t steps[] = {8, 4, 1};
  for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); ++i)
    for (size_t at = 0; size >= RECORD_WORD && at <= size - RECORD_WORD; at += steps[i])
      look(segment, bytes, at, is, context);
}
