// What the plugin reads: plugstack.conf's words, Slurm's list of what a job was given, the driver's description of GPUs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

extern "C" {
#include "fleet/slurm/allotment.h"
#include "fleet/slurm/gpus.h"
}

namespace {

bool Has(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

// ---- What was given ----

struct Given {
  const char *text;
  std::vector<std::vector<uint32_t>> parts; // GPU, parts, of
};

class Allotments : public testing::TestWithParam<Given> {};

TEST_P(Allotments, AreRead)
{
  allotment_t allotment;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, allotment_read(GetParam().text, 10, &allotment, &error)) << error.message;
  std::vector<std::vector<uint32_t>> parts;
  for (uint32_t i = 0; i < allotment.count; ++i)
    parts.push_back({allotment.parts[i].gpu, allotment.parts[i].parts, allotment.parts[i].of});
  EXPECT_EQ(GetParam().parts, parts);
}

INSTANTIATE_TEST_SUITE_P(
    Slurms, Allotments,
    testing::Values(Given{"", {}}, Given{"shard:3(IDX:0)", {{0, 3, 10}}},
                    Given{"gpu:1(IDX:1)", {{1, 1, 1}}},
                    Given{"gpu:3(IDX:0-1,5)", {{0, 1, 1}, {1, 1, 1}, {5, 1, 1}}},
                    Given{"gpu:mi250:2(IDX:2-3),shard:mi250:10(IDX:0)",
                          {{2, 1, 1}, {3, 1, 1}, {0, 10, 10}}},
                    Given{"shard:5(2/8,0/8,3/4)", {{0, 2, 8}, {2, 3, 4}}},
                    Given{"nic:2(IDX:0-1),license:7,shard:1(IDX:2)", {{2, 1, 10}}},
                    Given{"gpu:0", {}}, Given{"shard:0(IDX:)", {}}, Given{"gpus:1,sharder:3", {}}));

TEST(Allotment, ThatIsNotUnderstoodIsRefused)
{
  for (const char *text : {"gpu:1",
                           "shard:3",
                           "shard:11(IDX:0)",
                           "gpu:x(IDX:0)",
                           "gpu:1(IDX:)",
                           "gpu:1(IDX:x)",
                           "gpu:1(IDX:0",
                           "gpu:1(IDX:0)x",
                           "gpu:2(IDX:1-0)",
                           "gpu:2(IDX:0-)",
                           "gpu:2(IDX:0,)",
                           "gpu:1(S:0-1)",
                           "shard:4(IDX:0-1)",
                           "gpu:1(IDX:16)",
                           "gpu:2(IDX:0,0)",
                           "shard:3(4/3)",
                           "shard:3(3/0)",
                           "shard:3(3/)",
                           "shard:3(3/4,)",
                           "gpu:1(1/2)",
                           "gpu:99999999999(IDX:0)",
                           "gpu:1(IDX:99999999999)",
                           "gpu:1(",
                           "gpu:",
                           "gpu:()",
                           "shard:1(IDX:0),gpu:1(IDX:0)",
                           "gpu:4294967296(IDX:0-4294967295)"}) {
    allotment_t allotment;
    rawhal_error_t error = {};
    EXPECT_EQ(RAWHAL_UNSUPPORTED, allotment_read(text, 10, &allotment, &error)) << text;
    EXPECT_EQ(0u, allotment.count);
    EXPECT_TRUE(Has(error.message, "Slurm has given '")) << error.message;
  }
  allotment_t allotment;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_UNSUPPORTED, allotment_read("shard:1(IDX:0)", 0, &allotment, &error));
  EXPECT_TRUE(Has(error.message, "shards= as in gres.conf")) << error.message;
}

// ---- Words ----

rawhal_status_t Read(std::vector<std::string> words, settings_t *settings, rawhal_error_t *error,
                     const char *node = "node")
{
  std::vector<char *> texts;
  for (std::string &word : words)
    texts.push_back(word.data());
  return settings_read(static_cast<int>(texts.size()), texts.data(), node, settings, error);
}

TEST(Words, AreSettings)
{
  settings_t settings;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, Read({"dir=/a/b", "accounting=/c", "front=/dev/null", "shards=7",
                             "on-error=drain", "gpu=gfx90a at 0000:0100,64G", "gpu=GPU-1,512M"},
                            &settings, &error))
      << error.message;
  EXPECT_STREQ("/a/b/node", settings.directory);
  EXPECT_STREQ("/c", settings.accounting);
  EXPECT_EQ(7u, settings.shards);
  EXPECT_EQ(ON_ERROR_DRAIN, settings.on_error);
  ASSERT_EQ(2u, settings.gpu_count);
  EXPECT_STREQ("gfx90a at 0000:0100", settings.gpus[0].name);
  EXPECT_EQ(uint64_t{64} << 30, settings.gpus[0].memory_bytes);
  EXPECT_EQ(uint64_t{512} << 20, settings.gpus[1].memory_bytes);
  ASSERT_EQ(RAWHAL_OK, Read({"front=/dev/null", "accounting=none"}, &settings, &error));
  EXPECT_STREQ("/run/rawhal/slurm/node", settings.directory);
  EXPECT_STREQ("", settings.accounting);
  EXPECT_EQ(ON_ERROR_REFUSE, settings.on_error);
}

