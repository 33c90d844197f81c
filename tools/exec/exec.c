/* rawhal exec: any program under limits, by librawhal-front, which the HSA runtime loads. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawhal/limit.h>

#include "tools/exec/guard.h"
#include "tools/exec/library.h"
#include "tools/shared/front.h"
#include "tools/shared/program.h"
#include "tools/shared/tool.h"

/* ---- Limits ---- */

/* Of the environment's and ours the stricter, as everywhere. What there cannot be compared ("50%",
 * of a device not known here) would be lifted or would lift ours. False: one is not understood. */
static bool set_limit(rawhal_limit_t limit, const char *text, rawhal_error_t *error)
{
  const char *variable = rawhal_limit_info(limit)->variable;
  const char *before = getenv(variable);
  uint64_t mine, theirs = RAWHAL_UNLIMITED;
  rawhal_error_t why;
  if (rawhal_limit_parse(limit, text, NULL, &mine, error) != RAWHAL_OK)
    return false;
  if (before && rawhal_limit_parse(limit, before, NULL, &theirs, &why) != RAWHAL_OK) {
    snprintf(error->message, sizeof(error->message),
             "%s is also set, and the two cannot be compared: %.200s", variable, why.message);
    return false;
  }
  return theirs <= mine || set_variable(variable, text, error);
}

/* ---- Options ---- */

enum {
  CHECK = 1000,
  FAULTS,
  WATCHDOG,
  DOOR,
  TRACE,
  BYTES,
  SUBSTITUTE,
  CACHE,
  PROBE,
  PROBE_FILE,
  PROBE_BYTES,
  ENGINE,
  FOLDER,
  CALLBACK,
  POLICY,
  TENANT,
  REGION,
  RECORD
};
/* a limit's is its own number */

typedef struct exec_request {
  check_mode_t guard;
  bool bytes, buffers, probe_bytes;
} exec_request_t;

static option_read_fn read_guard, read_variable;

/* Of exec and record. */
#define VARIABLE(NAME, VALUE)                                                                      \
  {                                                                                                \
    .name = NAME, .kind = OPTION_READ, .read = read_variable, .value = VALUE                       \
  }
#define COMMON_OPTIONS                                                                             \
  VARIABLE("gpu-share", RAWHAL_LIMIT_GPU_SHARE), VARIABLE("memory", RAWHAL_LIMIT_MEMORY),          \
      {.name = "check", .kind = OPTION_MAY, .read = read_variable, .value = CHECK},                \
      VARIABLE("tenant", TENANT), VARIABLE("region", REGION),                                      \
      {TOOL_OPTION("guard", READ, exec_request_t, guard), .read = read_guard,                      \
       .wrong = "--guard: expected " CHECK_MODES ", got '%.40s'"},                                 \
      VARIABLE("faults", FAULTS), VARIABLE("watchdog", WATCHDOG), VARIABLE("door", DOOR),          \
      VARIABLE("trace", TRACE)

static const tool_option_t exec_options[] = {
    COMMON_OPTIONS,
    VARIABLE("record", RECORD),
    {TOOL_OPTION("record-buffers", FLAG, exec_request_t, buffers)},
    VARIABLE("record-bytes", BYTES),
    VARIABLE("substitute", SUBSTITUTE),
    VARIABLE("substitute-cache", CACHE),
    VARIABLE("probe", PROBE),
    {.name = "output",
     .kind = OPTION_READ,
     .read = read_variable,
     .value = PROBE_FILE,
     .letter = 'o'},
    VARIABLE("probe-engine", ENGINE),
    VARIABLE("probe-folder", FOLDER),
    VARIABLE("probe-callback", CALLBACK),
    VARIABLE("probe-bytes", PROBE_BYTES),
    VARIABLE("policy", POLICY),
    {0},
};

static const tool_option_t record_options[] = {
    COMMON_OPTIONS,
    {.name = "output", .kind = OPTION_READ, .read = read_variable, .value = RECORD, .letter = 'o'},
    {TOOL_OPTION("buffers", FLAG, exec_request_t, buffers)},
    VARIABLE("bytes", BYTES),
    {0},
};

