/* What the front takes of glibc that older ones do not have: their stat() was inline, and words
 * for errno came with 2.32. */
#include <dlfcn.h>
#include <fcntl.h>
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
