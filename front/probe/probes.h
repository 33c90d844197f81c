/* Probes in the program's kernels.
 *
 *     RAWHAL_PROBE        which, and of what kind: see rules.h
 *     RAWHAL_PROBE_FILE   where their records go, which must not be there yet; where it is, as when
 *                         a second process of the program begins, the process's number is added
 *     RAWHAL_PROBE_BYTES  what the file may grow to, as "64M"; 1 GiB without
 *     RAWHAL_PROBE_ENGINE    someone else's engines, and for which: see rules.h
 *     RAWHAL_PROBE_FOLDER    the folder of their work, and of the trace of their maps
 *     RAWHAL_PROBE_CALLBACK  a program that gets that trace when it is finished
 *
 * The program's code is loaded as it is. When a kernel that a rule is for is first dispatched, a
 * thread of ours plans its probes and loads a copy that has them; until then, and wherever anything
 * fails, the original runs. From then on dispatches are changed on their way to the device: the
 * copy's kernel, and kernargs of ours, with one argument more. When one has ended, the thread
 * writes its records to the file.
 *
 *     rules    which dispatches
 *     memory   what records are written to
 *     probes   kernels, and which of their dispatches
 *     run      one of them, from its packet to its end
 *     prepare  from a kernel to its copy
 *     worker   the thread
 *     file     what is written
 *
 * What is checked, traced and recorded of a dispatch is the program's. A kernel that is replaced is
 * not probed.
 *
 * Thread-safety: everything may be called from any thread. Locks, in the order in which they may be
 * taken: those in here, those of objects.h. */
#ifndef RAWHAL_FRONT_PROBE_PROBES_H
#define RAWHAL_FRONT_PROBE_PROBES_H

#include "front/objects.h"

/* Of a dispatch that is on its way. */
typedef struct probe_run probe_run_t;

/* Reads the environment, and makes the file. INVALID_ARGUMENT; errors of record_writer_create().
 * `*wanted`: there are rules, for this program. */
RAWHAL_CHECKED rawhal_status_t probes_open(bool *wanted, rawhal_error_t *error);
/* The same for a `program` that is to be started, but for the file: can it be made? */
RAWHAL_CHECKED rawhal_status_t probes_check(const char *program, bool *wanted,
                                            rawhal_error_t *error);
bool probes_flying(void); /* on the device, as far as is known */
/* What the process ends with: from here on nothing is probed, and what has ended is written. */
void probes_summary(void);
void probes_close(void);
void probes_abandon(void);

/* Code is about to go. */
void probes_unload(hsa_executable_t executable);

/* A copy of a kernel with probes of ours. */
typedef struct probed probed_t;
/* NULL: that is none. It stays until it is released. */
probed_t *probes_copy(uint64_t kernel_object);
/* NULL is allowed. */
void probed_release(probed_t *copy);
uint64_t probes_copy_of(const probed_t *copy); /* the original's kernel_object */
/* Where in the original a place of it comes from, in bytes from the first instruction of each.
 * False: it is not known. `*is_probe`: it is a probe's own. */
bool probes_copy_origin(const probed_t *copy, uint64_t *offset, bool *is_probe);
/* Its code object, and where that is loaded. */
rawhal_bytes_t probes_copy_code(const probed_t *copy, object_loaded_t *loaded);

/* Changes the packet, if it is to be probed; NULL: it is not. `asked`: as the program has it. */
probe_run_t *probes_dispatch(const front_device_t *device, uint64_t queue_id,
                             const front_kernel_t *kernel,
                             const hsa_kernel_dispatch_packet_t *asked,
                             hsa_kernel_dispatch_packet_t *packet);
/* It is on its way to the device. NULL is allowed, as below. */
void probes_goes(probe_run_t *run);
/* It has ended, by the device's clock, in ns; 0, 0: unknown how. */
void probes_ended(probe_run_t *run, uint64_t start, uint64_t end);

#endif
