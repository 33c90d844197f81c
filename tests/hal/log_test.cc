// What the library says to the log, and that it says nothing unasked.
#include "device_test.h"

#include <unistd.h>

namespace {

struct Line {
  rawhal_severity_t severity;
  std::string text;
};

void collect(void *context, rawhal_severity_t severity, const char *message)
{
  static_cast<std::vector<Line> *>(context)->push_back({severity, message});
}

size_t count(const std::vector<Line> &lines, const char *part)
{
  size_t found = 0;
  for (const Line &line : lines)
    found += line.text.find(part) != std::string::npos;
  return found;
}

class Log : public testing::Test {
protected:
  void SetUp() override { unsetenv("RAWHAL_DEVICE"); }

  void TearDown() override
  {
    for (const char *name : {"RAWHAL_DEVICE", "RAWHAL_LOG", "RAWHAL_MEMORY_LIMIT"})
      unsetenv(name);
  }

  // Makes an instance, and ends it.
  rawhal_status_t make(rawhal_backend_t backend, std::vector<Line> *lines = nullptr)
  {
    rawhal_instance_options_t options = {};
    options.size = sizeof(options);
    options.backend = backend;
    if (lines) {
      options.log = collect;
      options.log_context = lines;
    }
    rawhal_instance_t *instance = nullptr;
    rawhal_status_t status = rawhal_instance_create(&options, &instance, &error);
    rawhal_instance_destroy(instance);
    return status;
  }

  // What goes to stderr meanwhile.
  std::string printed(rawhal_backend_t backend, std::vector<Line> *lines = nullptr)
  {
    testing::internal::CaptureStderr();
    EXPECT_OK(make(backend, lines));
    return testing::internal::GetCapturedStderr();
  }

  rawhal_error_t error = {};
};

TEST_F(Log, SoftwareThatNobodyAskedFor)
{
  if (has_hardware())
    GTEST_SKIP() << "this machine has /dev/kfd";
  for (int i = 0; i < 2; ++i) { // every time
    std::vector<Line> lines;
    EXPECT_EQ(printed(RAWHAL_BACKEND_DEFAULT, &lines), "");
    ASSERT_EQ(count(lines, "there is no /dev/kfd"), 1u);
    EXPECT_EQ(lines[0].severity, RAWHAL_SEVERITY_WARNING);
    EXPECT_EQ(count(lines, "RAWHAL_DEVICE=hsa"), 1u);
  }
}

TEST_F(Log, SoftwareThatWasAskedForIsNoNews)
{
  std::vector<Line> lines;
  EXPECT_OK(make(RAWHAL_BACKEND_SOFTGPU, &lines));
  setenv("RAWHAL_DEVICE", "softgpu", 1);
  EXPECT_OK(make(RAWHAL_BACKEND_DEFAULT, &lines));
  EXPECT_EQ(count(lines, "/dev/kfd"), 0u);
}

TEST_F(Log, WithoutAHookTheEnvironmentDecides)
{
  if (has_hardware())
    GTEST_SKIP() << "this machine has /dev/kfd";
  EXPECT_EQ(printed(RAWHAL_BACKEND_DEFAULT), "");
  for (const char *enough : {"warning", "note"}) {
    setenv("RAWHAL_LOG", enough, 1);
    std::string line = printed(RAWHAL_BACKEND_DEFAULT);
    EXPECT_EQ(line.find("rawhal: warning: there is no /dev/kfd"), 0u) << line;
    EXPECT_EQ(line.back(), '\n');
  }
  std::vector<Line> lines; // whoever has a hook gets the line there
  EXPECT_EQ(printed(RAWHAL_BACKEND_DEFAULT, &lines), "");
  EXPECT_EQ(count(lines, "/dev/kfd"), 1u);
  for (const char *quiet : {"error", "off", ""}) {
    setenv("RAWHAL_LOG", quiet, 1);
    EXPECT_EQ(printed(RAWHAL_BACKEND_DEFAULT), "") << quiet;
  }
  setenv("RAWHAL_LOG", "loud", 1);
  EXPECT_EQ(make(RAWHAL_BACKEND_DEFAULT), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message)
                .find("RAWHAL_LOG: expected off, error, warning or note, got 'loud'"),
            std::string::npos);
}

TEST_F(Log, LimitsInForce)
{
  std::vector<Line> lines;
  EXPECT_OK(make(RAWHAL_BACKEND_SOFTGPU, &lines));
  EXPECT_EQ(count(lines, "limits are in force"), 0u);
  setenv("RAWHAL_MEMORY_LIMIT", "16MiB", 1);
  EXPECT_OK(make(RAWHAL_BACKEND_SOFTGPU, &lines));
  EXPECT_EQ(count(lines, "device 0, gfx90a: quota and limits are in force"), 1u);
}

TEST_F(Log, EachInstanceAsLongAsItLives)
{
  std::vector<Line> first, second;
  rawhal_instance_options_t options = {};
  options.size = sizeof(options);
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.log = collect;
  options.log_context = &first;
  rawhal_instance_t *one = nullptr, *two = nullptr;
  ASSERT_OK(rawhal_instance_create(&options, &one, &error));
  options.log_context = &second;
  ASSERT_OK(rawhal_instance_create(&options, &two, &error));
  if (!has_hardware()) {
    EXPECT_OK(make(RAWHAL_BACKEND_DEFAULT));
    EXPECT_EQ(count(first, "/dev/kfd"), 1u);
    EXPECT_EQ(count(second, "/dev/kfd"), 1u);
    rawhal_instance_destroy(one);
    one = nullptr;
    EXPECT_OK(make(RAWHAL_BACKEND_DEFAULT));
    EXPECT_EQ(count(first, "/dev/kfd"), 1u);
    EXPECT_EQ(count(second, "/dev/kfd"), 2u);
  }
  rawhal_instance_destroy(one);
  rawhal_instance_destroy(two);
}

class LogOfDevice : public DeviceTest {
protected:
  void SetUp() override
  {
    DeviceTest::SetUp();
    rawhal_instance_options_t options = {};
    options.size = sizeof(options);
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.log = collect;
    options.log_context = &lines;
    ASSERT_OK(rawhal_instance_create(&options, &listening, &error));
  }

  void TearDown() override
  {
    DeviceTest::TearDown();
    rawhal_instance_destroy(listening);
  }

  rawhal_instance_t *listening = nullptr;
  std::vector<Line> lines;
};

class LogOfAnotherChip : public LogOfDevice {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=64,chip=gfx942,listed=gfx90a"; }
};

TEST_F(LogOfAnotherChip, ARelabelledObject)
{
  ASSERT_NE(load("vector_add-gfx942-v5.co"), nullptr);
  EXPECT_EQ(count(lines, "for gfx942, V5, is loaded as one for gfx90a, V5"), 1u);
}

TEST_F(LogOfDevice, AFault)
{
  rawhal_buffer_t *out = buffer(64);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(uint64_t{0x123456000}).add(uint64_t{0});
  const rawhal_device_kernel_t *fault = kernel("fault-gfx90a-v5.co", "fault_load");
  EXPECT_EQ(run(queue(), dispatch_of(fault, 1, 1, blob)), RAWHAL_FAULT);
  EXPECT_EQ(count(lines, "0x123456000"), 1u);
}

} // namespace
