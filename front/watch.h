/* What is done with dispatches and memory besides limiting them: checking, tracing, recording,
 * substitution and probing.
 *
 *     RAWHAL_CHECK  warn: each mistake of a kernel's is reported once; report: every time;
 *                   refuse: the kernel does not run, and its queue ends with an error
 *     RAWHAL_TRACE  the file that the trace goes to
 *     RAWHAL_RECORD, RAWHAL_RECORD_BUFFERS, RAWHAL_RECORD_BYTES: see recorder.h
 *     RAWHAL_SUBSTITUTE: see substitute.h
 *     RAWHAL_PROBE and what begins so: see probe/probes.h
 *     RAWHAL_SUBSTITUTE_CACHE: see outcomes.h
 *     RAWHAL_POLICY: see policy.h
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_WATCH_H
#define RAWHAL_FRONT_WATCH_H

#include "front/check.h"
#include "front/probe/probes.h"
#include "front/recorder.h"
#include "front/substitute.h"
#include "front/trace.h"

/* A dispatch between its packet and its end. */
typedef struct watch_note {
  front_kernel_t *kernel;              /* NULL: not known; else to be given back */
  hsa_kernel_dispatch_packet_t packet; /* the program's, as it was when it was looked at */
  hsa_kernel_dispatch_packet_t goes;   /* what the device gets in its place */
  hsa_agent_t code_agent;              /* for which the kernel was loaded */
  uint64_t submitted;                  /* ns of the runtime's clock */
  recorder_capture_t *capture;
  substitute_run_t run;
  probe_run_t *probe; /* NULL: it is not probed */
} watch_note_t;

/* Reads the environment. INVALID_ARGUMENT: it says what is not understood, or a file that cannot be
 * written. Sets front.watched. */
RAWHAL_CHECKED rawhal_status_t watch_open(rawhal_error_t *error);
void watch_close(void);
void watch_abandon(void);
/* The same as far as it can be told before there is a runtime, for the program of that file.
 * Nothing is left behind, and watch_close() must follow. */
RAWHAL_CHECKED rawhal_status_t watch_check(const char *program, rawhal_error_t *error);
/* Does the environment ask for any of it? */
bool watch_wanted(void);
/* After watch_open() or watch_check(): for any of it that must hold, as opposed to what only looks?
 */
bool watch_enforces(void);
/* What the process ends with. */
void watch_summary(void);

/* Looks at a dispatch before it goes, and may change it. False: it must not go, and the error says
 * why. */
bool watch_dispatch(const front_device_t *device, uint64_t queue_id,
                    hsa_kernel_dispatch_packet_t *packet, watch_note_t *note,
                    rawhal_error_t *error);
/* Likewise at a packet of another kind, by its first word: a vendor's may launch kernels, and is
 * looked at once, when it goes. */
bool watch_packet(uint64_t queue_id, uint32_t first, rawhal_error_t *error);
/* It has ended, by the device's clock, in ns; 0, 0: unknown how. */
void watch_ended(uint32_t queue, watch_note_t *note, uint64_t start, uint64_t end, bool measured);

/* watch_memory.c */
void watch_memory_hooks(front_calls_t *hooks);
void watch_memory_forget(void);

#endif
