/* rawhal run: one kernel of a file, on the default device, with arguments from the command line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/run.h"
#include "tools/shared/device.h"
#include "tools/shared/tool.h"

enum { DEFAULT_TIMEOUT_SECONDS = 60 };

/* "X", "X,Y" or "X,Y,Z"; what is not given is 1. */
static bool parse_dimensions(const char *text, uint64_t value[3])
{
  value[0] = value[1] = value[2] = 1;
  for (int i = 0; i < 3; ++i) {
    char *end;
    errno = 0;
    value[i] = strtoull(text, &end, 0);
    if (errno || end == text || memchr(text, '-', (size_t)(end - text)))
      return false;
    if (!*end)
      return true;
    if (*end != ',')
      return false;
    text = end + 1;
  }
  return false;
}

enum { GRID, ITEMS, BLOCK };

static bool read_dimensions(const char *command, const tool_option_t *option, const char *text,
                            void *place)
{
  run_request_t *request = place;
  (void)command;
  if (option->value == BLOCK) {
    request->has_block = true;
    return parse_dimensions(text, request->block);
  }
  request->has_grid = true;
  request->grid_in_items = option->value == ITEMS;
  return parse_dimensions(text, request->grid);
}

static bool read_dynamic_lds(const char *command, const tool_option_t *option, const char *text,
                             void *place)
{
  run_request_t *request = place;
  uint64_t bytes;
  (void)command, (void)option;
  request->has_dynamic_lds = tool_parse_number(text, UINT32_MAX, &bytes);
  request->dynamic_lds = (uint32_t)bytes;
  return request->has_dynamic_lds;
}

#define EXPECTED(NAME, WHAT) .wrong = "--" NAME ": expected " WHAT ", got '%s'"
#define DIMENSIONS(NAME, VALUE)                                                                    \
  {                                                                                                \
    .name = NAME, .kind = OPTION_READ, .read = read_dimensions, .value = VALUE,                    \
    EXPECTED(NAME, "X[,Y,Z]")                                                                      \
  }

static const tool_option_t options[] = {
    {TOOL_OPTION("kernel", TEXT, run_request_t, kernel)},
    DIMENSIONS("grid", GRID),
    DIMENSIONS("items", ITEMS),
    DIMENSIONS("block", BLOCK),
    {.name = "dynamic-lds",
     .kind = OPTION_READ,
     .read = read_dynamic_lds,
     EXPECTED("dynamic-lds", "a number of bytes below 4 GiB")},
    {TOOL_OPTION("kernarg-size", NUMBER, run_request_t, kernarg_size), .most = UINT32_MAX,
     EXPECTED("kernarg-size", "a number of bytes below 4 GiB")},
    {DEVICE_OPTION(run_request_t, backend)},
    {TOOL_OPTION("timeout", NUMBER, run_request_t, timeout_seconds), .most = 1000000,
     EXPECTED("timeout", "0 to 1000000 seconds")},
    {TOOL_OPTION("repeat", NUMBER, run_request_t, repeat), .least = 1, .most = 1000000,
     EXPECTED("repeat", "1 to 1000000 launches")},
    {TOOL_OPTION("json", FLAG, run_request_t, json)},
    {0},
};

static int run_with_arguments(run_request_t *request, char **words, size_t count)
{
  request->argument_count = count;
  request->arguments = calloc(count + 1 + RUN_MOST_SCRATCH, sizeof(*request->arguments));
  rawhal_error_t error = {
      .status = RAWHAL_OUT_OF_MEMORY, .offset = RAWHAL_NO_OFFSET, .message = "out of memory"};
  bool parsed = request->arguments != NULL, wrong = parsed;
  for (size_t i = 0; parsed && i < count; ++i) {
    parsed = run_argument_parse(words[i], &request->arguments[i], &error);
    wrong = !request->arguments[i].unread; /* a file that is not there is no mistake in the words */
  }
  if (parsed && request->triton) {
    parsed = run_triton_scratch(request, &error);
    wrong = false;
  }
  int status = TOOL_FAILED;
  if (!parsed)
    status = wrong ? tool_usage("run", "%s", error.message) : tool_fail("run", &error);
  else
    status = run_kernel(request);
  for (size_t i = 0; request->arguments && i < request->argument_count; ++i)
    run_argument_release(&request->arguments[i]);
  free(request->arguments);
  return status;
}

