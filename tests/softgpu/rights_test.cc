// Which device may use which memory, and from when to when.
#include <sys/mman.h>

#include "kernels.h"
#include "newer.h"

namespace {

class Rights : public Kernels, public ::testing::WithParamInterface<bool> {
protected:
  struct Outcome {
    hsa_status_t status = HSA_STATUS_SUCCESS;
    std::string text;
    softgpu_fault_info_t info{};
  };

  void configure() override
  {
    option("gpus", 2);
    option("reference", GetParam());
  }

  Outcome outcome(hsa_queue_t *q, hsa_signal_t done)
  {
    Outcome made;
    for (int i = 0; i < 10000; ++i) {
      if (hsa->hsa_signal_load_scacquire(done) == 0) {
        EXPECT_TRUE(reaches(done, 0));
        return made;
      }
      if (hsa->queue_fault_info(q, &made.info, sizeof(made.info))) {
        made.text = fault_text(q);
        made.status = queue_error();
        return made;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "neither done nor failed";
    return made;
  }

  // A kernel of the device with these arguments, to its end.
  Outcome run(size_t device, const char *kernel, std::vector<uint64_t> arguments)
  {
    gpu = gpus[device];
    return run(load("fault-gfx90a-v5.co", kernel), std::move(arguments));
  }

  // One that is loaded, on its device.
  Outcome run(const Kernel &kernel, std::vector<uint64_t> arguments, uint32_t grid = 1,
              uint16_t workgroup = 1)
  {
    hsa_queue_t *q = queue();
    return outcome(q, start(q, kernel, kernargs(std::move(arguments)), grid, workgroup));
  }

  Outcome store(size_t device, const void *at, uint32_t value)
  {
    return run(device, "fault_store", {(uint64_t)at, 0, value});
  }

  void allow(void *memory, std::vector<hsa_agent_t> agents)
  {
    ASSERT_EQ(
        hsa->hsa_amd_agents_allow_access((uint32_t)agents.size(), agents.data(), nullptr, memory),
        HSA_STATUS_SUCCESS);
  }

  uint32_t *word(void *memory) { return (uint32_t *)memory; }
};

INSTANTIATE_TEST_SUITE_P(Engines, Rights, ::testing::Bool(), [](const auto &engine) {
  return std::string(engine.param ? "reference" : "fast");
});

constexpr hsa_status_t violation = (hsa_status_t)HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION;

TEST_P(Rights, a_devices_memory_is_its_own)
{
  auto *memory = word(device_memory(4096));
  *memory = 1;
  EXPECT_EQ(store(0, memory, 2).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(*memory, 2u);
  Outcome wrong = store(1, memory, 3);
  EXPECT_EQ(wrong.status, violation);
  EXPECT_EQ(*memory, 2u);
  EXPECT_EQ(wrong.info.address, (uint64_t)memory);
  EXPECT_EQ(wrong.info.nearest_base, (uint64_t)memory);
  EXPECT_EQ(wrong.info.nearest_size, 4096u);
  EXPECT_EQ(wrong.info.nearest_node, 1u);
  char address[32];
  snprintf(address, sizeof(address), "0x%llx", (unsigned long long)memory);
  for (const std::string &part :
       {std::string("not given"), std::string(address), std::string("+4096) of device 0"),
        std::string("device 1 was not given access")})
    EXPECT_NE(wrong.text.find(part), std::string::npos) << wrong.text;
}

TEST_P(Rights, every_kind_of_access_needs_it)
{
  auto *memory = device_memory(4096);
  auto *out = host_memory(4096);
  EXPECT_EQ(run(1, "fault_load", {(uint64_t)out, (uint64_t)memory, 0}).status, violation);
  EXPECT_EQ(run(1, "fault_scalar_load", {(uint64_t)out, (uint64_t)memory, 0}).status, violation);
  EXPECT_EQ(run(1, "fault_atomic", {(uint64_t)memory, 0}).status, violation);
  EXPECT_EQ(run(0, "fault_atomic", {(uint64_t)memory, 0}).status, HSA_STATUS_SUCCESS);
}

TEST_P(Rights, are_given_and_taken_away)
{
  auto *memory = word(device_memory(4096));
  allow(memory, {gpus[0], gpus[1]});
  EXPECT_EQ(store(1, memory, 3).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(store(0, memory, 4).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(*memory, 4u);
  allow(memory, {gpus[0]});
  EXPECT_EQ(store(1, memory, 5).status, violation);
  EXPECT_EQ(store(0, memory, 6).status, HSA_STATUS_SUCCESS);
  allow(memory, {gpus[1]}); // the owner keeps it
  EXPECT_EQ(store(0, memory, 7).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(store(1, memory, 8).status, HSA_STATUS_SUCCESS);
}

TEST_P(Rights, are_lost_while_a_kernel_runs)
{
  auto *flag = word(device_memory(4096));
  *flag = 0;
  allow(flag, {gpus[0], gpus[1]});
  gpu = gpus[1];
  hsa_queue_t *q = queue();
  hsa_signal_t done = start(q, load("spin-gfx90a-v5.co", "spin"), kernargs({(uint64_t)flag}));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 1);
  allow(flag, {gpus[0]});
  EXPECT_EQ(outcome(q, done).status, violation);
}

// The runtime gives a pool's host memory to no device by itself.
TEST_P(Rights, host_memory_is_given_like_any_other)
{
  void *memory = nullptr;
  ASSERT_EQ(hsa->hsa_amd_memory_pool_allocate(host_pool, 4096, 0, &memory), HSA_STATUS_SUCCESS);
  Outcome wrong = store(0, memory, 1);
  EXPECT_EQ(wrong.status, violation);
  EXPECT_NE(wrong.text.find("of the host, to which device 0"), std::string::npos) << wrong.text;
  allow(memory, {gpus[1]});
  EXPECT_EQ(store(1, memory, 2).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(store(0, memory, 3).status, violation);
  allow(memory, {cpu});
  EXPECT_EQ(store(1, memory, 4).status, violation);
  EXPECT_EQ(*word(memory), 2u);
  EXPECT_EQ(hsa->hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
}

TEST_P(Rights, of_arguments_and_code)
{
  gpu = gpus[0];
  Kernel kernel = load("fault-gfx90a-v5.co", "fault_store");
  void *arguments = device_memory(4096), *out = host_memory(4096);
  const uint64_t words[] = {(uint64_t)out, 0, 9};
  memset(arguments, 0, 4096);
  memcpy(arguments, words, sizeof(words));
  for (size_t device : {1, 0}) {
    gpu = gpus[device];
    hsa_queue_t *q = queue(), *other = queue();
    hsa_signal_t first = signal(1), second = signal(1);
    auto made = packet(kernel, kernargs({(uint64_t)out, 0, 9}), 1, 1, first);
    submit(q, &made, dispatch_header());
    EXPECT_EQ(outcome(q, first).status,
              device == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    made = packet(load("fault-gfx90a-v5.co", "fault_store"), arguments, 1, 1, second);
    submit(other, &made, dispatch_header());
    EXPECT_EQ(outcome(other, second).status, device == 0 ? HSA_STATUS_SUCCESS : violation);
  }
}

// A copy engine has the rights of its device, which is the source's. hsa_memory_copy() knows that
// and goes through host memory.
TEST_P(Rights, of_copy_engines)
{
  SKIP_WITHOUT_INTERRUPTS();
  MemoryFault seen;
  notice(&seen);
  auto *from = word(device_memory(4096));
  hsa_amd_memory_pool_t pool{};
  hsa->hsa_amd_agent_iterate_memory_pools(
      gpus[1],
      [](hsa_amd_memory_pool_t each, void *data) {
        auto *first = static_cast<hsa_amd_memory_pool_t *>(data);
        *first = first->handle ? *first : each;
        return HSA_STATUS_SUCCESS;
      },
      &pool);
  void *to = nullptr;
  ASSERT_EQ(hsa->hsa_amd_memory_pool_allocate(pool, 4096, 0, &to), HSA_STATUS_SUCCESS);
  *from = 5;
  EXPECT_EQ(hsa->hsa_memory_copy(to, from, 4096), HSA_STATUS_SUCCESS);
  EXPECT_EQ(*word(to), 5u);
  allow(to, {gpus[0], gpus[1]});
  *from = 6;
  hsa_signal_t done = signal(1), never = signal(1);
  ASSERT_EQ(hsa->hsa_amd_memory_async_copy(to, gpus[1], from, gpus[0], 4096, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  EXPECT_TRUE(reaches(done, 0));
  EXPECT_EQ(*word(to), 6u);
  EXPECT_FALSE(seen.is_seen);
  allow(to, {gpus[1]});
  *from = 7;
  ASSERT_EQ(hsa->hsa_amd_memory_async_copy(to, gpus[1], from, gpus[0], 4096, 0, nullptr, never),
            HSA_STATUS_SUCCESS);
  for (int i = 0; i < 10000 && !seen.is_seen; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(seen.is_seen);
  EXPECT_EQ(seen.address, (uint64_t)to);
  EXPECT_EQ(*word(to), 6u);
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(never), 1);
  EXPECT_EQ(hsa->hsa_amd_memory_pool_free(to), HSA_STATUS_SUCCESS);
}

// --- exact bounds ---

TEST_P(Rights, end_where_the_program_says)
{
  const uint32_t bytes = 4000, n = 1024; // 24 floats more than there are
  auto *memory = (float *)device_memory(bytes), *in = (float *)device_memory(n * 4);
  const std::vector<uint64_t> arguments = {(uint64_t)memory, (uint64_t)in, (uint64_t)in, n};
  const Kernel kernel = load("vector_add-gfx90a-v4.co", "vector_add");
  auto add = [&] {
    gpu = gpus[0];
    return run(kernel, arguments, n, 256);
  };
  EXPECT_EQ(add().status, HSA_STATUS_SUCCESS) << "the page's end, as long as nobody says more";
  EXPECT_FALSE(hsa->memory_bound((uint64_t)memory, 4097)) << "more than there is";
  EXPECT_FALSE(hsa->memory_bound((uint64_t)memory, 0));
  EXPECT_FALSE(hsa->memory_bound((uint64_t)memory + 4, 8)) << "not its start";
  EXPECT_FALSE(hsa->memory_bound((uint64_t)&bytes, 4)) << "no device's";
  ASSERT_TRUE(hsa->memory_bound((uint64_t)memory, bytes));
  Outcome wrong = add();
  EXPECT_EQ(wrong.status, violation);
  EXPECT_EQ(wrong.info.address, (uint64_t)memory + bytes);
  EXPECT_EQ(wrong.info.nearest_size, bytes);
  EXPECT_EQ(wrong.info.access, (uint32_t)SOFTGPU_ACCESS_WRITE);
  EXPECT_EQ(wrong.info.lanes_known, 1u);
  EXPECT_EQ(wrong.info.lanes, ~0ull << 40); // the last 24 of the last wave
  EXPECT_NE(wrong.text.find("0 bytes past the end of [0x"), std::string::npos) << wrong.text;
  allow(memory, {gpus[0], gpus[1]}); // and so for all
  EXPECT_EQ(store(1, (char *)memory + bytes - 4, 1).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(store(1, (char *)memory + bytes, 1).status, violation);
  ASSERT_TRUE(hsa->memory_bound((uint64_t)memory, 4096));
  EXPECT_EQ(add().status, HSA_STATUS_SUCCESS);
}

// An atomic operation on 2 bytes is one on their dword.
TEST_P(Rights, end_behind_the_dword_of_a_smaller_element)
{
  auto *own = (char *)device_memory(4096);
  ASSERT_TRUE(hsa->memory_bound((uint64_t)own, 4002));
  std::vector<uint32_t> words(3000);
  char *inside = (char *)words.data() + 2;
  void *locked = nullptr;
  ASSERT_EQ(hsa->hsa_amd_memory_lock(inside, 4000, &gpus[0], 1, &locked), HSA_STATUS_SUCCESS);
  const Kernel atomic = load("fault-gfx90a-v5.co", "fault_atomic");
  const Kernel plain = load("fault-gfx90a-v5.co", "fault_store");
  auto exchange = [&](void *at) { return run(atomic, {(uint64_t)at, 0}).status; };
  auto put = [&](void *at) { return run(plain, {(uint64_t)at, 0, 1}).status; };
  for (char *end : {own + 4002, (char *)locked + 4000}) { // both are at two bytes of a dword
    EXPECT_EQ(exchange(end - 6), HSA_STATUS_SUCCESS);
    EXPECT_EQ(exchange(end - 2), HSA_STATUS_SUCCESS);
    EXPECT_EQ(exchange(end + 2), violation);
    EXPECT_EQ(put(end - 2), violation) << "a store is as wide as the program's";
    EXPECT_EQ(put(end - 4), HSA_STATUS_SUCCESS);
  }
  EXPECT_EQ(exchange((char *)locked - 2), HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[0], 1u) << "the first element's dword begins before";
  EXPECT_EQ(exchange((char *)locked - 6), violation);
  EXPECT_EQ(hsa->hsa_amd_memory_unlock(inside), HSA_STATUS_SUCCESS);
}

// --- the program's own memory, locked ---

TEST_P(Rights, locked_memory_has_its_bounds_at_the_hosts_address_and_at_another)
{
  for (const bool same : {true, false}) {
    option("same_address", same);
    std::vector<uint32_t> words(3000);
    uint32_t *inside = words.data() + 7; // at no page's start
    void *seen = nullptr, *again = nullptr;
    ASSERT_EQ(hsa->hsa_amd_memory_lock(inside, 4000, &gpus[0], 1, &seen), HSA_STATUS_SUCCESS);
    EXPECT_EQ(seen == inside, same);
    EXPECT_EQ((uint64_t)seen % 4096, (uint64_t)inside % 4096);
    ASSERT_EQ(hsa->hsa_amd_memory_lock(inside, 4000, &gpus[0], 1, &again), HSA_STATUS_SUCCESS);
    EXPECT_EQ(seen, again);
    EXPECT_EQ(store(0, seen, 11).status, HSA_STATUS_SUCCESS);
    EXPECT_EQ(inside[0], 11u);
    EXPECT_EQ(store(0, (char *)seen + 3996, 12).status, HSA_STATUS_SUCCESS);
    EXPECT_EQ(inside[999], 12u);
    EXPECT_EQ(store(0, (char *)seen + 4000, 13).status, violation);
    EXPECT_EQ(store(0, (char *)seen - 4, 13).status, violation);
    EXPECT_EQ(inside[1000], 0u);
    EXPECT_EQ(inside[-1], 0u);
    EXPECT_EQ(store(0, inside, 14).status, same ? HSA_STATUS_SUCCESS : violation); // the host's
    EXPECT_EQ(hsa->hsa_amd_memory_unlock(inside), HSA_STATUS_SUCCESS);
    EXPECT_EQ(store(0, seen, 15).status, HSA_STATUS_SUCCESS); // was locked twice
    EXPECT_EQ(hsa->hsa_amd_memory_unlock(inside), HSA_STATUS_SUCCESS);
    EXPECT_EQ(store(0, seen, 16).status, violation);
    EXPECT_EQ(inside[0], 15u);
  }
}

TEST_P(Rights, locked_memory_may_overlap)
{
  std::vector<uint32_t> words(3000);
  void *first = nullptr, *second = nullptr, *longer = nullptr;
  ASSERT_EQ(hsa->hsa_amd_memory_lock(&words[0], 4000, &gpus[0], 1, &first), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa->hsa_amd_memory_lock(&words[500], 4000, &gpus[0], 1, &second), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa->hsa_amd_memory_lock(&words[0], 8000, &gpus[0], 1, &longer), HSA_STATUS_SUCCESS);
  EXPECT_EQ(store(0, (char *)first + 2000, 1).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[500], 1u);
  EXPECT_EQ(store(0, second, 2).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[500], 2u);
  EXPECT_EQ(store(0, (char *)longer + 2000, 3).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[500], 3u);
  EXPECT_EQ(hsa->hsa_amd_memory_unlock(&words[500]), HSA_STATUS_SUCCESS);
  EXPECT_EQ(store(0, second, 4).status, violation);
  EXPECT_EQ(store(0, (char *)first + 2000, 5).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->hsa_amd_memory_unlock(&words[0]), HSA_STATUS_SUCCESS); // the last of the two
  EXPECT_EQ(store(0, longer, 6).status, violation);
  EXPECT_EQ(store(0, first, 7).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->hsa_amd_memory_unlock(&words[0]), HSA_STATUS_SUCCESS);
  EXPECT_EQ(words[0], 7u);
}

// What a GPU finds there is no page, and again one when there is one.
TEST_P(Rights, locked_memory_that_is_unmapped_faults)
{
  const size_t bytes = 4 * 4096;
  auto map = [&](void *at) {
    return (char *)mmap(at, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  };
  // Far below everything: whoever asks for memory anywhere, as other threads do, gets it above, and not this hole.
  char *lowest = map(nullptr), *memory = (char *)MAP_FAILED;
  ASSERT_NE(lowest, MAP_FAILED);
  for (size_t gib = 64; gib < 256 && memory == MAP_FAILED; ++gib)
    memory = map(lowest - (gib << 30));
  munmap(lowest, bytes);
  ASSERT_NE(memory, MAP_FAILED);
  void *seen = nullptr;
  ASSERT_EQ(hsa->hsa_amd_memory_lock(memory, bytes, &gpus[0], 1, &seen), HSA_STATUS_SUCCESS);
  EXPECT_EQ(store(0, seen, 1).status, HSA_STATUS_SUCCESS);
  ASSERT_EQ(munmap(memory + 4096, 4096), 0); // a part of it
  Outcome wrong = store(0, (char *)seen + 4096, 2);
  EXPECT_EQ(wrong.status, violation);
  EXPECT_NE(wrong.text.find("unmapped"), std::string::npos) << wrong.text;
  ASSERT_EQ(munmap(memory, bytes), 0); // and the rest
  EXPECT_EQ(store(0, seen, 3).status, violation);
  ASSERT_EQ(map(memory), memory);
  EXPECT_EQ(store(0, seen, 4).status, HSA_STATUS_SUCCESS);
  EXPECT_EQ(*word(memory), 4u);
  EXPECT_EQ(hsa->hsa_amd_memory_unlock(memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(store(0, seen, 5).status, violation);
  munmap(memory, bytes);
}

// The runtime keeps it for the next queue, so it does not end with its own.
TEST_P(Rights, of_scratch_are_the_devices)
{
  auto *out = word(host_memory(256));
  hsa_queue_t *q = queue();
  hsa_signal_t done =
      start(q, load("scratch-gfx90a-v5.co", "scratch"), kernargs({(uint64_t)out, 3}), 64, 64);
  ASSERT_TRUE(reaches(done, 0)) << fault_text(q);
  auto *scratch = (void *)((amd_queue_t *)q)->scratch_backing_memory_location;
  ASSERT_NE(scratch, nullptr);
  EXPECT_EQ(store(1, scratch, 1).status, violation);
}

TEST_P(Rights, what_cannot_be_written_to_cannot_be_locked)
{
  const size_t page = 4096;
  auto *pages =
      (char *)mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(pages + page, page, PROT_READ), 0);
  ASSERT_EQ(munmap(pages + 3 * page, page), 0);
  void *seen = nullptr;
  for (size_t wrong : {0u, 1u, 3u})
    EXPECT_NE(hsa->hsa_amd_memory_lock(pages + wrong * page, page, &gpus[0], 1, &seen),
              HSA_STATUS_SUCCESS)
        << wrong;
  EXPECT_NE(hsa->hsa_amd_memory_lock(pages + 2 * page, 2 * page, &gpus[0], 1, &seen),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->hsa_amd_memory_lock(pages + 2 * page, page, &gpus[0], 1, &seen),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->hsa_amd_memory_unlock(pages + 2 * page), HSA_STATUS_SUCCESS);
  munmap(pages, 3 * page);
}

} // namespace
