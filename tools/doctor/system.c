/* rawhal doctor: shared memory, and the bounds of this process. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"

/* ---- Shared memory ---- */

/* A region is 5,420,224 bytes; the runtime and libraries of collective operations want more. */
enum { REGION_MIB = 6, COMFORT_MIB = 64 };

void doctor_look_at_memory(const doctor_t *doctor, const char *folder)
{
  static const char room_fix[] = "sudo mount -o remount,size=1G /dev/shm; in a container: start it "
                                 "with --shm-size=1g, or --ipc=host";
  struct statvfs facts;
  if (statvfs(folder, &facts)) {
    doctor_say(doctor, DOCTOR_PROBLEM, "sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
               "%.300s: %s: neither limits nor the state of the runtime can be shared", folder,
               strerror(errno));
    return;
  }
  const uint64_t mib = (uint64_t)facts.f_bavail * facts.f_frsize >> 20;
  if (access(folder, W_OK | X_OK))
    doctor_say(doctor, DOCTOR_PROBLEM, "sudo chmod 1777 /dev/shm, or mount it writable",
               "cannot write to %.300s: %s", folder, strerror(errno));
  else if (mib < REGION_MIB)
    doctor_say(doctor, DOCTOR_PROBLEM, room_fix,
               "%.300s has %" PRIu64 " MiB free, but a region of limits needs %d", folder, mib,
               REGION_MIB);
  else if (mib < COMFORT_MIB)
    doctor_say(doctor, DOCTOR_NOTE, room_fix,
               "%.300s has %" PRIu64 " MiB free: enough for regions, but for little else", folder,
               mib);
  else
    doctor_say(doctor, DOCTOR_OK, NULL, "%.300s can be written, %" PRIu64 " MiB free", folder, mib);
}

void doctor_memory(const doctor_t *doctor)
{
  doctor_look_at_memory(doctor, "/dev/shm");
}

/* ---- Limits of the process ---- */

static const struct resource {
  const char *name, *option; /* of ulimit */
  int resource;
  rlim_t enough;                     /* RLIM_INFINITY: only that */
  bool only_hardware, in_containers; /* docker run has no --ulimit as */
  const char *why;
} resources[] = {
    {"memlock", "-l", RLIMIT_MEMLOCK, RLIM_INFINITY, true, true,
     "network libraries pin GPU buffers, and fail beyond this limit"},
    {"nofile", "-n", RLIMIT_NOFILE, 1024, false, true,
     "the runtime, kernel libraries and traces keep files open"},
    {"as", "-v", RLIMIT_AS, RLIM_INFINITY, false, false,
     "the runtime reserves addresses for all device memory, and may fail to start"},
    {"data", "-d", RLIMIT_DATA, RLIM_INFINITY, false, true, "host buffers count towards it"},
    {"nproc", "-u", RLIMIT_NPROC, 256, false, true,
     "the runtime and softgpu start at least one thread per CPU"},
};

static void format_bound(rlim_t bound, char text[24])
{
  if (bound == RLIM_INFINITY)
    snprintf(text, 24, "unlimited");
  else
    snprintf(text, 24, "%" PRIu64, (uint64_t)bound);
}

static void say_resource(const doctor_t *doctor, const struct resource *row)
{
  struct rlimit bound;
  char soft[24], hard[24], enough[24], fix[256];
  if (getrlimit((__rlimit_resource_t)row->resource, &bound))
    return;
  format_bound(bound.rlim_cur, soft);
  format_bound(bound.rlim_max, hard);
  format_bound(row->enough, enough);
  const bool fits = bound.rlim_cur >= row->enough; /* RLIM_INFINITY is the greatest */
  if (fits || (row->only_hardware && doctor->expected != RAWHAL_BACKEND_HSA)) {
    doctor_say(doctor, DOCTOR_OK, NULL, "%s is %s", row->name, soft);
    return;
  }
  if (bound.rlim_max >= row->enough)
    snprintf(fix, sizeof(fix), "ulimit -S %s %s", row->option, enough);
  else
    snprintf(
        fix, sizeof(fix),
        "echo '* - %s %s' | sudo tee /etc/security/limits.d/rawhal.conf, and log in again%s%s%s%s",
        row->name, enough, row->in_containers ? "; in a container: --ulimit " : "",
        row->in_containers ? row->name : "", row->in_containers ? "=" : "",
        !row->in_containers            ? ""
        : row->enough == RLIM_INFINITY ? "-1"
                                       : enough);
  doctor_say(doctor, DOCTOR_NOTE, fix, "%s is %s (at most %s): %s", row->name, soft, hard,
             row->why);
}

void doctor_resources(const doctor_t *doctor)
{
  for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); ++i)
    say_resource(doctor, &resources[i]);
}
