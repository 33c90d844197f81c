/* A region's file that is gone when the test is over, and limiters on it. */
#ifndef TESTS_LIMIT_REGION_FILE_H
#define TESTS_LIMIT_REGION_FILE_H

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

extern "C" {
#include "tests/limit/shim.h"
}

class RegionFile {
public:
  RegionFile()
  {
    char name[] = "/tmp/rawhal-limit-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/region";
  }
  ~RegionFile()
  {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  RegionFile(const RegionFile &) = delete;
  RegionFile &operator=(const RegionFile &) = delete;
  const std::string &path() const { return path_; }
  const std::string &folder() const { return folder_; }

  typedef std::vector<std::pair<rawhal_limit_t, uint64_t>> Limits;
  rawhal_limit_config_t Config(const Limits &limits = {}, const char *tenant = "default") const
  {
    rawhal_limit_config_t config = {};
    snprintf(config.region.text, sizeof(config.region.text), "%s", path_.c_str());
    snprintf(config.tenant.text, sizeof(config.tenant.text), "%s", tenant);
    for (const auto &limit : limits)
      EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, limit.first, limit.second, nullptr));
    return config;
  }
  rawhal_limiter_t *Open(const Limits &limits = {}, const char *tenant = "default") const
  {
    rawhal_limit_config_t config = Config(limits, tenant);
    rawhal_limiter_t *limiter = nullptr;
    rawhal_error_t error = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "device", &limiter, &error)) << error.message;
    return limiter;
  }

private:
  std::string folder_, path_;
};

#endif
