// The runtime that refuses what a test says: refusing_runtime.c.
#ifndef RAWHAL_TESTS_HAL_REFUSAL_TEST_H
#define RAWHAL_TESTS_HAL_REFUSAL_TEST_H

#include "held_test.h"

#include <dlfcn.h>

#include <atomic>

class Refusal : public HeldTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_RUNTIME_LIBRARY", RAWHAL_REFUSING_RUNTIME, 1);
    DeviceTest::SetUp();
  }

  // The next of them after `passed`.
  static void refuse(const char *what, int passed = 0)
  {
    set((std::string("passed_") + what).c_str(), passed);
    set((std::string("refused_") + what).c_str(), 1);
  }

  static void set(const char *name, int value) { *number(name) = value; }

  template <typename T = std::atomic<int>> static T *number(const char *name)
  {
    void *there = dlsym(RTLD_DEFAULT, name);
    EXPECT_NE(there, nullptr) << name;
    return static_cast<T *>(there);
  }
};

#endif