static bool set_check(const char *mode, rawhal_error_t *error)
{
  check_mode_t known;
  if (check_mode_of(mode, &known))
    return set_variable("RAWHAL_CHECK", mode, error);
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                     "--check: expected " CHECK_MODES ", got '%.40s'", mode);
}

static bool set_faults(const char *form, rawhal_error_t *error)
{
  static const char *const forms[] = {"off", "text", "json"};
  for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); ++i)
    if (!strcmp(form, forms[i]))
      return set_variable("RAWHAL_FAULTS", form, error);
  return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                     "--faults: expected off, text or json, got '%.40s'", form);
}

/* The program may change its folder. */
static bool set_file(const char *variable, const char *file, rawhal_error_t *error)
{
  char path[PATH_MAX], folder[PATH_MAX] = "";
  if (*file != '/' && !getcwd(folder, sizeof(folder)))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: %s", file, strerror(errno));
  int size = snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", file);
  if (size < 0 || (size_t)size >= sizeof(path))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: the path is too long", file);
  return set_variable(variable, path, error);
}

/* What is there already is not written over, and would have a second name beside it. A pipe or a
 * terminal has nothing to lose. */
static bool is_stream(mode_t mode)
{
  return S_ISFIFO(mode) || S_ISCHR(mode);
}

static bool set_output(const char *variable, const char *file, rawhal_error_t *error)
{
  struct stat there;
  if (lstat(file, &there) == 0 && (stat(file, &there) || !is_stream(there.st_mode)))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s already exists", file);
  return set_file(variable, file, error);
}

/* Nobody leaves an account by naming another. */
static bool set_account(const char *variable, const char *text, rawhal_error_t *error)
{
  const char *named = getenv(variable);
  if (named && strcmp(named, text))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "'%.100s' conflicts with %s='%.100s'", text,
                       variable, named);
  return set_variable(variable, text, error);
}

static bool set_region(const char *file, rawhal_error_t *error)
{
  const char *named = getenv("RAWHAL_LIMIT_REGION");
  char *before = named ? strdup(named) : NULL;
  bool done = (before || !named || tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory")) &&
              set_file("RAWHAL_LIMIT_REGION", file, error);
  if (done && before && strcmp(before, getenv("RAWHAL_LIMIT_REGION")))
    done = tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                       "'%.100s' conflicts with RAWHAL_LIMIT_REGION='%.100s'", file, before);
  free(before);
  return done;
}

/* In the words of a limit. */
static bool set_bytes(const char *variable, const char *text, rawhal_error_t *error)
{
  uint64_t bytes;
  if (rawhal_limit_parse(RAWHAL_LIMIT_MEMORY, text, NULL, &bytes, error) != RAWHAL_OK)
    return false;
  return set_variable(variable, text, error);
}

/* An operator's file must not be taken away. */
static bool set_policy(const char *file, rawhal_error_t *error)
{
  const char *named = getenv("RAWHAL_POLICY");
  if (named && *named)
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                       "--policy conflicts with RAWHAL_POLICY='%.200s'", named);
  return set_file("RAWHAL_POLICY", file, error);
}

/* One more line, after those of the environment. */
static bool add_line(const char *variable, const char *text, rawhal_error_t *error)
{
  const char *before = getenv(variable);
  char *lines = NULL;
  if (asprintf(&lines, "%s%s%s", before ? before : "", before ? "\n" : "", text) < 0)
    lines = NULL;
  bool done = set_variable(variable, lines, error);
  free(lines);
  return done;
}

/* The same of a line in which a file's name begins at `file`. */
static bool add_line_of_file(const char *variable, const char *text, const char *file,
                             rawhal_error_t *error)
{
  char folder[PATH_MAX] = "", *line = NULL;
  if (*file != '/' && !getcwd(folder, sizeof(folder)))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: %s", file, strerror(errno));
  if (asprintf(&line, "%.*s%s%s%s", (int)(file - text), text, folder, *folder ? "/" : "", file) < 0)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for the environment");
  bool done = add_line(variable, line, error);
  free(line);
  return done;
}

