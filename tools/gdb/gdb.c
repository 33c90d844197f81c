/* rawhal gdb: a gdb that knows ROCdbgapi, on programs that run on softgpu. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawhal/hal.h>

#include "tools/shared/front.h"
#include "tools/shared/program.h"
#include "tools/shared/tool.h"

static const char shim_name[] = "libsoftgpu-debug.so";
static const char library_name[] = "librocm-dbgapi.so"; /* what it is linked with */

enum { MOST_WORDS = 64, NEWEST_ABI = 12, OLDEST_ABI = 8 };

typedef struct gdb_request {
  const char *gdb;
  uint32_t pid, abi;
  bool is_batch;
  const char *words[MOST_WORDS]; /* for gdb, in their order */
  size_t count;
} gdb_request_t;

/* ---- Finding it ---- */

static bool knows_gpus(const char *path)
{
  bool is_elf;
  return program_names(path, library_name, &is_elf);
}

static bool find_in_rocm(char path[PATH_MAX])
{
  glob_t found = {0};
  bool ok = false;
  if (glob("/opt/rocm*/bin/rocgdb", 0, NULL, &found) == 0)
    for (size_t i = found.gl_pathc; i-- > 0 && !ok;) { /* the last is the newest */
      snprintf(path, PATH_MAX, "%s", found.gl_pathv[i]);
      ok = program_is(path) && knows_gpus(path);
    }
  globfree(&found);
  return ok;
}

/* What is named is believed: it may be a script. */
static bool find_gdb(const char *named, char path[PATH_MAX], rawhal_error_t *error)
{
  static const char *const names[] = {"rocgdb", "gdb"};
  const char *set = getenv("RAWHAL_GDB");
  if (!named && set && *set)
    named = set;
  if (named) {
    snprintf(path, PATH_MAX, "%s", named);
    return (strchr(named, '/') ? program_is(named) : program_in_path(named, path)) ||
           tool_refuse(error, RAWHAL_NOT_FOUND, "%s: program '%.400s' not found",
                       named == set ? "RAWHAL_GDB" : "--gdb", named);
  }
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
    if (program_in_path(names[i], path) && knows_gpus(path))
      return true;
  return find_in_rocm(path) ||
         tool_refuse(error, RAWHAL_NOT_FOUND,
                     "there is no gdb that knows GPUs: install rocgdb (of ROCm), or build gdb 18 "
                     "or later with --with-amd-dbgapi (docs/debugging.md says how); --gdb FILE "
                     "or RAWHAL_GDB names one that is elsewhere");
}

static bool find_shim(char path[PATH_MAX], rawhal_error_t *error)
{
  char library[PATH_MAX];
  if (rawhal_softgpu_library_path(NULL, library, sizeof(library), error) != RAWHAL_OK)
    return false;
  char *slash = strrchr(library, '/');
  const int length = slash ? (int)(slash - library) : 0;
  const int used = snprintf(path, PATH_MAX, "%.*s/%s", length, library, shim_name);
  return (used > 0 && used < PATH_MAX && access(path, R_OK) == 0) ||
         tool_refuse(error, RAWHAL_NOT_FOUND, "there is no %s beside '%.300s'", shim_name, library);
}

/* ---- The environment ---- */

/* The program that is debugged gets its own LD_PRELOAD back. */
static bool set_environment(const char *shim, uint32_t abi, rawhal_error_t *error)
{
  const char *preload = getenv("LD_PRELOAD");
  char debug[16];
  snprintf(debug, sizeof(debug), "%u", abi ? abi : 1);
  return (setenv("SOFTGPU_DEBUG_PRELOAD", preload ? preload : "", 1) == 0 &&
          setenv("LD_PRELOAD", shim, 1) == 0 && setenv("SOFTGPU_DEBUG", debug, 1) == 0) ||
         tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for the environment");
}

