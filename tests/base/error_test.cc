// Status names and error records.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "base/checked.h"
#include "base/error.h"
}

TEST(Status, EveryCodeHasItsName)
{
  EXPECT_STREQ("OK", rawhal_status_name(RAWHAL_OK));
  EXPECT_STREQ("RUNTIME", rawhal_status_name(RAWHAL_RUNTIME));
  for (int i = 0; i <= RAWHAL_AMBIGUOUS; ++i)
    EXPECT_STRNE("UNKNOWN", rawhal_status_name(static_cast<rawhal_status_t>(i)));
  EXPECT_STREQ("UNKNOWN", rawhal_status_name(static_cast<rawhal_status_t>(RAWHAL_AMBIGUOUS + 1)));
  EXPECT_STREQ("UNKNOWN", rawhal_status_name(static_cast<rawhal_status_t>(-1)));
}

TEST(Error, RecordSaysWhatAndWhere)
{
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_MALFORMED,
            rawhal_fail_at(&error, RAWHAL_MALFORMED, 64, "phoff %d past the end", 7));
  EXPECT_EQ(RAWHAL_MALFORMED, error.status);
  EXPECT_EQ(64u, error.offset);
  EXPECT_STREQ("phoff 7 past the end", error.message);
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_fail(&error, RAWHAL_NOT_FOUND, "x: %s", error.message));
  EXPECT_EQ(RAWHAL_NO_OFFSET, error.offset);
  EXPECT_STREQ("x: phoff 7 past the end", error.message);
}

TEST(Error, RecordIsOptional)
{
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, rawhal_fail(nullptr, RAWHAL_CAP_EXCEEDED, "%s", "nobody listens"));
}

TEST(Error, LongMessagesAreCutVisibly)
{
  rawhal_error_t error = {};
  std::string text(4 * sizeof(error.message), 'x');
  EXPECT_EQ(RAWHAL_FAULT, rawhal_fail(&error, RAWHAL_FAULT, "%s", text.c_str()));
  EXPECT_EQ(sizeof(error.message) - 1, strlen(error.message));
  EXPECT_STREQ("x...", error.message + sizeof(error.message) - 5);
}

TEST(Error, HostileNamesStayOneLine)
{
  rawhal_error_t error = {};
  rawhal_string_t name = {"a\nb\x1b[2J", 7};
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            rawhal_fail(&error, RAWHAL_NOT_FOUND, "no kernel '%.*s'", RAWHAL_STRING_ARGS(name)));
  EXPECT_STREQ("no kernel 'a?b?[2J'", error.message);
}

TEST(Checked, AlignNeverWraps)
{
  uint64_t value = 1;
  EXPECT_TRUE(checked_align_u64(33, 8, &value));
  EXPECT_EQ(40u, value);
  EXPECT_FALSE(checked_align_u64(UINT64_MAX - 2, 8, &value));
  EXPECT_EQ(0u, value);
}

TEST(Checked, RangeWithin)
{
  EXPECT_TRUE(range_within(0, 0, 0));
  EXPECT_TRUE(range_within(8, 8, 16));
  EXPECT_FALSE(range_within(8, 9, 16));
  EXPECT_FALSE(range_within(UINT64_MAX, 2, 16));
  EXPECT_FALSE(range_within(17, 0, 16));
}