static bool add_substitute(const char *text, rawhal_error_t *error)
{
  const char *file = strchr(text, '=');
  if (!file || file == text || strchr(text, '\n'))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                       "--substitute: expected NAME=FILE[:KERNEL][,EXTRA...], got '%.100s'", text);
  return add_line_of_file("RAWHAL_SUBSTITUTE", text, file + 1, error);
}

static bool add_engine(const char *text, rawhal_error_t *error)
{
  if (!*text || *text == ',' || strchr(text, '\n'))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                       "--probe-engine: expected PROGRAM[,ITEM...], got '%.100s'", text);
  return add_line_of_file("RAWHAL_PROBE_ENGINE", text, text, error);
}

/* The front says what is wrong with it, before the program starts. */
static bool add_probe(const char *text, rawhal_error_t *error)
{
  static const char item[] = ",verified=";
  const char *verified = strstr(text, item);
  if (strchr(text, '\n'))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "--probe: '%.100s' has several lines", text);
  if (verified && verified[sizeof(item) - 1])
    return add_line_of_file("RAWHAL_PROBE", text, verified + sizeof(item) - 1, error);
  return add_line("RAWHAL_PROBE", text, error);
}

static bool set_option(unsigned option, const char *value, rawhal_error_t *error)
{
  switch (option) {
  case CHECK:
    return set_check(value ? value : "warn", error);
  case FAULTS:
    return set_faults(value, error);
  case WATCHDOG: /* the front says what is wrong with it, before the program starts */
    return set_variable("RAWHAL_WATCHDOG", value, error);
  case DOOR: /* likewise */
    return set_variable("RAWHAL_DOOR", value, error);
  case TRACE:
    return set_output("RAWHAL_TRACE", value, error);
  case RECORD:
    return set_output("RAWHAL_RECORD", value, error);
  case TENANT:
    return set_account("RAWHAL_TENANT", value, error);
  case REGION:
    return set_region(value, error);
  case BYTES:
    return set_bytes("RAWHAL_RECORD_BYTES", value, error);
  case SUBSTITUTE:
    return add_substitute(value, error);
  case POLICY:
    return set_policy(value, error);
  case PROBE:
    return add_probe(value, error);
  case PROBE_FILE:
    return set_output("RAWHAL_PROBE_FILE", value, error);
  case PROBE_BYTES:
    return set_bytes("RAWHAL_PROBE_BYTES", value, error);
  case ENGINE:
    return add_engine(value, error);
  case FOLDER:
    return set_file("RAWHAL_PROBE_FOLDER", value, error);
  case CALLBACK:
    return set_file("RAWHAL_PROBE_CALLBACK", value, error);
  case CACHE:
    return set_file("RAWHAL_SUBSTITUTE_CACHE", value, error);
  default:
    return set_limit((rawhal_limit_t)option, value, error);
  }
}

static bool read_variable(const char *command, const tool_option_t *option, const char *text,
                          void *filled)
{
  exec_request_t *request = filled;
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  request->bytes |= option->value == BYTES;
  request->probe_bytes |= option->value == PROBE_BYTES;
  if (set_option(option->value, text, &error))
    return true;
  (void)tool_usage(command, "%s", error.message);
  return false;
}

static bool read_guard(const char *command, const tool_option_t *option, const char *text,
                       void *place)
{
  (void)command, (void)option;
  return check_mode_of(text, place);
}

/* What is said of a recording, where there is none, would be lost without a word. */
static const char *find_orphan(bool bytes, bool buffers)
{
  const char *recording = getenv("RAWHAL_RECORD");
  if (recording && *recording)
    return NULL;
  return bytes ? "--record-bytes" : buffers ? "--record-buffers" : NULL;
}

static bool is_set(const char *variable)
{
  const char *value = getenv(variable);
  return value && *value;
}

/* As execvp(3) will find it; NULL: it will not. */
static const char *file_of(const char *program, char path[PATH_MAX])
{
  char found[PATH_MAX];
  if (!strchr(program, '/') && !program_in_path(program, found))
    return NULL;
  return realpath(strchr(program, '/') ? program : found, path);
}

