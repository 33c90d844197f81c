/* Runs a small captured model by the driver: command buffers that are recorded once and executed
 * with a binding table for each step, two steps in flight, on two queues that wait for each other
 * by semaphores, with memory in queue order; and compares every bit with the reference.
 *
 * usage: hal_driver FILE.co                              (tests/fixtures/model-gfx90a-v5.co)
 *        hal_driver MATMUL.json SOFTMAX.json LAYERNORM.json   (entries of Triton's cache) */
#include "driver.h"
#include "model.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 6, IN_FLIGHT = 2, TILE = 16 };
enum { MATMUL, SOFTMAX, LAYERNORM, KERNELS };
/* What a step has for itself, by slots of its binding table; the last two while it computes. */
enum { HOST_X, HOST_OUT, X, OUT, HIDDEN, SHARES, SLOTS };
enum { UPLOADED, COMPUTED, DOWNLOADED, SEMAPHORES };
enum { X_BYTES = MODEL_ROWS * MODEL_INNER * 4, OUT_BYTES = MODEL_ROWS * MODEL_COLUMNS * 4 };

static model_data_t data;
static drv_device_t device;
static drv_executable_t kernels[KERNELS];
static rawhal_semaphore_t *semaphores[SEMAPHORES];
static drv_buffer_t places[IN_FLIGHT][SLOTS];
static const drv_fence_t nothing;

/* The weights, and how many rows there are, on the device. */
static drv_buffer_t weights, groups;
static drv_buffer_ref_t weight(uint64_t offset)
{
  return (drv_buffer_ref_t){.buffer = &weights, .offset = offset};
}
#define WEIGHT(member) weight(offsetof(model_data_t, member))

static drv_buffer_ref_t slot(uint32_t number, uint64_t bytes)
{
  return (drv_buffer_ref_t){.slot = number, .bytes = bytes};
}

/* Small whole numbers, the same in each run. */
static void make_numbers(float *numbers, size_t count, uint32_t seed)
{
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    numbers[i] = (float)((int)(seed >> 16) % 3 - 1);
  }
}

static void make_weights(void)
{
  make_numbers(data.w1, MODEL_INNER * MODEL_COLUMNS, 1);
  make_numbers(data.w2, MODEL_COLUMNS * MODEL_COLUMNS, 2);
  make_numbers(data.bias, MODEL_COLUMNS, 3);
  for (int i = 0; i < MODEL_COLUMNS; ++i)
    data.weight[i] = i % 2 ? 0.5f : -4.0f;
}

/* ---- What is recorded ---- */

/* Executed once: the weights are part of it. */
static drv_command_buffer_t *record_weights(void)
{
  drv_command_buffer_t *commands = drv_command_buffer_begin(&device, DRV_ONE_SHOT);
  static const drv_buffer_ref_t all = {.buffer = &weights, .bytes = sizeof(data)};
  drv_update(commands, &all, &data);
  drv_command_buffer_end(commands);
  return commands;
}

/* Groups of the grid, constants and buffers of a kernel. */
static void dispatch(drv_command_buffer_t *commands, int kernel, uint32_t x, uint32_t y,
                     const uint32_t *constants, size_t constant_count,
                     const drv_buffer_ref_t *buffers, size_t buffer_count)
{
  static const drv_buffer_ref_t how_many = {.buffer = &groups};
  const drv_work_t work = {&kernels[kernel], {x, y, 1}, x ? NULL : &how_many, constants,
                           constant_count,   buffers,   buffer_count};
  drv_dispatch(commands, &work);
}

