// rawhal diff: what differs between two files, and by the exit status whether that is the ABI.
#include "tests/hsaco/builder.h"
#include "tests/tools/command.h"

static const std::string v5 = fixtures + "vector_add-gfx90a-v5.co";

class Diff : public testing::Test {
protected:
  void SetUp() override { whole = slurp(v5); }

  // The fixture against an altered copy of it.
  Outcome against(const std::string &bytes, const std::vector<std::string> &options = {})
  {
    spit(scratch / "b.co", bytes);
    std::vector<std::string> words = {tool, "diff", v5, scratch / "b.co"};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  }

  // The only change of the only kernel that differs, in JSON.
  Json change(const std::string &bytes, int status)
  {
    Outcome got = against(bytes, {"--json"});
    EXPECT_EQ(status, got.status) << got.err;
    Json document = parse(got.out);
    json_t *kernels = json_object_get(document.get(), "kernels");
    EXPECT_EQ(1u, json_array_size(kernels)) << got.out;
    json_t *changes = json_object_get(json_array_get(kernels, 0), "changes");
    json_t *first = json_array_get(changes, 0);
    return Json(json_incref(first));
  }

  std::string whole;
  Scratch scratch;
};

TEST_F(Diff, AFileIsItsOwnEqual)
{
  for (const char *name : {"vector_add-gfx90a-v5.co", "layouts-gfx90a-v5.co", "bare-gfx90a-v5.co",
                           "empty-gfx90a-v5.co", "vector_add.bundle"}) {
    Outcome got = run({tool, "diff", fixtures + name, fixtures + name});
    EXPECT_EQ(0, got.status) << name << got.err;
    EXPECT_TRUE(contains(got.out, "the same ABI: 0 removed, 0 added, 0 changed")) << got.out;
    EXPECT_EQ(3u, lines(got.out)) << got.out;
  }
}

TEST_F(Diff, HiddenArgumentsAreTheLaunchsAbi)
{
  Outcome got = run({tool, "diff", fixtures + "vector_add-gfx90a-v4.co", v5});
  EXPECT_EQ(1, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "another ABI; blobs of callers fit both"));
  EXPECT_TRUE(contains(got.out, "argument 4 (hidden_block_count_x): added at 32..36"));
  EXPECT_TRUE(contains(got.out, "segment_size 28 -> 288"));
}

TEST_F(Diff, KernelsRemovedAndAdded)
{
  Outcome got = run(
      {tool, "diff", "--json", fixtures + "layouts-gfx90a-v5.co", fixtures + "fault-gfx90a-v5.co"});
  EXPECT_EQ(1, got.status) << got.err;
  Json document = parse(got.out);
  ASSERT_NE(nullptr, document);
  EXPECT_EQ("rawhal-diff-1", text_of(document.get(), "schema"));
  EXPECT_EQ("OK", text_of(document.get(), "status"));
  EXPECT_TRUE(json_is_false(json_object_get(document.get(), "same_abi")));
  EXPECT_EQ(6, number_of(document.get(), "removed"));
  EXPECT_EQ(8, number_of(document.get(), "added"));
  json_t *first = json_array_get(json_object_get(document.get(), "kernels"), 0);
  EXPECT_EQ("fault_atomic", text_of(first, "name")); // in the order of their names
  EXPECT_EQ("added", text_of(first, "change"));
  EXPECT_TRUE(json_is_null(json_object_get(first, "target_a")));
  EXPECT_EQ("gfx90a", text_of(first, "target_b"));
}

TEST_F(Diff, ArgumentsByTheirNames)
{
  Json size = change(altered(whole, ".name\xa1n", ".size\x04", ".size\x02"), 1);
  EXPECT_EQ("abi", text_of(size.get(), "category"));
  EXPECT_EQ("size", text_of(size.get(), "property"));
  EXPECT_EQ(4, number_of(size.get(), "a"));
  EXPECT_EQ(2, number_of(size.get(), "b"));
  json_t *place = json_object_get(json_object_get(size.get(), "argument"), "b");
  EXPECT_EQ("n", text_of(place, "name"));
  EXPECT_EQ(3, number_of(place, "index"));

  // a and b swapped: the same bytes in the same places, and yet not what a caller by name expects.
  std::string swapped = altered(whole,
                                ".name\xa1"
                                "b",
                                ".name\xa1"
                                "b",
                                ".name\xa1"
                                "A");
  swapped = altered(swapped,
                    ".name\xa1"
                    "a",
                    ".name\xa1"
                    "a",
                    ".name\xa1"
                    "b");
  swapped = altered(swapped,
                    ".name\xa1"
                    "A",
                    ".name\xa1"
                    "A",
                    ".name\xa1"
                    "a");
  Json offset = change(swapped, 1);
  EXPECT_EQ("offset", text_of(offset.get(), "property"));
  EXPECT_EQ(8, number_of(offset.get(), "a"));
  EXPECT_EQ(16, number_of(offset.get(), "b"));
  Outcome said = against(swapped);
  EXPECT_TRUE(contains(said.out, "another ABI; blobs of callers fit one only\n")) << said.out;
  EXPECT_TRUE(contains(said.out, "    abi      argument 1 'a': swapped with 'b'\n")) << said.out;
  EXPECT_FALSE(contains(said.out, "argument 2 'b': swapped")); // once is enough
  EXPECT_FALSE(contains(said.out, "not seen"));

  Json renamed = change(altered(whole, ".name\xa1n", ".name\xa1n", ".name\xa1m"), 0);
  EXPECT_EQ("note", text_of(renamed.get(), "category"));
  EXPECT_EQ("name", text_of(renamed.get(), "property"));
  EXPECT_EQ("m", text_of(renamed.get(), "b"));
}

