/* What a queue of the program's was doing when it failed, and why: its dispatches, what they point
 * to, and the likely causes, to where the front's other messages go.
 *
 *     RAWHAL_FAULTS  off; text: some lines for people; json: one line, docs/fault.schema.json
 *
 * Rings, kernargs and other memory are read when a queue has failed, by ways that fail where
 * nothing is. Of what has ended by then the kernargs are kept where queues have proxies: lately.h.
 * The program is told afterwards, of what and as it would be without.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_FAULTS_H
#define RAWHAL_FRONT_FAULTS_H

#include "front/proxy.h"

#include "debug/dump.h"

/* Reads the environment and sets front.faults. INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t faults_open(rawhal_error_t *error);
/* When the hooks are there. */
void faults_begin(void);
void faults_close(void);
void faults_abandon(void);
/* The runtime says that the device's queue has failed. Nothing without front.faults. `device` may
 * be NULL; so may `proxy`, of a queue that has none. */
void faults_tell(const front_device_t *device, const hsa_queue_t *queue, proxy_t *proxy,
                 hsa_status_t status);

/* The program is about to destroy it: says so where kernels wait in it that will never run. */
void faults_tell_destroyed(const front_device_t *device, const hsa_queue_t *queue);

/* A queue that has not got on. */
typedef struct faults_hang {
  uint64_t packet;   /* at which it stands */
  const char *waits; /* for what, if that is a barrier; NULL: it is none */
  uint64_t ns;       /* for how long */
  bool dumps;        /* all is told, and written to a core file */
} faults_hang_t;
/* Says so: `line` gets it in a line, and with front.faults there is a report. */
void faults_tell_hang(proxy_t *proxy, const faults_hang_t *hang, char *line, size_t size);

/* The same line, for an observer who asks what there is now, and nothing else. */
void faults_say_hang(proxy_t *proxy, const faults_hang_t *hang, char *line, size_t size);

/* A core file for an observer: dump_begin() of debug/dump.h, and what a queue has in flight;
 * `oldest`: from this packet on, or NULL: nothing. False: there is no memory for it. */
bool faults_dump_begin(dump_t *dump, int descriptor);
bool faults_dump_queue(proxy_t *proxy, const uint64_t *oldest, dump_t *dump);
/* After faults_begin(): is it a device in software? */
bool faults_on_softgpu(void);

#endif