/* Again, by softgpu-run, where programs are to run on softgpu. */
static bool on_softgpu(int argc, char **argv, rawhal_error_t *error)
{
  char runner[PATH_MAX], self[] = "/proc/self/exe", path[PATH_MAX], dashes[] = "--";
  if (!front_find_runner(runner, error))
    return false;
  if (!*runner)
    return true;
  char **words = calloc((size_t)argc + 4, sizeof(*words));
  if (!words || !realpath(self, path)) {
    free(words);
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a command");
  }
  words[0] = runner;
  words[1] = dashes;
  words[2] = path;
  memcpy(words + 3, argv, (size_t)argc * sizeof(*words));
  (void)execv(runner, words);
  const int why = errno;
  free(words);
  return tool_refuse(error, RAWHAL_UNSUPPORTED, "'%.300s': %s", runner, strerror(why));
}

/* What would leave the program without a device is said before it runs without one. */
static int check_and_start(const char *command, char **argv, check_mode_t guard)
{
  char path[PATH_MAX], program[PATH_MAX];
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  front_preflight_fn *preflight;
  bool enforces = false;
  if (!front_find(path, &error) || !set_tools(path, &error) ||
      !front_load(path, &preflight, &error)) {
    (void)tool_fail(command, &error);
    return PROGRAM_NOT_STARTED;
  }
  if (preflight(file_of(*argv, program), &enforces, &error) != RAWHAL_OK) {
    (void)tool_fail(command, &error);
    return error.status == RAWHAL_INVALID_ARGUMENT ? TOOL_USAGE : TOOL_FAILED;
  }
  int why = 0;
  if (enforces && guard != CHECK_OFF) {
    const int status = guard_run(argv, guard, PROGRAM_NOT_STARTED, &why, &error);
    if (status >= 0)
      return status;
  } else {
    execvp(*argv, argv);
    why = errno;
  }
  if (why)
    return program_refuse(command, *argv, why);
  (void)tool_fail(command, &error);
  return PROGRAM_NOT_STARTED;
}

static int start(const char *command, int argc, char **argv, const tool_option_t *options)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  exec_request_t request = {.guard = CHECK_REFUSE};
  if (!on_softgpu(argc, argv, &error)) {
    (void)tool_fail(command, &error);
    return error.status == RAWHAL_INVALID_ARGUMENT ? TOOL_USAGE : PROGRAM_NOT_STARTED;
  }
  if (!option_read_all(command, options, true, &argc, &argv, &request))
    return TOOL_USAGE;
  if (!getenv("RAWHAL_FAULTS") && !set_variable("RAWHAL_FAULTS", "text", &error))
    return tool_usage(command, "%s", error.message);
  if (request.buffers && !set_variable("RAWHAL_RECORD_BUFFERS", "1", &error))
    return tool_usage(command, "%s", error.message);
  if (!argc)
    return tool_usage(command, "expected PROGRAM");
  const char *orphan = options == exec_options ? find_orphan(request.bytes, request.buffers) : NULL;
  if (orphan)
    return tool_usage(command, "%s requires --record FILE", orphan);
  if (options == exec_options && is_set("RAWHAL_PROBE") != is_set("RAWHAL_PROBE_FILE"))
    return tool_usage(command, is_set("RAWHAL_PROBE") ? "--probe requires -o FILE"
                                                      : "-o FILE requires --probe");
  if (options == exec_options && is_set("RAWHAL_PROBE_ENGINE") != is_set("RAWHAL_PROBE_FOLDER"))
    return tool_usage(command, is_set("RAWHAL_PROBE_ENGINE")
                                   ? "--probe-engine requires --probe-folder FOLDER"
                                   : "--probe-folder FOLDER requires --probe-engine");
  if (request.probe_bytes && !is_set("RAWHAL_PROBE") && !is_set("RAWHAL_PROBE_ENGINE"))
    return tool_usage(command, "--probe-bytes requires --probe or --probe-engine");
  if (options == record_options && !getenv("RAWHAL_RECORD"))
    return tool_usage(command, "-o FILE is required");
  return check_and_start(command, argv, request.guard);
}

