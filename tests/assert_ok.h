#ifndef TESTS_ASSERT_OK_H
#define TESTS_ASSERT_OK_H

#include "base/status.h"
#include <gtest/gtest.h>

// Passes when a call returns OK; prints the library's own words when it does not: those in the `error`
// that is there.
#define ASSERT_OK(call)                                                                            \
  do {                                                                                             \
    rawhal_status_t status_ = (call);                                                              \
    ASSERT_EQ(status_, RAWHAL_OK) << rawhal_status_name(status_) << ": " << error.message;         \
  } while (0)
#define EXPECT_OK(call)                                                                            \
  do {                                                                                             \
    rawhal_status_t status_ = (call);                                                              \
    EXPECT_EQ(status_, RAWHAL_OK) << rawhal_status_name(status_) << ": " << error.message;         \
  } while (0)

#endif
