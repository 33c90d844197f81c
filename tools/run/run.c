/* rawhal run: one kernel of a file, on the default device, with arguments from the command line. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/run.h"
#include "tools/shared/device.h"
#include "tools/shared/tool.h"

enum { DEFAULT_TIMEOUT_SECONDS = 60, MOST_SECONDS = 1000000, MOST_LAUNCHES = 1000000 };

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

enum { OPTION_ITEMS = 1, OPTION_KERNARG_SIZE, OPTION_DYNAMIC_LDS, OPTION_REPEAT };

static const struct option long_options[] = {
    {"kernel", required_argument, NULL, 'k'},
    {"grid", required_argument, NULL, 'g'},
    {"items", required_argument, NULL, OPTION_ITEMS},
    {"block", required_argument, NULL, 'b'},
    {"dynamic-lds", required_argument, NULL, OPTION_DYNAMIC_LDS},
    {"kernarg-size", required_argument, NULL, OPTION_KERNARG_SIZE},
    {"device", required_argument, NULL, 'd'},
    {"timeout", required_argument, NULL, 't'},
    {"repeat", required_argument, NULL, OPTION_REPEAT},
    {"json", no_argument, NULL, 'j'},
    {NULL, 0, NULL, 0},
};

/* One option into the request; NULL, or what its value should have been. */
static const char *take_option(int option, run_request_t *request)
{
  static const char dimensions[] = "X[,Y,Z]", size[] = "a number of bytes below 4 GiB";
  uint64_t value = 0;
  switch (option) {
  case 'k':
    request->kernel = optarg;
    return NULL;
  case 'g':
  case OPTION_ITEMS:
    request->has_grid = true;
    request->grid_in_items = option == OPTION_ITEMS;
    return parse_dimensions(optarg, request->grid) ? NULL : dimensions;
  case 'b':
    request->has_block = true;
    return parse_dimensions(optarg, request->block) ? NULL : dimensions;
  case OPTION_DYNAMIC_LDS:
    request->has_dynamic_lds = true;
    if (!tool_parse_number(optarg, UINT32_MAX, &value))
      return size;
    request->dynamic_lds = (uint32_t)value;
    return NULL;
  case OPTION_KERNARG_SIZE:
    if (!tool_parse_number(optarg, UINT32_MAX, &value))
      return size;
    request->kernarg_size = (uint32_t)value;
    return NULL;
  case 't':
    if (!tool_parse_number(optarg, MOST_SECONDS, &value))
      return "0 to 1000000 seconds";
    request->timeout_seconds = (uint32_t)value;
    return NULL;
  case OPTION_REPEAT:
    if (!tool_parse_number(optarg, MOST_LAUNCHES, &value) || !value)
      return "1 to 1000000 launches";
    request->repeat = (uint32_t)value;
    return NULL;
  default: /* 'j' */
    request->json = true;
    return NULL;
  }
}

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
  opterr = 0;
  for (int option, index = 0; (option = getopt_long(argc, argv, "", long_options, &index)) != -1;) {
    if (option == '?')
      return tool_option_usage("run", argv);
    if (option == 'd') {
      if (!device_read_option("run", optarg, &request.backend))
        return TOOL_USAGE;
      continue;
    }
    const char *expected = take_option(option, &request);
    if (expected)
      return tool_usage("run", "--%s: expected %s, got '%s'", long_options[index].name, expected,
                        optarg);
  }
  if (optind == argc)
    return tool_usage("run", "expected a FILE");
  request.path = argv[optind++];
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
  int status = run_with_arguments(&request, argv + optind, (size_t)(argc - optind));
  rawhal_triton_close(triton);
  return status;
}

static const char *help(void)
{
  return "usage: rawhal run FILE --kernel NAME --grid X[,Y,Z] --block X[,Y,Z]\n"
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
         "      standard error says why\n";
}

const tool_command_t run_command = {
    .name = "run",
    .summary = "run one kernel of a file",
    .help = help,
    .run = run,
    .options = long_options,
    .typed_files = true,
};