static int run(int argc, char **argv)
{
  return start("exec", argc, argv, exec_options);
}

static int run_record(int argc, char **argv)
{
  return start("record", argc, argv, record_options);
}

const tool_command_t exec_command = {
    .name = "exec",
    .summary = "run a program with GPU limits, checks or traces",
    .help = "usage: rawhal exec [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
            "\n"
            "Runs PROGRAM with limits on its use of the GPU, and checks, traces or records\n"
            "what it dispatches. PROGRAM may use HIP, OpenCL, a library or HSA, and needs no\n"
            "changes. Limits that the environment sets apply as well; 'rawhal limits' lists\n"
            "them. If an option and the environment set the same limit, the stricter applies.\n"
            "\n"
            "options:\n"
            "  --gpu-share SHARE   share of the device's time, such as \"30%\"\n"
            "  --memory BYTES      device memory, such as \"4G\" or \"512M\"\n"
            "  --check[=MODE]      check each dispatch against its kernel. MODE is off; warn\n"
            "                      (default), report each mistake once; report, every time;\n"
            "                      refuse, stop the queue instead of running the kernel\n"
            "  --faults FORM       say why a kernel or a queue failed. FORM is text (default,\n"
            "                      unless RAWHAL_FAULTS is set), json or off\n"
            "  --watchdog TIME[,ACTION]\n"
            "                      say which queue has not got on for TIME, such as \"10s\",\n"
            "                      and what it waits for. ACTION is report (default), dump (a\n"
            "                      core file, too), fail (stop it), device (and the device's\n"
            "                      other queues) or abort\n"
            "  --door WHAT         what others may see and ask while PROGRAM runs. WHAT is\n"
            "                      events, with 'rawhal events' and 'rawhal attach'; answers,\n"
            "                      also contents of memory and a core file; poke, also to\n"
            "                      write to memory; or off\n"
            "  --region FILE       share the limits with the other processes of the tenant\n"
            "                      that name FILE; default: each process of PROGRAM has its\n"
            "                      own limits\n"
            "  --tenant NAME       the tenant of the region whose limits these are\n"
            "  --guard MODE        what to do with a process that uses a device without these\n"
            "                      limits and checks, because its runtime has not loaded the\n"
            "                      library. MODE is refuse (default), kill it; report, report\n"
            "                      it; warn, report the first; off, do not look\n"
            "  --trace FILE        write when dispatches ran and what delayed them to FILE,\n"
            "                      which must not exist, as JSON for Perfetto\n"
            "  --record FILE       record dispatches for 'rawhal replay' in FILE, which must\n"
            "                      not exist\n"
            "  --record-bytes BYTES  largest size of the recording; default: 1G\n"
            "  --record-buffers    record the contents of buffers as well; see 'rawhal record\n"
            "                      --help'\n"
            "  --substitute NAME=FILE[:KERNEL][,EXTRA...]\n"
            "                      run KERNEL of FILE (default: the one named NAME) in place\n"
            "                      of kernel NAME, which may be a pattern. EXTRA is another\n"
            "                      argument: buffer=BYTES[:FILE], dispatch or value=N. May be\n"
            "                      repeated; the first that matches a kernel applies\n"
            "  --substitute-cache FOLDER  keep the outcomes of substitutions and probes in\n"
            "                      FOLDER\n"
            "  --probe KIND[+KIND...][,ITEM...]\n"
            "                      look into kernels, and write what they do to -o FILE, for\n"
            "                      'rawhal probe show'. KIND is waves, blocks, edges, exec,\n"
            "                      memory, values or barriers. ITEM is kernel=NAME, which may\n"
            "                      be a pattern; object=HASH; client=NAME, of programs or a\n"
            "                      tenant; queue=N; grid>=N or grid<=N, of work-items;\n"
            "                      sample=1/N, skip=N, first=N, of each kernel's dispatches;\n"
            "                      after=TIME, until=TIME; buffer=BYTES, for the records of a\n"
            "                      dispatch (default: 64M); by=code (default), a copy of the\n"
            "                      kernel with probes in it, or by=softgpu; wait, for that\n"
            "                      copy; value=REGISTER@OFFSET; verified=PATH, only copies\n"
            "                      of which 'rawhal probe verify' has left a certificate in\n"
            "                      that file or folder. May be repeated; the first that\n"
            "                      matches a kernel applies. Copies have not met hardware yet\n"
            "  -o, --output FILE   the file of --probe, which must not exist\n"
            "  --probe-engine PROGRAM[,ITEM...]\n"
            "                      have PROGRAM put probes into kernels, and write what its\n"
            "                      maps have in them to a trace in --probe-folder; see\n"
            "                      docs/probe-engine.md. ITEM as of --probe, but for by=,\n"
            "                      value= and verified=, as nothing verifies what PROGRAM\n"
            "                      makes; and limit=TIME, what it may take for a kernel\n"
            "                      (default: 10s). May be repeated. Not tried on hardware\n"
            "  --probe-folder FOLDER  the folder of --probe-engine, which is made\n"
            "  --probe-callback PROGRAM  start PROGRAM with the finished trace\n"
            "  --probe-bytes BYTES  largest size of the file of --probe, and of the trace;\n"
            "                      default: 1G\n"
            "  --policy FILE       rules by program, kernel and code object, as JSON; see\n"
            "                      docs/policy.md\n"
            "  --help              show this text\n"
            "\n"
            "environment:\n"
            "  RAWHAL_FRONT_LIBRARY  path of librawhal-front.so, if it is not in the folder\n"
            "                        of librawhal\n"
            "  RAWHAL_DEVICE         softgpu or hsa (hardware). softgpu-run starts PROGRAM if\n"
            "                        it is softgpu, or if it is unset and there is no\n"
            "                        /dev/kfd\n"
            "  RAWHAL_FRONT_REPORT   where messages go: a file or the number of a descriptor;\n"
            "                        unset: standard error; empty: nowhere\n"
            "\n"
            "Sets HSA_TOOLS_LIB and HSA_TOOLS_ROCPROFILER_V1_TOOLS for PROGRAM. If\n"
            "ROCP_TOOL_LIBRARIES names tools of rocprofiler-sdk, adds\n"
            "librawhal-front-register.so to it.\n"
            "\n"
            "exit status: that of PROGRAM, or\n"
            "  2    the command line, a variable or a policy is wrong; PROGRAM was not\n"
            "       started\n"
            "  3    what an option or a variable asks for is not possible, such as creating a\n"
            "       file; PROGRAM was not started\n"
            "  126  the library or PROGRAM cannot be run, or a process was killed (--guard)\n"
            "  127  PROGRAM does not exist\n",
    .run = run,
    .options = exec_options,
    .runs_program = true,
};

