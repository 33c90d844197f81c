// A program on a toy runtime behind the front, with limits in the environment.
#ifndef RAWHAL_TESTS_FRONT_FRONT_TEST_H
#define RAWHAL_TESTS_FRONT_FRONT_TEST_H

#include "tests/environment.h"
#include "tests/front/toy_hsa.h"
#include "tests/tools/process.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

constexpr size_t mi = 1 << 20;

class FrontTest : public testing::Test, protected Environment {
protected:
  void SetUp() override { Set("RAWHAL_FRONT_REPORT", report_ = scratch_ / "report"); }

  void TearDown() override
  {
    if (loaded_)
      toy_unload();
  }

  void Load(uint32_t major = 1, uint32_t step = 0, uint32_t bytes = 0)
  {
    loaded_ = true;
    toy_make(major, step, bytes);
    Prepare();
    toy_enter();
  }
  virtual void Prepare() {} // the runtime, before the front sees it

  void Unload()
  {
    loaded_ = false;
    toy_unload();
  }

  std::string Report() const { return slurp(report_); }

  template <typename Function> static Function *Core(size_t offset)
  {
    return reinterpret_cast<Function *>(toy_core(offset));
  }
  template <typename Function> static Function *Amd(size_t offset)
  {
    return reinterpret_cast<Function *>(toy_amd(offset));
  }

private:
  Scratch scratch_;
  std::string report_;
  bool loaded_ = false;
};

#endif