TEST_F(Diff, TypesCountWhereTheyAreKnown)
{
  Json number = change(altered(whole, ".name\xa1n", "\xa4uint",
                               "\xa4"
                               "fp32"),
                       1);
  EXPECT_EQ("type", text_of(number.get(), "property"));
  EXPECT_EQ("abi", text_of(number.get(), "category"));
  Json spelled = change(altered(whole, ".name\xa1n", "\xa4uint", "\xa4myty"), 0);
  EXPECT_EQ("note", text_of(spelled.get(), "category"));
  EXPECT_EQ("uint", text_of(spelled.get(), "a"));
  Json kind = change(altered(whole, ".name\xa1n", "by_value", "bananas!"), 1);
  EXPECT_EQ("value_kind", text_of(kind.get(), "property"));
}

TEST_F(Diff, ResourcesCountOnlyWhenAsked)
{
  std::string more = altered(whole, ".vgpr_count", ".vgpr_count\x08", ".vgpr_count\x18");
  Json registers = change(more, 0);
  EXPECT_EQ("resource", text_of(registers.get(), "category"));
  EXPECT_EQ("vgpr_count", text_of(registers.get(), "property"));
  EXPECT_EQ(24, number_of(registers.get(), "b"));
  EXPECT_EQ(1, against(more, {"--resources"}).status);
  EXPECT_EQ(0, against(whole, {"--resources"}).status);

  std::string wave =
      altered(whole, ".wavefront_size", ".wavefront_size\x40", ".wavefront_size\x20");
  Json size = change(wave, 1);
  EXPECT_EQ("wavefront_size", text_of(size.get(), "property"));
}

TEST_F(Diff, TargetsArePairedWhereThereAreSeveral)
{
  // One each: compared whatever they are.
  Outcome ported = run({tool, "diff", v5, fixtures + "vector_add-gfx942-v5.co"});
  EXPECT_EQ(0, ported.status) << ported.err;
  EXPECT_TRUE(contains(ported.out, "(gfx90a -> gfx942): the same ABI"));
  // Two against one: the other target's kernel is gone.
  Outcome fewer = run({tool, "diff", fixtures + "vector_add.bundle", v5});
  EXPECT_EQ(1, fewer.status) << fewer.err;
  EXPECT_TRUE(contains(fewer.out, "- kernel vector_add (gfx942): removed"));
  EXPECT_EQ(0,
            run({tool, "diff", "--target", "gfx90a", fixtures + "vector_add.bundle", v5}).status);
}

TEST_F(Diff, OneKernel)
{
  std::string layouts = fixtures + "layouts-gfx90a-v5.co";
  EXPECT_EQ(0, run({tool, "diff", layouts, layouts, "--kernel", "past_segment"}).status);
  Outcome gone = run({tool, "diff", layouts, v5, "--kernel", "past_segment"});
  EXPECT_EQ(1, gone.status);
  EXPECT_TRUE(contains(gone.out, "1 removed, 0 added"));
  expect_refusal(run({tool, "diff", layouts, v5, "--kernel", "nobody"}), 3, "neither file");
}

TEST_F(Diff, NothingIsNotTheSameAsNothing)
{
  for (const char *form : {"--json", "--resources"}) {
    Outcome got = run({tool, "diff", v5, v5, "--target", "gfx1030", form});
    expect_refusal(got, 3, "neither file has an object for that target");
    EXPECT_FALSE(contains(got.out, "OK")) << got.out;
  }
}

TEST_F(Diff, RefusalsAreStatus3)
{
  expect_refusal(run({tool, "diff", scratch / "none.co", v5}), 3, "none.co");
  Outcome cut = against(whole.substr(0, whole.size() / 2), {"--json"});
  expect_refusal(cut, 3, "b.co: ");
  Json document = parse(cut.out);
  ASSERT_NE(nullptr, document);
  EXPECT_EQ("MALFORMED", text_of(document.get(), "status"));
  EXPECT_EQ("b", text_of(document.get(), "refused"));
  EXPECT_NE("", text_of(document.get(), "message"));

  expect_refusal(run({tool, "diff", v5}), 2, "expected two files");
  expect_refusal(run({tool, "diff", v5, v5, "--frob"}), 2, "--frob");
  expect_refusal(run({tool, "diff", v5, v5, "--target", "gfx0"}), 2, "gfx0");
}

