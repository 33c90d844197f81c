/* rawhal probe plan: which of a file's kernels can be probed, what that takes, and why others
 * cannot. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawhal/probe.h>

#include "base/list.h"
#include "tools/probe/show.h"
#include "tools/shared/select.h"

enum { MOST_REASONS = 64, MOST_REASON = 160 };

/* Why kernels are refused: places and numbers in the reasons are left out. */
typedef struct reason {
  char text[MOST_REASON];
  uint64_t count;
} reason_t;

typedef struct planning {
  const probe_request_t *request;
  json_writer_t json;
  uint32_t kinds;
  uint64_t kernels, planned, other_reasons;
  reason_t reasons[MOST_REASONS];
  size_t reason_count;
} planning_t;

/* ---- Reasons ---- */

/* Places and registers become "N": what is left is the kind of reason. */
static void shorten(const char *message, char text[MOST_REASON])
{
  size_t at = 0;
  for (const char *from = message; *from && at + 1 < MOST_REASON;) {
    const bool is_word = from > message && isalnum((unsigned char)from[-1]);
    const bool is_register = from > message + 1 && from[-2] == ' ' && strchr("vs", from[-1]);
    const size_t digits = !strncmp(from, "0x", 2)   ? 2 + strspn(from + 2, "0123456789abcdef")
                          : is_word && !is_register ? 0
                                                    : strspn(from, "0123456789");
    text[at++] = digits ? 'N' : *from;
    from += digits ? digits : 1;
  }
  text[at] = 0;
}

static void count_reason(planning_t *planning, const char *message)
{
  char text[MOST_REASON];
  shorten(message, text);
  for (size_t i = 0; i < planning->reason_count; ++i)
    if (!strcmp(planning->reasons[i].text, text)) {
      ++planning->reasons[i].count;
      return;
    }
  if (planning->reason_count == MOST_REASONS) {
    ++planning->other_reasons;
    return;
  }
  reason_t *reason = &planning->reasons[planning->reason_count++];
  memcpy(reason->text, text, sizeof(text));
  reason->count = 1;
}

/* ---- One kernel ---- */

static void put_plan(planning_t *planning, const rawhal_kernel_t *kernel,
                     const rawhal_probe_plan_info_t *info, const rawhal_error_t *error)
{
  json_writer_t *json = &planning->json;
  json_begin_object(json, NULL);
  json_put_string(json, "kernel", kernel->name);
  json_put_bool(json, "planned", info != NULL);
  json_put_text(json, "reason", info ? NULL : error->message);
  if (info) {
    json_put_unsigned(json, "instructions", info->instructions);
    json_put_unsigned(json, "blocks", info->blocks);
    json_put_unsigned(json, "code_bytes", info->code_bytes);
    json_put_unsigned(json, "points", info->point_count);
    json_put_unsigned(json, "counters", info->counters);
    json_put_unsigned(json, "event_bytes", info->event_bytes);
    json_put_unsigned(json, "named_sgprs", info->named_sgprs);
    json_put_unsigned(json, "named_vgprs", info->named_vgprs);
    json_put_unsigned(json, "named_agprs", info->named_agprs);
    json_put_unsigned(json, "first_kept_sgpr", info->first_kept_sgpr);
    json_put_unsigned(json, "kept_sgprs", info->kept_sgprs);
    json_put_unsigned(json, "first_kept_vgpr", info->first_kept_vgpr);
    json_put_unsigned(json, "kept_vgprs", info->kept_vgprs);
    json_put_unsigned(json, "scratch_bytes", info->scratch_bytes);
    json_put_unsigned(json, "lent_vgprs", info->lent_vgprs);
    json_put_unsigned(json, "argument_offset", info->argument_offset);
    json_put_bool(json, "reads_pc", info->reads_pc);
  }
  json_end(json);
}

static void print_plan(const planning_t *planning, const rawhal_kernel_t *kernel,
                       const rawhal_probe_plan_info_t *info, const rawhal_error_t *error)
{
  (void)planning;
  tool_print_text(demangle(kernel->name));
  if (!info) {
    printf("\n  refused: ");
    tool_print_string(error->message);
    putchar('\n');
    return;
  }
  printf("\n  %" PRIu32 " instructions in %" PRIu32 " blocks, %zu points; ", info->instructions,
         info->blocks, info->point_count);
  if (info->kept_sgprs)
    printf("keeps %" PRIu32 " SGPR%s from s%" PRIu32, info->kept_sgprs,
           info->kept_sgprs == 1 ? "" : "s", info->first_kept_sgpr);
  else if (info->kept_vgprs)
    printf("keeps lanes of v%" PRIu32, info->first_kept_vgpr);
  else
    printf("keeps %" PRIu32 " bytes of scratch for each work-item", info->scratch_bytes);
  if (info->kept_vgprs)
    printf(" and %" PRIu32 " VGPR%s from v%" PRIu32, info->kept_vgprs,
           info->kept_vgprs == 1 ? "" : "s", info->first_kept_vgpr);
  if (info->lent_vgprs)
    printf(", uses one VGPR of the kernel's meanwhile,");
  printf(" of s0..s%" PRIu32 ", v0..v%" PRIu32 " named%s\n",
         info->named_sgprs ? info->named_sgprs - 1 : 0,
         info->named_vgprs ? info->named_vgprs - 1 : 0, info->reads_pc ? "; reads PC" : "");
}

