/* The observer's side of a door: what another process shows of itself. Internal to tools.
 *
 * Nothing stops the other process, nothing is waited for but an answer, and nothing that it, or
 * another observer, may have written is believed: what is read is a copy, and checked. */
#ifndef RAWHAL_DEBUG_DOOR_OBSERVE_H
#define RAWHAL_DEBUG_DOOR_OBSERVE_H

#include "debug/door/format.h"
#include "debug/door/requests.h"
#include "debug/events.h"

#include <hsa/hsa.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct observer observer_t;

/* The first, 0, or a further door of a process: there is one of librawhal's and one of the front's.
 * Those that it has by fork() are its parent's, and not counted.
 * NOT_FOUND: no such process, or no further door. UNSUPPORTED: this process may not look, with why,
 * as far as can be seen; or the door is of another version. WOULD_BLOCK: the process is making the
 * door. OUT_OF_MEMORY; RUNTIME. */
RAWHAL_CHECKED rawhal_status_t observer_open(pid_t process, size_t index, observer_t **observer,
                                             rawhal_error_t *error);
void observer_close(observer_t *observer);

door_kind_t observer_kind(const observer_t *observer);
/* Whether the process answers requests. */
bool observer_answers(const observer_t *observer);
/* When the process opened it: CLOCK_MONOTONIC, ns, as it says. */
uint64_t observer_opened(const observer_t *observer);
/* False: the process has ended. */
bool observer_lives(const observer_t *observer);
/* The same, of so many ms, until the process ends or a signal comes. */
bool observer_wait(const observer_t *observer, int ms);

/* What exists now, as the event by which it came: with texts that may be shortened. `unlisted`: so
 * many found no place, as the process says. The visitor's event lasts until it returns; false ends
 * the walk. */
typedef bool observer_visit_fn(void *context, const rawhal_event_t *event);
void observer_list(observer_t *observer, observer_visit_fn *visit, void *context,
                   uint64_t *unlisted);

/* Wants events of these types, from now on; to be said again at least once a second, which
 * observer_next() does. */
void observer_want(observer_t *observer, uint64_t types);
/* Events from the first on that the ring still has, not those from now on. */
void observer_rewind(observer_t *observer);
/* The next event, if there is one: it lasts until the next call. Those that were lost before it are
 * added to `*lost`. False: nothing new yet. */
bool observer_next(observer_t *observer, rawhal_event_t *event, uint64_t *lost);

/* Copies bytes of the process, by the kernel. False: they cannot be had. */
bool observer_read(const observer_t *observer, uint64_t address, void *to, size_t size);

/* A queue, as it stands. */
typedef struct observer_queue {
  uint64_t id, size, read, write; /* packets: room for, taken by the device, written */
  uint64_t ring;                  /* address of the packets */
} observer_queue_t;
/* `address`: of its hsa_queue_t. Packets that may be running, and those that wait, are visited in
 * order; false of the visitor ends it. False: it cannot be read. */
typedef bool observer_packet_fn(void *context, uint64_t index,
                                const hsa_kernel_dispatch_packet_t *packet);
bool observer_queue(const observer_t *observer, uint64_t address, observer_queue_t *queue,
                    observer_packet_fn *visit, void *context);
/* The packet of that index, or what stands in its place: that of one that has been taken is there
 * until it is written over, without its header's type. False: it cannot be read. */
bool observer_packet(const observer_t *observer, const observer_queue_t *queue, uint64_t index,
                     hsa_kernel_dispatch_packet_t *packet);

/* Asks, and waits for the answer, at most so many ns. `poked`: the bytes for POKE. `text` gets its
 * words. `*memory` gets a descriptor of `*bytes` bytes that cannot change, or -1; it is the
 * caller's. The status is the process's, with its words; TIMED_OUT; UNSUPPORTED: it does not
 * answer. */
RAWHAL_CHECKED rawhal_status_t observer_ask(observer_t *observer, const door_request_t *request,
                                            const void *poked, uint64_t timeout,
                                            char text[DOOR_TEXT_BYTES], int *memory,
                                            uint64_t *bytes, rawhal_error_t *error);

#endif
