/* Preloaded by softgpu-run for programs that look for the kernel driver: what they open below a few
 * paths, they find below the directory SOFTGPU_SYSTEM instead, and what is not there is not found.
 *
 * Only names are changed. Nothing is remembered, and descriptors are the system's. */
#undef _FORTIFY_SOURCE /* which would define some of these here */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const char *const moved[] = {
    "/dev/dri",
    "/dev/kfd",
    "/proc/modules",
    "/sys/class/drm",
    "/sys/class/kfd",
    "/sys/devices/softgpu",
    "/sys/kernel/debug/dri",
    "/sys/module/amdgpu",
};

/* Where `path` is: itself, or what is written to `room`. */
static const char *path_of(const char *path, char room[PATH_MAX])
{
  const char *root = path ? secure_getenv("SOFTGPU_SYSTEM") : NULL;
  if (!root)
    return path;
  for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); ++i) {
    size_t length = strlen(moved[i]);
    if (strncmp(path, moved[i], length) != 0 || (path[length] != '\0' && path[length] != '/'))
      continue;
    int written = snprintf(room, PATH_MAX, "%s%s", root, path);
    return written > 0 && written < PATH_MAX ? room : path;
  }
  return path;
}

/* The C library's function of a name, or one of the same type that fails. */
#define REAL(name)                                                                                 \
  static __typeof__(name) *real;                                                                   \
  if (!real)                                                                                       \
    *(void **)&real = dlsym(RTLD_NEXT, #name);                                                     \
  char room[PATH_MAX]

/* What comes with O_CREAT and O_TMPFILE, and is passed on in any case. */
#define MODE(flags)                                                                                \
  mode_t mode = 0;                                                                                 \
  if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {                                          \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    mode = va_arg(rest, mode_t);                                                                   \
    va_end(rest);                                                                                  \
  }

#define OPEN(name)                                                                                 \
  EXPORT int name(const char *path, int flags, ...)                                                \
  {                                                                                                \
    REAL(name);                                                                                    \
    MODE(flags)                                                                                    \
    return real(path_of(path, room), flags, mode);                                                 \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
  EXPORT int name(int directory, const char *path, int flags, ...)                                 \
  {                                                                                                \
    REAL(name);                                                                                    \
    MODE(flags)                                                                                    \
    return real(directory, path_of(path, room), flags, mode);                                      \
  }
OPENAT(openat)
OPENAT(openat64)

/* Functions of a path and what follows it. */
#define WITH_PATH(type, name, parameters, ...)                                                     \
  EXPORT type name parameters                                                                      \
  {                                                                                                \
    REAL(name);                                                                                    \
    return real(__VA_ARGS__);                                                                      \
  }
#define PATH path_of(path, room)

WITH_PATH(FILE *, fopen, (const char *restrict path, const char *restrict mode), PATH, mode)
WITH_PATH(FILE *, fopen64, (const char *restrict path, const char *restrict mode), PATH, mode)
WITH_PATH(DIR *, opendir, (const char *path), PATH)
WITH_PATH(int, access, (const char *path, int mode), PATH, mode)
WITH_PATH(int, faccessat, (int directory, const char *path, int mode, int flags), directory, PATH,
          mode, flags)
WITH_PATH(int, stat, (const char *restrict path, struct stat *restrict to), PATH, to)
WITH_PATH(int, lstat, (const char *restrict path, struct stat *restrict to), PATH, to)
WITH_PATH(int, stat64, (const char *restrict path, struct stat64 *restrict to), PATH, to)
WITH_PATH(int, lstat64, (const char *restrict path, struct stat64 *restrict to), PATH, to)
WITH_PATH(int, fstatat,
          (int directory, const char *restrict path, struct stat *restrict to, int flags),
          directory, PATH, to, flags)
WITH_PATH(int, fstatat64,
          (int directory, const char *restrict path, struct stat64 *restrict to, int flags),
          directory, PATH, to, flags)
WITH_PATH(int, statx,
          (int directory, const char *restrict path, int flags, unsigned mask,
           struct statx *restrict to),
          directory, PATH, flags, mask, to)
WITH_PATH(ssize_t, readlink, (const char *restrict path, char *restrict to, size_t size), PATH, to,
          size)
WITH_PATH(ssize_t, readlinkat,
          (int directory, const char *restrict path, char *restrict to, size_t size), directory,
          PATH, to, size)

/* What a compiler makes of some of the above where it checks sizes. */
#define CHECKED(type, name, parameters, ...)                                                       \
  EXPORT type name parameters;                                                                     \
  WITH_PATH(type, name, parameters, __VA_ARGS__)

CHECKED(int, __open_2, (const char *path, int flags), PATH, flags)
CHECKED(int, __open64_2, (const char *path, int flags), PATH, flags)
CHECKED(int, __openat_2, (int directory, const char *path, int flags), directory, PATH, flags)
CHECKED(int, __openat64_2, (int directory, const char *path, int flags), directory, PATH, flags)
CHECKED(ssize_t, __readlink_chk, (const char *path, char *to, size_t size, size_t room_size), PATH,
        to, size, room_size)
CHECKED(ssize_t, __readlinkat_chk,
        (int directory, const char *path, char *to, size_t size, size_t room_size), directory, PATH,
        to, size, room_size)
