// What rawhal calls loadable loads and freezes in ROCr, and ROCr then reports the same facts.
#include <gtest/gtest.h>

#include "answer.h"
#include "children.h"
#include "objects.h"

namespace {

// Returns how many were loaded.
size_t all_load(const std::vector<NamedObject> &objects)
{
  std::string complaints;
  std::vector<Outcome> outcomes = run_in_children(
      objects.size(),
      [&](size_t i, std::string &complaint) {
        Answer answer = ask_rocr(objects[i].bytes, complaint);
        if (!complaint.empty())
          complaint = objects[i].name + ":\n" + complaint;
        return answer.packed();
      },
      complaints);
  EXPECT_EQ("", complaints);
  size_t count = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(Outcome::kDone, outcomes[i].kind) << objects[i].name;
    count += Answer::unpack(outcomes[i].value).kind == Answer::kAccepted;
  }
  return count;
}

class OracleRocr : public testing::Test {
protected:
  void SetUp() override
  {
    std::string ignored;
    auto start = [](size_t, std::string &) { return int{Rocr::get().started()}; };
    if (!run_in_children(1, start, ignored)[0].value)
      GTEST_SKIP() << "no libhsa-runtime64.so.1 here";
  }
};

} // namespace

TEST_F(OracleRocr, FixturesLoad)
{
  std::vector<NamedObject> objects = fixtures_for("gfx90a");
  ASSERT_GT(objects.size(), 10u);
  EXPECT_EQ(objects.size(), all_load(objects));
}

TEST_F(OracleRocr, CorpusLoads)
{
  std::vector<NamedObject> objects = corpus_for("gfx90a");
  if (objects.empty())
    GTEST_SKIP() << "no corpus beside the checkout";
  EXPECT_GT(all_load(objects), objects.size() / 4); // the others are for other settings, or V6
}

TEST_F(OracleRocr, RocrandLoads)
{
  std::vector<NamedObject> objects =
      objects_of(find_file(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*"), "gfx90a");
  if (objects.empty())
    GTEST_SKIP() << "no rocRAND in the build folder";
  EXPECT_EQ(1u, all_load(objects)); // of xnack+ and xnack-, one
}
