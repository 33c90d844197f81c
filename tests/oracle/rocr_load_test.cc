// What rawhal calls loadable loads and freezes in ROCr, and ROCr then reports the same facts.
#include <algorithm>
#include <gtest/gtest.h>

#include "answer.h"
#include "objects.h"
#include "rocr_test.h"

namespace {

struct Loads {
  size_t accepted = 0;
  std::vector<std::string> refused; // by rawhal, before ROCr was asked
};

Loads all_load(const std::vector<NamedObject> &objects)
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
  Loads loads;
  for (size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(Outcome::kDone, outcomes[i].kind) << objects[i].name;
    const Answer answer = Answer::unpack(outcomes[i].value);
    loads.accepted += answer.kind == Answer::kAccepted;
    if (answer.kind == Answer::kNotLoadable)
      loads.refused.push_back(objects[i].name.substr(0, objects[i].name.find(' ')));
  }
  return loads;
}

// Objects of a library unpacked into the build folder. Of xnack+ and xnack-, half can be loaded.
void library_loads(const char *pattern, size_t least)
{
  std::vector<NamedObject> objects = objects_of(find_file(pattern), "gfx90a");
  if (objects.empty())
    GTEST_SKIP() << "no such library in the build folder";
  Loads loads = all_load(objects);
  EXPECT_EQ(std::vector<std::string>{}, loads.refused);
  EXPECT_GE(loads.accepted, least);
  EXPECT_GE(2 * loads.accepted, objects.size());
}

using OracleRocr = RocrTest;

} // namespace

TEST_F(OracleRocr, FixturesLoad)
{
  std::vector<NamedObject> objects = fixtures_for("gfx90a");
  ASSERT_GT(objects.size(), 10u);
  // Those that need what nobody defines here.
  objects.erase(std::remove_if(objects.begin(), objects.end(),
                               [](const NamedObject &object) {
                                 return object.name.rfind("externals", 0) == 0;
                               }),
                objects.end());
  EXPECT_EQ(objects.size(), all_load(objects).accepted);
}

TEST_F(OracleRocr, CorpusLoads)
{
  std::vector<NamedObject> objects = corpus_for("gfx90a");
  if (objects.empty())
    GTEST_SKIP() << "no corpus";
  Loads loads = all_load(objects);
  EXPECT_GT(loads.accepted, objects.size() / 4); // the others are for other settings, or V6
  for (const std::string &name : loads.refused) {
    bool damaged = name.find("gfx90a") == std::string::npos; // those are called by their damage
    EXPECT_TRUE(damaged || name == "c19-v5-gfx90a-etrel.co" || name == "c19-v5-gfx90a-noshdr.co")
        << name; // not linked, and without section headers: ROCr loads neither
  }
}

TEST_F(OracleRocr, RocrandLoads)
{
  library_loads(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*", 1);
}

TEST_F(OracleRocr, RocsparseLoads)
{
  library_loads(RAWHAL_BUILD_DIR "/rocsparse/usr/lib/*/librocsparse.so.0.*", 50);
}
