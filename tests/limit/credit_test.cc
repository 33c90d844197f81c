// Credit: four amounts in a word, spent together or not at all.
#include <gtest/gtest.h>

#include <random>

extern "C" {
#include "tests/limit/shim.h"
}

namespace {

TEST(Credit, IsSpentWholeOrNotAtAll)
{
  std::mt19937_64 random(3);
  int spent = 0, refused = 0;
  for (int i = 0; i < 200000; ++i) {
    uint64_t have[SHIM_CREDIT_KINDS], asked[SHIM_CREDIT_KINDS], left[SHIM_CREDIT_KINDS];
    bool enough = true;
    for (int kind = 0; kind < SHIM_CREDIT_KINDS; ++kind) {
      uint64_t most = shim_credit_most(kind);
      have[kind] = random() % 4 ? random() % (most + 1) : random() % 2 ? most : 0;
      asked[kind] = random() % 3   ? random() % (have[kind] + 1)
                    : random() % 8 ? have[kind]
                                   : random() % (most + 1);
      enough = enough && asked[kind] <= have[kind];
    }
    ASSERT_EQ(enough, shim_credit_spend(have, asked, left));
    for (int kind = 0; kind < SHIM_CREDIT_KINDS; ++kind)
      ASSERT_EQ(enough ? have[kind] - asked[kind] : have[kind], left[kind]) << "kind " << kind;
    ++(enough ? spent : refused);
  }
  EXPECT_GT(spent, 50000);
  EXPECT_GT(refused, 5000);
}

TEST(Credit, HoldsWhatALeaseIsGiven)
{
  EXPECT_GE(shim_credit_most(0), 1000000u); // ns
  EXPECT_GE(shim_credit_most(1), 4096u);    // launches
}

} // namespace
