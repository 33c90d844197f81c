/* rawhal check: a prepacked blob against a kernel's layout. */
#include "tools/check/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/file.h"
#include "tools/shared/progress.h"
#include "tools/shared/tool.h"

typedef struct check_request {
  select_options_t select;
  const char *blob_path;
  uint32_t stated_size, flags;
} check_request_t;

/* The lengths the blob rule takes (kernarg.h, "Blobs"). */
static void accepted_lengths(const rawhal_kernarg_info_t *info, uint64_t *least, uint64_t *most)
{
  *least = info->explicit_end;
  if (info->knowledge == RAWHAL_KERNARG_SIZE)
    *least = info->segment_size ? ((uint64_t)info->segment_size - 1) / 8 * 8 + 1 : 0;
  *most = ((uint64_t)info->effective_size + 15) / 16 * 16;
}

static void print_facts(const select_t *select, const check_blob_t *blob)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(blob->layout);
  uint64_t least, most;
  char target[64];
  rawhal_target_format(&select->object->target, target, sizeof(target));
  accepted_lengths(info, &least, &most);
  progress_clear();
  fputs("kernel     ", stdout);
  tool_print_text(blob->kernel->name);
  printf("\nobject     %zu: %s\n", select->index, target);
  printf("segment    %" PRIu32 " bytes, %" PRIu32 " of them explicit, align %" PRIu32 "\n",
         info->effective_size, info->explicit_end, info->alignment);
  printf("signature  %016" PRIx64 ", of the blob %016" PRIx64 "\n", info->signature,
         info->blob_signature);
  printf("blob       %zu bytes; the rule takes %" PRIu64 " to %" PRIu64 "%s\n\n", blob->length,
         least, most, blob->flags & RAWHAL_KERNARG_CLAMP ? ", and cuts longer ones" : "");
}

/* The exit status; `error` says why it is not TOOL_OK. */
static int check(const check_request_t *request, const select_t *select, check_blob_t *blob,
                 rawhal_error_t *error)
{
  if (!blob->kernel->usable) {
    (void)tool_refuse(error, RAWHAL_UNSUPPORTED, "'%s' cannot be dispatched: %.*s",
                      request->select.kernel, (int)blob->kernel->unusable_reason.size,
                      blob->kernel->unusable_reason.data);
    return TOOL_FAILED;
  }
  rawhal_status_t verdict =
      rawhal_kernarg_check(blob->layout, blob->bytes, blob->length, request->flags, error);
  print_facts(select, blob);
  if (!check_explain(blob)) {
    (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
    return TOOL_FAILED;
  }
  puts(verdict != RAWHAL_OK ? "\nrefused (what is wrong is marked !)" : "\naccepted");
  fflush(stdout); /* before what standard error says */
  return verdict == RAWHAL_OK ? TOOL_OK : TOOL_NO;
}

static int check_file(const check_request_t *request)
{
  rawhal_error_t error;
  select_t select = {0};
  rawhal_kernarg_layout_t *layout = NULL;
  check_blob_t blob = {.flags = request->flags};
  unsigned char *bytes = NULL;
  const bool done =
      tool_read_file(request->blob_path, TOOL_BLOB_BYTES, &bytes, &blob.length, &error) &&
      select_kernel(&select, &request->select, request->stated_size, &blob.kernel, &layout, &error);
  blob.bytes = bytes;
  blob.layout = layout;
  const int status = done ? check(request, &select, &blob, &error) : TOOL_FAILED;
  rawhal_kernarg_layout_destroy(layout);
  select_close(&select);
  free(bytes);
  if (status != TOOL_OK)
    (void)tool_fail("check", &error);
  return status;
}

static const tool_option_t options[] = {
    {TOOL_OPTION("kernel", TEXT, check_request_t, select.kernel)},
    {TOOL_OPTION("blob", TEXT, check_request_t, blob_path)},
    {SELECT_TARGET_OPTION(check_request_t, select.target)},
    {SELECT_OBJECT_OPTION(check_request_t, select.object)},
    {TOOL_OPTION("kernarg-size", NUMBER, check_request_t, stated_size), .most = UINT32_MAX,
     .wrong = "--kernarg-size: '%s' is not a size in bytes"},
    {TOOL_OPTION("clamp", BIT, check_request_t, flags), .value = RAWHAL_KERNARG_CLAMP},
    {TOOL_OPTION("keep-hidden", BIT, check_request_t, flags), .value = RAWHAL_KERNARG_KEEP_HIDDEN},
    {0},
};

static int run(int argc, char **argv)
{
  check_request_t request = {.select.hsaco_flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS,
                             .select.progress = "check"};
  if (!option_read_all("check", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc != 1)
    return tool_usage("check", "expected one FILE, got %d", argc);
  if (!request.select.kernel || !request.blob_path)
    return tool_usage("check", "--kernel and --blob are required");
  request.select.path = *argv;
  return check_file(&request);
}

const tool_command_t check_command = {
    .name = "check",
    .summary = "explain a prepacked kernarg blob byte by byte",
    .help = "usage: rawhal check FILE --kernel NAME --blob BLOB [OPTIONS]\n\n"
            "Explains the file BLOB, a prepacked kernarg segment, byte by byte: which\n"
            "argument of the kernel each range belongs to and its value, padding, what the\n"
            "launch will write (hidden arguments), and what is missing or in excess. Then\n"
            "says whether a launch accepts it. FILE can be anything that 'rawhal inspect'\n"
            "reads; - is standard input. If several objects in FILE have the kernel, they\n"
            "must agree on its layout.\n\n"
            "options:\n"
            "  --kernel NAME         the kernel's exact name or symbol\n"
            "  --blob BLOB           the file to explain\n"
            "  --target ID           only objects that run on ID, such as gfx90a or\n"
            "                        gfx90a:xnack-\n"
            "  --object NUMBER       only this object of FILE, as numbered by 'rawhal\n"
            "                        inspect'\n"
            "  --kernarg-size BYTES  size of the kernarg segment, for a kernel whose file\n"
            "                        does not state it\n"
            "  --clamp               ignore the part of BLOB beyond the segment\n"
            "                        (RAWHAL_KERNARG_CLAMP)\n"
            "  --keep-hidden         keep hidden arguments that BLOB covers completely\n"
            "                        instead of writing the launch's\n"
            "                        (RAWHAL_KERNARG_KEEP_HIDDEN)\n"
            "  --help                show this text\n\n"
            "exit status:\n"
            "  0   a launch accepts BLOB\n"
            "  1   a launch refuses BLOB; standard error says why\n"
            "  2   the command line is wrong\n"
            "  3   FILE or BLOB cannot be read, or the kernel cannot be launched; standard\n"
            "      error says why\n",
    .run = run,
    .options = options,
};
