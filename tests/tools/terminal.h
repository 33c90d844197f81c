// Runs the command with a terminal for standard output, as a person does.
#ifndef TESTS_TOOLS_TERMINAL_H
#define TESTS_TOOLS_TERMINAL_H

#include <pty.h>

#include "tests/tools/process.h"

// What the terminal got, with its "\r\n" made "\n"; standard error goes there, too. `environment`
// as run() has it.
inline Outcome run_on_terminal(const std::vector<std::string> &words, unsigned short columns = 80,
                               const std::vector<std::string> &environment = {})
{
  winsize size = {};
  size.ws_row = 24;
  size.ws_col = columns;
  int terminal = -1;
  pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    std::vector<char *> argv;
    for (const std::string &word : words)
      argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    for (const std::string &entry : environment)
      putenv(const_cast<char *>(entry.c_str()));
    execv(argv[0], argv.data());
    _exit(127);
  }
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = read(terminal, piece, sizeof(piece))) > 0;) // EIO when the child is gone
    for (ssize_t i = 0; i < got; ++i)
      if (piece[i] != '\r')
        text += piece[i];
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text, ""};
}

#endif
