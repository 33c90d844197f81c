/* Kernels of ours in the place of the program's.
 *
 *     RAWHAL_SUBSTITUTE        which: see substitute_rules.h
 *     RAWHAL_SUBSTITUTE_CACHE  a folder for what became of each that was tried: see outcomes.h; it
 *                              is watch.c's
 *
 * When code is loaded, the kernels in it that a rule is for are compared with their replacements,
 * which are loaded as well; what does not fit stays what it was, and is reported, with the
 * difference, when it is dispatched. A dispatch of one that fits is changed on its way to the
 * device: kernel, kernargs, where the replacement takes other ones, group memory and scratch. One
 * that the replacement cannot run, as by its size or for want of memory, runs the original. Both
 * are counted.
 *
 * What is checked, traced and recorded of a dispatch is the original's.
 *
 * Thread-safety: everything may be called from any thread. Locks, in the order in which they may be
 * taken: those in here, those of objects.h. */
#ifndef RAWHAL_FRONT_SUBSTITUTE_H
#define RAWHAL_FRONT_SUBSTITUTE_H

#include "front/objects.h"

typedef struct substitute substitute_t;

/* Of a dispatch that is on its way. */
typedef struct substitute_run {
  substitute_t *instead; /* NULL: it is the original */
  void *block;           /* its kernargs, if they are ours */
} substitute_run_t;

/* Reads the environment. INVALID_ARGUMENT and what rules_open() says. `*wanted`: there are rules.
 */
RAWHAL_CHECKED rawhal_status_t substitute_open(bool *wanted, rawhal_error_t *error);
/* After that: can the files be made that it will write? INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t substitute_check(rawhal_error_t *error);
void substitute_summary(void); /* what the process ends with */
void substitute_close(void);
void substitute_abandon(void);

/* Code was loaded, or is about to go. */
void substitute_loaded(hsa_agent_t agent, hsa_executable_t executable, const front_kernel_t *kernel,
                       uint64_t kernel_object);
void substitute_unload(hsa_executable_t executable);

/* Changes the packet, if its kernel is replaced. */
void substitute_dispatch(const front_device_t *device, hsa_kernel_dispatch_packet_t *packet,
                         substitute_run_t *run);
/* `ran`: to its end, as far as is known. */
void substitute_ended(substitute_run_t *run, bool ran);

#endif
