// printf() and malloc() in kernels, by rawhal_services: fixtures' kernels, on softgpu.
#include "device_test.h"

#include <pthread.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

namespace {

// What was printed, and by which stream.
struct Printed {
  std::string streams[2];
  std::vector<std::string> texts;
  std::atomic<bool> signals_masked{true};
};

void print(void *context, rawhal_services_stream_t stream, const char *text, size_t size)
{
  auto *printed = static_cast<Printed *>(context);
  printed->streams[stream].append(text, size);
  printed->texts.emplace_back(text, size);
}

class ServicesTest : public DeviceTest {
protected:
  void TearDown() override
  {
    for (rawhal_queue_t *made : queues)
      rawhal_queue_destroy(made);
    queues.clear();
    rawhal_services_destroy(services);
    DeviceTest::TearDown();
  }

  // A queue that is served.
  rawhal_queue_t *served(rawhal_services_options_t options = {})
  {
    options.output = print;
    options.context = &printed;
    EXPECT_OK(rawhal_services_create(device, &options, &services, &error));
    rawhal_queue_options_t queue_options = {};
    queue_options.services = rawhal_services_queue(services);
    return queue(queue_options);
  }

  rawhal_executable_t *only(const char *fixture)
  {
    executable = load(fixture);
    return executable;
  }

  const rawhal_device_kernel_t *find(const char *name)
  {
    const rawhal_device_kernel_t *found = nullptr;
    EXPECT_OK(rawhal_executable_kernel(executable, rawhal_string(name), 0, &found, &error));
    return found;
  }

  rawhal_services_info_t info()
  {
    rawhal_services_info_t now = {};
    now.size = sizeof(now);
    rawhal_services_info(services, &now);
    return now;
  }

  using Words = std::vector<uint64_t>;

  // `requests` are eight words for each step of each work-item; the answers' two words for each.
  Words call(rawhal_queue_t *on, uint32_t service, uint32_t items, uint32_t steps,
             const Words &requests)
  {
    rawhal_buffer_t *given = upload(requests), *answers = buffer(items * steps * 16);
    Blob blob;
    blob.add(rawhal_buffer_address(answers)).add(rawhal_buffer_address(given));
    blob.add(service).add(steps);
    if (!executable)
      only("hostcall-gfx90a-v5.co");
    uint16_t group = items < 256 ? static_cast<uint16_t>(items) : 256;
    EXPECT_OK(run(on, dispatch_of(find("hostcall"), items, group, blob)));
    return download<uint64_t>(answers, items * steps * 2);
  }

