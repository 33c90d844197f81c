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

enum {
  VERIFY_SAID = 640,
  VERIFY_PROBLEMS = 16,
  VERIFY_PATH = 4096,
  VERIFY_GUARD = 4096,           /* bytes behind records, which stay as they are, */
  VERIFY_UNTOUCHED = 0x5a5a5a5a, /* all of them this */
};

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
  bool has_records;                                   /* so was what copies recorded: */
  certificate_records_t records;
  verify_problem_t problems[VERIFY_PROBLEMS];
  char target[CERTIFICATE_TARGET], device[128];
  bool is_software;
  char certificate[VERIFY_PATH]; /* its path; "": none was written */
} verify_kernel_t;

/* What was recorded of one run, in the host's memory. */
typedef struct verify_taken {
  const rawhal_probe_plan_info_t *info;
  unsigned char *bytes;             /* NULL: nothing */
  rawhal_probe_argument_t argument; /* capacities that were given, */
  rawhal_probe_header_t header;     /* and what is there */
  const unsigned char *counters, *waves, *events, *guard;
  uint32_t wave_count, event_count; /* those that there was room for */
} verify_taken_t;

/* One dispatch of it, which is on the device. */
typedef struct verify_dispatch {
  verify_kernel_t *kernel;
  replay_t *replay;
  unsigned char *left; /* what all memory is after the original, one buffer behind the other */
  bool counts;         /* the device does, */
  uint64_t instructions;
  verify_taken_t seen; /* what softgpu recorded of the original, with all events that there is room
                          for from the second run on; nothing: it is no softgpu */
  bool is_broken;      /* the device has seen a fault */
  char said[VERIFY_SAID];
} verify_dispatch_t;

/* Where records go. Zero-initialised; to be closed in any case. */
typedef struct verify_records {
  const rawhal_probe_plan_info_t *info;
  rawhal_buffer_t *memory;
  uint64_t main_bytes, size; /* with all, but for what must stay as it is behind */
  rawhal_probe_argument_t argument;
} verify_records_t;

__attribute__((format(printf, 2, 3))) void verify_say(char said[VERIFY_SAID], const char *format,
                                                      ...);

/* verify_kernel.c: plans it; false: it is refused, and why is in there. */
bool verify_plan(verify_kernel_t *kernel, const probe_request_t *request, uint32_t kinds);
/* Makes the copy for where the original is, holds it against that without running it, and loads it,
 * unless it is loaded; false likewise. */
bool verify_load(verify_kernel_t *kernel, const replay_t *replay);
void verify_unload(verify_kernel_t *kernel);
void verify_kernel_close(verify_kernel_t *kernel);

/* verify_run.c: the original twice, the copy, and what is compared. */
verify_result_t verify_run(verify_dispatch_t *dispatch);

/* verify_records.c: memory for records, with room for so many events, or fewer where these would be
 * too many. False, with `error`: there is none. */
bool verify_records_open(verify_records_t *records, const verify_dispatch_t *dispatch,
                         uint64_t events, rawhal_error_t *error);
/* What is in there. False, with `error`; `taken`: nothing then. To be freed. */
bool verify_records_take(const verify_records_t *records, verify_taken_t *taken,
                         rawhal_error_t *error);
void verify_taken_free(verify_taken_t *taken);
void verify_records_close(verify_records_t *records);

/* verify_check.c: what the copy has recorded, held against the grid, the device's own count, and
 * what softgpu recorded of the original, and, `watched`, of this run of the copy. False: it
 * differs, and how was said. */
bool verify_check(const verify_taken_t *copy, const verify_taken_t *watched,
                  verify_dispatch_t *dispatch);

/* verify_watch.c: has softgpu record the next launch of a kernel: at all points of the plan, or its
 * waves alone. False: the device is no softgpu, or one of before, and nothing is recorded. */
bool verify_watch(const verify_records_t *records, const verify_dispatch_t *dispatch,
                  const rawhal_device_kernel_t *kernel, bool points);
/* Takes that back, if the kernel was not launched. */
void verify_watch_no_more(const rawhal_device_kernel_t *kernel);

/* verify_waves.c: how many waves a grid has, and whether the copy's records of them are of that
 * grid's work-groups, where all are there; and have times. */
uint64_t verify_waves_of(const record_dispatch_t *dispatch);
bool verify_waves(const verify_taken_t *copy, verify_dispatch_t *dispatch);
/* Whether they are what softgpu recorded of that run of the copy: of the same waves, at the same
 * places, with times between softgpu's. */
bool verify_places(const verify_taken_t *copy, const verify_taken_t *watched,
                   verify_dispatch_t *dispatch);
rawhal_probe_wave_t verify_wave_at(const verify_taken_t *taken, uint32_t number);

/* verify_same.c: whether two runs left the same counters, and as many waves and events; else the
 * first thing that differs is said, as "WHAT: OF ONE, and OF OTHER". */
bool verify_same(const verify_taken_t *one, const verify_taken_t *other, char said[VERIFY_SAID]);
uint64_t verify_counter(const verify_taken_t *taken, uint32_t counter);
/* verify_events.c: whether the same waves have the same events, in their order. Of events that
 * there was no room for nothing is compared, and then none of waves that others are like. */
bool verify_events(const verify_taken_t *one, const verify_taken_t *other, char said[VERIFY_SAID]);
/* The number of the first point that is not before a place. */
size_t verify_point_at(const rawhal_probe_plan_info_t *info, uint32_t offset);

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
/* The member "records", of documents and of certificates. */
void verify_put_records(json_writer_t *json, const verify_kernel_t *kernel);
void verify_put(json_writer_t *json, const probe_request_t *request, const verify_kernel_t *kernel,
                uint32_t kinds);
void verify_end(json_writer_t *json, const probe_request_t *request, const verify_sum_t *sum);

#endif
