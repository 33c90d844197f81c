/* rawhal doctor: what is left when a queue fails: core files of rawhal's, and of the kernel. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "debug/dump.h"
#include "tools/doctor/doctor.h"
#include "tools/shared/program.h"

/* ---- The kernel's ---- */

void doctor_look_at_pattern(const doctor_t *doctor, const char *path)
{
  char pattern[256];
  if (!doctor_read_line(path, pattern, sizeof(pattern)))
    doctor_say(doctor, DOCTOR_NOTE, NULL, "cannot read %.300s: %s", path, strerror(errno));
  else if (*pattern == '|')
    doctor_say(doctor, DOCTOR_OK, NULL,
               "the kernel passes core files of the host's part to '%.200s', whatever their limit",
               pattern + 1);
  else
    doctor_say(doctor, DOCTOR_OK, NULL,
               "the kernel names core files of the host's part '%.200s'%s; 'rawhal core merge' "
               "joins one with that of the GPUs",
               pattern, *pattern == '/' ? "" : ", in the program's folder");
}

/* ---- RAWHAL_CORE ---- */

/* The folder that its files come to be in. */
static void folder_of(const char *path, char folder[CORE_PATH_BYTES])
{
  snprintf(folder, CORE_PATH_BYTES, "%s", path);
  char *slash = strrchr(folder, '/');
  if (!slash)
    snprintf(folder, CORE_PATH_BYTES, ".");
  else
    slash[slash == folder] = '\0';
}

static bool say_folder(const doctor_t *doctor, const char *path)
{
  char folder[CORE_PATH_BYTES], fix[CORE_PATH_BYTES + 64];
  folder_of(path, folder);
  if (access(folder, W_OK | X_OK) == 0)
    return true;
  snprintf(fix, sizeof(fix), "mkdir -p '%.500s', or set RAWHAL_CORE to a name in another folder",
           folder);
  doctor_say(doctor, DOCTOR_PROBLEM, fix,
             "no core file can be written: RAWHAL_CORE names files in '%.500s': %s", folder,
             strerror(errno));
  return false;
}

static bool say_program(const doctor_t *doctor, const char *path)
{
  if (program_is(path))
    return true;
  doctor_say(
      doctor, DOCTOR_PROBLEM, "install it, or set RAWHAL_CORE to another program or a file",
      "no core file can be passed on: RAWHAL_CORE names the program '%.500s', which there is "
      "not, or which cannot be run",
      path);
  return false;
}

static const char *contents_of(const dump_settings_t *settings)
{
  if (settings->classes & CORE_CLASS_BIT(CORE_BUFFER))
    return "with arguments and buffers";
  if (settings->classes & CORE_CLASS_BIT(CORE_KERNARG))
    return "with arguments, which 'rawhal replay' needs, and no buffers";
  return "without arguments, which 'rawhal replay' needs (RAWHAL_CORE_CONTENTS=kernargs or =all)";
}

static void say_settings(const doctor_t *doctor, const dump_settings_t *settings,
                         core_output_kind_t kind)
{
  static const char *const verbs[] = {[CORE_OUTPUT_FILE] = "leaves a core file",
                                      [CORE_OUTPUT_DESCRIPTOR] = "writes a core file to",
                                      [CORE_OUTPUT_PROGRAM] = "passes a core file to"};
  char bytes[48] = "of any size", often[80] = "";
  if (settings->budget)
    snprintf(bytes, sizeof(bytes), "of at most %" PRIu64 " bytes", settings->budget);
  if (kind == CORE_OUTPUT_FILE && settings->per_hour)
    snprintf(often, sizeof(often), ", at most %" PRIu32 " an hour for each program and folder",
             settings->per_hour);
  doctor_say(doctor, DOCTOR_OK, NULL, "a queue that fails %s '%.500s' %s%s, %s", verbs[kind],
             settings->where, bytes, often, contents_of(settings));
}

/* Core files end where these limits are; of 0 bytes there are none. */
static void say_limit(const doctor_t *doctor, const dump_settings_t *settings, int resource,
                      const char *name, const char *option)
{
  struct rlimit limit;
  char fix[128];
  if (getrlimit((__rlimit_resource_t)resource, &limit) || limit.rlim_cur == RLIM_INFINITY ||
      (settings->budget && limit.rlim_cur >= settings->budget))
    return;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max == limit.rlim_cur)
    snprintf(fix, sizeof(fix), "raise the hard limit: ulimit -H %s, limits.conf, or --ulimit %s=-1",
             option, name);
  else
    snprintf(fix, sizeof(fix), "ulimit -S %s unlimited", option);
  if (!limit.rlim_cur)
    doctor_say(doctor, DOCTOR_PROBLEM, fix,
               "no core file can be written, though RAWHAL_CORE asks for them: %s is 0", name);
  else
    doctor_say(doctor, DOCTOR_NOTE, fix, "core files end after %" PRIu64 " bytes: %s",
               (uint64_t)limit.rlim_cur, name);
}

void doctor_core(const doctor_t *doctor)
{
  dump_settings_t settings;
  rawhal_error_t error;
  doctor_look_at_pattern(doctor, "/proc/sys/kernel/core_pattern");
  if (dump_settings_read(&settings, &error) != RAWHAL_OK) {
    doctor_say(doctor, DOCTOR_PROBLEM,
               "correct or unset it: programs get no device until then (rawhal(1) has the forms)",
               "%.900s", error.message);
    return;
  }
  if (!*settings.where) {
    doctor_say(doctor, DOCTOR_OK, NULL,
               "a queue that fails leaves no core file: RAWHAL_CORE is not set");
    return;
  }
  core_output_t output;
  const core_process_t process = {.id = 1, .program = "program"};
  if (core_output_read(&output, settings.where, &process, &error) != RAWHAL_OK)
    return; /* it was understood a moment ago */
  const bool is_file = output.kind == CORE_OUTPUT_FILE;
  if (is_file ? say_folder(doctor, output.path)
              : output.kind != CORE_OUTPUT_PROGRAM || say_program(doctor, output.path))
    say_settings(doctor, &settings, output.kind);
  if (!is_file)
    return;
  say_limit(doctor, &settings, RLIMIT_CORE, "core", "-c");
  say_limit(doctor, &settings, RLIMIT_FSIZE, "fsize", "-f");
}
