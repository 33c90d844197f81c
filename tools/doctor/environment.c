/* rawhal doctor: variables that change what the runtime and rawhal do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"

extern char **environ;

enum { VALUE_SHOWN = 200 };

/* ---- What is known ---- */

typedef enum value_kind {
  VALUE_ANY = 0,
  VALUE_FILE = 1,      /* of one that has to be there */
  VALUE_LIBRARY = 2,   /* the same, if it has a folder; others the system looks for */
  VALUE_LIBRARIES = 3, /* of several, with blanks between */
  VALUE_TESTS = 4,     /* of rawhal's own tests: nothing else reads it */
} value_kind_t;

static const struct variable {
  const char *name;
  value_kind_t kind;
  const char *meaning; /* half a sentence */
} known[] = {
    {"AMD_LOG_LEVEL", VALUE_ANY, "HIP writes what it does to standard error"},
    {"CUDA_VISIBLE_DEVICES", VALUE_ANY, "HIP shows only these devices"},
    {"GPU_DEVICE_ORDINAL", VALUE_ANY, "HIP and OpenCL show only these devices"},
    {"HIP_VISIBLE_DEVICES", VALUE_ANY, "HIP shows only these devices"},
    {"HSA_CU_MASK", VALUE_ANY, "kernels run on these compute units only"},
    {"HSA_ENABLE_DTIF", VALUE_ANY, "1: newer runtimes use libdtif.so instead of the driver"},
    {"HSA_ENABLE_INTERRUPT", VALUE_ANY, "0: waiting threads poll, and keep a CPU busy"},
    {"HSA_ENABLE_SDMA", VALUE_ANY, "0: kernels do the copies"},
    {"HSA_OVERRIDE_GFX_VERSION", VALUE_ANY,
     "the runtime treats the device as this chip, and loads code objects for it"},
    {"HSA_TOOLS_LIB", VALUE_LIBRARIES, "the runtime loads these tools into each program"},
    {"HSA_TOOLS_ROCPROFILER_V1_TOOLS", VALUE_ANY,
     "1: newer runtimes load HSA_TOOLS_LIB in addition to rocprofiler-sdk"},
    {"HSA_XNACK", VALUE_ANY, "whether page faults of kernels are retried"},
    {"LD_PRELOAD", VALUE_ANY, "every program loads these libraries before all others"},
    {"RAWHAL_CACHE", VALUE_ANY, "the folder for indexes of kernel libraries"},
    {"RAWHAL_CHECK", VALUE_ANY, "the front checks dispatches"},
    {"RAWHAL_CORE", VALUE_ANY, "the core file that is written when a queue fails"},
    {"RAWHAL_CORE_BYTES", VALUE_ANY, "the largest size of a core file"},
    {"RAWHAL_CORE_CONTENTS", VALUE_ANY, "whether core files hold the program's data"},
    {"RAWHAL_CORE_PER_HOUR", VALUE_ANY, "how many core files a program may write in an hour"},
    {"RAWHAL_CORE_THREADS", VALUE_ANY, "whether core files have the registers of all threads"},
    {"RAWHAL_CU_MASK", VALUE_ANY, "kernels run on these compute units only"},
    {"RAWHAL_DEVICE", VALUE_ANY, "the kind of device, unless a program chooses one"},
    {"RAWHAL_DOOR", VALUE_ANY, "what other processes may see of this one, and ask it"},
    {"RAWHAL_FAULTS", VALUE_ANY, "the front says why queues fail"},
    {"RAWHAL_FRONT_LIBRARY", VALUE_FILE, "the front of rawhal exec and record"},
    {"RAWHAL_FRONT_REPORT", VALUE_ANY, "where the front writes its messages"},
    {"RAWHAL_GDB", VALUE_ANY, "the gdb of rawhal gdb"},
    {"RAWHAL_HIPLAUNCH_POINTERS", VALUE_ANY, "what librawhal-hiplaunch treats as a pointer"},
    {"RAWHAL_LIMITS_FILE", VALUE_FILE, "the operator's limits"},
    {"RAWHAL_LIMITS_PINNED", VALUE_ANY, "limits that no program may change"},
    {"RAWHAL_LIMIT_REGION", VALUE_ANY, "the file through which processes share limits"},
    {"RAWHAL_LOG", VALUE_ANY,
     "the library writes messages of this severity and above to standard error"},
    {"RAWHAL_OBJDUMP", VALUE_ANY, "the llvm-objdump of rawhal inspect --disassemble"},
    {"RAWHAL_POLICY", VALUE_FILE, "the front's rules by program and kernel"},
    {"RAWHAL_PROBE", VALUE_ANY, "the front puts probes into kernels"},
    {"RAWHAL_PROBE_BYTES", VALUE_ANY, "the largest size of the file of probes"},
    {"RAWHAL_PROBE_CALLBACK", VALUE_ANY, "the program that gets the trace of engines' maps"},
    {"RAWHAL_PROBE_ENGINE", VALUE_ANY, "the front has programs put probes into kernels"},
    {"RAWHAL_PROBE_FILE", VALUE_ANY, "the file of what probes record"},
    {"RAWHAL_PROBE_FOLDER", VALUE_ANY, "the folder of these programs' work and trace"},
    {"RAWHAL_RECORD", VALUE_ANY, "the file in which the front records dispatches"},
    {"RAWHAL_RECORD_BUFFERS", VALUE_ANY, "recordings include the contents of buffers"},
    {"RAWHAL_RECORD_BYTES", VALUE_ANY, "the largest size of a recording"},
    {"RAWHAL_RUNTIME_LIBRARY", VALUE_LIBRARY, "the HSA runtime"},
    {"RAWHAL_SOFTGPU_LIBRARY", VALUE_LIBRARY, "softgpu's library"},
    {"RAWHAL_SUBSTITUTE", VALUE_ANY, "the front replaces these kernels"},
    {"RAWHAL_SUBSTITUTE_CACHE", VALUE_ANY,
     "the folder that keeps the outcomes of substitutions and probes"},
    {"RAWHAL_TENANT", VALUE_ANY, "the tenant whose limits apply"},
    {"RAWHAL_TRACE", VALUE_ANY, "the file to which the front writes a trace"},
    {"RAWHAL_WATCHDOG", VALUE_ANY, "what does not end in this time is reported"},
    {"ROCP_TOOL_LIBRARIES", VALUE_ANY, "tools of rocprofiler-sdk"},
    {"ROCR_VISIBLE_DEVICES", VALUE_ANY, "the runtime shows only these devices"},
    {"RAWHAL_AITER_DIR", VALUE_TESTS, NULL},
    {"RAWHAL_CORPUS", VALUE_TESTS, NULL},
    {"RAWHAL_GFX950_ASSEMBLER", VALUE_TESTS, NULL},
    {"RAWHAL_GOLDEN", VALUE_TESTS, NULL},
    {"RAWHAL_TENSILE_DIR", VALUE_TESTS, NULL},
    {"RAWHAL_TRITON_PYTHON", VALUE_TESTS, NULL},
};

