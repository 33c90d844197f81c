/* Messages: what is too long for one hostcall is said in several. The first word of a request is a
 * descriptor: bit 0 begins a message, bit 1 ends it, bits 5-7 are how many of the other words
 * count, bits 8-63 the message's number, which the answer to its beginning gives. Of a whole
 * printf() the first word says where to, the rest is the format and its arguments. */
#include "base/list.h"
#include "hal/services/hostcall.h"
#include "hal/services/printf.h"

#include <string.h>

enum {
  DESCRIPTOR_BEGIN = 1,
  DESCRIPTOR_END = 2,
  LENGTH_SHIFT = 5,
  LENGTH_MASK = 7,
  NUMBER_SHIFT = 8
};

enum {
  MESSAGE_WORDS = SERVICES_TEXT_BYTES / 8, /* longer ones are lost */
  MESSAGE_BYTES = 64 << 20,                /* of all that are being said */
};

static hostcall_message_t *message_find(hostcall_t *hostcall, uint64_t number)
{
  if (number >= hostcall->message_count || !hostcall->messages[number].live)
    return NULL;
  return &hostcall->messages[number];
}

/* NULL: no memory, or more than there are lanes in all packets, which are never ended. */
static hostcall_message_t *message_begin(hostcall_t *hostcall)
{
  uint32_t index = hostcall->free_message;
  if (index == 0) {
    if (hostcall->message_count / HOSTCALL_LANES >= hostcall->packets)
      return NULL;
    if (!array_reserve(hostcall->allocator, &hostcall->messages, &hostcall->message_capacity,
                       hostcall->message_count + 1, sizeof(*hostcall->messages)))
      return NULL;
    index = ++hostcall->message_count;
  } else {
    hostcall->free_message = hostcall->messages[index - 1].next_free;
  }
  hostcall_message_t *message = &hostcall->messages[index - 1];
  *message = (hostcall_message_t){.live = true};
  return message;
}

static void message_drop(hostcall_t *hostcall, hostcall_message_t *message)
{
  allocate_free(hostcall->allocator, message->words);
  hostcall->message_bytes -= message->capacity * sizeof(*message->words);
  *message = (hostcall_message_t){.next_free = hostcall->free_message};
  hostcall->free_message = (uint32_t)(message - hostcall->messages) + 1;
}

static bool message_reserve(hostcall_t *hostcall, hostcall_message_t *message, uint32_t count)
{
  const size_t before = message->capacity, wanted = (size_t)message->count + count;
  if (message->lost || wanted <= before)
    return !message->lost;
  if (wanted > MESSAGE_WORDS ||
      hostcall->message_bytes + before * sizeof(*message->words) > MESSAGE_BYTES ||
      !array_reserve(hostcall->allocator, &message->words, &message->capacity, wanted,
                     sizeof(*message->words)))
    return false;
  hostcall->message_bytes += (message->capacity - before) * sizeof(*message->words);
  return true;
}

/* What printf() returns. */
static int64_t message_print(hostcall_t *hostcall, const hostcall_message_t *message)
{
  if (message->lost || message->count == 0 || message->words[0] > RAWHAL_SERVICES_STDERR)
    return -1;
  size_t size = (message->count - 1) * sizeof(*message->words);
  return (int64_t)printf_message((const unsigned char *)(message->words + 1), size,
                                 hostcall->output, (rawhal_services_stream_t)message->words[0]);
}

bool hostcall_message(hostcall_t *hostcall, uint64_t words[HOSTCALL_WORDS])
{
  uint64_t descriptor = words[0];
  uint32_t count = (uint32_t)(descriptor >> LENGTH_SHIFT & LENGTH_MASK);
  hostcall_message_t *message = descriptor & DESCRIPTOR_BEGIN
                                    ? message_begin(hostcall)
                                    : message_find(hostcall, descriptor >> NUMBER_SHIFT);
  /* Unless it goes well: what printf() returns, -1, or for what follows, a number that no message
   * has. */
  words[0] = descriptor & DESCRIPTOR_END ? UINT64_MAX : UINT64_MAX << NUMBER_SHIFT;
  if (!message)
    return false;
  if (message_reserve(hostcall, message, count)) {
    if (count)
      memcpy(message->words + message->count, words + 1, count * sizeof(*words));
    message->count += count;
  } else {
    message->lost = true;
  }
  if (!(descriptor & DESCRIPTOR_END)) {
    uint64_t number = (uint64_t)(message - hostcall->messages);
    words[0] = number << NUMBER_SHIFT | (descriptor & 0xff & ~(uint64_t)DESCRIPTOR_BEGIN);
    return true;
  }
  int64_t printed = message_print(hostcall, message);
  words[0] = (uint64_t)printed;
  message_drop(hostcall, message);
  return printed >= 0;
}
