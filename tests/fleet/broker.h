// `rawhal broker` as it runs beside those who ask it.
#ifndef TESTS_FLEET_BROKER_H
#define TESTS_FLEET_BROKER_H

#include <functional>

#include <sys/stat.h>

#include "tests/limit/region_file.h"
#include "tests/tools/command.h"

class Broker {
public:
  // Returns once it answers there, or has ended. `before_it`: what its process does first.
  Broker(
      const std::string &socket, const std::vector<std::string> &options = {},
      const std::function<void()> &before_it = [] {})
  {
    struct stat before = {}, now = {};
    (void)lstat(socket.c_str(), &before);
    child_ = fork_child();
    if (child_ == 0) {
      before_it();
      std::vector<char *> words = {const_cast<char *>(tool.c_str()), const_cast<char *>("broker")};
      for (const std::string &option : options)
        words.push_back(const_cast<char *>(option.c_str()));
      words.push_back(const_cast<char *>(socket.c_str()));
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(127);
    }
    while ((lstat(socket.c_str(), &now) || now.st_ino == before.st_ino) && runs())
      usleep(1000);
  }
  ~Broker() { End(); }
  void End()
  {
    if (child_ > 0)
      (void)end_child(child_);
    child_ = 0;
  }
  bool runs()
  {
    if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) == child_)
      child_ = 0;
    return child_ > 0;
  }

private:
  pid_t child_ = 0;
};

#endif