/* Whole families, where nothing more is known of one. */
static const struct family {
  const char *prefix, *meaning;
} families[] = {
    {"HSA_", "read by the HSA runtime"},
    {"RAWHAL_PY_", "read by rawhal's Python package"},
    {"SOFTGPU_", "an option of softgpu"},
};

static bool starts_with(const char *text, const char *prefix)
{
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const struct variable *find_known(const char *name)
{
  for (size_t i = 0; i < sizeof(known) / sizeof(*known); ++i)
    if (strcmp(known[i].name, name) == 0)
      return &known[i];
  return NULL;
}

/* The limit of that variable, or of one of its devices: RAWHAL_GPU_SHARE_0. */
static const rawhal_limit_info_t *find_limit(const char *name)
{
  const rawhal_limit_info_t *info;
  for (int i = 0; (info = rawhal_limit_info((rawhal_limit_t)i)); ++i) {
    const size_t size = strlen(info->variable);
    if (strncmp(name, info->variable, size) == 0 &&
        (!name[size] || (name[size] == '_' && name[size + 1] &&
                         !name[size + 1 + strspn(name + size + 1, "0123456789")])))
      return info;
  }
  return NULL;
}

/* ---- Rows ---- */

static bool can_be_read(const char *path)
{
  struct stat facts;
  return access(path, R_OK) == 0 && stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode);
}

