// `rawhal cdi`: what it writes, and what it says of what others have written.
#include <sys/stat.h>

#include "tests/tools/command.h"

namespace {

const std::vector<std::string> softgpu = {tool, "cdi", "--softgpu", "--region-dir", "/tmp"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string> &more)
{
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The value of a variable of a slice, or of all of them.
std::string variable(const json_t *edits, const std::string &name)
{
  const json_t *list = json_object_get(edits, "env");
  for (size_t i = 0; i < json_array_size(list); ++i) {
    const std::string entry = json_string_value(json_array_get(list, i));
    if (entry.compare(0, name.size() + 1, name + "=") == 0)
      return entry.substr(name.size() + 1);
  }
  return "";
}

const json_t *edits_of(const json_t *document, size_t device)
{
  return json_object_get(json_array_get(json_object_get(document, "devices"), device),
                         "containerEdits");
}

// What --check prints of a document.
Outcome check(const std::string &text)
{
  Scratch scratch;
  spit(scratch / "x", text.data(), text.size());
  Outcome got = run({tool, "cdi", "--check", scratch / "x"});
  for (size_t at; (at = got.out.find(scratch / "x")) != std::string::npos;)
    got.out.replace(at, (scratch / "x").size(), "x");
  return got;
}

const std::string whole =
    R"({"cdiVersion": "0.5.0", "kind": "a.b/c", "devices": [{"name": "d", "containerEdits": {}}]})";

// `whole` with one part of it replaced.
std::string but(const std::string &from, const std::string &to)
{
  std::string text = whole;
  return text.replace(text.find(from), from.size(), to);
}

} // namespace

TEST(Cdi, SlicesADeviceIntoTenants)
{
  Outcome got = run(with(softgpu, {"--tenants", "10"}));
  ASSERT_EQ(0, got.status) << got.err;
  Json document = parse(got.out);
  ASSERT_TRUE(document);
  EXPECT_EQ("0.5.0", text_of(document.get(), "cdiVersion"));
  EXPECT_EQ("rawhal.dev/gpu", text_of(document.get(), "kind"));
  ASSERT_EQ(10u, json_array_size(json_object_get(document.get(), "devices")));
  for (size_t i = 0; i < 10; ++i) {
    const std::string name = "gpu0-slice" + std::to_string(i + 1);
    EXPECT_EQ(name, text_of(json_array_get(json_object_get(document.get(), "devices"), i), "name"));
    EXPECT_EQ(name, variable(edits_of(document.get(), i), "RAWHAL_TENANT"));
    EXPECT_EQ("10%", variable(edits_of(document.get(), i), "RAWHAL_GPU_SHARE"));
  }
  const json_t *common = json_object_get(document.get(), "containerEdits");
  EXPECT_EQ("/run/rawhal/region.sock", variable(common, "RAWHAL_LIMIT_REGION"));
  EXPECT_EQ("all", variable(common, "RAWHAL_LIMITS_PINNED"));
  EXPECT_EQ(0u, variable(common, "HSA_TOOLS_LIB").find("/opt/rawhal/librawhal-front.so"));
  const json_t *mounts = json_object_get(common, "mounts");
  bool front = false;
  for (size_t i = 0; i < json_array_size(mounts); ++i) {
    const json_t *mount = json_array_get(mounts, i);
    EXPECT_EQ(0, access(text_of(mount, "hostPath").c_str(), R_OK)) << text_of(mount, "hostPath");
    EXPECT_STREQ("ro", json_string_value(json_array_get(json_object_get(mount, "options"), 0)));
    front |= text_of(mount, "containerPath") == "/opt/rawhal/librawhal-front.so";
  }
  EXPECT_TRUE(front);
  EXPECT_EQ(nullptr, json_object_get(common, "deviceNodes")) << "softgpu has none";
  Outcome checked = check(got.out);
  EXPECT_EQ(0, checked.status) << checked.out << checked.err;
}

// The variables are what programs read: together they are never more than the device.
TEST(Cdi, SharesAndMemoryAreWhatLimitsRead)
{
  for (const char *tenants : {"1", "3", "7", "64"}) {
    Json document = parse(run(with(softgpu, {"--tenants", tenants})).out);
    ASSERT_TRUE(document) << tenants;
    const json_t *edits = edits_of(document.get(), 0);
    Json limits = parse(run({tool, "limits", "--json"},
                            {"RAWHAL_GPU_SHARE=" + variable(edits, "RAWHAL_GPU_SHARE"),
                             "RAWHAL_MEMORY_LIMIT=" + variable(edits, "RAWHAL_MEMORY_LIMIT")})
                            .out);
    ASSERT_TRUE(limits) << tenants;
    const json_t *all = json_object_get(limits.get(), "limits");
    const double share = atof(text_of(json_object_get(all, "gpu-share"), "value").c_str());
    EXPECT_NEAR(100.0 / atoi(tenants), share, 0.0001) << tenants;
    EXPECT_LE(share * atoi(tenants), 100.0) << tenants;
    EXPECT_NE("", text_of(json_object_get(all, "memory"), "from")) << tenants;
  }
}

TEST(Cdi, WhatIsAskedForIsTaken)
{
  Json document = parse(run(with(softgpu, {"--tenants=2", "--gpu-share=12.5%", "--memory=1G",
                                           "--kind=example.com/part"}))
                            .out);
  ASSERT_TRUE(document);
  EXPECT_EQ("example.com/part", text_of(document.get(), "kind"));
  EXPECT_EQ("12.5%", variable(edits_of(document.get(), 1), "RAWHAL_GPU_SHARE"));
  EXPECT_EQ("1GiB", variable(edits_of(document.get(), 1), "RAWHAL_MEMORY_LIMIT"));
}

// Of an installer in a container: what engines mount is on their machine.
TEST(Cdi, InstallsWhatContainersGet)
{
  Scratch scratch;
  for (int round = 0; round < 2; ++round) {
    Outcome got = run(with(softgpu, {"--tenants=1", "--install-dir", scratch.root}));
    ASSERT_EQ(0, got.status) << got.err;
    Json document = parse(got.out);
    const json_t *mounts =
        json_object_get(json_object_get(document.get(), "containerEdits"), "mounts");
    size_t installed = 0;
    for (size_t i = 0; i < json_array_size(mounts); ++i) {
      const std::string from = text_of(json_array_get(mounts, i), "hostPath"),
                        to = text_of(json_array_get(mounts, i), "containerPath");
      if (from.compare(0, scratch.root.size(), scratch.root) != 0)
        continue;
      EXPECT_EQ("/opt/rawhal" + from.substr(scratch.root.size()), to);
      struct stat facts = {};
      EXPECT_EQ(0, stat(from.c_str(), &facts)) << from;
      EXPECT_EQ(0755u, facts.st_mode & 07777u) << from;
      ++installed;
    }
    EXPECT_GE(installed, 2u) << "the front, libelf";
  }
  expect_refusal(run(with(softgpu, {"--tenants=1", "--install-dir=/no/such"})), 3, "/no/such");
  expect_refusal(run(with(softgpu, {"--tenants=1", "--install-dir=here"})), 2, "absolute path");
}

TEST(Cdi, PromisesNothingTwice)
{
  const auto refused = [](const std::vector<std::string> &more, int status, const char *why) {
    expect_refusal(run(with(softgpu, more)), status, why);
  };
  refused({"--tenants=3", "--gpu-share=40%"}, 3, "3 slices of 40.0000 % are more than the device");
  refused({"--tenants=2", "--memory=5G"}, 3, "are more than the 8589934592 of GPU 0");
  refused({"--tenants=2", "--gpu=1"}, 3, "--softgpu has GPU 0 only");
  refused({"--tenants=0"}, 2, "--tenants: expected 1 to 64, got '0'");
  refused({"--tenants=65"}, 2, "--tenants");
  refused({"--tenants=2", "--gpu-share=0%"}, 2, "--gpu-share");
  refused({"--tenants=2", "--memory=lots"}, 2, "--memory");
  refused({"--tenants=2", "--kind=gpu"}, 2, "--kind: expected VENDOR/CLASS");
  refused({}, 2, "expected --tenants N and --region-dir DIR");
  refused({"--tenants=2", "--check=x"}, 2, "--check takes a file");
  refused({"--tenants=2", "x"}, 2, "unexpected argument 'x'");
  expect_refusal(run({tool, "cdi", "--softgpu", "--tenants=2", "--region-dir=/no/such"}), 3,
                 "/no/such");
}

// As of a machine with GPUs: what softgpu shows of them in place of the kernel's driver.
TEST(Cdi, HasTheNodesOfGpus)
{
  const std::string runner = RAWHAL_SOFTGPU_RUN;
  if (access(runner.c_str(), X_OK) || access(RAWHAL_SOFTGPU_TREE, X_OK))
    GTEST_SKIP() << "a sanitizer is in what would be preloaded";
  const auto described = [&](const std::vector<std::string> &more) {
    return run(with({runner, "--system", tool, "cdi", "--region-dir", "/tmp"}, more),
               {"SOFTGPU_GPUS=2", "SOFTGPU_VRAM_MIB=16384"});
  };
  Outcome both = described({"--tenants", "4"});
  ASSERT_EQ(0, both.status) << both.err;
  Json document = parse(both.out);
  ASSERT_EQ(8u, json_array_size(json_object_get(document.get(), "devices")));
  const json_t *first = edits_of(document.get(), 0), *last = edits_of(document.get(), 7);
  EXPECT_EQ("gpu1-slice4", variable(last, "RAWHAL_TENANT"));
  EXPECT_EQ("4GiB", variable(first, "RAWHAL_MEMORY_LIMIT"));
  const auto node = [](const json_t *edits) {
    return text_of(json_array_get(json_object_get(edits, "deviceNodes"), 0), "path");
  };
  EXPECT_EQ(0u, node(first).find("/dev/dri/renderD")) << node(first);
  EXPECT_NE(node(first), node(last));
  const json_t *common = json_object_get(document.get(), "containerEdits");
  EXPECT_EQ("/dev/kfd", node(common));
  EXPECT_EQ("", variable(common, "LD_LIBRARY_PATH")) << "the image's";
  document = parse(described({"--tenants", "4", "--gpu", "1"}).out);
  EXPECT_EQ(4u, json_array_size(json_object_get(document.get(), "devices")));
  EXPECT_EQ("gpu1-slice1", variable(edits_of(document.get(), 0), "RAWHAL_TENANT"));
  expect_refusal(described({"--tenants", "4", "--gpu", "2"}), 3, "there is no GPU 2");
  expect_refusal(described({"--tenants", "33"}), 3, "room for 64 tenants");
}

TEST(CdiCheck, FindsWhatEnginesRefuse)
{
  const struct {
    std::string document;
    const char *line;
  } rows[] = {
      {but("0.5.0", "0.2.0"), "x: cdiVersion: expected 0.3.0 to 0.8.0"},
      {but("0.5.0", "0.5.1"), "x: cdiVersion: expected"},
      {but("\"cdiVersion\": \"0.5.0\", ", ""), "x: cdiVersion: is missing"},
      {but("a.b/c", "c"), "x: kind: expected VENDOR/CLASS, got 'c'"},
      {but("a.b/c", "a/c.d"), "x: kind: expected VENDOR/CLASS"},
      {but("a.b/c", "a/c_"), "x: kind: expected VENDOR/CLASS"},
      {but("\"d\"", "7"), "x: devices[0].name: expected a string"},
      {but("\"d\"", "\"-d\""), "x: devices[0].name: expected a name"},
      {but(R"([{"name": "d", "containerEdits": {}}])", "[]"), "x: devices: expected at least one"},
      {but(R"([{"name": "d", "containerEdits": {}}])", "3"), "x: devices: expected an array"},
      {but("{\"name\": \"d\", \"containerEdits\": {}}",
           R"({"name": "d", "containerEdits": {}}, {"name": "d", "containerEdits": {}})"),
       "x: devices[1].name: 'd' is also the name of devices[0]"},
      {but("\"containerEdits\": {}", "\"annotations\": {}, \"containerEdits\": {}"),
       "x: devices[0].annotations: is of version 0.6.0 and later"},
      {but(", \"containerEdits\": {}", ""), "x: devices[0].containerEdits: is missing"},
      {but("{}", "{\"environ\": []}"),
       "x: devices[0].containerEdits.environ: is not a part of the format"},
      {but("{}", "{\"env\": [\"=x\"]}"),
       "x: devices[0].containerEdits.env[0]: expected NAME=VALUE, got '=x'"},
      {but("{}", "{\"env\": [3]}"), "x: devices[0].containerEdits.env[0]: expected a string"},
      {but("{}", R"({"mounts": [{"hostPath": "/no/such", "containerPath": "/x"}]})"),
       "x: devices[0].containerEdits.mounts[0].hostPath: expected a path that is here"},
      {but("{}", R"({"mounts": [{"hostPath": "/tmp"}]})"),
       "x: devices[0].containerEdits.mounts[0].containerPath: is missing"},
      {but("{}", R"({"deviceNodes": [{"path": "/dev/null", "permissions": "rx"}]})"),
       "x: devices[0].containerEdits.deviceNodes[0].permissions: expected some of r, w and m"},
      {but("{}", R"({"deviceNodes": [{"path": "/dev/null", "minor": -1}]})"),
       "x: devices[0].containerEdits.deviceNodes[0].minor: expected a number"},
      {but("{}", R"({"hooks": [{"hookName": "later", "path": "/bin/sh"}]})"),
       "x: devices[0].containerEdits.hooks[0].hookName: expected a hook"},
      {but("{}", R"({"additionalGids": [1]})"),
       "x: devices[0].containerEdits.additionalGids: is of version 0.7.0 and later"},
      {but("{}", R"({"env": ["A=\u001b[2J"], "x\u001b": 1})"),
       "x: devices[0].containerEdits.x\\x1b: is not a part"},
      {"[]", "x: expected an object"},
  };
  EXPECT_EQ(0, check(whole).status) << check(whole).out;
  for (const auto &row : rows) {
    Outcome got = check(row.document);
    EXPECT_EQ(1, got.status) << row.document;
    EXPECT_EQ(0u, got.out.find(row.line)) << row.line << "\n" << got.out;
    EXPECT_EQ(1u, lines(got.out)) << got.out;
  }
}

TEST(CdiCheck, NewerVersionsMayHaveMore)
{
  EXPECT_EQ(0, check(R"({"cdiVersion": "1.1.0", "kind": "a.b/c.d", "annotations": {"a": "b"},
    "devices": [{"name": "0:d", "containerEdits": {"additionalGids": [44],
      "intelRdt": {"closID": "x", "enableCMT": true},
      "netDevices": [{"hostInterfaceName": "a", "name": "b"}]}}]})")
                   .status);
}

TEST(CdiCheck, WhatIsNoJsonCannotBeChecked)
{
  EXPECT_EQ(3, check("cdiVersion: 0.5.0\n").status);
  EXPECT_EQ(3, check(R"({"kind": "a/b", "kind": "a/b"})").status) << "named twice";
  EXPECT_EQ(3, check("").status);
  expect_refusal(run({tool, "cdi", "--check", "/no/such/file"}), 3, "/no/such/file");
}
