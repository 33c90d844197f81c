// Variables of the environment that are set for as long as it lives.
#ifndef RAWHAL_TESTS_ENVIRONMENT_H
#define RAWHAL_TESTS_ENVIRONMENT_H

#include <cstdlib>
#include <set>
#include <string>

class Environment {
public:
  ~Environment()
  {
    for (const std::string &name : set_)
      unsetenv(name.c_str());
  }
  void Set(const std::string &name, const std::string &value)
  {
    set_.insert(name);
    setenv(name.c_str(), value.c_str(), 1);
  }

private:
  std::set<std::string> set_;
};

#endif
