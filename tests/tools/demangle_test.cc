// C++ names as people write them: the same text as __cxa_demangle() makes where it is short enough,
// and no work beyond that where it is not. Exact names wherever no person reads.
#include "tests/hsaco/builder.h"
#include "tests/tools/demo_rocrand.h"
#include "tests/tools/page.h"
#include "tests/tools/terminal.h"

#include <cxxabi.h>
#include <random>

namespace {

// What the command makes of these names.
std::vector<std::string> demangled(const std::vector<std::string> &names)
{
  Scratch scratch;
  build::Object object;
  std::vector<std::string> got;
  for (const std::string &name : names)
    object.kernels.push_back(build::plain_kernel(name));
  spit(scratch / "k.co", object.build());
  Outcome text = run({tool, "inspect", "--brief", "--demangle", scratch / "k.co"});
  EXPECT_EQ(0, text.status) << text.err;
  for (size_t at = 0; (at = text.out.find("\n  ", at)) != std::string::npos;) {
    at += 3;
    got.push_back(text.out.substr(at, text.out.find('\n', at) - at));
  }
  EXPECT_EQ(names.size(), got.size());
  got.resize(names.size());
  return got;
}

std::string demangled(const std::string &name)
{
  return demangled(std::vector<std::string>{name})[0];
}

// What libstdc++ makes of it with all the memory that it wants; the name itself where that is none.
std::string oracle(const std::string &name)
{
  int status;
  char *text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = text ? text : name;
  free(text);
  return result;
}

const std::string vector_add = "_Z10vector_addPfS_S_j";
const std::string as_written = "vector_add(float*, float*, float*, unsigned int)";

// Names alone: neither colours nor what is cut.
std::string on_terminal(const std::vector<std::string> &words)
{
  return run_on_terminal(words, 1000, {"NO_COLOR=1"}).out;
}

class Demangled : public testing::Test {
protected:
  void SetUp() override
  {
#ifndef RAWHAL_DEMANGLES // as the command is built
    GTEST_SKIP() << "not with this C++ library";
#endif
    build::Object object;
    object.kernels = {build::plain_kernel(vector_add), build::plain_kernel("plain")};
    spit(path, object.build());
    object.kernels[0].group_size = 64;
    spit(other, object.build());
  }

  Scratch scratch;
  std::string path = scratch / "k.co", other = scratch / "other.co";
};

} // namespace

TEST_F(Demangled, IsWhatLibstdcxxSays)
{
  EXPECT_EQ(as_written, demangled(vector_add));
  EXPECT_EQ(as_written + ".kd", demangled(vector_add + ".kd"));
  for (const std::string &name :
       {std::string("_ZN7rocrand4mainEv"), std::string("_ZL5localv"),
        std::string("_Z3addIfEvPT_S1_"), std::string("_ZN3foo3barILi3ELb1EEEvSt4pairIiS_IfjEE"),
        std::string("_Z1fDpT_"), std::string("_Z4nameUlvE_")})
    EXPECT_EQ(oracle(name), demangled(name));
  for (const std::string &name :
       {std::string("_"), std::string("_Z"), std::string("_Z.kd"), std::string("vector_add"),
        std::string("i"), std::string("Cijk_Ailk"), std::string("_ZN"), std::string("_Z10short"),
        std::string("_GLOBAL__I_a")})
    EXPECT_EQ(name, demangled(name));
  EXPECT_EQ(0u, demangled(vector_add + std::string(1, '\0')).find(vector_add + "\\x00"));
}

TEST_F(Demangled, AllOfRocRand)
{
  const std::string rocrand = demo_rocrand();
  if (rocrand.empty())
    GTEST_SKIP() << "no rocRAND below " RAWHAL_BUILD_DIR;
  Json json = parse(run({tool, "inspect", "--json", rocrand}).out);
  json_t *objects = json_object_get(json.get(), "objects");
  std::string wanted, seen;
  for (size_t i = 0; i < json_array_size(objects); ++i) {
    json_t *kernels = json_object_get(json_array_get(objects, i), "kernels");
    for (size_t k = 0; k < json_array_size(kernels); ++k)
      wanted += "\n  " + oracle(text_of(json_array_get(kernels, k), "name"));
  }
  const std::string text = run({tool, "inspect", "--brief", "--demangle", rocrand}).out;
  for (size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos; ++at)
    if (text.compare(at + 3, 6, "bundle")) // what the object is, not a kernel
      seen += text.substr(at, text.find('\n', at + 1) - at);
  EXPECT_EQ(wanted, seen);
  EXPECT_GT(lines(seen), 100u);
}

// Each S_ doubles what stands before it: 400 bytes stand for more than there is memory in the world.
TEST_F(Demangled, AFewBytesDoNotBecomeMany)
{
  std::string name = "_Z1fSt4pairI1aS0_E";
  static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (size_t i = 1; i < sizeof(digits) - 2; ++i)
    name += std::string("S_IS") + digits[i] + "_S" + digits[i] + "_E";
  EXPECT_EQ(name, demangled(name));
  EXPECT_EQ(name + ".kd", demangled(name + ".kd"));
  EXPECT_EQ(as_written, demangled(vector_add)); // and it can go on after it was left
}

