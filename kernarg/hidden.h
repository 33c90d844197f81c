/* Hidden arguments: the one place that knows their values. Internal.
 *
 * hidden_values_t has the values of one launch in the order of the V5 block: a usual block then
 * takes a few copies, since fields that are neighbours both here and in the segment are merged
 * when the layout is compiled. */
#ifndef RAWHAL_KERNARG_HIDDEN_H
#define RAWHAL_KERNARG_HIDDEN_H

#include "kernarg/kernarg.h"

/* UNSUPPORTED: a newer caller's launch, with something set that is not known here. */
RAWHAL_CHECKED rawhal_status_t launch_known_closely(const rawhal_launch_t *launch,
                                                    rawhal_error_t *error);
RAWHAL_CHECKED static inline rawhal_status_t launch_known(const rawhal_launch_t *launch,
                                                          rawhal_error_t *error)
{
  bool ours = launch->size == 0 || launch->size == sizeof(*launch);
  return __builtin_expect(ours, 1) ? RAWHAL_OK : launch_known_closely(launch, error);
}

typedef struct hidden_values {
  uint32_t block_count[3];
  uint16_t group_size[3];
  uint16_t remainder[3];
  uint64_t global_offset[3];
  uint64_t grid_dims; /* u16 in the V5 block */
  uint64_t printf_buffer, hostcall_buffer, multigrid_sync, heap, default_queue, completion_action;
  uint32_t dynamic_lds;
  uint32_t private_base, shared_base;
  uint64_t queue_ptr;
} hidden_values_t;

/* A copy from the values to the segment: `copied` bytes, then zeros up to `size`. */
typedef struct hidden_copy {
  uint32_t offset, size; /* in the segment */
  uint32_t copied;       /* <= size */
  uint16_t source;       /* in hidden_values_t */
  uint16_t natural;      /* bytes the value has; more than `copied` when declared narrower */
} hidden_copy_t;

typedef struct hidden_plan {
  hidden_copy_t *fields; /* one for each hidden argument, metadata order */
  hidden_copy_t *runs;   /* the same bytes in fewer copies: first those with values, then zeros */
  uint32_t field_count, run_count;
  uint32_t value_run_count; /* the runs that copy anything */
  bool narrow;              /* some field is narrower than its value */
} hidden_plan_t;

/* Plans one field. MALFORMED: a pointer declared with fewer than 8 bytes. */
RAWHAL_CHECKED rawhal_status_t hidden_plan_field(const rawhal_kernarg_argument_t *argument,
                                                 size_t index, hidden_copy_t *field,
                                                 rawhal_error_t *error);

/* Fills `runs`, the counts of runs and `narrow` from `fields`. */
void hidden_plan_runs(hidden_plan_t *plan);

/* Computes the values of a launch and checks that every field has room for its own. */
RAWHAL_CHECKED rawhal_status_t hidden_values_compute(const hidden_plan_t *plan,
                                                     const rawhal_launch_t *launch,
                                                     hidden_values_t *values,
                                                     rawhal_error_t *error);

/* Writes every hidden argument that does not end within the first `kept` bytes of the image. When
 * `clean`, the hidden arguments' bytes are zeros already. */
void hidden_write(const hidden_plan_t *plan, const hidden_values_t *values, size_t kept, bool clean,
                  unsigned char *image);

#endif
