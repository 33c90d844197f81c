/* rocRAND's XORWOW generator: one kernel sets up an array of engines, the next draws from them. */
#include "tools/demo/compare.h"
#include "tools/demo/job.h"
#include "tools/demo/rocrand.h"

#define SEED UINT64_C(0x0123456789ABCDEF)

/* Numbers drawn before. No multiple of any number of engines, so that the first engines stand one
 * number further than the others. */
#define OFFSET 1000000

static const char *const init_meanings[] = {
    "address of the engines",
    "the engine that gives the first number",
    "seed",
    "numbers each engine has given before",
};

static const char *const generate_meanings[] = {
    "address of the engines", "the engine that gives the first number", "address of the numbers",
    "how many numbers",       "distribution, an empty class",
};

/* The library launches as many as there may be. Setting up an engine costs far more than drawing a
 * number, so the demo takes fewer for fewer numbers; the kernels need a power of two. */
static uint32_t choose_workgroups(size_t count)
{
  uint32_t workgroups = 1;
  while (workgroups < ROCRAND_XORWOW_BLOCKS && workgroups * JOB_WORKGROUP_SIZE * 8 < count)
    workgroups *= 2;
  return workgroups;
}

/* Number i comes from engine (OFFSET + i) % engine_count; drawing leaves the engines changed. */
static void reference(xorwow_t *engines, size_t engine_count, float *numbers, size_t count)
{
  xorwow_engines(SEED, OFFSET / engine_count, OFFSET % engine_count, engines, engine_count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = rocrand_uniform_float(xorwow_next(&engines[(OFFSET + i) % engine_count]));
}

static rawhal_status_t check(demo_t *demo, job_result_t *engines, job_result_t *numbers,
                             bool *correct)
{
  rawhal_status_t status = job_result_read(demo, numbers);
  if (status == RAWHAL_OK)
    status = job_result_read(demo, engines);
  if (status != RAWHAL_OK)
    return status;
  reference(engines->expected, engines->size / sizeof(xorwow_t), numbers->expected, demo->numbers);
  comparison_t comparison;
  compare_floats(numbers->got, numbers->expected, demo->numbers, &comparison);
  bool numbers_correct = compare_report(&comparison, "numbers");
  compare_integers(engines->got, engines->expected, engines->size / sizeof(uint32_t), &comparison);
  *correct = compare_report(&comparison, "words of engine state") && numbers_correct;
  return RAWHAL_OK;
}

static rawhal_status_t run(demo_t *demo, job_result_t *engines, job_result_t *numbers,
                           bool *correct)
{
  const uint32_t workgroups = choose_workgroups(demo->numbers);
  const uint32_t engine_count = workgroups * JOB_WORKGROUP_SIZE;
  const rocrand_xorwow_init_kernarg_t init = {
      .engines = rawhal_buffer_address(engines->buffer),
      .start = OFFSET % engine_count,
      .seed = SEED,
      .offset = OFFSET / engine_count,
  };
  const rocrand_xorwow_kernarg_t generate = {
      .engines = rawhal_buffer_address(engines->buffer),
      .start = OFFSET % engine_count,
      .numbers = rawhal_buffer_address(numbers->buffer),
      .count = demo->numbers,
  };
  job_dispatch_t dispatches[] = {
      {.name = "init_engines_kernel(xorwow_engine *, ...)",
       .workgroups = workgroups,
       .blob = &init,
       .blob_size = sizeof(init)},
      {.name = "generate_kernel<float, uniform_distribution<float>>(xorwow_engine *, ...)",
       .workgroups = workgroups,
       .blob = &generate,
       .blob_size = sizeof(generate)},
  };

  rawhal_status_t status = job_find(demo, demo->rocrand, ROCRAND_XORWOW_INIT, NULL, &dispatches[0]);
  if (status == RAWHAL_OK)
    status = job_find(demo, demo->rocrand, ROCRAND_XORWOW_FLOAT, ROCRAND_5_7_XORWOW_FLOAT,
                      &dispatches[1]);
  if (status != RAWHAL_OK)
    return status;
  job_describe(&dispatches[0], init_meanings, sizeof(init_meanings) / sizeof(*init_meanings));
  job_describe(&dispatches[1], generate_meanings,
               sizeof(generate_meanings) / sizeof(*generate_meanings));
  uint64_t wall_ns;
  status = job_run(demo, dispatches, 2, &wall_ns);
  if (status == RAWHAL_OK)
    status = check(demo, engines, numbers, correct);
  return status == RAWHAL_OK ? job_report_time(demo, dispatches, 2, wall_ns) : status;
}

rawhal_status_t job_xorwow(demo_t *demo, bool *correct)
{
  job_introduce(demo, "rocRAND's XORWOW: floats, by two dispatches that depend on each other");
  job_result_t engines, numbers = {0};
  size_t engine_count = (size_t)choose_workgroups(demo->numbers) * JOB_WORKGROUP_SIZE;
  rawhal_status_t status = job_result_open(demo, engine_count * sizeof(xorwow_t), &engines);
  if (status == RAWHAL_OK)
    status = job_result_open(demo, demo->numbers * sizeof(float), &numbers);
  if (status == RAWHAL_OK)
    status = run(demo, &engines, &numbers, correct);
  job_result_close(&numbers);
  job_result_close(&engines);
  return status;
}
