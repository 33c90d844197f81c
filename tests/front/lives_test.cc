// What comes and goes while the process goes on: code objects whose addresses others get, and the runtime itself.
#include "tests/cancelled.h"
#include "tests/environment.h"
#include "tests/hal/device_test.h"
#include "tests/tools/process.h"

#include <rawhal/limit.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <unistd.h>

namespace {

class FrontLives : public DeviceTest, protected Environment {
protected:
  void SetUp() override
  {
    Set("HSA_TOOLS_LIB", RAWHAL_FRONT);
    Set("RAWHAL_GPU_SHARE", "90%");
  }

  void TearDown() override {} // End() does

  void Start() { DeviceTest::SetUp(); }

  void End()
  {
    for (hsa_executable_t executable : loaded_)
      EXPECT_EQ(HSA_STATUS_SUCCESS, HSA(hsa_executable_destroy)(executable));
    loaded_.clear();
    DeviceTest::TearDown();
    queues.clear();
    executables.clear();
    buffers.clear();
    instance = nullptr;
  }

  // Where its code was.
  uint64_t Once(rawhal_queue_t *on, const char *fixture, const char *name, const Blob &blob)
  {
    const rawhal_device_kernel_t *once = kernel(fixture, name);
    if (!once)
      return 0;
    EXPECT_OK(run(on, dispatch_of(once, 1, 1, blob)));
    return rawhal_device_kernel_info(once)->kernel_object;
  }

  // By the runtime, as libraries do that know nothing of each other.
  hsa_executable_t Load(const std::vector<char> &bytes)
  {
    const hsa_agent_t agent = {rawhal_device_info(device)->agent};
    hsa_code_object_reader_t reader = {0};
    hsa_executable_t executable = {0};
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              HSA(hsa_code_object_reader_create_from_memory)(bytes.data(), bytes.size(), &reader));
    EXPECT_EQ(HSA_STATUS_SUCCESS,
              HSA(hsa_executable_create_alt)(
                  HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    EXPECT_EQ(HSA_STATUS_SUCCESS, HSA(hsa_executable_load_agent_code_object)(
                                      executable, agent, reader, nullptr, nullptr));
    EXPECT_EQ(HSA_STATUS_SUCCESS, HSA(hsa_executable_freeze)(executable, nullptr));
    HSA(hsa_code_object_reader_destroy)(reader);
    loaded_.push_back(executable);
    return executable;
  }

  void Unload()
  {
    for (rawhal_executable_t *executable : executables)
      rawhal_executable_destroy(executable);
    executables.clear();
  }

  // Of each line that has it, in their order.
  static std::vector<std::string> All(const std::string &path, const std::string &pattern)
  {
    std::ifstream file(path);
    std::vector<std::string> found;
    std::smatch match;
    for (std::string line; std::getline(file, line);)
      if (std::regex_search(line, match, std::regex(pattern)))
        found.push_back(match[1]);
    return found;
  }

  static size_t Threads()
  {
    size_t count = 0;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
      (void)task;
      ++count;
    }
    return count;
  }

