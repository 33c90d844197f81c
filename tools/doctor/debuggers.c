/* rawhal doctor: what debuggers see here, and whom they may look at. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/whole.h"
#include "tools/doctor/doctor.h"
#include "tools/shared/program.h"

/* ---- Who may attach to whom ---- */

enum { CAP_PTRACE = 19 }; /* CAP_SYS_PTRACE, <linux/capability.h> */

static bool may_trace_all(void)
{
  char text[4096];
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file >= 0 ? read_whole(file, text, sizeof(text) - 1) : 0;
  if (file >= 0)
    close(file);
  text[got > 0 ? got : 0] = '\0';
  const char *set = strstr(text, "\nCapEff:");
  return set && strtoull(set + strlen("\nCapEff:"), NULL, 16) >> CAP_PTRACE & 1;
}

/* What Yama's ptrace_scope lets whoever has no CAP_SYS_PTRACE do. It is asked for attaching, for
 * memory of another process, and for its descriptors (pidfd_getfd). */
void doctor_look_at_yama(const doctor_t *doctor, const char *path, bool all)
{
  static const char fix[] =
      "sudo sysctl kernel.yama.ptrace_scope=0; or start the program under the debugger, or attach "
      "as root";
  static const char *const scopes[] = {
      "processes of one user may attach to each other", "only a process's parents may attach to it",
      "only root may attach to a process", "nobody may attach to a process until the next boot"};
  enum { LAST = 3 };
  char text[32], *end;
  if (!doctor_read_line(path, text, sizeof(text))) {
    doctor_say(doctor, DOCTOR_OK, NULL, "%s: %s", scopes[0],
               errno == ENOENT ? "there is no Yama in this kernel" : strerror(errno));
    return;
  }
  const unsigned long scope = strtoul(text, &end, 10);
  if (end == text || *end || scope > LAST)
    doctor_say(doctor, DOCTOR_NOTE, NULL, "Yama's ptrace_scope is '%.20s', which is unknown", text);
  else if (scope == 0 || (all && scope < LAST))
    doctor_say(doctor, DOCTOR_OK, NULL, "%s: ptrace_scope is %lu%s", scopes[0], scope,
               scope ? ", and this user has CAP_SYS_PTRACE" : "");
  else
    doctor_say(doctor, DOCTOR_NOTE, scope < LAST ? fix : "reboot, with another ptrace_scope",
               "%s: ptrace_scope is %lu; debuggers and 'rawhal attach' cannot attach to programs "
               "that run already, and no other process reads the registers of their threads",
               scopes[scope], scope);
}

static void say_container(const doctor_t *doctor)
{
  static const char fix[] =
      "in a container: start it with --cap-add=SYS_PTRACE, or another seccomp profile";
  char map[128];
  unsigned long inside = 0, outside = 0, count = 0;
  const int problem = doctor_try_to_attach();
  if (problem)
    doctor_say(doctor, DOCTOR_NOTE, fix, "a process cannot attach to its own child: %s",
               strerror(problem));
  if (doctor_read_line("/proc/self/uid_map", map, sizeof(map)) &&
      sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && count != 4294967295)
    doctor_say(doctor, DOCTOR_NOTE, NULL,
               "this is a user namespace of its own: nobody in it may attach to programs outside, "
               "not as root either");
  if (prctl(PR_GET_DUMPABLE) != 1)
    doctor_say(
        doctor, DOCTOR_NOTE,
        "make the program's file readable, without setuid or file "
        "capabilities",
        "this process is not dumpable (PR_SET_DUMPABLE): only root may attach to it, and the "
        "kernel writes no core file of it");
}

/* ---- gdb ---- */

static const char library_name[] = "librocm-dbgapi.so"; /* that gdb with GPUs is linked with */

/* Whether it shows GPUs; a script that starts it is asked. */
static bool knows_gpus(const char *path)
{
  static char said[16384];
  bool is_program;
  if (program_names(path, library_name, &is_program))
    return true;
  return !is_program && doctor_ask(path, "--configuration", said, sizeof(said)) &&
         strstr(said, "--with-amd-dbgapi");
}

