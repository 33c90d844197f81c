// Tests of what the runtime says to code objects. It runs in child processes, which it may crash.
#ifndef TESTS_ORACLE_ROCR_TEST_H
#define TESTS_ORACLE_ROCR_TEST_H

#include <gtest/gtest.h>

#include "children.h"
#include "rocr.h"

class RocrTest : public testing::Test {
protected:
  void SetUp() override
  {
    std::string ignored;
    auto start = [](size_t, std::string &) { return int{Rocr::get().started()}; };
    if (!run_in_children(1, start, ignored)[0].value)
      GTEST_SKIP() << "no libhsa-runtime64.so.1 here";
  }
};

#endif
