/* rawhal core: what stands in core files of programs on GPUs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/core/change.h"
#include "tools/core/core.h"

/* ---- show ---- */

static bool show(char **paths, const core_request_t *request, rawhal_error_t *error)
{
  core_input_t input;
  core_contents_t contents = {0};
  bool done =
      core_input_open(&input, paths[0], error) && core_contents_read(&contents, &input.file, error);
  if (done)
    (request->json ? core_show_json : core_show_text)(&contents, request);
  core_contents_free(&contents);
  core_input_close(&input);
  return done;
}

/* ---- extract ---- */

/* Where an object's bytes are. */
static bool find_object(const core_file_t *file, core_request_t *request, rawhal_error_t *error)
{
  core_contents_t contents = {0};
  bool done = core_contents_read(&contents, file, error);
  if (done && request->object > contents.codes.count)
    done = tool_refuse(error, RAWHAL_NOT_FOUND, "it has %zu code objects, and no number %u",
                       contents.codes.count, request->object);
  if (done) {
    const core_code_t *code = (const core_code_t *)contents.codes.items + request->object - 1;
    request->address = code->object.address;
    request->size = code->object.size;
  }
  core_contents_free(&contents);
  return done;
}

static bool put_memory(const core_file_t *file, const core_request_t *request,
                       tool_target_t *target, rawhal_error_t *error)
{
  unsigned char bytes[1 << 16];
  const uint64_t there = core_view_has(&file->view, request->address, request->size, NULL);
  if (there < request->size)
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "of %" PRIu64 " bytes at 0x%" PRIx64 " the file has the first %" PRIu64,
                       request->size, request->address, there);
  for (uint64_t done = 0; done < request->size;) {
    const uint64_t left = request->size - done;
    const size_t part = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
    if (!core_view_read(&file->view, request->address + done, bytes, part) ||
        !tool_target_put(target, bytes, part))
      return tool_refuse(error, RAWHAL_RUNTIME, "'%.200s' could not be written", target->path);
    done += part;
  }
  return true;
}

static bool extract(char **paths, const core_request_t *asked, rawhal_error_t *error)
{
  core_request_t request = *asked;
  core_input_t input;
  tool_target_t target;
  bool done = core_input_open(&input, paths[0], error) &&
              (!request.object || find_object(&input.file, &request, error)) &&
              tool_target_open(&target, paths[1], request.force, error);
  if (done)
    done = tool_target_close(&target, put_memory(&input.file, &request, &target, error), error);
  core_input_close(&input);
  return done;
}

/* ---- merge ---- */

static bool put_merged(const core_input_t *host, const core_input_t *gpus, tool_target_t *target,
                       rawhal_error_t *error)
{
  core_merged_t merged;
  return core_merge(&host->file, &gpus->file, tool_target_put, target, &merged, error) == RAWHAL_OK;
}

static bool merge(char **paths, const core_request_t *request, rawhal_error_t *error)
{
  core_input_t host = {0}, gpus = {0};
  tool_target_t target;
  bool done = core_input_open(&host, paths[0], error) && core_input_open(&gpus, paths[1], error) &&
              tool_target_open(&target, paths[2], request->force, error);
  if (done)
    done = tool_target_close(&target, put_merged(&host, &gpus, &target, error), error);
  core_input_close(&gpus);
  core_input_close(&host);
  return done;
}

/* ---- --abi ---- */

static bool put_changed(const core_input_t *input, tool_target_t *target, rawhal_error_t *error)
{
  return tool_target_put(target, input->bytes, input->size) ||
         tool_refuse(error, RAWHAL_RUNTIME, "'%.200s' could not be written", target->path);
}

static bool change(char **paths, const core_request_t *request, rawhal_error_t *error)
{
  core_input_t input;
  tool_target_t target;
  core_abi_change_t changed;
  bool done =
      core_input_open(&input, paths[0], error) &&
      core_change_abi(input.bytes, input.size, request->abi, &changed, error) == RAWHAL_OK &&
      tool_target_open(&target, paths[1], request->force, error);
  if (done)
    done = tool_target_close(&target, put_changed(&input, &target, error), error);
  if (done && changed.unsure)
    fprintf(stderr,
            "rawhal core: of %zu waves at a trap the code is not in the file: their PCs stay\n",
            changed.unsure);
  core_input_close(&input);
  return done;
}

/* ---- The command line ---- */

static bool read_number(const char *command, const tool_option_t *option, const char *text,
                        void *place)
{
  (void)command;
  (void)option;
  return tool_parse_number(text, UINT64_MAX, place);
}

