/* rawhal doctor: the kernel's driver, and whether this user may use it. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"

static const char no_driver[] =
    "with an AMD GPU: sudo modprobe amdgpu; in a container: start it with --device=/dev/kfd "
    "--device=/dev/dri";

/* ---- Which users may open a node ---- */

static bool process_has_group(gid_t group)
{
  enum { MOST = 1024 };
  static gid_t groups[MOST];
  const int count = getgroups(MOST, groups);
  for (int i = 0; i < count; ++i)
    if (groups[i] == group)
      return true;
  return getegid() == group;
}

/* In the system's lists, which processes that were started before do not know. */
static bool user_has_group(const struct passwd *user, gid_t group)
{
  enum { MOST = 1024 };
  static gid_t groups[MOST];
  int count = MOST;
  if (!user || getgrouplist(user->pw_name, user->pw_gid, groups, &count) < 0)
    return false;
  for (int i = 0; i < count; ++i)
    if (groups[i] == group)
      return true;
  return false;
}

void doctor_fix_access(const struct stat *facts, const char *subsystem, const char *name, char *fix,
                       size_t size)
{
  const struct passwd *user = getpwuid(geteuid());
  const struct group *group = getgrgid(facts->st_gid);
  const char *usual = getgrnam("render") || !getgrnam("video") ? "render" : "video";
  const bool for_group = (facts->st_mode & 0060) == 0060 && facts->st_gid != 0;
  if (!for_group)
    snprintf(fix, size,
             "echo 'SUBSYSTEM==\"%s\", KERNEL==\"%s\", GROUP=\"%s\", MODE=\"0660\"' | sudo tee "
             "/etc/udev/rules.d/70-%s.rules && sudo udevadm control --reload && sudo udevadm "
             "trigger --subsystem-match=%s; then sudo usermod -aG %s %s, and log in again",
             subsystem, name, usual, subsystem, subsystem, usual, user ? user->pw_name : "$USER");
  else if (process_has_group(facts->st_gid))
    snprintf(fix, size,
             "the process is in the group: check the access control list (getfacl); start a "
             "container with --device=/dev/kfd --device=/dev/dri");
  else if (user_has_group(user, facts->st_gid))
    snprintf(fix, size, "log in again (or: newgrp %s): you were added to the group since",
             group ? group->gr_name : "render");
  else if (group)
    snprintf(fix, size, "sudo usermod -aG %s %s, and log in again; in a container: --group-add %u",
             group->gr_name, user ? user->pw_name : "$USER", (unsigned)facts->st_gid);
  else
    snprintf(fix, size,
             "group %u has no name here: in a container start it with --group-add %u; else sudo "
             "groupadd -g %u render && sudo usermod -aG render %s, and log in again",
             (unsigned)facts->st_gid, (unsigned)facts->st_gid, (unsigned)facts->st_gid,
             user ? user->pw_name : "$USER");
}

/* Only trying tells: a container may forbid what the mode allows. Returns 0 or why not. */
static int try_node(const char *path)
{
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return errno;
  close(file);
  return 0;
}

/* One that is there and cannot be opened. */
static void say_refused(const doctor_t *doctor, const char *path, const char *subsystem,
                        const char *name, int why)
{
  const doctor_state_t state =
      doctor->expected == RAWHAL_BACKEND_HSA ? DOCTOR_PROBLEM : DOCTOR_NOTE;
  char fix[sizeof((doctor_row_t){0}.fix)];
  struct stat facts;
  if (why == EACCES && !stat(path, &facts)) {
    const struct group *group = getgrgid(facts.st_gid);
    doctor_fix_access(&facts, subsystem, name, fix, sizeof(fix));
    doctor_say(doctor, state, fix, "no permission to read and write %.300s: mode %04o, group %s",
               path, (unsigned)(facts.st_mode & 07777), group ? group->gr_name : "without a name");
  } else if (why == EPERM) {
    doctor_say(doctor, state, no_driver,
               "%.300s exists, but this container is not allowed to use it", path);
  } else {
    doctor_say(doctor, state, no_driver, "%.300s cannot be opened: %s", path, strerror(why));
  }
}

/* ---- The checks ---- */

void doctor_look_at_driver(const doctor_t *doctor, const char *path)
{
  const int why = try_node(path);
  if (!why)
    doctor_say(doctor, DOCTOR_OK, NULL, "%.300s can be read and written", path);
  else if (why != ENOENT)
    say_refused(doctor, path, "kfd", "kfd", why);
  else if (doctor->backend == RAWHAL_BACKEND_SOFTGPU)
    doctor_say(doctor, DOCTOR_OK, NULL, "there is no %.300s; softgpu does not need it", path);
  else if (doctor->backend == RAWHAL_BACKEND_HSA)
    doctor_say(doctor, DOCTOR_PROBLEM, no_driver,
               "there is no %.300s, but hardware was requested: there is no AMD GPU, or its driver "
               "is not loaded",
               path);
  else
    doctor_say(doctor, DOCTOR_NOTE, no_driver,
               "there is no %.300s: kernels run on softgpu, a GPU in software", path);
}

void doctor_driver(const doctor_t *doctor)
{
  doctor_look_at_driver(doctor, "/dev/kfd");
}

void doctor_look_at_nodes(const doctor_t *doctor, const char *folder)
{
  char pattern[512];
  glob_t found = {0};
  size_t good = 0;
  snprintf(pattern, sizeof(pattern), "%.400s/renderD*", folder);
  if (glob(pattern, GLOB_NOSORT, NULL, &found))
    found.gl_pathc = 0;
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    const int why = try_node(found.gl_pathv[i]);
    good += !why;
    if (why)
      say_refused(doctor, found.gl_pathv[i], "drm", "renderD*", why);
  }
  if (!found.gl_pathc && doctor->expected == RAWHAL_BACKEND_HSA)
    doctor_say(doctor, DOCTOR_PROBLEM, no_driver,
               "there is no %s: the runtime accesses the memory of a GPU through its render node",
               pattern);
  else if (!found.gl_pathc)
    doctor_say(doctor, DOCTOR_OK, NULL, "there is no %s; softgpu does not need it", pattern);
  if (good)
    doctor_say(doctor, DOCTOR_OK, NULL, "%zu render node%s can be read and written", good,
               good == 1 ? "" : "s");
  globfree(&found);
}

void doctor_nodes(const doctor_t *doctor)
{
  doctor_look_at_nodes(doctor, "/dev/dri");
}
