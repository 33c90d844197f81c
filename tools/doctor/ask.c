/* rawhal doctor: what files and programs say. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/whole.h"
#include "tools/doctor/doctor.h"

extern char **environ;

bool doctor_read_line(const char *path, char *line, size_t size)
{
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = file >= 0 ? read_whole(file, line, size - 1) : -1;
  const int problem = errno;
  if (file >= 0)
    close(file);
  errno = problem;
  if (got < 0)
    return false;
  line[got] = '\0';
  line[strcspn(line, "\n")] = '\0';
  return true;
}

bool doctor_ask(const char *path, const char *option, char *text, size_t room)
{
  int ends[2], status = -1;
  size_t used = 0;
  pid_t child;
  char *const words[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)option, NULL};
  posix_spawn_file_actions_t actions;
  if (pipe(ends))
    return false;
  bool made = posix_spawn_file_actions_init(&actions) == 0;
  bool started = made && !posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) &&
                 !posix_spawn_file_actions_addclose(&actions, ends[0]) &&
                 !posix_spawn(&child, path, &actions, NULL, words, environ);
  if (made)
    posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  for (ssize_t got = 1; started && got > 0 && used + 1 < room; used += got > 0 ? (size_t)got : 0)
    got = read(ends[0], text + used, room - used - 1);
  close(ends[0]);
  text[used] = 0;
  return started && waitpid(child, &status, 0) == child && used;
}
