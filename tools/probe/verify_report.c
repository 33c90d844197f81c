/* rawhal probe verify: what came of it, as text or as JSON. */
#include "tools/probe/verify.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const results[VERIFY_RESULTS] = {[VERIFY_SAME] = "same",
                                                    [VERIFY_CANNOT] = "cannot",
                                                    [VERIFY_REFUSED] = "refused",
                                                    [VERIFY_DIFFERENT] = "different"};

static uint64_t problems_of(const verify_kernel_t *kernel)
{
  return kernel->different + kernel->impossible;
}

static size_t shown_problems(const verify_kernel_t *kernel)
{
  const uint64_t problems = problems_of(kernel);
  return problems < VERIFY_PROBLEMS ? (size_t)problems : VERIFY_PROBLEMS;
}

/* ---- JSON ---- */

void verify_put_records(json_writer_t *json, const verify_kernel_t *kernel)
{
  if (!kernel->has_records) {
    json_put_null(json, "records");
    return;
  }
  json_begin_object(json, "records");
  json_put_unsigned(json, "waves", kernel->records.waves);
  json_put_unsigned(json, "counters", kernel->records.counters);
  json_put_unsigned(json, "events", kernel->records.events);
  json_end(json);
}

void verify_put_kinds(json_writer_t *json, uint32_t kinds)
{
  json_begin_array(json, "kinds");
  for (uint32_t bit = RAWHAL_PROBE_WAVES; rawhal_probe_kind_name((rawhal_probe_kind_t)bit);
       bit <<= 1)
    if (kinds & bit)
      json_put_text(json, NULL, rawhal_probe_kind_name((rawhal_probe_kind_t)bit));
  json_end(json);
}

static void put_device(json_writer_t *json, const verify_kernel_t *kernel)
{
  if (!*kernel->target) {
    json_put_null(json, "device");
    return;
  }
  json_begin_object(json, "device");
  json_put_text(json, "description", kernel->device);
  json_put_text(json, "target", kernel->target);
  json_put_bool(json, "software", kernel->is_software);
  json_end(json);
}

static void put_kernel(json_writer_t *json, const verify_kernel_t *kernel)
{
  json_begin_object(json, NULL);
  json_put_string(json, "kernel", kernel->name);
  json_put_text(json, "result", results[kernel->result]);
  json_put_text(json, "reason", *kernel->refusal ? kernel->refusal : NULL);
  json_put_hash(json, "object", kernel->object);
  if (kernel->plan)
    json_put_hash(json, "copy", kernel->copy);
  else
    json_put_null(json, "copy");
  put_device(json, kernel);
  json_put_unsigned(json, "dispatches", kernel->dispatches);
  json_put_unsigned(json, "same", kernel->compared);
  json_put_unsigned(json, "different", kernel->different);
  json_put_unsigned(json, "cannot", kernel->impossible);
  json_put_unsigned(json, "bytes", kernel->bytes_compared);
  json_put_known(json, "waves", kernel->has_waves, kernel->waves);
  json_put_known(json, "instructions", kernel->has_instructions, kernel->instructions);
  verify_put_records(json, kernel);
  json_put_unsigned(json, "lost_events", kernel->lost);
  json_begin_array(json, "problems");
  for (size_t i = 0; i < shown_problems(kernel); ++i) {
    json_begin_object(json, NULL);
    json_put_unsigned(json, "dispatch", kernel->problems[i].dispatch);
    json_put_text(json, "result", results[kernel->problems[i].result]);
    json_put_text(json, "message", kernel->problems[i].said);
    json_end(json);
  }
  json_end(json);
  json_put_text(json, "certificate", *kernel->certificate ? kernel->certificate : NULL);
  json_end(json);
}

/* ---- Text ---- */

static void print_line(const char *word, const char *text)
{
  printf("  %-11s ", word);
  (void)tool_print_string(text);
  putchar('\n');
}

