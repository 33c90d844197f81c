/* rawhal probe verify: a kernel and its copy with probes, run on the same recorded dispatches. */
#ifndef TOOLS_PROBE_VERIFY_H
#define TOOLS_PROBE_VERIFY_H

#include <rawhal/probe.h>

#include "base/list.h"
#include "probe/certificate.h"
#include "tools/probe/probe.h"
#include "tools/shared/json.h"
#include "tools/shared/replay/replay.h"

/* Of a dispatch, and of a kernel: the largest of its dispatches'. */
typedef enum verify_result {
  VERIFY_SAME = 0,
  VERIFY_CANNOT = 1,    /* nothing can be told, as where the original itself does not repeat */
  VERIFY_REFUSED = 2,   /* of a kernel: it cannot be probed */
  VERIFY_DIFFERENT = 3, /* the copy does something else */
  VERIFY_RESULTS = 4,
} verify_result_t;

enum { VERIFY_SAID = 640, VERIFY_PROBLEMS = 16, VERIFY_PATH = 4096 };

typedef struct verify_problem {
  uint64_t dispatch;
  verify_result_t result;
  char said[VERIFY_SAID];
} verify_problem_t;

/* A kernel of one code object, and what came of it. */
typedef struct verify_kernel {
  rawhal_content_hash_t object;
  rawhal_string_t name;         /* in the recording, or the code object */
  const rawhal_kernel_t *facts; /* NULL: it is not there */
  rawhal_probe_plan_t *plan;
  rawhal_content_hash_t copy; /* see certificate.h */
  rawhal_bytes_t given;       /* a copy of somebody else's; none: it is made */

  /* Where the copy is loaded. */
  rawhal_bytes_t bytes; /* that were made */
  rawhal_executable_t *executable;
  const rawhal_device_kernel_t *probed;

  verify_result_t result;
  char refusal[VERIFY_SAID]; /* why no dispatch can be compared; "": it is not so */
  uint64_t dispatches, compared, different, impossible;
  uint64_t bytes_compared, waves, instructions, lost; /* lost: events that were not kept */
  bool has_waves, has_instructions;                   /* they were held against the device's */
  verify_problem_t problems[VERIFY_PROBLEMS];
  char target[CERTIFICATE_TARGET], device[128];
  bool is_software;
  char certificate[VERIFY_PATH]; /* its path; "": none was written */
} verify_kernel_t;

/* One dispatch of it, which is on the device. */
typedef struct verify_dispatch {
  verify_kernel_t *kernel;
  replay_t *replay;
  unsigned char *left; /* what all memory is after the original, one buffer behind the other */
  bool counts;         /* the device does, */
  uint64_t instructions;
  bool is_broken; /* the device has seen a fault */
  char said[VERIFY_SAID];
} verify_dispatch_t;

/* Where the copy's records go, and its arguments. Zero-initialised; to be closed in any case. */
typedef struct verify_records {
  rawhal_buffer_t *memory;
  uint64_t main_bytes, size; /* with all, but for what must stay as it is behind */
  uint32_t wave_capacity, event_capacity;
  unsigned char *image;
  size_t image_size;
} verify_records_t;

__attribute__((format(printf, 2, 3))) void verify_say(char said[VERIFY_SAID], const char *format,
                                                      ...);

/* verify_kernel.c: plans it; false: it is refused, and why is in there. */
bool verify_plan(verify_kernel_t *kernel, uint32_t kinds);
/* Makes the copy for where the original is, holds it against that without running it, and loads it,
 * unless it is loaded; false likewise. */
bool verify_load(verify_kernel_t *kernel, const replay_t *replay);
void verify_unload(verify_kernel_t *kernel);
void verify_kernel_close(verify_kernel_t *kernel);

/* verify_run.c: the original twice, the copy, and what is compared. */
verify_result_t verify_run(verify_dispatch_t *dispatch);

/* verify_records.c: false, with `error`: there is no memory for them. */
bool verify_records_open(verify_records_t *records, const verify_dispatch_t *dispatch,
                         rawhal_error_t *error);
/* What the copy has recorded, held against the grid and the device's own count. */
verify_result_t verify_records_check(const verify_records_t *records, verify_dispatch_t *dispatch);
void verify_records_close(verify_records_t *records);

/* verify_waves.c: how many waves a grid has, and whether `count` records of them, of `all`, are of
 * that grid's work-groups, where all are there; and have times. */
uint64_t verify_waves_of(const record_dispatch_t *dispatch);
bool verify_waves(const unsigned char *first, uint32_t count, uint64_t all,
                  verify_dispatch_t *dispatch);

/* verify_certificate.c: where a folder is given, writes one of a kernel that is the same, and takes
 * back one of a copy that is not. False, with `error`: it cannot be written. */
bool verify_certify(verify_kernel_t *kernel, const char *folder, rawhal_error_t *error);

/* verify_report.c */
typedef struct verify_sum {
  uint64_t kernels[VERIFY_RESULTS]; /* by their results */
} verify_sum_t;
void verify_begin(json_writer_t *json, const probe_request_t *request, const char *file,
                  uint32_t kinds);
void verify_put_kinds(json_writer_t *json, uint32_t kinds);
void verify_put(json_writer_t *json, const probe_request_t *request, const verify_kernel_t *kernel,
                uint32_t kinds);
void verify_end(json_writer_t *json, const probe_request_t *request, const verify_sum_t *sum);

#endif