// Kernels of rows of arguments, each its name; all are pointers but those called n...
static std::string kernel_of(const std::vector<std::string> &names)
{
  build::Object object;
  build::Kernel kernel = build::plain_kernel("k");
  kernel.arguments.clear();
  uint32_t at = 0;
  for (const std::string &name : names) {
    bool number = name[0] == 'n';
    kernel.arguments.push_back({name == "-" ? "" : name, at, 8,
                                number ? "by_value" : "global_buffer", number ? "" : "global"});
    at += 8;
  }
  kernel.kernarg_size = at;
  object.kernels = {kernel};
  return object.build();
}

TEST_F(Diff, SwappedArgumentsAreSeenByTheirNames)
{
  struct Row {
    std::vector<std::string> a, b;
    size_t swaps; // that are seen
    bool blind;   // or cannot be
    bool same_abi, same_blobs;
  };
  const std::vector<Row> rows = {
      {{"a", "b", "n"}, {"a", "b", "n"}, 0, false, true, true},
      {{"a", "b", "n"}, {"b", "a", "n"}, 1, false, false, false},
      {{"a", "b", "c", "d"}, {"d", "c", "b", "a"}, 2, false, false, false},
      {{"a", "b", "c"},
       {"b", "c", "a"},
       0,
       false,
       false,
       false},                                          // three in a ring: their offsets say it
      {{"a", "n"}, {"n", "a"}, 0, false, false, false}, // of two kinds: that is another layout
      {{"a", "b"}, {"a", "x"}, 0, false, true, true},   // another name in its place
      {{"-", "-", "n"}, {"-", "-", "n"}, 0, true, true, true},
      {{"-", "-"}, {"a", "b"}, 0, true, true, true},
      {{"a", "b"}, {"-", "-"}, 0, true, true, true},
      {{"a", "-", "n"},
       {"a", "-", "n"},
       0,
       false,
       true,
       true}, // alone without a name: nothing to swap it with
      {{"-", "n"}, {"-", "n"}, 0, false, true, true},
      {{"a", "b", "-", "-"}, {"b", "a", "-", "-"}, 1, true, false, false},
      {{"a", "a"},
       {"a", "a"},
       0,
       false,
       true,
       true}, // one name twice is none, but they have it in both
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(testing::PrintToString(row.a) + " " + testing::PrintToString(row.b));
    spit(scratch / "a.co", kernel_of(row.a));
    spit(scratch / "b.co", kernel_of(row.b));
    Outcome text = run({tool, "diff", scratch / "a.co", scratch / "b.co"});
    Json json = parse(run({tool, "diff", "--json", scratch / "a.co", scratch / "b.co"}).out);
    ASSERT_TRUE(json);
    EXPECT_EQ(row.same_abi ? 0 : 1, text.status) << text.out;
    EXPECT_EQ(row.blind,
              contains(text.out,
                       "\nnot seen: whether arguments were swapped that look alike and have no "
                       "names, in 1 kernel\n"))
        << text.out;
    EXPECT_EQ(row.blind ? 1 : 0, number_of(json.get(), "swaps_not_seen"));
    size_t swaps = 0;
    json_t *kernels = json_object_get(json.get(), "kernels"), *entry = json_array_get(kernels, 0);
    json_t *changes = json_object_get(entry, "changes");
    for (size_t i = 0; i < json_array_size(changes); ++i)
      swaps += text_of(json_array_get(changes, i), "property") == "swapped_with";
    EXPECT_EQ(row.swaps, swaps) << text.out;
    if (entry) {
      EXPECT_EQ(row.blind, json_is_false(json_object_get(entry, "swaps_seen")));
      EXPECT_EQ(row.same_blobs, json_is_true(json_object_get(entry, "same_blobs")));
    }
  }
  // By what JSON says: the first of the two, and the other's name.
  spit(scratch / "a.co", kernel_of({"n", "a", "b"}));
  spit(scratch / "b.co", kernel_of({"n", "b", "a"}));
  Json json = parse(run({tool, "diff", "--json", scratch / "a.co", scratch / "b.co"}).out);
  json_t *changes =
      json_object_get(json_array_get(json_object_get(json.get(), "kernels"), 0), "changes");
  json_t *last = json_array_get(changes, json_array_size(changes) - 1);
  for (size_t i = 0; i < json_array_size(changes); ++i)
    if (text_of(json_array_get(changes, i), "property") == "swapped_with")
      last = json_array_get(changes, i);
  EXPECT_EQ("abi", text_of(last, "category"));
  EXPECT_TRUE(json_is_null(json_object_get(last, "a")));
  EXPECT_EQ("b", text_of(last, "b"));
  EXPECT_EQ(1, number_of(json_object_get(json_object_get(last, "argument"), "a"), "index"));
  EXPECT_EQ(2, number_of(json_object_get(json_object_get(last, "argument"), "b"), "index"));
}
