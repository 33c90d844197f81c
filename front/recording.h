/* A dispatch that is being recorded, and the program's memory as a recording sees it (see
 * record/capture.h). Internal to the recorder.
 *
 * Thread-safety: each dispatch is one thread's at a time. */
#ifndef RAWHAL_FRONT_RECORDING_H
#define RAWHAL_FRONT_RECORDING_H

#include "front/kernargs.h"
#include "front/recorder.h"
#include "record/capture.h"

struct recorder_capture {
  record_capture_t capture;
  const front_kernel_t *kernel;
  uint64_t others; /* dispatches that had begun when this one did */
  bool beside;     /* some of them had not ended */
};

/* recorder_find.c: what the kernargs and the variables lead to; what words in that lead to is found
 * when it is read. */
void recording_find(recorder_capture_t *recording, const hsa_kernel_dispatch_packet_t *packet,
                    const kernargs_t *kernargs);
/* kernargs_take(), also of kernargs in a device's memory. */
void recording_take_kernargs(kernargs_t *kernargs, const front_kernel_t *kernel,
                             const hsa_kernel_dispatch_packet_t *packet);

#endif