/* What softgpu shows to debuggers (softgpu_wire_door_t of softgpu/debug/wire.h), of the descriptor
 * that is named. */
static bool read_door(int folder, const char *name, uint32_t *pid)
{
  static const char wanted[] = "/memfd:softgpu-debug";
  enum { PID_AT = 12 };
  char link[64];
  const ssize_t length = readlinkat(folder, name, link, sizeof(link));
  if (length < (ssize_t)sizeof(wanted) - 1 || memcmp(link, wanted, sizeof(wanted) - 1) != 0)
    return false;
  const int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && pread(file, pid, sizeof(*pid), PID_AT) == sizeof(*pid);
  if (file >= 0)
    (void)close(file);
  return done;
}

/* Whether the process waits for debuggers. Children have the descriptor, too, and so has the
 * process in which the device's threads are. */
static bool can_be_debugged(uint32_t pid, rawhal_error_t *error)
{
  char path[32];
  uint32_t whose = 0;
  snprintf(path, sizeof(path), "/proc/%u/fd", pid);
  DIR *folder = opendir(path);
  if (!folder)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "process %u: %s", pid, strerror(errno));
  bool found = false;
  for (struct dirent *entry; whose != pid && (entry = readdir(folder));) /* it may have both */
    found |= read_door(dirfd(folder), entry->d_name, &whose);
  (void)closedir(folder);
  if (found && whose != pid)
    return tool_refuse(error, RAWHAL_UNSUPPORTED,
                       "process %u belongs to process %u, which is the one to attach to", pid,
                       whose);
  return found || tool_refuse(error, RAWHAL_UNSUPPORTED,
                              "process %u has no softgpu that can be debugged: start the program "
                              "with SOFTGPU_DEBUG=1 in its environment",
                              pid);
}

/* ---- Starting it ---- */

/* Again, by softgpu-run. False: it could not be, or the program is for hardware. */
static bool on_softgpu(int argc, char **argv, rawhal_error_t *error)
{
  char runner[PATH_MAX], self[PATH_MAX], dashes[] = "--", verb[] = "gdb";
  rawhal_backend_t backend = RAWHAL_BACKEND_SOFTGPU;
  if (!front_find_runner(runner, error))
    return false;
  if (!*runner && rawhal_backend_default(&backend, error) != RAWHAL_OK)
    return false;
  if (!*runner)
    return front_runs_on_softgpu() || backend == RAWHAL_BACKEND_SOFTGPU ||
           tool_refuse(error, RAWHAL_UNSUPPORTED,
                       "this is for programs on softgpu (RAWHAL_DEVICE=softgpu); on a GPU call "
                       "rocgdb itself");
  char **words = calloc((size_t)argc + 5, sizeof(*words));
  if (!words || !realpath("/proc/self/exe", self)) {
    free(words);
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a command");
  }
  words[0] = runner;
  words[1] = dashes;
  words[2] = self;
  words[3] = verb;
  memcpy(words + 4, argv + 1, (size_t)(argc - 1) * sizeof(*words));
  (void)execv(runner, words);
  const int why = errno;
  free(words);
  return tool_refuse(error, RAWHAL_UNSUPPORTED, "'%.300s': %s", runner, strerror(why));
}

static int start_gdb(const gdb_request_t *request, int argc, char **argv)
{
  char path[PATH_MAX], shim[PATH_MAX], pid[16];
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  const char **words = calloc(request->count + (size_t)argc + 6, sizeof(*words));
  size_t count = 0;
  if (!words)
    (void)tool_refuse(&error, RAWHAL_OUT_OF_MEMORY, "no memory for a command");
  if (!words || !find_gdb(request->gdb, path, &error) ||
      (request->pid && !can_be_debugged(request->pid, &error)) || !find_shim(shim, &error) ||
      !set_environment(shim, request->abi, &error)) {
    free(words);
    return tool_fail("gdb", &error);
  }
  words[count++] = path;
  if (request->is_batch)
    words[count++] = "-batch";
  for (size_t i = 0; i < request->count; ++i)
    words[count++] = request->words[i];
  if (request->pid) {
    snprintf(pid, sizeof(pid), "%u", request->pid);
    words[count++] = "-p";
    words[count++] = pid;
  } else {
    words[count++] = "--args";
    for (int i = 0; i < argc; ++i)
      words[count++] = argv[i];
  }
  (void)execv(path, (char **)(uintptr_t)words);
  const int status = program_refuse("gdb", path, errno);
  free(words);
  return status;
}

