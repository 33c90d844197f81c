#include "hal/door.h"

#include "hal/buffer.h"
#include "hal/dump.h"
#include "hal/log.h"
#include "queue/hang.h"
#include "queue/snapshot.h"

#include "base/own_memory.h"

#include <inttypes.h>

enum { PART = 256 << 10 }; /* of a copy: other threads' calls wait no longer than for that */

static bool read_memory(uint64_t address, void *to, size_t size)
{
  bool read = true;
  for (size_t done = 0; done < size && read; done += PART) {
    const size_t part = size - done < PART ? size - done : PART;
    registry_hold();
    const uint64_t place = registry_place(address, size);
    read = place && own_memory_copy((char *)to + done, place + done, part);
    registry_let();
  }
  return read;
}

static bool write_memory(uint64_t address, const void *from, size_t size)
{
  registry_hold();
  const uint64_t place = registry_place(address, size);
  const bool written = place && own_memory_write(place, from, size);
  registry_let();
  return written;
}

static void wrote(uint64_t address, size_t size)
{
  hal_log(RAWHAL_SEVERITY_NOTE, "an observer has written %zu bytes at 0x%" PRIx64, size, address);
}

static rawhal_status_t write_core(int descriptor, rawhal_error_t *error)
{
  char said[DUMP_SAID];
  return queues_dump(&hal_cores, NULL, DUMP_FOR_OBSERVER, descriptor, said, error);
}

const door_host_t hal_door_host = {.why = queues_say,
                                   .read = read_memory,
                                   .write = write_memory,
                                   .wrote = wrote,
                                   .core = write_core};