TEST(Words, ThatAreWrongAreNamed)
{
  const std::string longest(5000, 'x');
  for (const std::string &word :
       {std::string("dir=a"), std::string("dir="), "dir=/" + longest, std::string("accounting=x"),
        std::string("shards=0"), std::string("shards=1000001"), std::string("shards=3x"),
        std::string("shards=-1"), std::string("shards="), std::string("on-error=ignore"),
        std::string("gpu=x"), std::string("gpu=,1G"), std::string("gpu=x,much"),
        "gpu=" + longest + ",1G", std::string("gpu=x,50%"), std::string("share=3"),
        std::string("shards"), std::string("=")}) {
    settings_t settings;
    rawhal_error_t error = {};
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
              Read({"front=/dev/null", word, "on-error=run", "dir=/b"}, &settings, &error))
        << word;
    EXPECT_TRUE(Has(error.message, word.substr(0, word.find('=')))) << error.message;
    EXPECT_EQ(ON_ERROR_RUN, settings.on_error) << "what follows counts";
    EXPECT_STREQ("/b/node", settings.directory);
  }
  settings_t settings;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_NOT_FOUND, Read({"front=/there/is/none.so"}, &settings, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Read({"front=/dev/null"}, &settings, &error, "../other"));
  std::vector<std::string> many(17, "gpu=x,1G");
  many.push_back("front=/dev/null");
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Read(many, &settings, &error));
  EXPECT_TRUE(Has(error.message, "more than 16 GPUs")) << error.message;
}

// ---- The driver's GPUs ----

class Driver : public testing::Test {
protected:
  Driver()
  {
    char name[] = "/tmp/rawhal-kfd-XXXXXX";
    folder_ = mkdtemp(name);
    snprintf(settings_.kfd, sizeof(settings_.kfd), "%s", folder_.c_str());
  }
  ~Driver() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string &path, const std::string &text) const
  {
    const std::filesystem::path full = folder_ + "/" + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

  std::string folder_;
  settings_t settings_ = {};
  rawhal_error_t error_ = {};
};

TEST_F(Driver, NamesItsGpusAsTheRuntimeDoes)
{
  Write("0/properties", "cpu_cores_count 64\nsimd_count 0\n");
  Write("1/properties", "simd_count 416\nunique_id 8315170124862222593\n");
  Write("1/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 68702699520\nflags 0\n");
  Write("2/properties", "simd_count 416\nunique_id 1\n");
  Write("2/mem_banks/0/properties", "heap_type 2\nsize_in_bytes 4096\n");
  Write("2/mem_banks/1/properties", "heap_type 0\nsize_in_bytes 1\n");
  ASSERT_EQ(RAWHAL_OK, gpus_find(&settings_, &error_)) << error_.message;
  ASSERT_EQ(2u, settings_.gpu_count);
  EXPECT_STREQ("GPU-73656b2c435a7101", settings_.gpus[0].name);
  EXPECT_EQ(68702699520u, settings_.gpus[0].memory_bytes);
  EXPECT_STREQ("GPU-0000000000000001", settings_.gpus[1].name);
  EXPECT_EQ(4096u, settings_.gpus[1].memory_bytes);
}

TEST_F(Driver, WithoutWhatItMustSayIsNotTaken)
{
  EXPECT_EQ(RAWHAL_NOT_FOUND, gpus_find(&settings_, &error_));
  Write("0/properties", "simd_count 4\nunique_id 0\n");
  EXPECT_EQ(RAWHAL_UNSUPPORTED, gpus_find(&settings_, &error_));
  EXPECT_TRUE(Has(error_.message, "has no unique_id: name all GPUs by gpu=")) << error_.message;
  Write("0/properties", "simd_count 4\nunique_id 7\n");
  EXPECT_EQ(RAWHAL_UNSUPPORTED, gpus_find(&settings_, &error_));
  EXPECT_TRUE(Has(error_.message, "has no memory")) << error_.message;
  EXPECT_EQ(0u, settings_.gpu_count);
  settings_.gpu_count = 1; // plugstack.conf's
  EXPECT_EQ(RAWHAL_OK, gpus_find(&settings_, &error_));
}

} // namespace
