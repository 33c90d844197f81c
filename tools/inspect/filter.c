#include "tools/inspect/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/shared/escape.h"
#include "tools/shared/tool.h"

extern char **environ;

/* One of its two streams. */
typedef struct stream {
  FILE *to;
  int from; /* -1 after its end */
  size_t size;
  char bytes[1 << 16];
} stream_t;

/* ---- What it prints ---- */

static void show(FILE *to, const char *bytes, size_t size)
{
  while (size) {
    size_t plain = 0;
    while (plain < size && bytes[plain] != '\t' && bytes[plain] != '\n')
      ++plain;
    (void)escape_text(to, (rawhal_string_t){bytes, plain}, SIZE_MAX);
    if (plain < size)
      putc(bytes[plain++], to);
    bytes += plain;
    size -= plain;
  }
}

/* Whole lines; of a line that is longer than there is room, whole characters. */
static void show_lines(stream_t *stream, bool all)
{
  const char *last = memrchr(stream->bytes, '\n', stream->size);
  size_t size = last ? (size_t)(last - stream->bytes) + 1 : 0;
  if (!size && stream->size == sizeof(stream->bytes))
    size = escape_cut((rawhal_string_t){stream->bytes, stream->size}, stream->size - 4);
  size = all ? stream->size : size;
  show(stream->to, stream->bytes, size);
  memmove(stream->bytes, stream->bytes + size, stream->size - size);
  stream->size -= size;
}

static void end_stream(stream_t *stream)
{
  if (stream->from < 0)
    return;
  close(stream->from);
  stream->from = -1;
  show_lines(stream, true);
  fflush(stream->to);
}

static void read_stream(stream_t *stream)
{
  const ssize_t got = TEMP_FAILURE_RETRY(
      read(stream->from, stream->bytes + stream->size, sizeof(stream->bytes) - stream->size));
  if (got <= 0) {
    end_stream(stream);
    return;
  }
  stream->size += (size_t)got;
  show_lines(stream, false);
}

/* To both ends; what cannot be shown is not waited for. */
static void pass_on(stream_t streams[2])
{
  while ((streams[0].from >= 0 || streams[1].from >= 0) && !ferror(stdout)) {
    struct pollfd wanted[2] = {{streams[0].from, POLLIN, 0}, {streams[1].from, POLLIN, 0}};
    if (TEMP_FAILURE_RETRY(poll(wanted, 2, -1)) < 0)
      break;
    for (int i = 0; i < 2; ++i)
      if (streams[i].from >= 0 && wanted[i].revents)
        read_stream(&streams[i]);
  }
  end_stream(&streams[0]);
  end_stream(&streams[1]);
}

/* ---- Running it ---- */

static int start(const char *const words[], int out, int err, pid_t *child)
{
  posix_spawn_file_actions_t actions;
  int why = posix_spawn_file_actions_init(&actions);
  if (why)
    return why;
  why = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  why = why ? why : posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  why = why ? why : posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  why =
      why ? why
          : posix_spawn(child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
  posix_spawn_file_actions_destroy(&actions);
  return why;
}

static bool judge(const char *program, int status, rawhal_error_t *error)
{
  const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return true;
  if (WIFEXITED(status))
    return tool_refuse(error, RAWHAL_UNSUPPORTED, "%.200s ended with status %d", name,
                       WEXITSTATUS(status));
  return tool_refuse(error, RAWHAL_UNSUPPORTED, "%.200s was killed by signal %d", name,
                     WTERMSIG(status));
}

bool filter_program(const char *const words[], rawhal_error_t *error)
{
  static stream_t streams[2];
  int out[2] = {-1, -1}, err[2] = {-1, -1}, status = 0;
  pid_t child = -1;
  fflush(stdout);
  (void)signal(SIGCHLD, SIG_DFL); /* whoever started this may ignore it: then nobody can wait */
  int why = pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ? errno : 0;
  why = why ? why : start(words, out[1], err[1], &child);
  close(out[1]);
  close(err[1]);
  streams[0].to = stdout;
  streams[0].from = out[0];
  streams[1].to = stderr;
  streams[1].from = err[0];
  pass_on(streams);
  if (why)
    return tool_refuse(error, RAWHAL_UNSUPPORTED, "cannot run '%.200s': %s", words[0],
                       strerror(why));
  if (TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) < 0)
    return tool_refuse(error, RAWHAL_UNSUPPORTED, "cannot wait for '%.200s': %s", words[0],
                       strerror(errno));
  return ferror(stdout) || judge(words[0], status, error);
}
