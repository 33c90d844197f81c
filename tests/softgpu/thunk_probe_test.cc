// What waits to be probed when the device is closed is for nothing that runs after that.
#include <gtest/gtest.h>
#include <hsakmt.h>

extern "C" {
#include "probe/probe_records.h"
#include "softgpu/softgpu.h"
}

namespace {

TEST(Probe, waits_no_longer_than_the_device_is_open)
{
  const rawhal_probe_argument_t argument = {64, 0, 0, 0, 0};
  auto ask = [&] { return softgpu_probe(64, &argument, RAWHAL_PROBE_WAVES, 0, 0, nullptr, 0); };
  for (unsigned round = 0; round < 2; ++round) {
    ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS);
    for (unsigned i = 0; i < 1024; ++i)
      ASSERT_TRUE(ask());
    EXPECT_FALSE(ask());
    ASSERT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS);
  }
}

} // namespace