static void say_gdb(const doctor_t *doctor)
{
  static const char fix[] = "install rocgdb (of ROCm), or a gdb that is built with amd-dbgapi";
  static const char *const names[] = {"rocgdb", "gdb"};
  char path[PATH_MAX], other[PATH_MAX] = "";
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i) {
    if (!program_in_path(names[i], path))
      continue;
    if (knows_gpus(path)) {
      doctor_say(doctor, DOCTOR_OK, NULL, "%.700s shows waves of GPUs", path);
      return;
    }
    snprintf(other, sizeof(other), "%s", path);
  }
  if (*other)
    doctor_say(doctor, DOCTOR_NOTE, fix,
               "%.700s knows no GPUs: of core files it shows the host's part and memory; 'rawhal "
               "core show' shows the waves",
               other);
  else
    doctor_say(doctor, DOCTOR_NOTE, "sudo apt install gdb, or rocgdb (of ROCm)",
               "there is neither rocgdb nor gdb; 'rawhal core show' needs none");
}

/* ---- ROCm's debugger library ---- */

/* The versions of r_debug, which core files have, that were tried with a version of the library, or
 * that its sources have. */
static const struct {
  uint32_t least, end; /* versions, as number_of() */
  const char *takes;
  bool converts;
} takes[] = {
    {77 << 16, (77 << 16) + 1, "r_version 8 to 10, of which rawhal writes 10", false},
    {(77 << 16) + 1, 78 << 16, "r_version 8 to 11, of which rawhal writes 10", false},
    {82 << 16, UINT32_MAX, "r_version 12 alone", true},
};

static uint32_t number_of(uint32_t major, uint32_t minor, uint32_t patch)
{
  return major ? UINT32_MAX - 1 : (minor & 0x7fff) << 16 | (patch & 0xffff);
}

static void say_version(const doctor_t *doctor, void *ask, const char *path)
{
  void (*version)(uint32_t *, uint32_t *, uint32_t *) = NULL;
  uint32_t major = 0, minor = 0, patch[2] = {0}; /* size_t of some */
  memcpy(&version, &ask, sizeof(version));
  version(&major, &minor, patch);
  const uint32_t number = number_of(major, minor, patch[0]);
  for (size_t i = 0; i < sizeof(takes) / sizeof(*takes); ++i)
    if (number >= takes[i].least && number < takes[i].end) {
      doctor_say(doctor, takes[i].converts ? DOCTOR_NOTE : DOCTOR_OK,
                 takes[i].converts ? "rawhal core --abi 12 FILE OUT converts a core file" : NULL,
                 "librocm-dbgapi %u.%u.%u, %.600s, takes core files of %s", major, minor, patch[0],
                 path, takes[i].takes);
      return;
    }
  doctor_say(doctor, DOCTOR_NOTE, "where it refuses a core file: rawhal core --abi 12 FILE OUT",
             "librocm-dbgapi %u.%u.%u, %.600s, is not known to take r_version 10, which rawhal "
             "writes",
             major, minor, patch[0], path);
}

static void say_library(const doctor_t *doctor)
{
  Dl_info info = {0};
  void *library = dlopen("librocm-dbgapi.so.0", RTLD_LAZY | RTLD_LOCAL);
  void *ask = library ? dlsym(library, "amd_dbgapi_get_version") : NULL;
  if (ask && dladdr(ask, &info))
    say_version(doctor, ask, info.dli_fname ? info.dli_fname : "?");
  else if (library)
    doctor_say(doctor, DOCTOR_NOTE, NULL, "librocm-dbgapi.so.0 has no amd_dbgapi_get_version");
  else
    doctor_say(doctor, DOCTOR_OK, NULL,
               "there is no librocm-dbgapi, which only debuggers of GPUs need");
}

/* ---- Waves ---- */

static void say_waves(const doctor_t *doctor)
{
  char path[PATH_MAX];
  if (doctor->expected != RAWHAL_BACKEND_SOFTGPU) {
    doctor_say(doctor, DOCTOR_NOTE, "attach rocgdb to the program to see them",
               "reports and core files of hardware have no waves: the runtime tells none");
    return;
  }
  void *softgpu = rawhal_softgpu_library_path(NULL, path, sizeof(path), NULL) == RAWHAL_OK
                      ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
                      : NULL;
  if (!softgpu)
    return; /* another check says why */
  if (dlsym(softgpu, "softgpu_waves") && dlsym(softgpu, "softgpu_queue_fault_info"))
    doctor_say(doctor, DOCTOR_OK, NULL,
               "softgpu shows waves: reports and core files have their registers and LDS");
  else
    doctor_say(doctor, DOCTOR_NOTE, "install all of rawhal in the same version",
               "%.700s shows no waves: reports and core files are without them", path);
}

void doctor_debuggers(const doctor_t *doctor)
{
  doctor_look_at_yama(doctor, "/proc/sys/kernel/yama/ptrace_scope", may_trace_all());
  say_container(doctor);
  say_gdb(doctor);
  say_library(doctor);
  say_waves(doctor);
}
