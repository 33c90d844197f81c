/* rawhal attach --why: what a process says of what does not end; of one that does not answer, which
 * queues stand still. */
#include "tools/attach/attach.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t answer_ns = UINT64_C(10000000000);

__attribute__((format(printf, 2, 3))) static void add(attach_why_t *why, const char *format, ...)
{
  const size_t used = strlen(why->text);
  va_list args;
  va_start(args, format);
  (void)vsnprintf(why->text + used, sizeof(why->text) - used, format, args);
  va_end(args);
}

/* ---- From outside ---- */

static const attach_queue_t *find(const attach_status_t *status, uint64_t address)
{
  const attach_queue_t *queues = status->queues.items;
  for (size_t i = 0; i < status->queues.count; ++i)
    if (queues[i].address == address && queues[i].readable)
      return &queues[i];
  return NULL;
}

static bool stands(const attach_queue_t *before, const attach_status_t *now)
{
  const attach_queue_t *queue = find(now, before->address);
  return queue && before->readable && before->flying && queue->flying &&
         queue->oldest == before->oldest && queue->now.read == before->now.read;
}

static void tell_queue(attach_why_t *why, const attach_status_t *status,
                       const attach_queue_t *queue)
{
  const attach_packet_t *packet = &queue->in_flight[0];
  const rawhal_string_t name = kernels_find(&status->kernels, packet->kernel_object);
  const char *instead = kernels_instead(&status->kernels, packet->kernel_object);
  const bool taken = packet->index < queue->now.read;
  add(why, "queue %" PRIu64 ": packet %" PRIu64 ", kernel ", queue->now.id, packet->index);
  if (name.size)
    add(why, "'%.*s'%s%s", (int)name.size, name.data, instead ? ", " : "", instead ? instead : "");
  else
    add(why, "0x%" PRIx64, packet->kernel_object);
  add(why, ", %s at all of %d looks in %d ms; %" PRIu64 " packets are written behind it\n",
      taken ? "was taken, and had not ended," : "was the first in line", ATTACH_LOOKS,
      ATTACH_LOOKS * ATTACH_LOOK_MS, queue->now.write - packet->index - 1);
}

/* A queue that has moved at any look is left out. */
static bool look(attach_why_t *why, observer_t *observer)
{
  attach_status_t first, next;
  bool done = attach_status_read(&first, observer);
  attach_queue_t *queues = first.queues.items;
  for (int i = 1; done && i < ATTACH_LOOKS && observer_wait(observer, ATTACH_LOOK_MS); ++i) {
    done = attach_status_read(&next, observer);
    for (size_t k = 0; k < first.queues.count; ++k)
      queues[k].readable = queues[k].readable && stands(&queues[k], &next);
    attach_status_free(&next);
  }
  for (size_t k = 0; done && k < first.queues.count; ++k)
    if (queues[k].readable && queues[k].flying)
      tell_queue(why, &first, &queues[k]);
  attach_status_free(&first);
  if (!*why->text)
    add(why, "no queue stood still at %d looks in %d ms\n", ATTACH_LOOKS,
        ATTACH_LOOKS * ATTACH_LOOK_MS);
  return done;
}

/* ---- */

bool attach_why(attach_why_t *why, observer_t *observer, rawhal_error_t *error)
{
  const door_request_t request = {.ask = DOOR_WHY};
  int memory;
  uint64_t bytes;
  *why = (attach_why_t){.answered = false};
  const rawhal_status_t status =
      observer_ask(observer, &request, NULL, answer_ns, why->text, &memory, &bytes, error);
  why->answered = status == RAWHAL_OK;
  if (why->answered)
    return true;
  why->text[0] = '\0';
  return look(why, observer) ||
         tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for what the process shows");
}
