/* rawhal/events.h: what happens in this process, told as it happens.
 *
 * A program subscribes a function of its own, below. Another process of the same user watches with
 * `rawhal events` and `rawhal attach`, and reads the same events from memory that librawhal, or
 * `rawhal exec`, shares for that: see rawhal-attach(1). Nobody is waited for: what an observer does
 * not read in time is lost to it, and counted. */
#ifndef RAWHAL_EVENTS_H
#define RAWHAL_EVENTS_H

#include <rawhal/fault.h>
#include <rawhal/status.h>

RAWHAL_BEGIN

/* What may happen. Behind each, the members of rawhal_event_t that hold something, besides type and
 * time; the others are zero. */
typedef enum rawhal_event_type {
  RAWHAL_EVENT_NONE = 0,
  /* Code was loaded. id, agent; bytes: of its image; text: its file, where that is known */
  RAWHAL_EVENT_MODULE_LOAD = 1,
  RAWHAL_EVENT_MODULE_UNLOAD = 2, /* id */
  /* A kernel of a module was asked for. id: the module's; kernel_object, delta; text: its name. Of
   * one that runs in its place: kernel_object; kind: rawhal_event_instead_t; address: the
   * kernel_object of the one that the program launches; id, text: that one's */
  RAWHAL_EVENT_KERNEL = 3,
  /* queue_id, agent; packets: room for so many; address: of its hsa_queue_t in this process;
   * text: of what exists, its label */
  RAWHAL_EVENT_QUEUE_CREATE = 4,
  RAWHAL_EVENT_QUEUE_DESTROY = 5, /* queue_id */
  RAWHAL_EVENT_ALLOCATE = 6,      /* id, address, bytes, agent; text: of what exists, its label */
  RAWHAL_EVENT_FREE = 7,          /* id, address, bytes */
  /* queue_id, ticket; packet, packets: from this one on, so many; kernel_object: of the first
   * dispatch, or 0; text: its label */
  RAWHAL_EVENT_SUBMIT = 8,
  RAWHAL_EVENT_COMPLETE = 9,  /* A thread saw that it has finished. queue_id, ticket */
  RAWHAL_EVENT_THROTTLE = 10, /* A limit held a thread back. queue_id; nanoseconds: for so long */
  /* queue_id, ticket, packet, kind, address; text: the message; fault, within the process */
  RAWHAL_EVENT_FAULT = 11,
  /* A core file. queue_id; text: its name and what is in it, or why it could not be written */
  RAWHAL_EVENT_DUMP = 12,
  /* A queue or an allocation got a label, or lost it. queue_id; or id, address; text: the label, as
   * the program gave it; empty: none */
  RAWHAL_EVENT_LABEL = 13,
} rawhal_event_type_t;
enum { RAWHAL_EVENT_TYPES = 14 };
/* What runs in the place of a kernel. */
typedef enum rawhal_event_instead {
  RAWHAL_EVENT_INSTEAD_NONE = 0,
  RAWHAL_EVENT_INSTEAD_PROBED = 1,     /* a copy of it with probes */
  RAWHAL_EVENT_INSTEAD_SUBSTITUTE = 2, /* another, which may stand for several */
} rawhal_event_instead_t;
/* "submit"; "unknown" for a value that is none. Never NULL; static. */
RAWHAL_API const char *rawhal_event_type_name(rawhal_event_type_t type);

/* Bits of a set of types. */
#define RAWHAL_EVENT_BIT(type) (UINT64_C(1) << (type))
#define RAWHAL_EVENTS_ALL      UINT64_C(0x3ffe)

typedef struct rawhal_event {
  size_t size; /* of the structure: a later version may have more members */
  rawhal_event_type_t type;
  uint32_t packets;
  uint64_t time;     /* CLOCK_MONOTONIC, ns */
  uint64_t id;       /* of a module or an allocation: counts from 1 */
  uint64_t agent;    /* hsa_agent_t.handle */
  uint64_t queue_id; /* hsa_queue_t.id */
  uint64_t ticket, packet;
  uint64_t kernel_object; /* device address of the kernel's descriptor */
  uint64_t address, bytes;
  int64_t delta;        /* from addresses of the code object to the device's */
  uint64_t nanoseconds; /* how long something took */
  uint32_t kind;        /* rawhal_fault_kind_t; of KERNEL, rawhal_event_instead_t */
  uint32_t reserved;
  rawhal_string_t text;        /* not terminated; the library's, until the function returns */
  const rawhal_fault_t *fault; /* the library's, until the function returns; NULL without */
} rawhal_event_t;

/* Is called by the thread in which it happens, which may hold locks of the library: it may not call
 * rawhal or HSA, and should be short. Several threads may be in it at once. Submission without a
 * subscriber or an observer costs three instructions more; with one, about a tenth more. */
typedef void rawhal_event_fn(void *context, const rawhal_event_t *event);

typedef struct rawhal_subscription rawhal_subscription_t;
/* Tells `function` of events of this process whose bits are in `types`, from now on: subscribe
 * before the instance is made to hear of everything. Thread-safe, as is
 * rawhal_events_unsubscribe(). INVALID_ARGUMENT; OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_events_subscribe(uint64_t types, rawhal_event_fn *function, void *context,
                        rawhal_subscription_t **subscription, rawhal_error_t *error);
/* When it returns, the function runs nowhere and is not called again. Not from within the function.
 * NULL does nothing. */
RAWHAL_API void rawhal_events_unsubscribe(rawhal_subscription_t *subscription);

RAWHAL_END

#endif