static drv_command_buffer_t *record_model(void)
{
  static const uint32_t columns[] = {MODEL_COLUMNS}, first[] = {MODEL_COLUMNS, MODEL_INNER},
                        second[] = {MODEL_COLUMNS, MODEL_COLUMNS};
  const drv_buffer_ref_t x = slot(X, X_BYTES), hidden = slot(HIDDEN, OUT_BYTES),
                         shares = slot(SHARES, OUT_BYTES), out = slot(OUT, OUT_BYTES);
  drv_command_buffer_t *commands = drv_command_buffer_begin(&device, DRV_REUSABLE);
  drv_fill(commands, &out, 0x7fffffff); /* not a number */
  dispatch(commands, MATMUL, MODEL_COLUMNS / TILE, MODEL_ROWS / TILE, first, 2,
           (const drv_buffer_ref_t[]){hidden, x, WEIGHT(w1)}, 3);
  drv_barrier(commands);
  dispatch(commands, SOFTMAX, MODEL_ROWS, 1, columns, 1, (const drv_buffer_ref_t[]){shares, hidden},
           2);
  drv_barrier(commands);
  dispatch(commands, MATMUL, MODEL_COLUMNS / TILE, MODEL_ROWS / TILE, second, 2,
           (const drv_buffer_ref_t[]){hidden, shares, WEIGHT(w2)}, 3);
  drv_barrier(commands);
  dispatch(commands, LAYERNORM, 0, 0, columns, 1, /* by as many groups as the buffer says */
           (const drv_buffer_ref_t[]){out, hidden, WEIGHT(weight), WEIGHT(bias)}, 4);
  drv_command_buffer_end(commands);
  return commands;
}

static drv_command_buffer_t *record_copy(uint32_t to_slot, uint32_t from_slot, uint64_t bytes)
{
  const drv_buffer_ref_t to = slot(to_slot, bytes), from = slot(from_slot, bytes);
  drv_command_buffer_t *commands = drv_command_buffer_begin(&device, DRV_REUSABLE);
  drv_copy(commands, &to, &from);
  drv_command_buffer_end(commands);
  return commands;
}

/* ---- What is executed ---- */

static void take(uint32_t queue, int place, int which)
{
  static const struct {
    rawhal_memory_kind_t kind;
    uint64_t bytes;
    const char *label;
  } kinds[SLOTS] = {[HOST_X] = {RAWHAL_MEMORY_HOST, X_BYTES, "x of the host"},
                    [HOST_OUT] = {RAWHAL_MEMORY_HOST, OUT_BYTES, "out of the host"},
                    [X] = {RAWHAL_MEMORY_DEVICE, X_BYTES, "x"},
                    [OUT] = {RAWHAL_MEMORY_DEVICE, OUT_BYTES, "out"},
                    [HIDDEN] = {RAWHAL_MEMORY_DEVICE, OUT_BYTES, "hidden"},
                    [SHARES] = {RAWHAL_MEMORY_DEVICE, OUT_BYTES, "shares"}};
  drv_queue_alloca(&device, queue, nothing, nothing, kinds[which].kind, kinds[which].bytes,
                   kinds[which].label, &places[place][which]);
}

static void give(uint32_t queue, int place, int which)
{
  drv_queue_dealloca(&device, queue, nothing, nothing, &places[place][which]);
}

static void submit(uint32_t step, drv_command_buffer_t *upload, drv_command_buffer_t *model,
                   drv_command_buffer_t *download)
{
  const int place = step % IN_FLIGHT;
  const drv_buffer_t *slots[SLOTS];
  rawhal_timepoint_t points[SEMAPHORES];
  for (int i = 0; i < SLOTS; ++i)
    slots[i] = &places[place][i];
  for (int i = 0; i < SEMAPHORES; ++i)
    points[i] = (rawhal_timepoint_t){semaphores[i], step + 1};
  const drv_fence_t up = {1, &points[UPLOADED]}, done = {1, &points[COMPUTED]},
                    down = {1, &points[DOWNLOADED]};
  const drv_table_t table = {SLOTS, slots};
  make_numbers(places[place][HOST_X].memory.host, MODEL_ROWS * MODEL_INNER, 100 + step);
  drv_queue_execute(&device, DRV_TRANSFER, nothing, up, upload, table);
  take(DRV_COMPUTE, place, HIDDEN);
  take(DRV_COMPUTE, place, SHARES);
  drv_queue_execute(&device, DRV_COMPUTE, up, done, model, table);
  give(DRV_COMPUTE, place, SHARES);
  give(DRV_COMPUTE, place, HIDDEN);
  drv_queue_execute(&device, DRV_TRANSFER, done, down, download, table);
}

