/* rawhal doctor: the libraries and programs that the command uses. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawhal/version.h>

#include "tools/doctor/doctor.h"
#include "tools/shared/front.h"
#include "tools/shared/program.h"
#include "tools/shared/tool.h"

extern char **environ;

/* ---- What is linked ---- */

/* Looked up by name: how this program is linked decides where each of them is. */
static const struct library {
  const char *name, *symbol;
  const char *version; /* a function without arguments that says it, or NULL */
  const char *opened;  /* by this name, when it is needed; NULL: it is linked */
} linked[] = {
    {"libelf", "elf_version", NULL, NULL},
    {"libzstd", "ZSTD_decompress", "ZSTD_versionString", NULL},
    {"zlib", "inflate", "zlibVersion", NULL},
    {"jansson", "json_loadb", "jansson_version_str", "libjansson.so.4"},
};

static const char *version_of(const char *function)
{
  const char *(*ask)(void) = NULL;
  void *found = function ? dlsym(RTLD_DEFAULT, function) : NULL;
  memcpy(&ask, &found, sizeof(ask));
  return ask ? ask() : NULL;
}

/* The file that its links lead to: its name has the version where there is no function. */
static const char *file_of(const void *symbol, char path[PATH_MAX])
{
  Dl_info info;
  if (!symbol || !dladdr(symbol, &info) || !info.dli_fname || !realpath(info.dli_fname, path))
    return NULL;
  return path;
}

static void say_linked(const doctor_t *doctor, const struct library *library)
{
  char path[PATH_MAX], self[PATH_MAX] = "";
  if (library->opened && !dlopen(library->opened, RTLD_NOW | RTLD_GLOBAL)) {
    const char *why = dlerror();
    doctor_say(doctor, DOCTOR_NOTE, "sudo apt install libjansson4",
               "no JSON can be read, as policies and Triton's caches are: %.700s", why ? why : "?");
    return;
  }
  const char *file = file_of(dlsym(RTLD_DEFAULT, library->symbol), path);
  const char *version = version_of(library->version);
  const bool inside = !file || (realpath("/proc/self/exe", self) && strcmp(self, file) == 0);
  doctor_say(doctor, DOCTOR_OK, NULL, "%s%s%s, %.700s", library->name, version ? " " : "",
             version ? version : "", inside ? "part of this program or of librawhal" : file);
}

void doctor_libraries(const doctor_t *doctor)
{
  char path[PATH_MAX], built[32];
  const char *file = file_of(dlsym(RTLD_DEFAULT, "rawhal_version_text"), path);
  const char *there = rawhal_version_text();
  snprintf(built, sizeof(built), "%d.%d.%d", RAWHAL_VERSION_MAJOR, RAWHAL_VERSION_MINOR,
           RAWHAL_VERSION_PATCH);
  if (strcmp(there, built) != 0)
    doctor_say(doctor, DOCTOR_PROBLEM,
               "install the same version of the command and the library, or check LD_LIBRARY_PATH",
               "the command is version %s, but its librawhal is %.40s, %.700s", built, there,
               file ? file : "?");
  else
    doctor_say(doctor, DOCTOR_OK, NULL, "librawhal %s, %.700s", there,
               file ? file : "part of this program");
  for (size_t i = 0; i < sizeof(linked) / sizeof(*linked); ++i)
    say_linked(doctor, &linked[i]);
}

/* ---- The runtime ---- */

void doctor_runtime(const doctor_t *doctor)
{
  char path[PATH_MAX], name[PATH_MAX];
  rawhal_error_t error;
  if (rawhal_runtime_library(doctor->expected, NULL, name, sizeof(name), &error)) {
    doctor_say(doctor, DOCTOR_PROBLEM, "unset RAWHAL_RUNTIME_LIBRARY", "%.700s", error.message);
    return;
  }
  if (doctor->expected == RAWHAL_BACKEND_SOFTGPU &&
      rawhal_softgpu_library_path(NULL, path, sizeof(path), NULL) == RAWHAL_OK)
    (void)dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* as the library does it: below the runtime */
  void *runtime = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!runtime) {
    const char *why = dlerror();
    doctor_say(doctor, DOCTOR_PROBLEM,
               "sudo apt install libhsa-runtime64-1 (in ROCm's packages: hsa-rocr), or set "
               "RAWHAL_RUNTIME_LIBRARY to its path",
               "the HSA runtime cannot be loaded: %.700s", why ? why : "?");
    return;
  }
  const void *init = dlsym(runtime, "hsa_init");
  const char *file = file_of(init, path);
  if (!init)
    doctor_say(doctor, DOCTOR_PROBLEM,
               "unset RAWHAL_RUNTIME_LIBRARY, or set it to the path of a runtime",
               "%.700s is not an HSA runtime: it has no hsa_init", name);
  else
    doctor_say(doctor, DOCTOR_OK, NULL, "%.700s", file ? file : name);
}