static void print_counts(const verify_kernel_t *kernel, uint32_t kinds)
{
  printf("  same        %" PRIu64 " of %" PRIu64 " dispatches: %" PRIu64 " bytes of memory",
         kernel->compared, kernel->dispatches, kernel->bytes_compared);
  if (kernel->has_waves)
    printf(", a record for each of %" PRIu64 " waves", kernel->waves);
  if (kernel->has_instructions)
    printf(", counts of %" PRIu64 " instructions", kernel->instructions);
  else if (kinds & (RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EXEC))
    printf("; this device does not count instructions");
  putchar('\n');
  if (kernel->has_records)
    printf("  records     are softgpu's of the original: %" PRIu64 " waves, %" PRIu64
           " counters, %" PRIu64 " events\n",
           kernel->records.waves, kernel->records.counters, kernel->records.events);
  else
    puts("  records     this device makes none by itself: what counters and events say was held "
         "against nothing");
  if (kernel->lost)
    printf("  lost        %" PRIu64 " events there was no room for, which were not looked at\n",
           kernel->lost);
}

static void print_kernel(const verify_kernel_t *kernel, uint32_t kinds, bool wanted)
{
  (void)tool_print_text(demangle_if(wanted, kernel->name));
  putchar('\n');
  if (*kernel->refusal)
    print_line(results[kernel->result], kernel->refusal);
  if (kernel->compared)
    print_counts(kernel, kinds);
  for (size_t i = 0; i < shown_problems(kernel); ++i) {
    printf("  %-11s dispatch %" PRIu64 ": ", results[kernel->problems[i].result],
           kernel->problems[i].dispatch);
    (void)tool_print_string(kernel->problems[i].said);
    putchar('\n');
  }
  if (problems_of(kernel) > VERIFY_PROBLEMS)
    printf("  and         %" PRIu64 " dispatches more\n", problems_of(kernel) - VERIFY_PROBLEMS);
  if (*kernel->certificate)
    print_line("certificate", kernel->certificate);
}

/* ---- Both ---- */

void verify_begin(json_writer_t *json, const probe_request_t *request, const char *file,
                  uint32_t kinds)
{
  if (!request->json)
    return;
  json_begin_object(json, NULL);
  json_put_text(json, "schema", "rawhal-probe-verify-1");
  json_put_text(json, "recording", request->recording);
  json_put_text(json, "file", file);
  verify_put_kinds(json, kinds);
  json_begin_array(json, "kernels");
}

void verify_put(json_writer_t *json, const probe_request_t *request, const verify_kernel_t *kernel,
                uint32_t kinds)
{
  if (request->json)
    put_kernel(json, kernel);
  else
    print_kernel(kernel, kinds, demangle_text(request->demangle));
}

void verify_end(json_writer_t *json, const probe_request_t *request, const verify_sum_t *sum)
{
  static const struct {
    const char *before, *behind;
  } texts[] = {[VERIFY_CANNOT] = {"of ", " it cannot be told"},
               [VERIFY_REFUSED] = {"", " cannot be probed"},
               [VERIFY_DIFFERENT] = {"of ", " they do not"}};
  uint64_t all = 0;
  if (request->json)
    json_end(json);
  for (int i = 0; i < VERIFY_RESULTS; ++i) {
    all += sum->kernels[i];
    if (request->json)
      json_put_unsigned(json, results[i], sum->kernels[i]);
  }
  if (request->json) {
    json_end(json);
    return;
  }
  printf("%" PRIu64 " of %" PRIu64 " kernels: their copies with probes do the same",
         sum->kernels[VERIFY_SAME], all);
  for (int i = VERIFY_CANNOT; i < VERIFY_RESULTS; ++i)
    if (sum->kernels[i])
      printf("; %s%" PRIu64 "%s", texts[i].before, sum->kernels[i], texts[i].behind);
  putchar('\n');
  puts(PROBE_CAVEAT);
}
