/* What the jobs of the demo share: a device with a queue, the loaded code objects, and the way from
 * a prepacked blob to a timed dispatch. */
#ifndef TOOLS_DEMO_JOB_H
#define TOOLS_DEMO_JOB_H

#include <rawhal/hal.h>

typedef struct demo {
  rawhal_instance_t *instance;
  rawhal_device_t *device;
  rawhal_queue_t *queue;
  rawhal_executable_t *rocrand, *vector_add;
  size_t numbers;       /* that each job computes */
  rawhal_error_t error; /* of the call that failed */
} demo_t;

/* Each prints its report and says whether the device's results are the reference's. */
rawhal_status_t job_philox(demo_t *demo, bool *correct);
rawhal_status_t job_xorwow(demo_t *demo, bool *correct);
rawhal_status_t job_vector_add(demo_t *demo, bool *correct);

/* Title and device. */
void job_introduce(const demo_t *demo, const char *title);

/* One dispatch of a job: work-groups of the size the library uses, in one dimension. */
typedef struct job_dispatch {
  const char *name; /* for people */
  const rawhal_device_kernel_t *kernel;
  uint32_t workgroups;
  const void *blob;
  size_t blob_size;
  rawhal_ticket_t ticket;
} job_dispatch_t;

/* Looks up the dispatch's kernel by its mangled name, or by the one that a later version of the
 * library has; NULL: no other. */
rawhal_status_t job_find(demo_t *demo, rawhal_executable_t *executable, const char *mangled,
                         const char *later, job_dispatch_t *dispatch);

/* Prints kernel and kernarg layout; meanings[i] says what the blob holds as argument i. */
void job_describe(const job_dispatch_t *dispatch, const char *const *meanings, size_t count);

/* Prints the geometry, submits all without waiting in between (a queue runs in order), and waits
 * for the last one. `wall_ns`: from before the first submission to after the last signal. */
rawhal_status_t job_run(demo_t *demo, job_dispatch_t *dispatches, size_t count, uint64_t *wall_ns);

/* Prints the wall time, and the device's time of each dispatch. */
rawhal_status_t job_report_time(demo_t *demo, const job_dispatch_t *dispatches, size_t count,
                                uint64_t wall_ns);

/* Something a kernel computes: where it does, and the two copies to compare. */
typedef struct job_result {
  rawhal_buffer_t *buffer;
  size_t size; /* bytes of each */
  void *got, *expected;
} job_result_t;

/* The buffer is filled with a pattern, so that what a kernel leaves out cannot be right by chance.
 * To be closed whether it succeeded or not. */
rawhal_status_t job_result_open(demo_t *demo, size_t size, job_result_t *result);
rawhal_status_t job_result_read(demo_t *demo, job_result_t *result);
void job_result_close(job_result_t *result);

/* Work-items; what rocRAND uses for every kernel, and the most its kernels allow. */
#define JOB_WORKGROUP_SIZE 256

#endif