/* Held against the original, where that is asked for. */
static rawhal_status_t verify(const rawhal_kernel_t *kernel, const rawhal_probe_plan_t *plan,
                              rawhal_error_t *error)
{
  enum { SOMEWHERE = 0x7f0000000000 }; /* where the original could be, for what reads PC */
  rawhal_bytes_t bytes;
  rawhal_status_t status = rawhal_probe_apply(plan, SOMEWHERE, &bytes, error);
  if (status == RAWHAL_OK)
    status = rawhal_probe_verify(kernel, bytes.data, bytes.size, SOMEWHERE, error);
  rawhal_probe_free(plan, &bytes);
  return status;
}

static void look_at(planning_t *planning, const rawhal_kernel_t *kernel)
{
  rawhal_error_t error = {0};
  rawhal_probe_plan_t *plan;
  const rawhal_probe_spec_t spec = {.size = sizeof(spec),
                                    .kinds = planning->kinds,
                                    .values = planning->request->values,
                                    .value_count = planning->request->value_count};
  ++planning->kernels;
  rawhal_status_t status = rawhal_probe_plan(kernel, &spec, &plan, &error);
  if (status == RAWHAL_OK && planning->request->verify)
    status = verify(kernel, plan, &error);
  const rawhal_probe_plan_info_t *info = status == RAWHAL_OK ? rawhal_probe_plan_info(plan) : NULL;
  if (info)
    ++planning->planned;
  else
    count_reason(planning, error.message);
  if (planning->request->json)
    put_plan(planning, kernel, info, &error);
  else if (planning->request->kernel)
    print_plan(planning, kernel, info, &error);
  rawhal_probe_plan_destroy(plan);
}

/* ---- A file ---- */

static int compare_reasons(const void *a, const void *b)
{
  const reason_t *one = a, *other = b;
  if (one->count != other->count)
    return one->count > other->count ? -1 : 1;
  return strcmp(one->text, other->text);
}

static void print_sum(planning_t *planning)
{
  qsort(planning->reasons, planning->reason_count, sizeof(*planning->reasons), compare_reasons);
  printf("%" PRIu64 " of %" PRIu64 " kernels can be probed%s\n", planning->planned,
         planning->kernels, planning->request->verify ? ", and are the original's" : "");
  for (size_t i = 0; i < planning->reason_count; ++i) {
    printf("  %8" PRIu64 " refused: ", planning->reasons[i].count);
    tool_print_string(planning->reasons[i].text);
    putchar('\n');
  }
  if (planning->other_reasons)
    printf("  %8" PRIu64 " refused for other reasons\n", planning->other_reasons);
  puts(PROBE_CAVEAT);
}

static bool look_at_all(planning_t *planning, const char *path, rawhal_error_t *error)
{
  const select_options_t options = {.path = path, .skip_unreadable = true, .progress = "probe"};
  select_t select = {0};
  bool done = select_open(&select, &options, error);
  while (done && (done = select_next(&select, error)) && select.hsaco) {
    const size_t count = rawhal_hsaco_info(select.hsaco)->kernel_count;
    for (size_t i = 0; i < count; ++i) {
      const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(select.hsaco, i);
      if (!planning->request->kernel || probe_name_matches(planning->request->kernel, kernel->name))
        look_at(planning, kernel);
    }
  }
  select_close(&select);
  return done;
}

static int run(char **files, probe_request_t *request)
{
  rawhal_error_t error;
  planning_t planning = {.request = request, .json = {.out = stdout}};
  if (!probe_kinds(request, &planning.kinds))
    return TOOL_USAGE;
  if (request->json) {
    json_begin_object(&planning.json, NULL);
    json_put_text(&planning.json, "schema", "rawhal-probe-plan-1");
    json_put_text(&planning.json, "file", files[0]);
    json_begin_array(&planning.json, "kernels");
  }
  const bool done = look_at_all(&planning, files[0], &error);
  if (request->json) {
    json_end(&planning.json);
    json_put_unsigned(&planning.json, "planned", planning.planned);
    json_put_unsigned(&planning.json, "refused", planning.kernels - planning.planned);
    json_end(&planning.json);
  }
  if (!done)
    return tool_fail("probe", &error);
  if (!planning.kernels) {
    (void)tool_refuse(&error, RAWHAL_NOT_FOUND, "'%s' has no kernel of that name", files[0]);
    return tool_fail("probe", &error);
  }
  if (!request->json)
    print_sum(&planning);
  return planning.planned == planning.kernels ? TOOL_OK : TOOL_NO;
}

static const tool_option_t options[] = {PROBE_OPTION_JSON,
                                        PROBE_OPTION_KERNEL,
                                        PROBE_OPTION_KINDS,
                                        PROBE_OPTION_VALUE,
                                        PROBE_OPTION_VERIFY,
                                        DEMANGLE_OPTIONS(probe_request_t, demangle),
                                        {0}};

const probe_verb_t probe_plan = {
    .word = "plan",
    .usage = "plan FILE",
    .files = 1,
    .options = options,
    .run = run,
};
