/* rawhal probe: what probes can see of kernels, and have seen. */
#include "tools/probe/probe.h"

#include <stdlib.h>
#include <string.h>

#include <rawhal/probe.h>

#include "base/glob.h"

static const probe_verb_t *const verbs[] = {&probe_plan, &probe_show, &probe_verify};
enum { VERBS = sizeof(verbs) / sizeof(*verbs) };

/* All that any of them takes. */
static const tool_option_t options[] = {PROBE_OPTION_COPY,
                                        PROBE_OPTION_DEVICE,
                                        PROBE_OPTION_DISASSEMBLER,
                                        PROBE_OPTION_DISPATCH,
                                        PROBE_OPTION_HTML,
                                        PROBE_OPTION_JSON,
                                        PROBE_OPTION_KERNEL,
                                        PROBE_OPTION_KINDS,
                                        PROBE_OPTION_OUTPUT,
                                        PROBE_OPTION_RECORDING,
                                        PROBE_OPTION_TIMEOUT,
                                        PROBE_OPTION_TOP,
                                        PROBE_OPTION_VALUE,
                                        PROBE_OPTION_VERIFY,
                                        DEMANGLE_OPTIONS(probe_request_t, demangle),
                                        {0}};

bool probe_name_matches(const char *pattern, rawhal_string_t name)
{
  return !(name.size && memchr(name.data, 0, name.size)) && glob_fits(rawhal_string(pattern), name);
}

bool probe_kinds(const probe_request_t *request, uint32_t *kinds)
{
  rawhal_error_t error;
  const char *text = request->kinds ? request->kinds : "waves+blocks";
  if (rawhal_probe_kinds_parse(rawhal_string(text), kinds, &error) != RAWHAL_OK)
    (void)tool_usage("probe", "--kinds: %s", error.message);
  else if (!(*kinds & RAWHAL_PROBE_VALUES) != !request->value_count)
    (void)tool_usage("probe", "values requires --value REGISTER@OFFSET, and the reverse");
  else
    return true;
  return false;
}

bool probe_read_value(const char *command, const tool_option_t *option, const char *text,
                      void *place)
{
  probe_request_t *request = place;
  rawhal_error_t error;
  if (request->value_count == PROBE_VALUES)
    (void)tool_usage(command, "--%s: more than %d", option->name, PROBE_VALUES);
  else if (rawhal_probe_value_parse(rawhal_string(text), &request->values[request->value_count++],
                                    &error) != RAWHAL_OK)
    (void)tool_usage(command, "--%s: %s", option->name, error.message);
  else
    return true;
  return false;
}

static const probe_verb_t *find_verb(const char *word)
{
  for (int i = 0; i < VERBS; ++i)
    if (!strcmp(verbs[i]->word, word))
      return verbs[i];
  return NULL;
}