  rawhal_services_t *services = nullptr;
  rawhal_executable_t *executable = nullptr;
  Printed printed;
};

struct alignas(4) Half2 {
  uint16_t x, y;
};
struct alignas(16) Float4 {
  float x, y, z, w;
};
struct alignas(4) Char4 {
  int8_t x, y, z, w;
};
struct alignas(8) Short4 {
  int16_t x, y, z, w;
};

// ---- Buffered printf(): OpenCL C ----

TEST_F(ServicesTest, OpenclKindsOfArguments)
{
  rawhal_queue_t *on = served();
  only("printf-gfx90a-v5.co");
  Blob blob;
  blob.add(int32_t{-42}).add(1.5f).add(-0.25).add(int64_t{-5000000000});
  blob.add(Float4{1, 2.5, -3, 0}).add(Char4{1, -2, 3, 0}).add(Half2{0x3c00, 0xc100});
  blob.add(Short4{-1, 2, 30000, -30000});
  ASSERT_OK(run(on, dispatch_of(find("printf_kinds"), 1, 1, blob)));
  EXPECT_EQ(printed.streams[0], "") << "before it is flushed";
  ASSERT_OK(rawhal_services_flush(services, executable, &error));
  EXPECT_EQ(printed.streams[0],
            "-42|  -42|-42  |-0042|-42|-42|ffffffd6|0XFFFFFFD6|37777777726|4294967254|q|%|\n"
            "1.500000|    1.50|1.500000e+00|1.5|0x1.8p+0|-0.250000\n"
            "-5000000000|fffffffed5fa0e00|texts|     right|lefts     |cu|\n"
            "1.000000,2.500000,-3.000000,0.000000|1.0,2.5,-3.0,0.0|1,-2,3|1.000000,-2.500000|"
            "-1,2,30000,-30000\n"
            "a:b\t\\ no arguments\n");
  EXPECT_EQ(printed.texts.size(), 5u);
  printed.streams[0].clear();
  ASSERT_OK(rawhal_services_flush(services, executable, &error));
  EXPECT_EQ(printed.streams[0], "") << "it is printed once";
}

TEST_F(ServicesTest, OpenclManyWorkItemsUntilTheBufferIsFull)
{
  rawhal_services_options_t options = {};
  options.parts = RAWHAL_SERVICES_PRINTF;
  options.printf_bytes = 8 + 1000 * 8; // a record has a number and an argument
  rawhal_queue_t *on = served(options);
  only("printf-gfx90a-v5.co");
  for (uint32_t items : {512u, 2048u}) {
    printed.texts.clear();
    ASSERT_OK(run(on, dispatch_of(find("printf_ids"), items, 256, Blob())));
    ASSERT_OK(rawhal_services_flush(services, executable, &error));
    std::set<std::string> all(printed.texts.begin(), printed.texts.end());
    EXPECT_EQ(printed.texts.size(), items < 1000 ? items : 1000);
    EXPECT_EQ(all.size(), printed.texts.size()) << "no record twice";
    for (const std::string &text : all)
      EXPECT_LT(std::stoul(text.substr(5)), items) << text;
  }
}

TEST_F(ServicesTest, HipBuffered)
{
  rawhal_queue_t *on = served();
  only("buffered-gfx90a-v5.co");
  auto text = [this](const char *characters) {
    return upload(std::vector<char>(characters, characters + strlen(characters) + 1));
  };
  Blob blob;
  blob.add(int32_t{7}).add(2.25).add(rawhal_buffer_address(text("a text of its own")));
  blob.add(rawhal_buffer_address(text("%03d and no string\n")));
  ASSERT_OK(run(on, dispatch_of(find("buffered"), 1, 1, blob)));
  ASSERT_OK(rawhal_services_flush(services, executable, &error));
  EXPECT_EQ(printed.streams[0],
            "7|  2.2|constant|a text of its own|      7|2.25|0x10|-1|ff\\\n007 and no string\n");
}

TEST_F(ServicesTest, RecordsOfAnotherCodeObjectAreRefused)
{
  rawhal_queue_t *on = served();
  only("printf-gfx90a-v5.co");
  ASSERT_OK(run(on, dispatch_of(find("printf_ids"), 2, 2, Blob())));
  rawhal_executable_t *other = load("hostcall-gfx90a-v5.co");
  EXPECT_EQ(rawhal_services_flush(services, other, &error), RAWHAL_MALFORMED) << error.message;
  EXPECT_EQ(error.offset, 0u);
  ASSERT_OK(rawhal_services_flush(services, executable, &error)); // emptied
  EXPECT_EQ(printed.streams[0], "");
}

// ---- Hostcalls ----

constexpr uint64_t begin = 1, end = 2;

uint64_t words_of(uint64_t count)
{
  return count << 5;
}

uint64_t text_word(const char *text)
{
  uint64_t word = 0;
  memcpy(&word, text, strnlen(text, 8));
  return word;
}

TEST_F(ServicesTest, HostcallPrintsForEveryLane)
{
  rawhal_queue_t *on = served();
  Words requests;
  for (uint64_t item = 0; item < 200; ++item) { // three waves and a part of one
    for (uint64_t word : {begin | end | words_of(3), item & 1, text_word("%d\n"), item})
      requests.push_back(word);
    requests.resize(requests.size() + 4);
  }
  Words answers = call(on, 2, 200, 1, requests);
  std::set<std::string> all(printed.texts.begin(), printed.texts.end());
  EXPECT_EQ(all.size(), 200u);
  for (uint64_t item = 0; item < 200; ++item) {
    std::string line = std::to_string(item) + "\n";
    EXPECT_EQ(answers[item * 2], line.size());
    EXPECT_EQ(all.count(line), 1u);
  }
  EXPECT_NE(("\n" + printed.streams[0]).find("\n198\n"), std::string::npos);
  EXPECT_NE(("\n" + printed.streams[1]).find("\n199\n"), std::string::npos);
  EXPECT_EQ(info().refused, 0u);
  EXPECT_EQ(info().packets, 4u);
}

TEST_F(ServicesTest, HostcallMessageOfSeveralCalls)
{
  rawhal_queue_t *on = served();
  Words requests = {begin | words_of(1),
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0, // to stdout
                    words_of(2),
                    text_word("%s has %"),
                    text_word("d\n"),
                    0,
                    0,
                    0,
                    0,
                    0,
                    words_of(2),
                    text_word("a longer"),
                    text_word(" one"),
                    0,
                    0,
                    0,
                    0,
                    0,
                    end | words_of(1),
                    5,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0};
  Words answers = call(on, 2, 1, 4, requests);
  EXPECT_EQ(printed.streams[0], "a longer one has 5\n");
  EXPECT_EQ(answers[6], printed.streams[0].size());
  EXPECT_EQ(info().refused, 0u);
}

TEST_F(ServicesTest, HostcallsThatMakeNoSenseAreRefused)
{
  rawhal_queue_t *on = served();
  uint64_t refused = 0;
  auto one = [&](uint32_t service, Words words) {
    words.resize(8);
    Words answers = call(on, service, 1, 1, words);
    EXPECT_EQ(info().refused, ++refused);
    return answers;
  };
  EXPECT_EQ(one(1, {reinterpret_cast<uint64_t>(&abort), 1, 2}), (Words{0, 0})) << "a function";
  EXPECT_EQ(one(99, {1, 2, 3}), (Words{0, 0}));
  EXPECT_EQ(one(2, {end | words_of(1) | 12345 << 8, 0})[0], UINT64_MAX) << "no such message";
  EXPECT_EQ(one(2, {begin | end | words_of(2), 7, 0})[0], UINT64_MAX) << "no such stream";
  EXPECT_EQ(one(2, {begin | end})[0], UINT64_MAX) << "nothing at all";
  EXPECT_EQ(one(3, {0x1000})[0], 0u) << "free() of what is not the heap's";
  EXPECT_EQ(printed.texts.size(), 0u);
}

// ---- Memory ----

TEST_F(ServicesTest, HostcallMemory)
{
  rawhal_services_options_t options = {};
  options.heap_bytes = 8 << 20;
  rawhal_queue_t *on = served(options);
  constexpr uint64_t slab = 2 << 20;
  Words taken = call(on, 3, 2, 1, {0, slab, 0, 0, 0, 0, 0, 0, 0, 5000, 0, 0, 0, 0, 0, 0});
  EXPECT_NE(taken[0], 0u);
  EXPECT_EQ(taken[0] % slab, 0u);
  EXPECT_NE(taken[2], 0u);
  EXPECT_EQ(taken[2] % 4096, 0u);
  EXPECT_EQ(info().heap_used, slab + 8192);
  // It is memory that kernels can write.
  Blob blob;
  blob.add(taken[2]).add(64u).add(1u).add(3u);
  ASSERT_OK(run(on, dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), 64, 64, blob)));
  EXPECT_EQ(call(on, 3, 1, 1, {0, 16 << 20, 0, 0, 0, 0, 0, 0})[0], 0u) << "more than there is";
  EXPECT_EQ(info().heap_full, 1u);
  call(on, 3, 2, 1, {taken[0], 0, 0, 0, 0, 0, 0, 0, taken[2], 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(info().heap_used, 0u);
  EXPECT_EQ(info().refused, 0u);
  call(on, 3, 1, 1, {taken[0], 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(info().refused, 1u) << "twice";
}

// ---- The parts ----

TEST_F(ServicesTest, AddressesOfTheParts)
{
  rawhal_services_options_t options = {};
  for (uint32_t parts : {0u, 1u, 2u, 3u, 6u, 7u}) {
    options.parts = parts;
    ASSERT_OK(rawhal_services_create(device, &options, &services, &error));
    const rawhal_queue_services_t *addresses = rawhal_services_queue(services);
    uint32_t has = parts ? parts : 7;
    EXPECT_EQ(addresses->printf_buffer != 0, (has & 1) != 0);
    EXPECT_EQ(addresses->hostcall_buffer != 0, (has & 2) != 0);
    EXPECT_EQ(addresses->heap != 0, (has & 4) != 0);
    EXPECT_EQ(addresses->default_queue, 0u);
    rawhal_services_destroy(services);
    services = nullptr;
  }
}

TEST_F(ServicesTest, WrongOptions)
{
  auto refused = [this](rawhal_services_options_t options) {
    rawhal_status_t status = rawhal_services_create(device, &options, &services, &error);
    EXPECT_EQ(services, nullptr);
    EXPECT_GT(strlen(error.message), 0u);
    return status;
  };
  rawhal_services_options_t options = {};
  options.parts = 8;
  EXPECT_EQ(refused(options), RAWHAL_INVALID_ARGUMENT);
  options.parts = RAWHAL_SERVICES_HEAP;
  EXPECT_EQ(refused(options), RAWHAL_INVALID_ARGUMENT);
  options = {};
  options.printf_bytes = 63;
  EXPECT_EQ(refused(options), RAWHAL_OUT_OF_RANGE);
  options = {};
  options.printf_bytes = (1ull << 30) + 1;
  EXPECT_EQ(refused(options), RAWHAL_OUT_OF_RANGE);
  options = {};
  options.heap_bytes = 4096;
  EXPECT_EQ(refused(options), RAWHAL_OUT_OF_RANGE);
  options.heap_bytes = 1ull << 40;
  EXPECT_EQ(refused(options), RAWHAL_OUT_OF_RANGE);
  options = {};
  options.hostcall_packets = (1u << 20) + 1;
  EXPECT_EQ(refused(options), RAWHAL_OUT_OF_RANGE);
  EXPECT_EQ(rawhal_services_create(nullptr, nullptr, &services, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_services_create(device, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_services_flush(nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_services_queue(nullptr), nullptr);
  rawhal_services_destroy(nullptr);
}

TEST_F(ServicesTest, TheServingThreadHasNoSignals)
{
  struct Seen {
    std::atomic<bool> all{false};
  } seen;
  rawhal_services_options_t options = {};
  options.output = [](void *context, rawhal_services_stream_t, const char *, size_t) {
    sigset_t masked;
    pthread_sigmask(SIG_SETMASK, nullptr, &masked);
    static_cast<Seen *>(context)->all =
        sigismember(&masked, SIGINT) == 1 && sigismember(&masked, SIGUSR1) == 1;
  };
  options.context = &seen;
  ASSERT_OK(rawhal_services_create(device, &options, &services, &error));
  rawhal_queue_options_t queue_options = {};
  queue_options.services = rawhal_services_queue(services);
  call(queue(queue_options), 2, 1, 1,
       {begin | end | words_of(2), 0, text_word("x"), 0, 0, 0, 0, 0});
  EXPECT_TRUE(seen.all);
}

// Waves that ask all at once, with as few packets as there are waves under way.
TEST_F(ServicesTest, ManyWavesAtOnce)
{
  rawhal_queue_t *on = served();
  constexpr uint32_t items = 4096, steps = 3;
  Words requests;
  for (uint64_t item = 0; item < items; ++item)
    for (uint64_t step = 0; step < steps; ++step) {
      for (uint64_t word :
           {begin | end | words_of(4), uint64_t{0}, text_word("%u.%u\n"), item, step})
        requests.push_back(word);
      requests.resize(requests.size() + 3);
    }
  // The number in an answer is that of a length here, below 256, so that nothing is added.
  Words answers = call(on, 2, items, steps, requests);
  EXPECT_EQ(printed.texts.size(), items * steps);
  std::set<std::string> all(printed.texts.begin(), printed.texts.end());
  EXPECT_EQ(all.size(), items * steps);
  EXPECT_EQ(info().refused, 0u);
}

} // namespace