/* Every file that it names. */
static bool say_missing(const doctor_t *doctor, const struct variable *variable, const char *value)
{
  const char *between = variable->kind == VALUE_LIBRARIES ? " " : "";
  bool any = false;
  for (const char *at = value; *at;) {
    const size_t size = strcspn(at, between);
    char path[sizeof((doctor_row_t){0}.found) / 2], fix[128];
    snprintf(path, sizeof(path), "%.*s", (int)(size < sizeof(path) ? size : sizeof(path)), at);
    at += size + (at[size] != 0);
    if ((variable->kind != VALUE_FILE && !strchr(path, '/')) || size >= sizeof(path) ||
        can_be_read(path))
      continue;
    snprintf(fix, sizeof(fix), "unset %s, or set it to a file that can be read", variable->name);
    doctor_say(doctor, DOCTOR_PROBLEM, fix, "%s: cannot read %s (%s)", variable->name, path,
               variable->meaning);
    any = true;
  }
  return any;
}

static bool say_variable(const doctor_t *doctor, const char *name, const char *value)
{
  const struct variable *variable = find_known(name);
  const rawhal_limit_info_t *limit = variable ? NULL : find_limit(name);
  if (variable && variable->kind == VALUE_TESTS)
    return false;
  if (variable && variable->kind != VALUE_ANY && say_missing(doctor, variable, value))
    return true;
  if (variable || limit) {
    doctor_say(doctor, DOCTOR_NOTE, NULL, "%s=%.*s: %s%s", name, VALUE_SHOWN, value,
               limit ? "a limit: " : "", variable ? variable->meaning : limit->meaning);
    return true;
  }
  for (size_t i = 0; i < sizeof(families) / sizeof(*families); ++i)
    if (starts_with(name, families[i].prefix)) {
      doctor_say(doctor, DOCTOR_NOTE, NULL, "%.90s=%.*s: %s", name, VALUE_SHOWN, value,
                 families[i].meaning);
      return true;
    }
  return false;
}

/* A limit that is not understood, and any misspelt variable of rawhal, stops every program; the
 * message begins with its name. */
static bool say_limits(const doctor_t *doctor)
{
  /* Percentages of memory are of some memory here; the devices have their own. */
  const rawhal_limit_device_t device = {.size = sizeof(device), .memory_bytes = 1ull << 36};
  rawhal_limit_config_t *config;
  rawhal_error_t error;
  bool bad = rawhal_limit_config_create(&config, &error) != RAWHAL_OK ||
             rawhal_limit_config_environment(config, &device, &error) != RAWHAL_OK;
  if (bad)
    doctor_say(
        doctor, DOCTOR_PROBLEM,
        "correct or unset it: programs get no device until then; 'rawhal limits' lists the limits",
        "%.900s", error.message);
  rawhal_limit_config_destroy(config);
  return bad;
}

void doctor_environment(const doctor_t *doctor)
{
  bool any = say_limits(doctor);
  for (char **at = environ; at && *at; ++at) {
    const char *equals = strchr(*at, '=');
    char name[128];
    if (!equals || (size_t)(equals - *at) >= sizeof(name))
      continue;
    memcpy(name, *at, (size_t)(equals - *at));
    name[equals - *at] = 0;
    any |= say_variable(doctor, name, equals + 1);
  }
  if (!any)
    doctor_say(doctor, DOCTOR_OK, NULL, "no variable that affects programs is set");
}
