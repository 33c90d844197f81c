/* rawhal probe: what probes can see of kernels, and have seen. */
#include "tools/probe/probe.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const probe_verb_t *const verbs[] = {&probe_plan, &probe_show};
enum { VERBS = sizeof(verbs) / sizeof(*verbs) };

/* All that any of them takes. */
static const tool_option_t options[] = {PROBE_OPTION_DISASSEMBLER,
                                        PROBE_OPTION_DISPATCH,
                                        PROBE_OPTION_HTML,
                                        PROBE_OPTION_JSON,
                                        PROBE_OPTION_KERNEL,
                                        PROBE_OPTION_KINDS,
                                        PROBE_OPTION_TOP,
                                        PROBE_OPTION_VERIFY,
                                        DEMANGLE_OPTIONS(probe_request_t, demangle),
                                        {0}};

bool probe_name_matches(const char *pattern, rawhal_string_t name)
{
  char *text = malloc(name.size + 1);
  if (!text)
    return false;
  memcpy(text, name.data, name.size);
  text[name.size] = 0;
  const bool matches = strlen(text) == name.size && !fnmatch(pattern, text, 0);
  free(text);
  return matches;
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
  probe_request_t request = {.top = PROBE_TOP};
  const probe_verb_t *verb = argc > 1 ? find_verb(argv[1]) : NULL;
  if (!verb)
    return argc > 1 ? tool_usage("probe", "'%s' is neither 'plan' nor 'show'", argv[1])
                    : tool_usage("probe", "expected plan or show");
  --argc;
  ++argv;
  if (!option_read_all("probe", verb->options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc != verb->files)
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
            "                         [--verify] [--json]\n\n"
            "Shows what probes saw of the dispatches in a recording: waves and where they\n"
            "ran, hot blocks, branches, lanes that were active, accesses of memory and of LDS\n"
            "with the allocations and arguments that they led to, values, barriers.\n"
            "docs/probe.md says what the numbers mean.\n\n"
            "With plan: which kernels of the code objects in FILE can be probed, what that\n"
            "takes, and why others cannot; with --kernel for each of them. --verify also\n"
            "makes each, and holds it against the original, by other code than made it.\n"
            "Kinds are waves, blocks, edges, exec, memory, barriers; default: waves+blocks.\n\n"
            "Probes have not met hardware: all results are those of softgpu. It models no\n"
            "time: its times are the host's, and rank nothing.\n\n"
            "options:\n"
            "  --demangle      show C++ names as in source code, as on terminals by default\n"
            "  --no-demangle   show names as they are in the file\n"
            "  --disassembler PROGRAM\n"
            "                  an llvm-objdump, which names instructions; default: the newest\n"
            "                  in PATH. Without any, instructions are numbers\n"
            "  --dispatch N    only this dispatch, by its number in the recording\n"
            "  --html OUT      write a page for browsers, with pictures; it loads nothing\n"
            "  --json          print one JSON document (schema \"rawhal-probe-1\") instead of\n"
            "                  text\n"
            "  -k, --kernel GLOB\n"
            "                  only kernels whose name matches the pattern\n"
            "  --kinds KINDS   what is to be probed, with + between\n"
            "  --top N         rows of each table; default: 16\n"
            "  --verify        also make probed kernels, and hold them against the originals\n"
            "  --help          show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  1   plan: some kernel cannot be probed\n"
            "  2   the command line is wrong\n"
            "  3   the file cannot be read or is damaged, nothing in it is of what is asked\n"
            "      for, or OUT cannot be written; standard error says why\n",
    .run = run,
    .options = options,
    .first_words = "plan show",
};
