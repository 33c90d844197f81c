// What programs call their queues, buffers and dispatches, as the command shows it: this process is watched by it.
#include "tests/hal/device_test.h"
#include "tests/tools/recorded.h"

#include <sys/prctl.h>

#include <sstream>

namespace {

// A label that would clear a screen, end a line and turn it round, and is no UTF-8 at its end.
const char *const hostile = "\x1b[2J\n\xe2\x80\xae'\"\\\xff";
const char *const raw = "\x1b[2J\n\xe2\x80\xae'\"\\\xc3\xbf"; // in JSON
const char *const as_text = "\\x1b[2J\\x0a\\u{202e}'\"\\\\\\xff";

class Labels : public DeviceTest {
protected:
  void SetUp() override
  {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); // where Yama lets only parents look
    setenv("RAWHAL_DOOR", "events,now", 1);
    DeviceTest::SetUp();
    unsetenv("RAWHAL_DOOR");
  }

  std::string shown(std::vector<std::string> words)
  {
    words.insert(words.begin(), tool);
    const Outcome got = ::run(words);
    EXPECT_EQ(0, got.status) << got.err;
    for (const char byte : got.out)
      EXPECT_TRUE(byte == '\n' || (byte >= 0x20 && byte != 0x7f)) << got.out;
    return got.out;
  }

  const std::string pid = std::to_string(getpid());
};

TEST_F(Labels, OfQueuesAndBuffersAreShownWhileTheyExist)
{
  rawhal_queue_label(queue(), hostile);
  rawhal_queue_label(queue(), "decode");
  queue();
  rawhal_buffer_label(buffer(4096), "weights");
  const std::string attached = shown({"attach", pid});
  EXPECT_TRUE(contains(attached, as_text)) << attached;
  EXPECT_TRUE(contains(attached, "  decode\n")) << attached;
  EXPECT_TRUE(contains(attached, "  -\n")) << attached;
  const Json document = parse(shown({"attach", pid, "--json"}));
  const json_t *queues =
      json_object_get(json_array_get(json_object_get(document.get(), "doors"), 0), "queues");
  ASSERT_EQ(json_array_size(queues), 3u);
  EXPECT_EQ(raw, text_of(json_array_get(queues, 0), "label"));
  EXPECT_EQ("decode", text_of(json_array_get(queues, 1), "label"));
  EXPECT_TRUE(json_is_null(json_object_get(json_array_get(queues, 2), "label")));
  const std::string listed = shown({"events", pid, "--list"});
  EXPECT_TRUE(contains(listed, std::string("  label ") + as_text + "\n")) << listed;
  EXPECT_TRUE(contains(listed, "  label weights\n")) << listed;
}

TEST_F(Labels, OfQueuesStandWithWhatHappensInThem)
{
  Scratch scratch;
  const std::string saved = scratch / "events";
  rawhal_queue_t *on = queue();
  rawhal_queue_label(on, "decode");
  const pid_t watcher = fork_child();
  if (watcher == 0) {
    (void)freopen("/dev/null", "w", stdout);
    execl(tool.c_str(), "rawhal", "events", pid.c_str(), "--save", saved.c_str(), nullptr);
    _exit(127);
  }
  const auto seen = [&](const char *what) {
    std::string out;
    for (int i = 0; i < 10000 && !contains(out, what); ++i)
      out = ::run({tool, "events", "--read", saved}).out;
    EXPECT_TRUE(contains(out, what)) << out;
    return out;
  };
  seen("  label decode\n");
  Blob blob;
  blob.add(rawhal_buffer_address(buffer(4096))).add(0x5eed5eedu);
  rawhal_dispatch_t dispatch =
      dispatch_of(kernel("mistakes-gfx90a-v5.co", "fill"), 1024, 256, blob);
  dispatch.label = hostile;
  ASSERT_OK(DeviceTest::run(on, dispatch));
  rawhal_queue_label(on, "prefill");
  ASSERT_OK(DeviceTest::run(on, dispatch));
  const std::string text = seen("'prefill'  ticket 2");
  EXPECT_TRUE(signal_child(watcher, SIGINT));
  int status = -1;
  EXPECT_EQ(watcher, waitpid(watcher, &status, 0));
  EXPECT_TRUE(contains(text, " 'decode'  ticket 1  packet 0  packets 1  fill  label " +
                                 std::string(as_text) + "\n"))
      << text;
  EXPECT_TRUE(contains(text, "  label          queue ")) << text;
  EXPECT_TRUE(contains(text, "  label prefill\n")) << text;
  const std::string json = ::run({tool, "events", "--read", saved, "--json"}).out;
  std::istringstream every(json);
  size_t submissions = 0;
  for (std::string line; std::getline(every, line);) {
    const Json event = parse(line);
    if (text_of(event.get(), "event") != "submit")
      continue;
    EXPECT_EQ(submissions ? "prefill" : "decode", text_of(event.get(), "queue_label")) << line;
    ++submissions;
  }
  EXPECT_EQ(submissions, 2u);
}

