/* What the front takes of glibc that older ones do not have: their stat() was inline, words
 * for errno came with 2.32, and functions behind the names of strtol() with 2.38. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of 64-bit processors the kernel's structure is the library's. */
int fstatat(int folder, const char *restrict path, struct stat *restrict status, int flags)
{
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}

int stat(const char *restrict path, struct stat *restrict status)
{
  return fstatat(AT_FDCWD, path, status, 0);
}

int lstat(const char *restrict path, struct stat *restrict status)
{
  return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int fstat(int file, struct stat *status)
{
  return (int)syscall(SYS_fstat, file, status);
}

/* What headers from 2.38 on call strtol() and its kind, which also take binary numbers. */
long older_strtol(const char *text, char **end, int base) __asm__("strtol");
unsigned long older_strtoul(const char *text, char **end, int base) __asm__("strtoul");
unsigned long long older_strtoull(const char *text, char **end, int base) __asm__("strtoull");
int older_vsscanf(const char *text, const char *format, va_list args) __asm__("vsscanf");
long later_strtol(const char *text, char **end, int base) __asm__("__isoc23_strtol");
unsigned long later_strtoul(const char *text, char **end, int base) __asm__("__isoc23_strtoul");
unsigned long long later_strtoull(const char *text, char **end,
                                  int base) __asm__("__isoc23_strtoull");
int later_sscanf(const char *text, const char *format, ...) __asm__("__isoc23_sscanf");

long later_strtol(const char *text, char **end, int base)
{
  return older_strtol(text, end, base);
}

unsigned long later_strtoul(const char *text, char **end, int base)
{
  return older_strtoul(text, end, base);
}

unsigned long long later_strtoull(const char *text, char **end, int base)
{
  return older_strtoull(text, end, base);
}

int later_sscanf(const char *text, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  const int found = older_vsscanf(text, format, args);
  va_end(args);
  return found;
}

/* Looked up as the front is loaded: a handler of signals may ask for words, not for symbols. */
static const char *(*words)(int code);
static const char *const *list;
static const int *count;

__attribute__((constructor)) static void find_words(void)
{
  words = (const char *(*)(int))dlsym(RTLD_DEFAULT, "strerrordesc_np");
  list = dlsym(RTLD_DEFAULT, "sys_errlist");
  count = dlsym(RTLD_DEFAULT, "sys_nerr");
}

const char *strerrordesc_np(int code)
{
  if (words)
    return words(code);
  return list && count && code >= 0 && code < *count ? list[code] : NULL;
}
