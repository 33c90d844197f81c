#include "tools/probe/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

extern char **environ;

/* ---- Lines ---- */

static bool keep(listing_t *listing, uint32_t offset, const char *text, size_t size)
{
  const line_t line = {offset, (uint32_t)listing->text.count};
  static const char end = 0;
  for (size_t i = 0; i <= size; ++i)
    if (!list_add(&listing->text, i < size ? &text[i] : &end, 1))
      return false;
  return list_add(&listing->lines, &line, sizeof(line)) != NULL;
}

/* "\ts_endpgm    // 000000001900: BF810000": the instruction, and where it is. */
static bool take_line(listing_t *listing)
{
  char *comment, *end;
  listing->line[listing->used] = 0;
  listing->used = 0;
  if (*listing->line != '\t' || !(comment = strstr(listing->line, "// ")))
    return true;
  const uint64_t address = strtoull(comment + 3, &end, 16);
  if (*end != ':' || address < listing->entry || address - listing->entry >= listing->bytes)
    return true;
  const uint32_t offset = (uint32_t)(address - listing->entry);
  const line_t *last = listing->lines.items;
  if (listing->lines.count && last[listing->lines.count - 1].offset >= offset)
    return true;
  while (comment > listing->line + 1 && comment[-1] == ' ')
    --comment;
  return keep(listing, offset, listing->line + 1, (size_t)(comment - listing->line - 1));
}

static bool take_bytes(listing_t *listing, const char *bytes, size_t size)
{
  for (size_t i = 0; i < size; ++i)
    if (bytes[i] == '\n') {
      if (!take_line(listing))
        return false;
    } else if (listing->used < LISTING_LINE - 1) {
      listing->line[listing->used++] = bytes[i];
    }
  return true;
}

/* ---- The program ---- */

static int start(const char *const words[], int out, pid_t *child)
{
  posix_spawn_file_actions_t actions;
  int why = posix_spawn_file_actions_init(&actions);
  if (why)
    return why;
  why = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  why = why ? why : posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  why = why ? why
            : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  why =
      why ? why
          : posix_spawn(child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
  posix_spawn_file_actions_destroy(&actions);
  return why;
}

/* All that it prints. NULL: it ended; else why no more is read. */
static const char *read_all(listing_t *listing, int from, uint64_t until)
{
  char bytes[1 << 16];
  size_t all = 0;
  for (;;) {
    const uint64_t now = clock_now();
    struct pollfd wanted = {from, POLLIN, 0};
    if (now >= until)
      return "took too long";
    if (TEMP_FAILURE_RETRY(poll(&wanted, 1, (int)((until - now) / 1000000) + 1)) < 0)
      return strerror(errno);
    if (!wanted.revents)
      continue;
    const ssize_t got = TEMP_FAILURE_RETRY(read(from, bytes, sizeof(bytes)));
    if (got <= 0)
      return got ? strerror(errno) : NULL;
    if ((all += (size_t)got) > LISTING_BYTES)
      return "printed too much";
    if (!take_bytes(listing, bytes, (size_t)got))
      return "printed more than there is memory for";
  }
}

/* Its end, for which it is not waited longer than it may take. */
static const char *finish(pid_t child, const char *failure, uint64_t until)
{
  int status = 0;
  pid_t ended = 0;
  while (!failure && !(ended = waitpid(child, &status, WNOHANG)))
    if (clock_now() >= until)
      failure = "took too long";
    else
      clock_nap(1000000);
  if (ended != child && child > 1) { /* -1 would be every process of the machine */
    (void)kill(child, SIGKILL);
    (void)TEMP_FAILURE_RETRY(waitpid(child, &status, 0));
  }
  return failure || (WIFEXITED(status) && !WEXITSTATUS(status)) ? failure : "failed";
}

static const char *run(listing_t *listing, const char *const words[])
{
  int ends[2];
  pid_t child = 0;
  const uint64_t until = clock_now() + (uint64_t)LISTING_SECONDS * CLOCK_SECOND;
  (void)signal(SIGCHLD, SIG_DFL); /* whoever started this may ignore it: then nobody can wait */
  if (pipe2(ends, O_CLOEXEC))
    return strerror(errno);
  const int why = start(words, ends[1], &child);
  close(ends[1]);
  const char *failure = why ? strerror(why) : read_all(listing, ends[0], until);
  close(ends[0]);
  failure = why ? failure : finish(child, failure, until);
  return failure ? failure : listing->lines.count ? NULL : "printed no instruction";
}

bool listing_read(listing_t *listing, const char *const words[], char *why, size_t why_size)
{
  const char *failure = run(listing, words);
  if (!failure)
    return true;
  list_free(&listing->lines);
  list_free(&listing->text);
  snprintf(why, why_size, "'%.100s': %s", words[0], failure);
  return false;
}