static const tool_option_t options[] = {
    {TOOL_OPTION("abi", NUMBER, core_request_t, abi), .least = FORMAT_OLDEST_ABI,
     .most = FORMAT_NEWEST_ABI, .wrong = "--abi: '%s' is not a number from 8 to 12"},
    {TOOL_OPTION("address", READ, core_request_t, address), .read = read_number,
     .wrong = "--address: '%s' is not an address"},
    {TOOL_OPTION("all", FLAG, core_request_t, all)},
    {TOOL_OPTION("force", FLAG, core_request_t, force)},
    {TOOL_OPTION("json", FLAG, core_request_t, json)},
    {TOOL_OPTION("object", NUMBER, core_request_t, object), .least = 1, .most = UINT32_MAX,
     .wrong = "--object: '%s' is not the number of an object"},
    {TOOL_OPTION("size", READ, core_request_t, size), .read = read_number,
     .wrong = "--size: '%s' is not a number"},
    {0},
};

/* What is done with how many files. */
static const struct verb {
  const char *word;
  int files;
  const char *usage;
  bool (*run)(char **paths, const core_request_t *request, rawhal_error_t *error);
} verbs[] = {
    {"show", 1, "show FILE", show},
    {"extract", 2, "extract FILE OUT --object N, or --address A --size N", extract},
    {"merge", 3, "merge HOST GPUS OUT", merge},
    {NULL, 2, "--abi N FILE OUT", change},
};

static const struct verb *find_verb(const char *word, const core_request_t *request)
{
  const size_t count = sizeof(verbs) / sizeof(*verbs);
  for (size_t i = 0; i + 1 < count; ++i)
    if (word && !strcmp(verbs[i].word, word))
      return &verbs[i];
  return request->abi ? &verbs[count - 1] : NULL;
}

static bool fits(const struct verb *verb, int count, const core_request_t *request)
{
  if (verb->run == extract && !request->object == !request->size)
    return false;
  return count == verb->files && (verb->run == change) == (request->abi != 0);
}

static int run(int argc, char **argv)
{
  core_request_t request = {0};
  rawhal_error_t error;
  if (!option_read_all("core", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  const struct verb *verb = find_verb(argc ? argv[0] : NULL, &request);
  if (!verb)
    return tool_usage("core", "expected show, extract, merge, or --abi N");
  const int word = verb->word != NULL;
  if (!fits(verb, argc - word, &request))
    return tool_usage("core", "expected %s", verb->usage);
  return verb->run(argv + word, &request, &error) ? TOOL_OK : tool_fail("core", &error);
}

const tool_command_t core_command = {
    .name = "core",
    .summary = "show, take apart, merge and convert core files of GPU programs",
    .help = "usage: rawhal core show FILE [--json] [--all]\n"
            "       rawhal core extract FILE OUT --object N [--force]\n"
            "       rawhal core extract FILE OUT --address A --size N [--force]\n"
            "       rawhal core merge HOST GPUS OUT [--force]\n"
            "       rawhal core --abi N FILE OUT [--force]\n\n"
            "Reads core files of programs on AMD GPUs: rawhal's, and those of ROCm as far as\n"
            "they go. Needs no GPU and no ROCm. A FILE of - is standard input, an OUT of -\n"
            "standard output.\n\n"
            "  show      what failed and why; dispatches; allocations around the address;\n"
            "            queues; waves with registers and symbols; what was left out, and\n"
            "            whether ROCm's debugger would show it\n"
            "  extract   a code object, or memory, to a file\n"
            "  merge     one file of a core file of the host, as the kernel or gcore writes\n"
            "            it, and one of its GPUs\n\n"
            "options:\n"
            "  --abi N      another version of the debugger's interface, from 8 to 12: ROCm\n"
            "               6.2 to 7.2 takes 10, builds of 2026 take 12 alone\n"
            "  --address A  the first byte to extract\n"
            "  --all        show all allocations, and all registers of all waves\n"
            "  --force      replace an existing OUT\n"
            "  --json       print one JSON document (schema \"rawhal-core-1\") instead of text\n"
            "  --object N   the code object to extract, as numbered by 'show'\n"
            "  --size N     bytes to extract\n"
            "  --help       show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  2   the command line is wrong\n"
            "  3   a file cannot be read, is no core file, has not what is asked for, or OUT\n"
            "      cannot be written; standard error says why\n",
    .run = run,
    .options = options,
    .first_words = "show extract merge",
};