const tool_command_t record_command = {
    .name = "record",
    .summary = "record the dispatches of a program, for replay",
    .help = "usage: rawhal record -o FILE [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
            "\n"
            "Runs PROGRAM and records its dispatches in FILE: kernels, code objects, grids\n"
            "and kernargs. 'rawhal replay' lists them and launches one of them again.\n"
            "\n"
            "options:\n"
            "  -o, --output FILE   the recording, which must not exist. If several processes\n"
            "                      use the GPU, the others add a number to the name\n"
            "  --bytes BYTES       largest size of FILE, such as \"64M\" or \"8G\"; default: 1G\n"
            "  --buffers           record what the pointers in kernargs point to, before and\n"
            "                      after each dispatch. Each queue then runs one dispatch at\n"
            "                      a time, and replay can compare the results\n"
            "  --gpu-share, --memory, --region, --tenant, --guard, --check, --faults,\n"
            "  --watchdog, --door, --trace  as for 'rawhal exec'\n"
            "  --help              show this text\n"
            "\n"
            "FILE is written while PROGRAM runs. It can be read even if PROGRAM was killed,\n"
            "and says so if it is incomplete. The environment and the exit status are those\n"
            "of 'rawhal exec'.\n",
    .run = run_record,
    .options = record_options,
    .runs_program = true,
};