TEST_F(Demangled, LongNamesStayAsTheyAre)
{
  auto of_size = [](size_t size) {
    std::string name = "_Z";
    return name + std::to_string(size - 7) + std::string(size - 7, 'x') + "v"; // four digits
  };
  const std::string longest = of_size(1024), longer = of_size(1025);
  ASSERT_EQ(1024u, longest.size());
  EXPECT_EQ(oracle(longest), demangled(longest));
  EXPECT_NE(longest, demangled(longest));
  EXPECT_EQ(longer, demangled(longer));
}

TEST_F(Demangled, AnyBytesAreSurvived)
{
  static const char letters[] = "SSTTIIEEENNLPKJDXZ_stabvij0123456789pOoFcl.";
  std::mt19937 random(1);
  std::vector<std::string> names;
  for (size_t round = 0; round < 5000; ++round) {
    std::string name = "_Z" + std::string(round % 2 ? "1fI" : "");
    for (unsigned size = random() % 60; name.size() < size;)
      name += letters[random() % (sizeof(letters) - 1)];
    names.push_back(name + "_" + std::to_string(round)); // kernels have one name each
  }
  std::vector<std::string> got = demangled(names);
  for (size_t i = 0; i < names.size(); ++i)
    ASSERT_LE(got[i].size(), 16 * names[i].size()) << names[i];
}

/* ---- Where they are shown ---- */

TEST_F(Demangled, OnTerminalsOnly)
{
  NEEDS_TERMINAL();
  const std::vector<std::vector<std::string>> commands = {{tool, "inspect", path},
                                                          {tool, "inspect", "--brief", path},
                                                          {tool, "find", "*", path},
                                                          {tool, "diff", path, other}};
  for (std::vector<std::string> words : commands) {
    SCOPED_TRACE(words[1]);
    const std::string pipe = run(words).out;
    EXPECT_TRUE(contains(pipe, vector_add) && !contains(pipe, as_written)) << pipe;
    const std::string terminal = on_terminal(words);
    EXPECT_TRUE(contains(terminal, as_written)) << terminal;
    words.push_back("--demangle");
    EXPECT_EQ(terminal, run(words).out);
    words.back() = "--no-demangle";
    EXPECT_EQ(pipe, run(words).out);
    EXPECT_EQ(pipe, on_terminal(words));
    words.push_back("--demangle"); // the last one counts
    EXPECT_EQ(terminal, run(words).out);
    words.push_back("--no-demangle");
    EXPECT_EQ(pipe, on_terminal(words));
  }
}

// The name that `rawhal run` wants is there all the same.
TEST_F(Demangled, InspectHasBoth)
{
  const std::string text = run({tool, "inspect", path, "--demangle"}).out;
  EXPECT_TRUE(contains(text, "\nkernel " + as_written + "\n  name       " + vector_add + "\n"))
      << text;
  EXPECT_TRUE(contains(text, "\nkernel plain\n  workgroup"));
}

TEST_F(Demangled, NeverInJson)
{
  NEEDS_TERMINAL();
  for (const std::vector<std::string> &words :
       {std::vector<std::string>{tool, "inspect", path, "--json"},
        {tool, "find", "*", path, "--json"},
        {tool, "diff", path, other, "--json"}}) {
    std::vector<std::string> with = words;
    with.push_back("--demangle");
    EXPECT_EQ(run(words).out, run(with).out);
    EXPECT_EQ(run(words).out, on_terminal(words));
    EXPECT_TRUE(contains(run(words).out, vector_add));
    EXPECT_FALSE(contains(run(with).out, as_written));
  }
}

TEST_F(Demangled, PagesHaveBoth)
{
  auto kernel_of = [](const Page &page) {
    json_t *object = json_array_get(json_object_get(page.json.get(), "objects"), 0);
    return json_array_get(json_object_get(object, "kernels"), 0);
  };
  Page page = page_of(run({tool, "inspect", "--html", path}).out);
  EXPECT_EQ(vector_add, text_of(kernel_of(page), "name"));
  EXPECT_EQ(as_written, text_of(kernel_of(page), "demangled"));
  Page without = page_of(run({tool, "inspect", "--html", path, "--no-demangle"}).out);
  EXPECT_TRUE(json_is_null(json_object_get(kernel_of(without), "demangled")));
  Page difference = page_of(run({tool, "diff", "--html", path, other}).out);
  json_t *entry = json_array_get(json_object_get(difference.json.get(), "kernels"), 0);
  EXPECT_EQ(as_written, text_of(json_object_get(entry, "kernel_a"), "demangled"));
}

// What comes out is escaped like every name: mangled text may hold any byte.
TEST_F(Demangled, IsStillEscaped)
{
  build::Object object;
  object.kernels = {build::plain_kernel("_Z6\x1b[2J\xff"
                                        "kv"),
                    build::plain_kernel("_Z4\xe2\x80\xae"
                                        "kv")};
  spit(path, object.build());
  for (const std::vector<std::string> &words : {std::vector<std::string>{tool, "inspect", path},
                                                {tool, "find", "*", path},
                                                {tool, "diff", path, other}}) {
    std::vector<std::string> with = words;
    with.push_back("--demangle");
    const std::string text = run(with).out;
    EXPECT_TRUE(contains(text, "\\x1b[2J\\xffk()")) << text;
    EXPECT_TRUE(contains(text, "\\u{202e}k()")) << text;
    EXPECT_EQ(std::string::npos, text.find('\x1b'));
  }
}