/* ---- Options ---- */

static bool add_word(const char *command, const tool_option_t *option, const char *text,
                     void *place)
{
  gdb_request_t *request = place;
  if (request->count + 2 > MOST_WORDS) {
    (void)tool_usage(command, "too many of --%s", option->name);
    return false;
  }
  request->words[request->count++] = option->value == 'x' ? "-x" : "-ex";
  request->words[request->count++] = text;
  return true;
}

static const tool_option_t options[] = {
    {TOOL_OPTION("gdb", TEXT, gdb_request_t, gdb)},
    {TOOL_OPTION("pid", NUMBER, gdb_request_t, pid), .letter = 'p', .least = 1, .most = INT_MAX,
     .wrong = "'%s' is not a process"},
    {TOOL_OPTION("abi", NUMBER, gdb_request_t, abi), .least = OLDEST_ABI, .most = NEWEST_ABI,
     .wrong = "an abi is from 8 to 12, not '%s'"},
    {TOOL_OPTION("batch", FLAG, gdb_request_t, is_batch)},
    {.name = "command", .kind = OPTION_READ, .value = 'x', .letter = 'x', .read = add_word},
    {.name = "ex", .kind = OPTION_READ, .value = 'e', .read = add_word},
    {0},
};

static int run(int argc, char **argv)
{
  gdb_request_t request = {0};
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  const int all_count = argc;
  char **all = argv;
  if (!option_read_all("gdb", options, true, &argc, &argv, &request))
    return TOOL_USAGE;
  if (!argc == !request.pid)
    return tool_usage("gdb", argc ? "-p is for a process that runs already; no PROGRAM beside it"
                                  : "expected PROGRAM, or -p PID");
  if (argc && !on_softgpu(all_count, all, &error))
    return tool_fail("gdb", &error);
  return start_gdb(&request, argc, argv);
}

const tool_command_t gdb_command = {
    .name = "gdb",
    .summary = "debug kernels of a program on softgpu",
    .help = "usage: rawhal gdb [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
            "       rawhal gdb [OPTIONS] -p PID\n"
            "\n"
            "Starts a gdb that knows AMD GPUs on a program that runs on softgpu: waves are\n"
            "threads, with breakpoints by line or kernel, single steps, registers, LDS and\n"
            "watchpoints. Finds rocgdb, or a gdb that is built with ROCdbgapi. A process\n"
            "that runs already must have SOFTGPU_DEBUG=1 in its environment.\n"
            "docs/debugging.md shows a session.\n"
            "\n"
            "options:\n"
            "  -p, --pid PID       attach to the process\n"
            "      --gdb FILE      the debugger, instead of RAWHAL_GDB or one that is found\n"
            "      --abi N         8 to 12: the version of the runtime's interface that it is\n"
            "                      told; 10 suits ROCm 6.2 to 7.2, 12 ROCm of 2026\n"
            "      --batch         end when all commands are done\n"
            "  -x, --command FILE  gdb's commands in FILE, first\n"
            "      --ex COMMAND    one of gdb's commands\n"
            "  -h, --help          print this help\n"
            "\n"
            "exit status: gdb's, or\n"
            "  2   the command line is wrong\n"
            "  3   there is no such gdb, no softgpu, or no process that can be debugged\n",
    .run = run,
    .options = options,
    .runs_program = true,
};