/* ---- softgpu ---- */

/* Beside this program as installed, beside its library as built, or anywhere in PATH. */
static bool find_wrapper(const char *library, char path[PATH_MAX])
{
  char self[PATH_MAX] = "";
  const ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
  self[size > 0 ? size : 0] = 0;
  const char *const near[] = {self, library};
  for (size_t i = 0; i < 2; ++i) {
    const char *slash = strrchr(near[i], '/');
    const int used =
        slash ? snprintf(path, PATH_MAX, "%.*s/softgpu-run", (int)(slash - near[i]), near[i]) : -1;
    if (used > 0 && used < PATH_MAX && program_is(path))
      return true;
  }
  return program_in_path("softgpu-run", path);
}

void doctor_softgpu(const doctor_t *doctor)
{
  static const char fix[] = "install all of rawhal: softgpu belongs in rawhal/softgpu/ in the "
                            "folder of librawhal; or set RAWHAL_SOFTGPU_LIBRARY to its path";
  const bool used = doctor->expected == RAWHAL_BACKEND_SOFTGPU;
  const doctor_state_t bad = used ? DOCTOR_PROBLEM : DOCTOR_NOTE;
  char path[PATH_MAX], real[PATH_MAX], wrapper[PATH_MAX];
  rawhal_error_t error;
  if (rawhal_softgpu_library_path(NULL, path, sizeof(path), &error) != RAWHAL_OK) {
    doctor_say(doctor, bad, fix, "%.700s", error.message);
    return;
  }
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    doctor_say(doctor, bad, fix, "it cannot be loaded: %.700s", why ? why : "?");
    return;
  }
  if (!dlsym(library, "hsaKmtOpenKFD")) {
    doctor_say(doctor, bad, fix, "%.700s is not libhsakmt: it has no hsaKmtOpenKFD", path);
    return;
  }
  doctor_say(doctor, DOCTOR_OK, NULL, "%.700s%s", path, used ? ", which runs kernels" : "");
  if (find_wrapper(realpath(path, real) ? real : path, wrapper))
    doctor_say(doctor, DOCTOR_OK, NULL, "HSA and HIP programs run on it with %.700s", wrapper);
  else
    doctor_say(doctor, DOCTOR_NOTE, "install softgpu-run in the folder of rawhal, or in PATH",
               "there is no softgpu-run, which runs HSA and HIP programs on it");
}

/* ---- The front ---- */

void doctor_front(const doctor_t *doctor)
{
  static const char fix[] = "install all of rawhal: librawhal-front.so belongs in the folder of "
                            "librawhal; or set RAWHAL_FRONT_LIBRARY to its path";
  char path[PATH_MAX];
  rawhal_error_t error;
  if (!front_find(path, &error)) {
    doctor_say(doctor, DOCTOR_PROBLEM, fix, "'rawhal exec' and 'rawhal record' do not work: %.700s",
               error.message);
    return;
  }
  void *front = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (front && dlsym(front, "OnLoad")) {
    doctor_say(doctor, DOCTOR_OK, NULL, "%.700s, for 'rawhal exec' and 'rawhal record'", path);
    return;
  }
  const char *why = front ? "it is not a tools library: it has no OnLoad" : dlerror();
  doctor_say(doctor, DOCTOR_PROBLEM, fix,
             "'rawhal exec' and 'rawhal record' do not work: %.200s: %.700s", path,
             why ? why : "?");
}

/* ---- llvm-objdump ---- */

void doctor_disassembler(const doctor_t *doctor)
{
  static const char fix[] =
      "sudo apt install llvm-19, or set RAWHAL_OBJDUMP to the path of llvm-objdump";
  static char said[65536];
  char path[PATH_MAX];
  rawhal_error_t error;
  if (!program_find_objdump(path, &error)) {
    const char *named = getenv("RAWHAL_OBJDUMP");
    doctor_say(doctor, named && *named ? DOCTOR_PROBLEM : DOCTOR_NOTE, fix,
               "'rawhal inspect --disassemble' does not work: %.700s", error.message);
    return;
  }
  const bool runs = doctor_ask(path, "--version", said, sizeof(said));
  if (runs && strstr(said, "amdgcn")) {
    const char *version = strstr(said, "version ");
    const int size = version ? (int)strcspn(version, "\n") : 0;
    doctor_say(doctor, DOCTOR_OK, NULL, "%.700s, LLVM %.*s", path, size < 100 ? size : 100,
               version ? version : "");
  } else {
    doctor_say(doctor, DOCTOR_NOTE, fix, "'rawhal inspect --disassemble' does not work: %.700s %s",
               path, runs ? "knows no AMD GPUs" : "does not run");
  }
}
