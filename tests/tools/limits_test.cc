// `rawhal limits` and `rawhal top` as their users meet them.
#include "tests/tools/command.h"

#include <sys/stat.h>

#include <rawhal/version.h>

extern "C" {
#include "queue/limit/config.h"
}

TEST(Limits, ShowsValuesAndTheirOrigins)
{
  Outcome got = run({tool, "limits", "--index", "1", "--memory", "64G"},
                    {"RAWHAL_MEMORY_LIMIT_1=25%", "CUDA_DEVICE_SM_LIMIT=30", "RAWHAL_TENANT=blue"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(
      contains(got.out, "memory                 16GiB                    RAWHAL_MEMORY_LIMIT_1\n"));
  EXPECT_TRUE(
      contains(got.out, "gpu-share              30%                      CUDA_DEVICE_SM_LIMIT\n"));
  EXPECT_TRUE(contains(got.out, "dispatch-rate          unlimited                -\n"));
  EXPECT_TRUE(contains(got.out, "tenant                 blue                     RAWHAL_TENANT\n"));
}

TEST(Limits, Json)
{
  Outcome got = run({tool, "limits", "--json"}, {"RAWHAL_GPU_BURST=5ms"});
  EXPECT_EQ(0, got.status) << got.err;
  Json document = parse(got.out);
  ASSERT_TRUE(document);
  EXPECT_EQ("rawhal-limits-1", text_of(document.get(), "schema"));
  json_t *limits = json_object_get(document.get(), "limits");
  EXPECT_EQ("5ms", text_of(json_object_get(limits, "burst"), "value"));
  EXPECT_EQ("RAWHAL_GPU_BURST", text_of(json_object_get(limits, "burst"), "from"));
  EXPECT_TRUE(json_is_null(json_object_get(json_object_get(limits, "memory"), "from")));
}

TEST(Limits, WhatIsNotUnderstoodIsNamed)
{
  expect_refusal(run({tool, "limits"}, {"HIP_DEVICE_MEMORY_LIMIT=4X"}), 3,
                 "HIP_DEVICE_MEMORY_LIMIT: '4X'");
  expect_refusal(run({tool, "limits"}, {"RAWHAL_MEMORY_LIMIT=50%"}), 3, "RAWHAL_MEMORY_LIMIT");
  expect_refusal(run({tool, "limits", "--memory", "lots"}), 2, "--memory");
  expect_refusal(run({tool, "limits", "--index", "x"}), 2, "--index");
  for (const char *kind : {"--device=1", "--device=hsa"})
    expect_refusal(run({tool, "limits", kind}), 2, "'--device': --index N selects a device");
  expect_refusal(run({tool, "limits", "x"}), 2, "unexpected argument");
}

TEST(Limits, WhatIsNotHonouredIsListed)
{
  const std::vector<std::string> environment = {"CUDA_OVERSUBSCRIBE=true", "ACTIVE_OOM_KILLER=0",
                                                "GPU_CORE_UTILIZATION_POLICY=dis\x1b"
                                                "able",
                                                "CUDA_DEVICE_SM_LIMIT=30"};
  Outcome got = run({tool, "limits"}, environment);
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(
      contains(got.out, "gpu-share              30%                      CUDA_DEVICE_SM_LIMIT\n"));
  size_t at = got.out.find("\nNOT HONOURED ");
  ASSERT_NE(std::string::npos, at) << got.out;
  for (const char *part :
       {"\nCUDA_OVERSUBSCRIBE             true ", "\nACTIVE_OOM_KILLER              0 ",
        "\nGPU_CORE_UTILIZATION_POLICY    dis\\x1bable "})
    EXPECT_TRUE(contains(got.out.substr(at), part)) << part << got.out;
  EXPECT_EQ(3u, lines(got.out.substr(at + 1)) - 1) << "those that are set";
  Json document = parse(run({tool, "limits", "--json"}, environment).out);
  json_t *list = json_object_get(document.get(), "not_honoured");
  ASSERT_EQ(3u, json_array_size(list));
  for (size_t i = 0; i < 3; ++i)
    EXPECT_FALSE(text_of(json_array_get(list, i), "instead").empty());
  EXPECT_FALSE(contains(run({tool, "limits"}).out, "NOT HONOURED"));
}

TEST(Limits, WhatIsPinnedAndWhatIsMisspelt)
{
  Outcome got = run({tool, "limits"},
                    {"RAWHAL_GPU_SHARE=30%", "RAWHAL_TENANT=blue", "RAWHAL_LIMITS_PINNED=all"});
  EXPECT_TRUE(contains(got.out, " RAWHAL_GPU_SHARE, pinned\n")) << got.out;
  EXPECT_TRUE(contains(got.out, " RAWHAL_TENANT, pinned\n")) << got.out;
  EXPECT_TRUE(contains(got.out, "weight                 100                      -\n")) << got.out;
  expect_refusal(run({tool, "limits"}, {"RAWHAL_MEMORY_LIMT=1Gi"}), 3,
                 "nearest is RAWHAL_MEMORY_LIMIT");
  Outcome program = run({tool, "run", fixtures + "vector_add-gfx90a-v5.co", "--kernel",
                         "vector_add", "--grid", "1", "--block", "64"},
                        {"RAWHAL_DEVICE=softgpu", "RAWHAL_GPU_SHAR=30%"});
  EXPECT_TRUE(contains(program.err, "RAWHAL_GPU_SHAR: ")) << program.err;
}

// A copy of the command that finds its library when it has more rights than its caller, for whom
// $ORIGIN is not followed: an absolute path takes its place, of no more bytes.
class PrivilegedCopy {
  const std::string soname = "librawhal.so." + std::to_string(RAWHAL_VERSION_MAJOR) + "." +
                             std::to_string(RAWHAL_VERSION_MINOR);

public:
  PrivilegedCopy()
  {
    char name[] = "/tmp/rhXXXXXX";
    root_ = mkdtemp(name);
    std::string bytes = slurp(tool);
    const std::string origin = "$ORIGIN/";
    size_t at = bytes.find(origin + "../");
    if (at != std::string::npos) {
      const std::string library = std::string(&bytes[at + origin.size()]) + "/" + soname;
      spit(root_ + "/" + soname, slurp(tool.substr(0, tool.rfind('/') + 1) + library));
      size_t room = strlen(&bytes[at]);
      EXPECT_GE(room, root_.size());
      bytes.replace(at, room, root_ + std::string(room - root_.size(), '/'));
    }
    spit(path(), bytes);
    EXPECT_EQ(0, chmod(root_.c_str(), 0755));
    EXPECT_EQ(0, chmod(path().c_str(), 04755));
  }
  ~PrivilegedCopy()
  {
    unlink(path().c_str());
    unlink((root_ + "/" + soname).c_str());
    rmdir(root_.c_str());
  }
  std::string path() const { return root_ + "/rawhal"; }

private:
  std::string root_;
};

// Rights that whoever started the program does not have: a file it names is not opened for it.
TEST(Limits, AProgramWithMoreRightsOpensNoFileForItsCaller)
{
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make such a program";
  const PrivilegedCopy copy;
  const auto as_another = [&](const std::string &entry) {
    return run(
        {"/usr/bin/env", "setpriv", "--reuid=65534", "--clear-groups", copy.path(), "limits"},
        {entry});
  };
  if (as_another("HOME=/").status != 0)
    GTEST_SKIP() << "programs of that kind do not run here: " << as_another("HOME=/").err;
  for (const char *name :
       {"RAWHAL_LIMITS_FILE", "RAWHAL_LIMIT_REGION", "CUDA_DEVICE_MEMORY_SHARED_CACHE"})
    expect_refusal(as_another(std::string(name) + "=/etc/hostname"), 3,
                   std::string(name) + ": it names a file");
  // A limit is none the less obeyed.
  EXPECT_TRUE(contains(as_another("RAWHAL_GPU_SHARE=30%").out, "30%"));
}

TEST(Top, ShowsARegion)
{
  Scratch scratch;
  std::string path = scratch / "region";
  rawhal_limit_config_t config = {};
  rawhal_error_t error = {};
  rawhal_limiter_t *limiter = nullptr;
  snprintf(config.region.text, sizeof(config.region.text), "%s", path.c_str());
  snprintf(config.tenant.text, sizeof(config.tenant.text), "blue");
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, RAWHAL_LIMIT_GPU_SHARE, 300000, &error));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, RAWHAL_LIMIT_MEMORY, 1 << 30, &error));
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "GPU-7", &limiter, &error)) << error.message;
  Outcome got = run({tool, "top", path, "--once"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(4u, lines(got.out));
  EXPECT_TRUE(contains(got.out, "GPU-7"));
  EXPECT_TRUE(contains(got.out, "  blue                      30.0"));
  EXPECT_TRUE(contains(got.out, std::to_string(getpid())));
  EXPECT_TRUE(contains(got.out, "1.0G"));

  got = run({tool, "top", "--json"}, {"RAWHAL_LIMIT_REGION=" + path});
  EXPECT_EQ(0, got.status) << got.err;
  Json document = parse(got.out);
  ASSERT_TRUE(document);
  EXPECT_EQ("rawhal-top-1", text_of(document.get(), "schema"));
  json_t *rows = json_object_get(document.get(), "rows");
  ASSERT_EQ(3u, json_array_size(rows));
  json_t *tenant = json_array_get(rows, 1);
  EXPECT_EQ("tenant", text_of(tenant, "level"));
  EXPECT_EQ("blue", text_of(tenant, "name"));
  EXPECT_EQ(300000, number_of(tenant, "share_ppm"));
  EXPECT_EQ(1 << 30, number_of(tenant, "memory_limit"));
  EXPECT_TRUE(json_is_null(json_object_get(json_array_get(rows, 0), "share_ppm")));
  EXPECT_EQ(getpid(), number_of(json_array_get(rows, 2), "pid"));
  rawhal_limiter_close(limiter);
  EXPECT_EQ(3u, lines(run({tool, "top", path}).out)); // nobody is left
}

TEST(Top, NumbersAboveTheSignedAreExact)
{
  Scratch scratch;
  std::string path = scratch / "region";
  rawhal_limit_config_t config = {};
  rawhal_error_t error = {};
  rawhal_limiter_t *limiter = nullptr;
  const uint64_t bytes = UINT64_C(1) << 63;
  snprintf(config.region.text, sizeof(config.region.text), "%s", path.c_str());
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, RAWHAL_LIMIT_MEMORY, bytes, &error))
      << error.message;
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "GPU-7", &limiter, &error)) << error.message;
  Outcome got = run({tool, "top", "--json", path});
  EXPECT_TRUE(contains(got.out, "\"memory_limit\": 9223372036854775808")) << got.out << got.err;
  rawhal_limiter_close(limiter);
}

TEST(Top, WhatIsNoRegionIsRefused)
{
  expect_refusal(run({tool, "top", "/no/such/file"}), 3, "NOT_FOUND");
  expect_refusal(run({tool, "top", fixtures + "README.md"}), 3, "UNSUPPORTED");
  expect_refusal(run({tool, "top"}), 2, "expected REGION");
  expect_refusal(run({tool, "top", "a", "b"}), 2, "one REGION");
  expect_refusal(run({tool, "top", "--frob"}), 2, "--frob");
}
