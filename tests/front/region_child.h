// A program under `rawhal exec` in a region of its own, and what the region says of it. Without a guard the command
// becomes the program, which is then what is killed.
#ifndef RAWHAL_TESTS_FRONT_REGION_CHILD_H
#define RAWHAL_TESTS_FRONT_REGION_CHILD_H

#include "tests/child.h"
#include "tests/tools/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <rawhal/limit.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

class RegionChild {
public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  RegionChild(std::string region, const Variables &limits, const std::vector<std::string> &program)
      : region_(std::move(region))
  {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
      return;
    child_ = fork_child();
    if (child_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      setenv("RAWHAL_LIMIT_REGION", region_.c_str(), 1);
      for (const auto &limit : limits)
        setenv(limit.first.c_str(), limit.second.c_str(), 1);
      std::vector<std::string> words = {RAWHAL_SOFTGPU_RUN, RAWHAL_TOOL, "exec",
                                        "--guard",          "off",       "--"};
      words.insert(words.end(), program.begin(), program.end());
      std::vector<char *> arguments;
      for (std::string &word : words)
        arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    in_ = to[1];
    out_ = from[0];
  }

  ~RegionChild() { Kill(); }

  pid_t Process() const { return child_; }

  // It has printed something, or ended; waits a moment for that.
  bool HasPrinted() const
  {
    pollfd out = {out_, POLLIN, 0};
    return poll(&out, 1, 10) != 0;
  }

  // The next line it prints; "" when there is none.
  std::string Line() const
  {
    std::string line;
    for (char c; read(out_, &c, 1) == 1 && c != '\n';)
      line += c;
    return line;
  }

  void Say(const std::string &line) const
  {
    if (write(in_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      ADD_FAILURE() << "it does not listen";
  }

  void Kill()
  {
    if (child_ > 0) {
      end_child(child_);
      close(in_);
      close(out_);
    }
    child_ = -1;
  }

  // Lets it end by itself.
  int End()
  {
    int status = -1;
    close(in_);
    waitpid(child_, &status, 0);
    close(out_);
    child_ = -1;
    return status;
  }

  // It has, and is gone.
  bool HasEnded()
  {
    if (child_ <= 0 || waitpid(child_, nullptr, WNOHANG) != child_)
      return child_ <= 0;
    close(in_);
    close(out_);
    child_ = -1;
    return true;
  }

  // The row of that name, or of the only tenant, or device, that there is.
  static rawhal_limit_row_t Row(const std::string &region, rawhal_limit_level_t level,
                                const std::string &name = "")
  {
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[16] = {}, found = {};
    if (rawhal_limit_view_open(region.c_str(), &view, nullptr) != RAWHAL_OK)
      return found;
    size_t count = rawhal_limit_view_read(view, rows, sizeof(*rows), 16);
    for (size_t i = 0; i < count && i < 16; ++i)
      if (rows[i].level == level && (name.empty() || name == rows[i].name))
        found = rows[i];
    rawhal_limit_view_close(view);
    return found;
  }
  rawhal_limit_row_t Tenant() const { return Row(region_, RAWHAL_LIMIT_LEVEL_TENANT); }

private:
  std::string region_;
  pid_t child_ = -1;
  int in_ = -1, out_ = -1;
};

#endif
