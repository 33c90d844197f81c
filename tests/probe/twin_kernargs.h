/* Where a new queue puts the kernargs of its first dispatch, by which softgpu is told what that is to record. */
#ifndef RAWHAL_TESTS_PROBE_TWIN_KERNARGS_H
#define RAWHAL_TESTS_PROBE_TWIN_KERNARGS_H

#include <rawhal/hal.h>

#ifdef __cplusplus
extern "C"
#endif
    uint64_t
    twin_kernargs(const rawhal_queue_t *queue);

#endif
