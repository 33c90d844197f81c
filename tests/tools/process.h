// Runs a program as a user does: exit status, standard output, standard error.
#ifndef TESTS_TOOLS_PROCESS_H
#define TESTS_TOOLS_PROCESS_H

#include <cstdio>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/child.h"

struct Outcome {
  int status; // exit status, or 128 + the signal that killed it
  std::string out, err;
};

inline std::string slurp(const std::string &path)
{
  std::string text;
  if (FILE *file = fopen(path.c_str(), "rb")) {
    char piece[65536];
    for (size_t got; (got = fread(piece, 1, sizeof(piece), file)) > 0;)
      text.append(piece, got);
    fclose(file);
  }
  return text;
}

inline void spit(const std::string &path, const void *data, size_t size)
{
  FILE *file = fopen(path.c_str(), "wb");
  fwrite(data, 1, size, file);
  fclose(file);
}

// A directory of the test's own that goes away with it.
class Scratch {
public:
  Scratch()
  {
    char name[] = "/tmp/rawhal-test-XXXXXX";
    root = mkdtemp(name);
  }
  ~Scratch()
  {
    if (system(("rm -r " + root).c_str()))
      perror(root.c_str());
  }
  std::string operator/(const std::string &name) const { return root + "/" + name; }
  std::string root;
};

// `environment`: "NAME=value" entries on top of the test's own.
inline Outcome run(const std::vector<std::string> &words,
                   const std::vector<std::string> &environment = {})
{
  Scratch scratch;
  std::string out = scratch / "out", err = scratch / "err";
  pid_t child = fork_child();
  if (child == 0) {
    int out_fd = open(out.c_str(), O_CREAT | O_WRONLY, 0600);
    int err_fd = open(err.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(out_fd, 1);
    dup2(err_fd, 2);
    std::vector<char *> argv;
    for (const std::string &word : words)
      argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    for (const std::string &entry : environment)
      putenv(const_cast<char *>(entry.c_str()));
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(out), slurp(err)};
}

#endif
