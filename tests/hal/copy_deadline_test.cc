// Copies a device does not carry out end at their deadline, and copying goes on when it does.
#include "device_test.h"

#include "softgpu/softgpu.h"

#include <functional>
#include <thread>

#include <dlfcn.h>

namespace {

class CopyDeadline : public DeviceTest {
protected:
  uint64_t copy_timeout_ns() override { return 250 * millisecond; }

  // The device may need longer than the deadline to come back on a busy machine.
  static rawhal_status_t when_it_answers(const std::function<rawhal_status_t()> &copy)
  {
    const uint64_t deadline = rawhal_deadline_after(10000 * millisecond);
    rawhal_status_t status;
    do
      status = copy();
    while (status == RAWHAL_TIMED_OUT && rawhal_deadline_after(0) < deadline);
    return status;
  }
};

TEST_F(CopyDeadline, ADeviceThatStandsStill)
{
  rawhal_buffer_t *first = upload<uint32_t>({1, 2, 3, 4}), *second = buffer(16);
  uint32_t data[4] = {5, 6, 7, 8}, seen[4] = {9, 9, 9, 9};
  softgpu_call("softgpu_pause");
  EXPECT_EQ(rawhal_buffer_write(first, 0, data, 16, &error), RAWHAL_TIMED_OUT);
  EXPECT_NE(std::string(error.message).find("250 ms"), std::string::npos) << error.message;
  EXPECT_EQ(rawhal_buffer_read(first, 0, seen, 16, &error), RAWHAL_TIMED_OUT);
  EXPECT_EQ(seen[0], 9u);
  EXPECT_EQ(rawhal_buffer_copy(second, 0, first, 0, 16, &error), RAWHAL_TIMED_OUT);
  EXPECT_EQ(rawhal_buffer_fill(first, 0, 3, 16, &error), RAWHAL_TIMED_OUT);
  softgpu_call("softgpu_resume");
  ASSERT_OK(when_it_answers([&] { return rawhal_buffer_read(first, 0, seen, 16, &error); }));
  EXPECT_EQ(memcmp(seen, data, 16), 0); // the first write was carried out late, nothing else was
}

TEST_F(CopyDeadline, IsSetWithTheRuntimeOnly)
{
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.copy_timeout_ns = 1;
  rawhal_instance_t *other = nullptr;
  EXPECT_EQ(rawhal_instance_create(&options, &other, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(other, nullptr);
}

// Freeing waits for a transfer that was given up.
TEST_F(CopyDeadline, MemoryIsNotFreedUnderATransfer)
{
  rawhal_buffer_t *first = upload<uint32_t>({1, 2, 3, 4});
  softgpu_call("softgpu_pause");
  uint32_t data[4] = {5, 6, 7, 8};
  EXPECT_EQ(rawhal_buffer_write(first, 0, data, 16, &error), RAWHAL_TIMED_OUT);
  std::thread late([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    softgpu_call("softgpu_resume");
  });
  buffers.clear();
  rawhal_buffer_free(first); // a fault of the device, if it did not wait
  late.join();
  rawhal_buffer_t *other = buffer(8);
  const uint32_t values[2] = {9, 10};
  uint32_t seen[2] = {};
  ASSERT_OK(when_it_answers([&] { return rawhal_buffer_write(other, 0, values, 8, &error); }));
  ASSERT_OK(when_it_answers([&] { return rawhal_buffer_read(other, 0, seen, 8, &error); }));
  EXPECT_EQ(seen[0], 9u);
  EXPECT_EQ(seen[1], 10u);
}

} // namespace
