/* Programs of others that the command uses. */
#include "tools/shared/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/whole.h"
#include "tools/shared/tool.h"

bool program_is(const char *path)
{
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* An element without a name is the current folder, the last one and the only one, too. */
bool program_in_path(const char *name, char path[PATH_MAX])
{
  const char *at = getenv("PATH");
  for (at = at ? at : "/bin:/usr/bin";; ++at) {
    const size_t size = strcspn(at, ":");
    const int used = size < PATH_MAX ? snprintf(path, PATH_MAX, "%.*s/%s", size ? (int)size : 1,
                                                size ? at : ".", name)
                                     : -1;
    if (used > 0 && used < PATH_MAX && program_is(path))
      return true;
    at += size;
    if (!*at)
      return false;
  }
}

bool program_names(const char *path, const char *text, bool *is_elf)
{
  struct stat facts;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  *is_elf = false;
  if (file < 0)
    return false;
  const size_t size =
      fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) ? (size_t)facts.st_size : 0;
  const char *bytes = size > 4 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (bytes == MAP_FAILED)
    return false;
  *is_elf = memcmp(bytes, "\177ELF", 4) == 0;
  const bool named = memmem(bytes, size, text, strlen(text)) != NULL;
  (void)munmap((void *)(uintptr_t)bytes, size);
  return named;
}

/* The newest knows the most processors. */
bool program_find_objdump(char path[PATH_MAX], rawhal_error_t *error)
{
  enum { NEWEST = 30, OLDEST = 14 };
  static const char variable[] = "RAWHAL_OBJDUMP";
  const char *wanted = getenv(variable);
  char name[32];
  if (wanted && *wanted) {
    snprintf(path, PATH_MAX, "%s", wanted);
    if (strchr(wanted, '/') ? program_is(wanted) : program_in_path(wanted, path))
      return true;
    return tool_refuse(error, RAWHAL_NOT_FOUND, "%s: program '%.400s' not found", variable, wanted);
  }
  for (int version = NEWEST; version >= OLDEST; --version) {
    snprintf(name, sizeof(name), "llvm-objdump-%d", version);
    if (program_in_path(name, path))
      return true;
  }
  if (program_in_path("llvm-objdump", path))
    return true;
  return tool_refuse(
      error, RAWHAL_NOT_FOUND,
      "there is no llvm-objdump: install it (Debian's package llvm-19), or set %s to its path",
      variable);
}

int program_refuse(const char *command, const char *program, int why)
{
  rawhal_error_t error;
  const bool is_there = why != ENOENT || access(program, F_OK) == 0;
  (void)tool_refuse(&error, is_there ? RAWHAL_INVALID_ARGUMENT : RAWHAL_NOT_FOUND, "'%.300s': %s%s",
                    program, strerror(why), why == ENOENT && is_there ? " (its interpreter)" : "");
  (void)tool_fail(command, &error);
  return is_there ? PROGRAM_NOT_STARTED : PROGRAM_NOT_THERE;
}

int program_end_like(int status)
{
  if (!WIFSIGNALED(status))
    return WEXITSTATUS(status);
  sigset_t unblocked;
  (void)prctl(PR_SET_DUMPABLE, 0);
  (void)signal(WTERMSIG(status), SIG_DFL);
  (void)sigemptyset(&unblocked);
  (void)sigprocmask(SIG_SETMASK, &unblocked, NULL);
  (void)raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

rawhal_string_t program_command_of(pid_t process, char *text, size_t size)
{
  char path[64];
  (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = file >= 0 ? read_whole(file, text, size) : 0;
  if (file >= 0)
    (void)close(file);
  size_t used = got > 0 ? (size_t)got : 0;
  while (used && !text[used - 1])
    --used;
  for (size_t i = 0; i < used; ++i)
    text[i] = text[i] ? text[i] : ' ';
  return (rawhal_string_t){text, used};
}
