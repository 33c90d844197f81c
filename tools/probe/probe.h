/* rawhal probe: what its sub-verbs share. Each has a row in the table of probe.c. */
#ifndef TOOLS_PROBE_PROBE_H
#define TOOLS_PROBE_PROBE_H

#include <rawhal/probe.h>

#include "tools/shared/demangle.h"
#include "tools/shared/device.h"
#include "tools/shared/tool.h"

enum { PROBE_VALUES = 16 }; /* registers of kind values */

/* What the command line asks for; a sub-verb's table has the options that it takes. */
typedef struct probe_request {
  const char *kernel; /* a pattern for names; NULL: all */
  const char *html, *disassembler;
  const char *kinds; /* NULL: those that plan is about by default */
  const char *file;  /* whose kernels; NULL: all */
  const char *recording, *copy, *output;
  rawhal_probe_value_t values[PROBE_VALUES];
  uint32_t value_count;
  rawhal_backend_t backend;
  uint32_t timeout_seconds;
  uint32_t dispatch; /* 0: all */
  uint32_t top;
  bool json, verify;
  demangle_when_t demangle;
} probe_request_t;

enum {
  PROBE_TOP = 16,     /* rows of a table, unless --top says otherwise */
  PROBE_TIMEOUT = 60, /* seconds, unless --timeout does */
};

/* Rows of options, each once, for the table of every sub-verb that takes it, and for that of
 * probe.c, from which shells complete. */
#define PROBE_OPTION_KERNEL                                                                        \
  {                                                                                                \
    TOOL_OPTION("kernel", TEXT, probe_request_t, kernel), .letter = 'k'                            \
  }
#define PROBE_OPTION_JSON                                                                          \
  {                                                                                                \
    TOOL_OPTION("json", FLAG, probe_request_t, json)                                               \
  }
#define PROBE_OPTION_HTML                                                                          \
  {                                                                                                \
    TOOL_OPTION("html", TEXT, probe_request_t, html)                                               \
  }
#define PROBE_OPTION_DISASSEMBLER                                                                  \
  {                                                                                                \
    TOOL_OPTION("disassembler", TEXT, probe_request_t, disassembler)                               \
  }
#define PROBE_OPTION_DISPATCH                                                                      \
  {                                                                                                \
    TOOL_OPTION("dispatch", NUMBER, probe_request_t, dispatch),                                    \
        .least = 1, .most = UINT32_MAX,                                                            \
        .wrong = "--dispatch: '%s' is not the number of a dispatch"                                \
  }
#define PROBE_OPTION_TOP                                                                           \
  {                                                                                                \
    TOOL_OPTION("top", NUMBER, probe_request_t, top),                                              \
        .least = 1, .most = 1000000, .wrong = "--top: '%s' is not a number from 1 to 1000000"      \
  }

#define PROBE_OPTION_KINDS                                                                         \
  {                                                                                                \
    TOOL_OPTION("kinds", TEXT, probe_request_t, kinds)                                             \
  }
#define PROBE_OPTION_VERIFY                                                                        \
  {                                                                                                \
    TOOL_OPTION("verify", FLAG, probe_request_t, verify)                                           \
  }

#define PROBE_OPTION_RECORDING                                                                     \
  {                                                                                                \
    TOOL_OPTION("recording", TEXT, probe_request_t, recording)                                     \
  }
#define PROBE_OPTION_COPY                                                                          \
  {                                                                                                \
    TOOL_OPTION("copy", TEXT, probe_request_t, copy)                                               \
  }
#define PROBE_OPTION_OUTPUT                                                                        \
  {                                                                                                \
    TOOL_OPTION("output", TEXT, probe_request_t, output), .letter = 'o'                            \
  }
#define PROBE_OPTION_DEVICE                                                                        \
  {                                                                                                \
    DEVICE_OPTION(probe_request_t, backend)                                                        \
  }
#define PROBE_OPTION_VALUE                                                                         \
  {                                                                                                \
    .name = "value", .kind = OPTION_READ, .read = probe_read_value                                 \
  }
#define PROBE_OPTION_TIMEOUT                                                                       \
  {                                                                                                \
    TOOL_OPTION("timeout", NUMBER, probe_request_t, timeout_seconds),                              \
        .most = 1000000, .wrong = "--timeout: expected 0 to 1000000 seconds, got '%s'"             \
  }

typedef struct probe_verb {
  const char *word, *usage; /* "show", "show FILE" */
  int files;                /* how many it takes */
  bool may_lack_file;       /* or one less */
  const tool_option_t *options;
  int (*run)(char **files, probe_request_t *request); /* returns the exit status */
} probe_verb_t;

extern const probe_verb_t probe_plan, probe_show, probe_verify;

/* Those of --kinds, or waves and blocks; values, where there are any, of --value. False: the usage
 * error was printed. */
bool probe_kinds(const probe_request_t *request, uint32_t *kinds);
option_read_fn probe_read_value; /* of the whole request */

/* Is it a name that the pattern is for? */
bool probe_name_matches(const char *pattern, rawhal_string_t name);

/* What is to be kept in mind of all that is shown: of --help, texts, documents and pages. */
#define PROBE_CAVEAT                                                                               \
  "Probes have not met hardware: all results are those of softgpu. It models no time: its times "  \
  "are the host's, and rank nothing."

#endif
