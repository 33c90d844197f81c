/* rocRAND's Philox generator: the whole engine travels by value in the kernarg segment. */
#include "tools/demo/compare.h"
#include "tools/demo/job.h"
#include "tools/demo/philox.h"
#include "tools/demo/rocrand.h"

#define SEED UINT64_C(0x243F6A8885A308D3)

/* Starts in the middle of a counter, and soon carries into the counter's second word. */
#define OFFSET ((UINT64_C(1) << 34) - 33333)

static const char *const meanings[] = {
    "engine: counter, result, key and substate",
    "address of the numbers",
    "how many numbers",
    "distribution, an empty class",
};

static rawhal_status_t run(demo_t *demo, job_result_t *numbers, bool *correct)
{
  rocrand_philox_kernarg_t blob = {
      .engine = {.counter = {(uint32_t)(OFFSET >> 2), (uint32_t)(OFFSET >> 34)},
                 .key = {(uint32_t)SEED, (uint32_t)(SEED >> 32)},
                 .substate = OFFSET & 3},
      .numbers = rawhal_buffer_address(numbers->buffer),
      .count = demo->numbers,
  };
  philox4x32_10(blob.engine.counter, blob.engine.key, blob.engine.result);
  job_dispatch_t dispatch = {
      .name = "generate_kernel<unsigned, "
              "uniform_distribution<unsigned>>(philox4x32_10_device_engine ...)",
      .workgroups = ROCRAND_PHILOX_BLOCKS,
      .blob = &blob,
      .blob_size = sizeof(blob),
  };

  rawhal_status_t status =
      job_find(demo, demo->rocrand, ROCRAND_PHILOX_UINT, ROCRAND_5_7_PHILOX_UINT, &dispatch);
  if (status != RAWHAL_OK)
    return status;
  job_describe(&dispatch, meanings, sizeof(meanings) / sizeof(*meanings));
  uint64_t wall_ns;
  status = job_run(demo, &dispatch, 1, &wall_ns);
  if (status == RAWHAL_OK)
    status = job_result_read(demo, numbers);
  if (status != RAWHAL_OK)
    return status;

  philox_stream(SEED, OFFSET, numbers->expected, demo->numbers);
  comparison_t comparison;
  compare_integers(numbers->got, numbers->expected, demo->numbers, &comparison);
  *correct = compare_report(&comparison, "numbers");
  return job_report_time(demo, &dispatch, 1, wall_ns);
}

rawhal_status_t job_philox(demo_t *demo, bool *correct)
{
  job_introduce(demo, "rocRAND's Philox4x32-10: integers");
  job_result_t numbers;
  rawhal_status_t status = job_result_open(demo, demo->numbers * sizeof(uint32_t), &numbers);
  if (status == RAWHAL_OK)
    status = run(demo, &numbers, correct);
  job_result_close(&numbers);
  return status;
}