static int run(int argc, char **argv)
{
  run_request_t request = {.timeout_seconds = DEFAULT_TIMEOUT_SECONDS, .repeat = 1};
  if (!option_read_all("run", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (!argc)
    return tool_usage("run", "expected a FILE");
  request.path = *argv;
  rawhal_triton_t *triton = NULL;
  rawhal_error_t error;
  if (run_triton_is(&request)) {
    if (!request.has_grid || request.grid_in_items || request.has_block || request.has_dynamic_lds)
      return tool_usage("run", "an entry of Triton's cache requires --grid, and states its "
                               "work-group and group memory itself");
    if (!run_triton_open(&request, &triton, &error)) {
      rawhal_triton_close(triton);
      return tool_fail("run", &error);
    }
  } else if (!request.kernel || !request.has_grid || !request.has_block) {
    return tool_usage("run", "--kernel, --grid (or --items) and --block are required");
  }
  int status = run_with_arguments(&request, argv + 1, (size_t)argc - 1);
  rawhal_triton_close(triton);
  return status;
}

const tool_command_t run_command = {
    .name = "run",
    .summary = "run one kernel of a file",
    .help = "usage: rawhal run FILE --kernel NAME --grid X[,Y,Z] --block X[,Y,Z]\n"
            "                  [OPTIONS] [ARG...]\n"
            "       rawhal run ENTRY --grid X[,Y,Z] [OPTIONS] [ARG...]\n\n"
            "Loads the code object in FILE that fits the device best, and runs one of its\n"
            "kernels. FILE can be anything that 'rawhal inspect' reads; - is standard input.\n"
            "Without a GPU, the kernel runs on softgpu, a GPU in software. ENTRY is NAME.json\n"
            "or NAME.hsaco of Triton's cache: the JSON states the kernel, its work-group and\n"
            "its group memory, and the arguments that Triton's launcher appends are added.\n\n"
            "options:\n"
            "  --kernel NAME        the kernel's exact name or symbol\n"
            "  --grid X[,Y,Z]       number of WORK-GROUPS in each dimension\n"
            "  --items X[,Y,Z]      number of work-items in each dimension, instead of\n"
            "                       --grid; the last group may be partial\n"
            "  --block X[,Y,Z]      work-items of each work-group\n"
            "  --dynamic-lds BYTES  group memory in addition to the kernel's own and that of\n"
            "                       lds: arguments\n"
            "  --kernarg-size BYTES size of the kernarg segment, for a kernel whose file does\n"
            "                       not state it\n"
            "  --device KIND        softgpu or hsa (hardware); default: hardware if present\n"
            "  --timeout SECONDS    stop a kernel that runs longer; default: 60; 0: never\n"
            "  --repeat N           launch N times, each with the initial contents of\n"
            "                       buffers, and print the least, the median and the greatest\n"
            "                       time\n"
            "  --json               print one JSON document (schema \"rawhal-run-1\")\n"
            "  --help               show this text\n\n"
            "ARG, one for each visible argument, in the order of 'rawhal inspect':\n"
            "  u8: u16: u32: u64:NUMBER  an unsigned integer (decimal or 0x...)\n"
            "  i8: i16: i32: i64:NUMBER  a signed integer\n"
            "  f32: f64:NUMBER           a floating-point number\n"
            "  hex:BYTES                 an argument by value, two digits per byte, in memory\n"
            "                            order\n"
            "  bytes:FILE                an argument by value, read from a file\n"
            "  ptr:FILE                  a device buffer with the contents of a file\n"
            "  ptr:zero:SIZE             a device buffer of SIZE zero bytes (4096, 64K, 1M)\n"
            "  ptr:null                  a null pointer\n"
            "  out:FILE:SIZE             a buffer of SIZE zero bytes, written to FILE\n"
            "                            afterwards\n"
            "  inout:IN:OUT              a buffer with the contents of file IN, written to\n"
            "                            file OUT afterwards\n"
            "  lds:SIZE                  a pointer to SIZE bytes of dynamic group memory\n"
            "  blob:FILE                 the complete kernarg segment, prepacked; no other\n"
            "                            ARG is allowed\n\n"
            "Output files that cannot be written are refused before the kernel runs. Negative\n"
            "numbers need no special treatment (i32:-5).\n\n"
            "exit status:\n"
            "  0   the kernel ran to its end and all results are written\n"
            "  2   the command line is wrong\n"
            "  3   the kernel was refused, faulted or was stopped, or there is no device;\n"
            "      standard error says why\n",
    .run = run,
    .options = options,
    .typed_files = true,
};
