/* Streams, and the queues below them. Internal.
 *
 * A lane is a queue with what has to be remembered of it. Lanes are made when no idle one will do
 * and kept until the process ends: events and barriers of other streams go on naming a lane's
 * tickets after its stream is destroyed, and a queue takes longer to make than most streams live.
 *
 * The null stream and the others that are not hipStreamNonBlocking order each other: what is
 * submitted to it starts after all that they were given before, and what they are given later
 * starts after all that it was. A barrier does it on the device; the host does not wait. */
#ifndef RAWHAL_HIPLAUNCH_STREAM_H
#define RAWHAL_HIPLAUNCH_STREAM_H

#include <rawhal/services.h>
#include <rawhal/transfer.h>

#include "hiplaunch/device/runtime.h"

enum {
  LANE_SUBMISSIONS = 64
}; /* in flight; each takes a signal, of which a runtime has some 4,000 */

typedef struct lane {
  struct lane *next;
  device_t *device;
  bool busy; /* a stream has it */
  rawhal_queue_t *queue;
  rawhal_services_t *services; /* of kernels that print or allocate; or NULL */
  int priority;
  rawhal_ticket_t last;         /* submitted; 0: none */
  rawhal_ticket_t seen_by_null; /* the null stream starts after this one already */
  unsigned calls;               /* of the program's functions, which have not returned: host.c */
  rawhal_ticket_t null_seen;    /* this one starts after that ticket of the null stream already */
  struct ihipEvent_t *untimed, **untimed_end; /* recorded, without their time, in order */
} lane_t;

struct ihipStream_t {
  struct ihipStream_t *next;
  device_t *device;
  lane_t *lane;
  unsigned flags;
  int priority;
};

/* The null stream of a device. */
hipError_t streams_open(device_t *device);

/* The stream of a handle; not locked. */
hipError_t stream_find(hipStream_t handle, struct ihipStream_t **stream);

/* The same. With its device locked and all of its order before what is submitted
 * next; stream_leave() is next, unless it fails. */
hipError_t stream_enter(hipStream_t handle, struct ihipStream_t **stream);
void stream_leave(struct ihipStream_t *stream);

/* Has the stream, which is entered, a lane with services. */
hipError_t stream_need_services(struct ihipStream_t *stream);

/* Waits for all that a stream was given, of the null stream for what it comes after as well. */
hipError_t stream_wait(hipStream_t handle);

/* Waits for all that a lane was given, the program's functions included. Not locked. Errors as
 * lane_wait(). */
hipError_t lane_finish(lane_t *lane, uint64_t deadline);

/* host.c: waits until one of the program's functions has returned; locked, and unlocked meanwhile.
 * Fails in such a function, which would wait for itself. */
hipError_t calls_wait(device_t *device);

/* Waits for a ticket. Not locked. WOULD_BLOCK is hipErrorNotReady, and no failure. */
hipError_t lane_wait(lane_t *lane, rawhal_ticket_t ticket, uint64_t deadline);

/* Waits until a device, or all of them, are done with all they were given, well or not. */
void device_settle(device_t *device);
void devices_settle(void);

/* event.c: takes the times of events before the queue has forgotten them. Locked. */
void events_settle(lane_t *lane);

#endif
