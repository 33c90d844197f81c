// Variables of the environment that are set for as long as it lives; then they are what they were.
#ifndef RAWHAL_TESTS_ENVIRONMENT_H
#define RAWHAL_TESTS_ENVIRONMENT_H

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

class Environment {
public:
  ~Environment()
  {
    for (const auto &[name, value] : before_)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  void Set(const std::string &name, const std::string &value)
  {
    const char *before = getenv(name.c_str());
    before_.emplace(name, before ? std::optional<std::string>(before) : std::nullopt);
    setenv(name.c_str(), value.c_str(), 1);
  }

private:
  std::map<std::string, std::optional<std::string>> before_;
};

#endif
