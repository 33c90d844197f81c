/* Our own kernel: c = a + b. */
#include <assert.h>

#include "tools/demo/compare.h"
#include "tools/demo/job.h"
#include "tools/demo/philox.h"

/* vector_add(c, a, b, n), tests/fixtures/src/vector_add.cl */
typedef struct vector_add_kernarg {
  uint64_t c, a, b; /* device addresses */
  uint32_t n;
} vector_add_kernarg_t;
static_assert(offsetof(vector_add_kernarg_t, n) == 24, "argument 3");

static const char *const meanings[] = {
    "c, address of the sums",
    "a, address of the first summands",
    "b, address of the second summands",
    "n, how many",
};

/* Summands of either sign and of magnitudes 2^-16 .. 2^16, so that sums are rounded. */
static void make_summands(uint64_t seed, float *summands, uint32_t *random, size_t count)
{
  philox_stream(seed, 0, random, count);
  for (size_t i = 0; i < count; ++i) {
    float value = (float)(random[i] >> 6) * 0x1p-26f; /* [0, 1] */
    float scale = (float)(1u << (random[i] & 31)) * 0x1p-16f;
    summands[i] = random[i] & 32 ? value * scale : -value * scale;
  }
}

/* Summands on the host and on the device; `sums->got` serves as scratch. */
static rawhal_status_t prepare(demo_t *demo, job_result_t *summands, const job_result_t *sums)
{
  for (uint64_t i = 0; i < 2; ++i) {
    make_summands(i, summands[i].expected, sums->got, demo->numbers);
    rawhal_status_t status = rawhal_buffer_write(summands[i].buffer, 0, summands[i].expected,
                                                 summands[i].size, &demo->error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

static rawhal_status_t run(demo_t *demo, job_result_t *sums, const job_result_t *summands,
                           bool *correct)
{
  const vector_add_kernarg_t blob = {
      .c = rawhal_buffer_address(sums->buffer),
      .a = rawhal_buffer_address(summands[0].buffer),
      .b = rawhal_buffer_address(summands[1].buffer),
      .n = (uint32_t)demo->numbers,
  };
  job_dispatch_t dispatch = {
      .name = "vector_add(float *c, const float *a, const float *b, unsigned n)",
      .workgroups = (uint32_t)((demo->numbers + JOB_WORKGROUP_SIZE - 1) / JOB_WORKGROUP_SIZE),
      .blob = &blob,
      .blob_size = offsetof(vector_add_kernarg_t, n) + sizeof(blob.n),
  };
  rawhal_status_t status = job_find(demo, demo->vector_add, "vector_add", NULL, &dispatch);
  if (status != RAWHAL_OK)
    return status;
  job_describe(&dispatch, meanings, sizeof(meanings) / sizeof(*meanings));
  uint64_t wall_ns;
  status = job_run(demo, &dispatch, 1, &wall_ns);
  if (status == RAWHAL_OK)
    status = job_result_read(demo, sums);
  if (status != RAWHAL_OK)
    return status;

  const float *a = summands[0].expected, *b = summands[1].expected;
  float *c = sums->expected;
  for (size_t i = 0; i < demo->numbers; ++i)
    c[i] = a[i] + b[i];
  comparison_t comparison;
  compare_floats(sums->got, c, demo->numbers, &comparison);
  *correct = compare_report(&comparison, "sums");
  return job_report_time(demo, &dispatch, 1, wall_ns);
}

rawhal_status_t job_vector_add(demo_t *demo, bool *correct)
{
  job_introduce(demo, "vector add: our own kernel");
  job_result_t sums, summands[2] = {0};
  size_t size = demo->numbers * sizeof(float);
  rawhal_status_t status = job_result_open(demo, size, &sums);
  for (size_t i = 0; i < 2 && status == RAWHAL_OK; ++i)
    status = job_result_open(demo, size, &summands[i]);
  if (status == RAWHAL_OK)
    status = prepare(demo, summands, &sums);
  if (status == RAWHAL_OK)
    status = run(demo, &sums, summands, correct);
  job_result_close(&summands[1]);
  job_result_close(&summands[0]);
  job_result_close(&sums);
  return status;
}
