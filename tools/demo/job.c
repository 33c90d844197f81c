/* Submitting, waiting and timing. */
#include "tools/demo/job.h"

#include <stdlib.h>

#include "base/clock.h"
#include "tools/demo/report.h"

/* No job may hang the demo; a slow machine with a sanitizer stays far below. */
#define JOB_LIMIT_NS (300 * UINT64_C(1000000000))

#define PATTERN 0xA5A5A5A5u

void job_introduce(const demo_t *demo, const char *title)
{
  const rawhal_device_info_t *info = rawhal_device_info(demo->device);
  report_title(title);
  report_line("device", "%.90s", info->description);
  if (info->is_software)
    report_more("This is SOFTWARE: no GPU took part, and the times below are not those of one.");
}

rawhal_status_t job_find(demo_t *demo, rawhal_executable_t *executable, const char *mangled,
                         const char *later, job_dispatch_t *dispatch)
{
  rawhal_status_t status = rawhal_executable_kernel(executable, rawhal_string(mangled), 0,
                                                    &dispatch->kernel, &demo->error);
  if (status == RAWHAL_NOT_FOUND && later)
    status = rawhal_executable_kernel(executable, rawhal_string(later), 0, &dispatch->kernel,
                                      &demo->error);
  return status;
}

void job_describe(const job_dispatch_t *dispatch, const char *const *meanings, size_t count)
{
  report_line("kernel", "%s", dispatch->name);
  report_layout(rawhal_device_kernel_info(dispatch->kernel)->layout, meanings, count,
                dispatch->blob_size);
}

static rawhal_status_t submit(demo_t *demo, job_dispatch_t *dispatch, uint64_t deadline)
{
  const rawhal_dispatch_t packet = {
      .kernel = dispatch->kernel,
      .work_items = {dispatch->workgroups * JOB_WORKGROUP_SIZE, 1, 1},
      .workgroup = {JOB_WORKGROUP_SIZE, 1, 1},
      .blob = dispatch->blob,
      .blob_size = dispatch->blob_size,
  };
  return rawhal_queue_submit(demo->queue, &packet, 1, deadline, &dispatch->ticket, &demo->error);
}

rawhal_status_t job_run(demo_t *demo, job_dispatch_t *dispatches, size_t count, uint64_t *wall_ns)
{
  for (size_t i = 0; i < count; ++i)
    report_dispatch(i == 0 ? "dispatch" : "then", dispatches[i].workgroups, JOB_WORKGROUP_SIZE);

  uint64_t deadline = rawhal_deadline_after(JOB_LIMIT_NS);
  uint64_t start = clock_now();
  rawhal_status_t status = RAWHAL_OK;
  for (size_t i = 0; i < count && status == RAWHAL_OK; ++i)
    status = submit(demo, &dispatches[i], deadline);
  if (status == RAWHAL_OK)
    status = rawhal_queue_wait(demo->queue, dispatches[count - 1].ticket, deadline, &demo->error);
  *wall_ns = clock_now() - start;
  return status;
}

rawhal_status_t job_report_time(demo_t *demo, const job_dispatch_t *dispatches, size_t count,
                                uint64_t wall_ns)
{
  report_line("time", "%10.3f ms from submission to signal", (double)wall_ns / 1e6);
  for (size_t i = 0; i < count; ++i) {
    uint64_t start, end;
    rawhal_status_t status =
        rawhal_queue_timing(demo->queue, dispatches[i].ticket, &start, &end, &demo->error);
    if (status != RAWHAL_OK)
      return status;
    report_more("%10.3f ms on the device%s", (double)(end - start) / 1e6,
                count == 1 ? "" : (i == 0 ? " for the first dispatch" : " for the next"));
  }
  return RAWHAL_OK;
}

rawhal_status_t job_result_open(demo_t *demo, size_t size, job_result_t *result)
{
  *result = (job_result_t){.size = size, .got = malloc(size), .expected = malloc(size)};
  if (!result->got || !result->expected) {
    demo->error = (rawhal_error_t){.status = RAWHAL_OUT_OF_MEMORY,
                                   .offset = RAWHAL_NO_OFFSET,
                                   .message = "no memory for the results"};
    return RAWHAL_OUT_OF_MEMORY;
  }
  rawhal_status_t status = rawhal_buffer_allocate(demo->device, RAWHAL_MEMORY_DEVICE, size,
                                                  &result->buffer, &demo->error);
  if (status == RAWHAL_OK)
    status = rawhal_buffer_fill(result->buffer, 0, PATTERN, size, &demo->error);
  return status;
}

rawhal_status_t job_result_read(demo_t *demo, job_result_t *result)
{
  return rawhal_buffer_read(result->buffer, 0, result->got, result->size, &demo->error);
}

void job_result_close(job_result_t *result)
{
  rawhal_buffer_free(result->buffer);
  free(result->expected);
  free(result->got);
}