  Scratch scratch_;
  std::vector<hsa_executable_t> loaded_; // by the runtime
};

// An address is asked for its kernel once. Another kernel that is loaded there later has its own name.
TEST_F(FrontLives, AKernelAtAnAddressIsWhatIsLoadedThereNow)
{
  Set("RAWHAL_TRACE", scratch_ / "trace");
  Start();
  rawhal_queue_t *on = queue();
  const uint64_t memory = rawhal_buffer_address(buffer(4096));
  Blob add, saxpy;
  add.add(memory).add(memory).add(memory).add(1u);
  saxpy.add(memory).add(memory).add(1.0f).add(memory + 64);
  for (const char *kept : {"vector_add-gfx90a-v5.co", "saxpy_partial-gfx90a-v5.co"})
    Load(fixture_bytes(kept)); // elsewhere: so what is known of them stays
  std::set<uint64_t> adds, both;
  std::vector<std::string> wanted;
  for (int i = 0; i < 20; ++i) {
    adds.insert(Once(on, "vector_add-gfx90a-v5.co", "vector_add", add));
    Unload();
    const uint64_t at = Once(on, "saxpy_partial-gfx90a-v5.co", "saxpy_partial", saxpy);
    if (adds.count(at))
      both.insert(at);
    Unload();
    wanted.insert(wanted.end(), {"vector_add", "saxpy_partial"});
  }
  End();
  EXPECT_FALSE(both.empty()) << "no address was used for both";
  EXPECT_EQ(wanted, All(scratch_ / "trace", "\"name\":\"(\\w+)\",\"cat\":\"dispatch\""));
}

// Whoever loads it, and however often: it has one name, and what one unloads others keep.
TEST_F(FrontLives, AnObjectIsToldByItsContent)
{
  Set("RAWHAL_TRACE", scratch_ / "trace");
  Start();
  const std::vector<char> bytes = fixture_bytes("vector_add-gfx90a-v5.co");
  for (int i = 0; i < 5; ++i)
    Load(bytes);
  Load(fixture_bytes("empty-gfx90a-v5.co"));
  for (int i : {3, 0}) {
    EXPECT_EQ(HSA_STATUS_SUCCESS, HSA(hsa_executable_destroy)(loaded_[static_cast<size_t>(i)]));
    loaded_.erase(loaded_.begin() + i);
  }
  Blob blob;
  blob.add<uint64_t>(0).add<uint64_t>(0).add<uint64_t>(0).add(0u);
  Once(queue(), "vector_add-gfx90a-v5.co", "vector_add", blob);
  End();
  const std::vector<std::string> all = All(scratch_ / "trace",
                                           "\"cat\":\"object\".*\"object\":\"(\\w+)\""),
                                 ran = All(scratch_ / "trace",
                                           "\"cat\":\"dispatch\".*\"object\":\"(\\w+)\"");
  ASSERT_EQ(7u, all.size());
  EXPECT_EQ(6, std::count(all.begin(), all.end(), all[0]));
  EXPECT_NE(all[0], all[5]);
  EXPECT_EQ(std::vector<std::string>{all[0]}, ran);
}

// What the front tells and writes in a program's thread makes no call of the runtime a cancellation point.
TEST_F(FrontLives, ACancelledThreadSubmitsAndLeavesNoLock)
{
  Set("RAWHAL_TRACE", scratch_ / "trace");
  Set("RAWHAL_CHECK", "report");
  Set("RAWHAL_FRONT_REPORT", scratch_ / "report");
  Start();
  const rawhal_device_kernel_t *add = kernel("vector_add-gfx90a-v5.co", "vector_add");
  Blob mistaken;
  mistaken.add<uint64_t>(0x40).add<uint64_t>(0x40).add<uint64_t>(0x40).add(0u);
  const int count = 1000; // dispatches: the trace is written more than once
  EXPECT_TRUE(goes_on_though_cancelled([&] {
    rawhal_queue_t *mine = nullptr;
    EXPECT_OK(rawhal_queue_create(device, nullptr, &mine, &error));
    for (int i = 0; i < count; ++i)
      EXPECT_OK(run(mine, dispatch_of(add, 1, 1, mistaken)));
    rawhal_queue_destroy(mine);
  }));
  EXPECT_OK(run(queue(), dispatch_of(add, 1, 1, mistaken)));
  End();
  EXPECT_FALSE(All(scratch_ / "report", "(vector_add).*in no memory").empty());
  EXPECT_EQ(size_t{count} + 1,
            All(scratch_ / "trace", "\"name\":\"(\\w+)\",\"cat\":\"dispatch\"").size());
}

// A runtime that ends takes the front out of the process, with all its threads, and the next brings it back.
TEST_F(FrontLives, TheRuntimeEndsAndBeginsAgain)
{
  const std::string region = scratch_ / "region";
  Set("RAWHAL_LIMIT_REGION", region);
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  size_t threads = 0;
  for (int i = 0; i < 20; ++i) {
    Start();
    rawhal_queue_t *on = queue();
    std::vector<float> ones(4096, 1);
    rawhal_buffer_t *in = upload(ones), *out = buffer(4096 * sizeof(float));
    const rawhal_device_kernel_t *add = kernel("vector_add-gfx90a-v5.co", "vector_add");
    ASSERT_NE(nullptr, add);
    Blob blob;
    blob.add(rawhal_buffer_address(out))
        .add(rawhal_buffer_address(in))
        .add(rawhal_buffer_address(in))
        .add(4096u);
    for (int k = 0; k < 10; ++k)
      ASSERT_OK(run(on, dispatch_of(add, 4096, 64, blob)));
    EXPECT_EQ(std::vector<float>(4096, 2), download<float>(out, 4096));
    End();
    if (i == 0)
      threads = Threads();
    for (int k = 0; k < 1000 && Threads() > threads; ++k)
      usleep(10000); // who has been joined may still be on its way out
    EXPECT_GE(threads, Threads()) << i;
  }
  rawhal_limit_view_t *view = nullptr;
  rawhal_limit_row_t rows[8];
  ASSERT_OK(rawhal_limit_view_open(region.c_str(), &view, &error));
  size_t count = rawhal_limit_view_read(view, rows, sizeof(*rows), 8), tenants = 0;
  for (size_t i = 0; i < count && i < 8; ++i)
    if (rows[i].level == RAWHAL_LIMIT_LEVEL_TENANT) {
      ++tenants;
      EXPECT_EQ(0u, rows[i].processes);
      EXPECT_EQ(0u, rows[i].memory_used);
    }
  rawhal_limit_view_close(view);
  EXPECT_EQ(1u, tenants);
}

} // namespace
