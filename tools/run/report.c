/* rawhal run: what ran, and how long. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/run/run.h"
#include "tools/shared/json.h"
#include "tools/shared/tool.h"

/* ---- Times ---- */

typedef struct spread {
  uint64_t least, median, most;
} spread_t;

static int compare_times(const void *a, const void *b)
{
  const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
  return (first > second) - (first < second);
}

/* Of one time or more; of an even number the median is between two of them. */
static spread_t spread_of(uint64_t *times, size_t count)
{
  qsort(times, count, sizeof(*times), compare_times);
  const uint64_t low = times[(count - 1) / 2], high = times[count / 2];
  return (spread_t){times[0], low + (high - low) / 2, times[count - 1]};
}

/* ---- Text ---- */

static void print_spread(const char *before, const char *behind, spread_t times)
{
  printf("%sleast %.3f, median %.3f, most %.3f ms %s\n", before, (double)times.least * 1e-6,
         (double)times.median * 1e-6, (double)times.most * 1e-6, behind);
}

static void print_times(const run_outcome_t *outcome)
{
  const spread_t wall = spread_of(outcome->wall_ns, outcome->count);
  spread_t device = {0};
  if (outcome->device_known)
    device = spread_of(outcome->device_ns, outcome->count);
  if (outcome->count > 1) {
    printf("launches  %zu\n", outcome->count);
    print_spread("time      ", "from submit to completion", wall);
    if (outcome->device_known)
      print_spread("          ", "on the device", device);
    return;
  }
  printf("time      %.3f ms from submit to completion", (double)wall.median * 1e-6);
  if (outcome->device_known)
    printf(", %.3f ms on the device", (double)device.median * 1e-6);
  putchar('\n');
}

void run_report_text(const run_outcome_t *outcome)
{
  const rawhal_dispatch_t *launch = outcome->dispatch;
  fputs("device    ", stdout);
  tool_print_string(outcome->device->description);
  if (outcome->loaded->relabelled)
    printf("\nloaded    as %s V%u, which the runtime knows; the object is %s V%u",
           outcome->loaded->target.processor, outcome->loaded->code_object_version,
           outcome->object->target.processor, outcome->object->code_object_version);
  if (*outcome->warning) {
    fputs("\nwarning   ", stdout);
    tool_print_string(outcome->warning);
  }
  fputs("\nkernel    ", stdout);
  tool_print_string(outcome->request->kernel);
  printf("\ndispatch  %" PRIu32 "x%" PRIu32 "x%" PRIu32 " work-items in groups of %ux%ux%u\n",
         launch->work_items[0], launch->work_items[1], launch->work_items[2], launch->workgroup[0],
         launch->workgroup[1], launch->workgroup[2]);
  print_times(outcome);
}

/* ---- JSON ---- */

static void put_spread(json_writer_t *out, const char *key, spread_t times)
{
  json_begin_object(out, key);
  json_put_unsigned(out, "least", times.least);
  json_put_unsigned(out, "median", times.median);
  json_put_unsigned(out, "most", times.most);
  json_end(out);
}

static void put_device(json_writer_t *out, const run_outcome_t *outcome)
{
  char target[64], loaded[64];
  rawhal_target_format(&outcome->device->target, target, sizeof(target));
  snprintf(loaded, sizeof(loaded), "%s V%u", outcome->loaded->target.processor,
           outcome->loaded->code_object_version);
  json_put_text(out, "device", outcome->device->description);
  json_put_text(out, "target", target);
  json_put_bool(out, "software", outcome->device->is_software);
  json_put_text(out, "loaded_as", outcome->loaded->relabelled ? loaded : NULL);
  json_put_text(out, "warning", *outcome->warning ? outcome->warning : NULL);
}

static void put_launch(json_writer_t *out, const rawhal_dispatch_t *launch)
{
  json_put_three(out, "work_items", launch->work_items[0], launch->work_items[1],
                 launch->work_items[2]);
  json_put_three(out, "workgroup", launch->workgroup[0], launch->workgroup[1],
                 launch->workgroup[2]);
  json_put_unsigned(out, "dynamic_lds", launch->dynamic_lds);
  json_put_unsigned(out, "kernarg_bytes", launch->blob_size);
}

void run_report_json(const run_outcome_t *outcome)
{
  const run_request_t *request = outcome->request;
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-run-1");
  json_put_text(&out, "kernel", request->kernel);
  put_device(&out, outcome);
  put_launch(&out, outcome->dispatch);
  json_put_unsigned(&out, "launches", outcome->count);
  put_spread(&out, "wall_ns", spread_of(outcome->wall_ns, outcome->count));
  if (outcome->device_known)
    put_spread(&out, "device_ns", spread_of(outcome->device_ns, outcome->count));
  else
    json_put_null(&out, "device_ns");
  if (outcome->instructions)
    json_put_unsigned(&out, "instructions", outcome->instructions);
  else
    json_put_null(&out, "instructions");
  json_begin_array(&out, "written");
  for (size_t i = 0; i < request->argument_count; ++i) {
    const run_argument_t *argument = &request->arguments[i];
    if (!argument->out_path)
      continue;
    json_begin_object(&out, NULL);
    json_put_unsigned(&out, "argument", i);
    json_put_text(&out, "path", argument->out_path);
    json_put_unsigned(&out, "bytes", argument->size);
    json_end(&out);
  }
  json_end(&out);
  json_end(&out);
}
