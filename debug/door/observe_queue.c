/* A queue of another process, by its amd_queue_t and its ring. */
#include "debug/door/observe.h"

#include "debug/packets.h"

#include <hsa/amd_hsa_queue.h>

static bool copy(const void *context, void *to, uint64_t from, size_t size)
{
  return observer_read(context, from, to, size);
}

enum { MOST_PACKETS = 1 << 20 }; /* of a ring, whatever the process says */

static bool is_ring(uint32_t size)
{
  return size && size <= MOST_PACKETS && !(size & (size - 1));
}

bool observer_queue(const observer_t *observer, uint64_t address, observer_queue_t *queue,
                    observer_packet_fn *visit, void *context)
{
  amd_queue_t amd;
  if (!observer_read(observer, address, &amd, sizeof(amd)) || !is_ring(amd.hsa_queue.size))
    return false;
  *queue = (observer_queue_t){.id = amd.hsa_queue.id,
                              .size = amd.hsa_queue.size,
                              .read = amd.read_dispatch_id,
                              .write = amd.write_dispatch_id,
                              .ring = (uintptr_t)amd.hsa_queue.base_address};
  const debug_packets_t packets = {.queue = &amd.hsa_queue,
                                   .read = queue->read,
                                   .write = queue->write,
                                   .copy = copy,
                                   .context = observer};
  hsa_kernel_dispatch_packet_t packet;
  if (!visit)
    return true;
  for (uint64_t next = packets_first(&packets); packets_next(&packets, &next, &packet);)
    if (!visit(context, next - 1, &packet))
      break;
  return true;
}

bool observer_packet(const observer_t *observer, const observer_queue_t *queue, uint64_t index,
                     hsa_kernel_dispatch_packet_t *packet)
{
  return observer_read(observer, queue->ring + index % queue->size * sizeof(*packet), packet,
                       sizeof(*packet));
}