static int run(int argc, char **argv)
{
  probe_request_t request = {.top = PROBE_TOP, .timeout_seconds = PROBE_TIMEOUT};
  const probe_verb_t *verb = argc > 1 ? find_verb(argv[1]) : NULL;
  if (!verb)
    return argc > 1 ? tool_usage("probe", "'%s' is none of plan, show and verify", argv[1])
                    : tool_usage("probe", "expected plan, show or verify");
  --argc;
  ++argv;
  if (!option_read_all("probe", verb->options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc > verb->files || argc < verb->files - verb->may_lack_file)
    return tool_usage("probe", "expected %s", verb->usage);
  return verb->run(argv, &request);
}

const tool_command_t probe_command = {
    .name = "probe",
    .summary = "which kernels can be probed; what probes saw inside them",
    .help = "usage: rawhal probe show FILE [--kernel GLOB] [--dispatch N] [--top N]\n"
            "                         [--json | --html OUT] [--disassembler PROGRAM]\n"
            "                         [--demangle | --no-demangle]\n"
            "       rawhal probe plan FILE [--kernel GLOB] [--kinds KIND[+KIND...]]\n"
            "                         [--verify] [--json]\n"
            "       rawhal probe verify [FILE] --recording RECORDING [--kernel GLOB]\n"
            "                         [--kinds KIND[+KIND...]] [--value REGISTER@OFFSET]...\n"
            "                         [-o FOLDER] [--copy COPY]\n"
            "                         [--json] [--device KIND] [--timeout SECONDS]\n\n"
            "Shows what probes saw of the dispatches in a recording: waves and where they\n"
            "ran, hot blocks, branches, lanes that were active, accesses of memory and of LDS\n"
            "with the allocations and arguments that they led to, values, barriers.\n"
            "docs/probe.md says what the numbers mean.\n\n"
            "With plan: which kernels of the code objects in FILE can be probed, what that\n"
            "takes, and why others cannot; with --kernel for each of them. --verify also\n"
            "makes each, and holds it against the original, by other code than made it.\n"
            "Kinds are waves, blocks, edges, exec, memory, values, barriers; default:\n"
            "waves+blocks. Values are those of --value.\n\n"
            "With verify: runs each dispatch in RECORDING from its recorded memory, the\n"
            "original twice and its copy with probes. Memory is compared bit for bit, records\n"
            "with the waves of the grid, counters with the device's count of instructions;\n"
            "on softgpu, all records with those that it makes itself of the original.\n"
            "What the original itself does not repeat cannot be compared. -o writes a\n"
            "certificate of each copy that does the same, for verified=FOLDER of probes in\n"
            "'rawhal exec'. FILE has code objects: of their kernels only.\n\n"
            "Probes have not met hardware: all results are those of softgpu. It models no\n"
            "time: its times are the host's, and rank nothing.\n\n"
            "options:\n"
            "  --copy COPY     the copy, as -o writes it beside the certificate, instead of\n"
            "                  one that is made; of one kernel\n"
            "  --demangle      show C++ names as in source code, as on terminals by default\n"
            "  --no-demangle   show names as they are in the file\n"
            "  --device KIND   softgpu or hsa (hardware); default: hardware if present\n"
            "  --disassembler PROGRAM\n"
            "                  an llvm-objdump, which names instructions; default: the newest\n"
            "                  in PATH. Without any, instructions are numbers\n"
            "  --dispatch N    only this dispatch, by its number in the recording\n"
            "  --html OUT      write a page for browsers, with pictures; it loads nothing\n"
            "  --json          print one JSON document instead of text, of schema\n"
            "                  \"rawhal-probe-1\", \"rawhal-probe-plan-1\" or\n"
            "                  \"rawhal-probe-verify-1\"\n"
            "  -k, --kernel GLOB\n"
            "                  only kernels whose name matches the pattern\n"
            "  --kinds KINDS   what is to be probed, with + between\n"
            "  -o, --output FOLDER\n"
            "                  write certificates, and the copies that they are about\n"
            "  --recording RECORDING\n"
            "                  a file of 'rawhal record', with the contents of buffers\n"
            "  --timeout SECONDS\n"
            "                  stop a kernel that runs longer; default: 60; 0: never\n"
            "  --top N         rows of each table; default: 16\n"
            "  --value REGISTER@OFFSET\n"
            "                  of values: a register, as v3 or s12, before the instruction\n"
            "                  at that many bytes from the kernel's first; up to 16 times.\n"
            "                  Of one kernel, which --kernel names: others have no such place\n"
            "  --verify        also make probed kernels, and hold them against the originals\n"
            "  --help          show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  1   plan, verify: some kernel cannot be probed, or its copy does other things\n"
            "  2   the command line is wrong\n"
            "  3   the file cannot be read or is damaged, nothing in it is of what is asked\n"
            "      for, or what is to be written cannot be; verify: of some kernel nothing\n"
            "      can be told; standard error says why\n",
    .run = run,
    .options = options,
    .first_words = "plan show verify",
};