TEST_F(Labels, OfQueuesAreInCoreFiles)
{
  Scratch scratch;
  const std::string core = scratch / "core";
  DeviceTest::TearDown();
  setenv("RAWHAL_DOOR", "answers", 1);
  DeviceTest::SetUp();
  unsetenv("RAWHAL_DOOR");
  rawhal_queue_t *on = queue();
  rawhal_queue_label(on, hostile);
  Blob blob;
  blob.add(rawhal_buffer_address(buffer(4096))).add(0x5eed5eedu);
  rawhal_dispatch_t dispatch =
      dispatch_of(kernel("mistakes-gfx90a-v5.co", "fill"), 1024, 256, blob);
  dispatch.label = "layer 3";
  rawhal_ticket_t ticket = 0;
  softgpu_call("softgpu_pause");
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  (void)shown({"attach", pid, "--core", core});
  softgpu_call("softgpu_resume");
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  const std::string text = shown({"core", "show", core});
  EXPECT_TRUE(contains(text, "layer 3\n")) << text;
  EXPECT_TRUE(contains(text, std::string(" ") + as_text + "\n")) << text;
  const Json document = parse(shown({"core", "show", core, "--json"}));
  const json_t *queues = json_object_get(document.get(), "queues");
  ASSERT_EQ(json_array_size(queues), 1u);
  EXPECT_EQ(raw, text_of(json_array_get(queues, 0), "label"));
  const json_t *dispatches = json_object_get(document.get(), "dispatches");
  ASSERT_GE(json_array_size(dispatches), 1u);
  EXPECT_EQ(raw, text_of(json_array_get(dispatches, 0), "queue_label"));
}

TEST_F(Labels, OfQueuesAreInTop)
{
  Scratch scratch;
  const std::string region = scratch / "region";
  DeviceTest::TearDown();
  instance = nullptr;
  setenv("RAWHAL_LIMIT_REGION", region.c_str(), 1);
  DeviceTest::SetUp();
  unsetenv("RAWHAL_LIMIT_REGION");
  rawhal_queue_t *on = queue();
  rawhal_queue_label(on, hostile);
  rawhal_queue_label(queue(), "decode");
  queue();
  Blob blob;
  blob.add(rawhal_buffer_address(buffer(4096))).add(0x5eed5eedu);
  const rawhal_dispatch_t dispatch =
      dispatch_of(kernel("mistakes-gfx90a-v5.co", "fill"), 1024, 256, blob);
  rawhal_ticket_t ticket = 0;
  softgpu_call("softgpu_pause");
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  const std::string text = shown({"top", region, "--queues"});
  const std::string json = shown({"top", region, "--queues", "--json"});
  softgpu_call("softgpu_resume");
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  EXPECT_TRUE(contains(text, std::string(" '") + as_text + "': 3 in flight\n")) << text;
  EXPECT_TRUE(contains(text, " 'decode': 0 in flight\n")) << text;
  EXPECT_FALSE(contains(shown({"top", region}), "decode"));
  const Json document = parse(json);
  const json_t *rows = json_object_get(document.get(), "rows");
  size_t processes = 0;
  for (size_t i = 0; i < json_array_size(rows); ++i) {
    const json_t *row = json_array_get(rows, i), *queues = json_object_get(row, "queues");
    EXPECT_EQ(queues != nullptr, text_of(row, "level") == "process");
    if (!queues)
      continue;
    ++processes;
    ASSERT_EQ(json_array_size(queues), 3u);
    EXPECT_EQ(raw, text_of(json_array_get(queues, 0), "label"));
    EXPECT_EQ(3, number_of(json_array_get(queues, 0), "in_flight"));
    EXPECT_EQ("decode", text_of(json_array_get(queues, 1), "label"));
    EXPECT_TRUE(json_is_null(json_object_get(json_array_get(queues, 2), "label")));
  }
  EXPECT_EQ(processes, 1u);
}

} // namespace
