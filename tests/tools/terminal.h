// Runs the command with a terminal for standard output, as a person does.
#ifndef TESTS_TOOLS_TERMINAL_H
#define TESTS_TOOLS_TERMINAL_H

#include <algorithm>

#include <linux/magic.h>
#include <pty.h>
#include <sys/vfs.h>

#include "tests/child.h"
#include "tests/tools/process.h"

// A chroot or container may have none, and then nothing can be asked of them. Where there are some it is a failure not to
// get one.
inline bool has_terminals()
{
  struct statfs folder;
  return statfs("/dev/pts", &folder) == 0 && folder.f_type == DEVPTS_SUPER_MAGIC;
}

#define NEEDS_TERMINAL()                                                                           \
  if (!has_terminals())                                                                            \
  GTEST_SKIP() << "there are no terminals: /dev/pts is not mounted"

inline winsize size_of(unsigned short columns)
{
  winsize size = {};
  size.ws_row = 24;
  size.ws_col = columns;
  return size;
}

// fork_child(), with a terminal of its own, which sends it signals.
inline pid_t fork_on_terminal(unsigned short columns, int *terminal)
{
  const winsize size = size_of(columns);
  return checked_child(forkpty(terminal, nullptr, nullptr, &size));
}

// All that a terminal gets until nobody has its other end, which is EIO.
inline std::string read_terminal(int terminal)
{
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = read(terminal, piece, sizeof(piece))) > 0;)
    text.append(piece, static_cast<size_t>(got));
  return text;
}

// What the terminal got, with its "\r\n" made "\n"; standard error goes there, too. `environment`
// as run() has it.
inline Outcome run_on_terminal(const std::vector<std::string> &words, unsigned short columns = 80,
                               const std::vector<std::string> &environment = {})
{
  // Not the one that controls it: with that the end of the child takes what nobody has read yet.
  int terminal = -1, other = -1;
  const winsize size = size_of(columns);
  if (openpty(&terminal, &other, nullptr, nullptr, &size))
    throw std::system_error(errno, std::generic_category(), "no terminal");
  pid_t child = fork_child();
  if (child == 0) {
    for (int stream = 0; stream < 3; ++stream)
      dup2(other, stream);
    close(other);
    close(terminal);
    std::vector<char *> argv;
    for (const std::string &word : words)
      argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    for (const std::string &entry : environment)
      putenv(const_cast<char *>(entry.c_str()));
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(other);
  std::string text = read_terminal(terminal);
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text, ""};
}

#endif