/* How many numbers of a step are not those of the reference. */
static int wrong_numbers(uint32_t step)
{
  static float expected[MODEL_ROWS * MODEL_COLUMNS];
  make_numbers(data.x, MODEL_ROWS * MODEL_INNER, 100 + step);
  model_reference(&data, expected);
  DRV_CHECK(rawhal_semaphore_wait(semaphores[DOWNLOADED], step + 1, RAWHAL_FOREVER, &drv_error));
  const float *got = places[step % IN_FLIGHT][HOST_OUT].memory.host;
  int wrong = 0;
  for (int i = 0; i < MODEL_ROWS * MODEL_COLUMNS; ++i)
    wrong += memcmp(&got[i], &expected[i], sizeof(float)) != 0;
  return wrong;
}

int main(int argc, char **argv)
{
  static const char *const names[] = {"matmul", "softmax", "layernorm"};
  if (argc != 2 && argc != 1 + KERNELS) {
    fputs("usage: hal_driver FILE.co | MATMUL.json SOFTMAX.json LAYERNORM.json\n", stderr);
    return 2;
  }
  drv_device_open(&device);
  for (int i = 0; i < KERNELS; ++i)
    drv_executable_open(&device, argv[argc == 2 ? 1 : 1 + i], names[i], &kernels[i]);
  for (int i = 0; i < SEMAPHORES; ++i)
    DRV_CHECK(rawhal_semaphore_create(device.device, 0, &semaphores[i], &drv_error));

  make_weights();
  for (int i = 0; i < IN_FLIGHT * HIDDEN; ++i)
    take(DRV_TRANSFER, i / HIDDEN, i % HIDDEN);
  drv_queue_alloca(&device, DRV_COMPUTE, nothing, nothing, RAWHAL_MEMORY_DEVICE, sizeof(data),
                   "weights", &weights);
  drv_queue_alloca(&device, DRV_COMPUTE, nothing, nothing, RAWHAL_MEMORY_HOST, 12, "groups",
                   &groups);
  memcpy(groups.memory.host, (const uint32_t[]){MODEL_ROWS, 1, 1}, 12);
  drv_queue_execute(&device, DRV_COMPUTE, nothing, nothing, record_weights(), (drv_table_t){0});

  drv_command_buffer_t *upload = record_copy(X, HOST_X, X_BYTES), *model = record_model(),
                       *download = record_copy(HOST_OUT, OUT, OUT_BYTES);
  int wrong = 0;
  for (uint32_t step = 0; step < STEPS + IN_FLIGHT; ++step) {
    if (step >= IN_FLIGHT)
      wrong += wrong_numbers(step - IN_FLIGHT);
    if (step < STEPS)
      submit(step, upload, model, download);
  }
  printf("%d steps, %d of %d numbers differ\n", STEPS, wrong, STEPS * MODEL_ROWS * MODEL_COLUMNS);

  drv_command_buffer_destroy(upload);
  drv_command_buffer_destroy(model);
  drv_command_buffer_destroy(download);
  for (int i = 0; i < IN_FLIGHT * HIDDEN; ++i)
    give(DRV_TRANSFER, i / HIDDEN, i % HIDDEN);
  drv_queue_dealloca(&device, DRV_COMPUTE, nothing, nothing, &groups);
  drv_queue_dealloca(&device, DRV_COMPUTE, nothing, nothing, &weights);
  for (int i = 0; i < SEMAPHORES; ++i)
    rawhal_semaphore_destroy(semaphores[i]);
  for (int i = 0; i < KERNELS; ++i)
    drv_executable_close(&kernels[i]);
  drv_device_close(&device);
  return wrong != 0;
}
