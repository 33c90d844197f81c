// rawhal inspect --html and rawhal diff --html: pages that hold what --json says, and nothing of a
// file outside of that.
#include "tests/hsaco/builder.h"
#include "tests/tools/page.h"

#include <set>

#include <sys/stat.h>

namespace {

const std::string v5 = fixtures + "vector_add-gfx90a-v5.co";

std::string html_of(const std::vector<std::string> &words, int status = 0)
{
  std::vector<std::string> command = {tool};
  command.insert(command.end(), words.begin(), words.end());
  command.push_back("--html");
  Outcome got = run(command);
  EXPECT_EQ(status, got.status) << got.err;
  return got.out;
}

std::string object_named(const std::vector<std::string> &names)
{
  build::Object object;
  for (const std::string &name : names) {
    build::Kernel kernel = build::plain_kernel(name);
    kernel.arguments[1].name = name;
    kernel.arguments[1].kind = name;
    object.kernels.push_back(kernel);
  }
  return object.build();
}

json_t *at(const json_t *object, const char *key, size_t index)
{
  return json_array_get(json_object_get(object, key), index);
}

// Everything that `json` has, `page` has, too, but for the keys that pages leave out.
void expect_has(const json_t *page, const json_t *json, const std::string &path)
{
  static const std::set<std::string> left_out = {"metadata", "segments", "symbols", "relocations",
                                                 "schema"};
  ASSERT_TRUE(page && json) << path;
  ASSERT_EQ(json_typeof(json), json_typeof(page)) << path;
  if (json_is_array(json)) {
    ASSERT_EQ(json_array_size(json), json_array_size(page)) << path;
    for (size_t i = 0; i < json_array_size(json); ++i)
      expect_has(json_array_get(page, i), json_array_get(json, i), path + "/" + std::to_string(i));
  } else if (json_is_object(json)) {
    json_t *keys = const_cast<json_t *>(json);
    for (void *i = json_object_iter(keys); i; i = json_object_iter_next(keys, i)) {
      const std::string key = json_object_iter_key(i);
      if (left_out.count(key))
        continue;
      ASSERT_TRUE(json_object_get(page, key.c_str())) << path << "/" << key;
      expect_has(json_object_get(page, key.c_str()), json_object_iter_value(i), path + "/" + key);
    }
  } else {
    EXPECT_TRUE(json_equal(json, page)) << path;
  }
}

} // namespace

TEST(Page, HasWhatTheJsonHas)
{
  for (const char *name :
       {"vector_add-gfx90a-v5.co", "layouts-gfx90a-v5.co", "many_args-gfx90a-v4.co",
        "bare-gfx90a-v5.co", "vector_add.bundle", "tensile-gfx942-v5.co"}) {
    SCOPED_TRACE(name);
    Page page = page_of(html_of({"inspect", fixtures + name}));
    Json json = parse(run({tool, "inspect", "--json", fixtures + name}).out);
    ASSERT_TRUE(page.json && json);
    EXPECT_EQ("rawhal-page-1", text_of(page.json.get(), "schema"));
    EXPECT_EQ("inspect", text_of(page.json.get(), "view"));
    expect_has(page.json.get(), json.get(), "");
  }
}

// The registers and the memory are those of the metadata, kernel by kernel.
TEST(Page, HasTheResourcesOfTheMetadata)
{
  const std::string path = fixtures + "layouts-gfx90a-v5.co";
  Page page = page_of(html_of({"inspect", path}));
  Json json = parse(run({tool, "inspect", "--json", path}).out);
  ASSERT_TRUE(page.json && json);
  json_t *kernels = json_object_get(at(page.json.get(), "objects", 0), "kernels");
  json_t *metadata = json_object_get(at(json.get(), "objects", 0), "metadata");
  ASSERT_GE(json_array_size(kernels), 2u);
  for (size_t i = 0; i < json_array_size(kernels); ++i) {
    json_t *resources = json_object_get(json_array_get(kernels, i), "resources");
    json_t *facts = at(metadata, "kernels", i);
    for (const char *key : {"vgpr_count", "agpr_count", "sgpr_count", "wavefront_size",
                            "max_flat_workgroup_size", "group_segment_fixed_size",
                            "private_segment_fixed_size", "sgpr_spill_count", "vgpr_spill_count"}) {
      ASSERT_TRUE(json_object_get(resources, key)) << key;
      EXPECT_EQ(number_of(facts, key), number_of(resources, key)) << key;
    }
    json_t *arguments =
        json_object_get(json_object_get(json_array_get(kernels, i), "kernarg"), "arguments");
    for (size_t k = 0; k < json_array_size(arguments); ++k)
      EXPECT_EQ(text_of(at(facts, "args", k), "type_name"),
                text_of(json_array_get(arguments, k), "type_name"));
  }
}

// Without metadata registers are not known: the descriptor has what is allocated.
TEST(Page, SaysWhatIsNotKnown)
{
  const std::string path = fixtures + "bare-gfx90a-v5.co";
  Page page = page_of(html_of({"inspect", path}));
  json_t *kernel = at(at(page.json.get(), "objects", 0), "kernels", 0);
  json_t *resources = json_object_get(kernel, "resources");
  ASSERT_TRUE(json_is_false(json_object_get(kernel, "has_metadata")));
  EXPECT_TRUE(json_is_null(json_object_get(resources, "vgpr_count")));
  EXPECT_TRUE(json_is_integer(json_object_get(resources, "group_segment_fixed_size")));
}

// Nothing outside of the JSON depends on the file, and no byte of the JSON can be markup.
TEST(Page, NothingOfAFileIsMarkup)
{
  Scratch scratch;
  const std::string path = scratch / "<b onclick=alert(1)>&\"'.co";
  const Page plain = page_of(html_of({"inspect", v5}));
  auto expect_same_around = [&](const std::string &html) {
    Page page = page_of(html);
    EXPECT_EQ(plain.head, page.head);
    EXPECT_EQ(plain.tail, page.tail);
    EXPECT_EQ(std::string::npos, page.data.find_first_of("<>&")) << page.data.substr(0, 3000);
    EXPECT_EQ(std::string::npos, page.data.find("\xe2\x80\xa8"));
    for (unsigned char c : page.data)
      EXPECT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7f)) << int(c);
    EXPECT_TRUE(Json(json_stringn(page.data.data(), page.data.size()))) << "no UTF-8";
    return page;
  };
  for (const std::string &name : page_attacks) {
    SCOPED_TRACE(testing::PrintToString(name));
    spit(path, object_named({name}));
    Page page = expect_same_around(html_of({"inspect", path}));
    Json json = parse(run({tool, "inspect", path, "--json"}).out);
    if (json) // a name with a NUL is none for parse()
      expect_has(page.json.get(), json.get(), "");
    EXPECT_EQ(path, text_of(page.json.get(), "file"));
    expect_same_around(html_of({"diff", path, v5}, 1));
  }
  spit(path, object_named(page_attacks));
  expect_same_around(html_of({"inspect", path}));
  expect_same_around(html_of({"inspect", scratch / "<i>none</i>"}, 3));
  expect_same_around(html_of({"diff", path, scratch / "<i>none</i>"}, 3));
}

// The policy lets run what has these hashes, no other; and the program makes no markup of text.
TEST(Page, ThePolicyIsTight)
{
  const Page page = page_of(html_of({"inspect", v5}));
  const std::string all = page.head + page.tail;
  EXPECT_TRUE(contains(all, "content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_TRUE(contains(all, "require-trusted-types-for 'script'; trusted-types 'none'"));
  EXPECT_FALSE(contains(all, "unsafe-"));
  for (const char *no :
       {"innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(",
        "setTimeout(", "createContextualFragment", "DOMParser", " src=", "http:", "https:", "url(",
        "@import", "fetch(", "import(", " style=\"", " onclick=", "@DATA@"})
    EXPECT_FALSE(contains(all, no)) << no;
  // What openssl makes of the two parts.
  if (run({"/bin/sh", "-c", "command -v openssl"}).status)
    GTEST_SKIP() << "openssl is not installed";
  Scratch scratch;
  auto hash = [&](const std::string &text) {
    spit(scratch / "part", text);
    Outcome got =
        run({"/bin/sh", "-c", "openssl dgst -sha256 -binary " + (scratch / "part") + " | base64"});
    return "'sha256-" + got.out.substr(0, got.out.find('\n')) + "'";
  };
  auto inside = [&](const std::string &text, const std::string &begin, const std::string &end) {
    size_t from = text.find(begin) + begin.size();
    return text.substr(from, text.find(end, from) - from);
  };
  EXPECT_TRUE(
      contains(page.head, "script-src " + hash(inside(page.tail, "<script>", "</script>")) + ";"));
  EXPECT_TRUE(
      contains(page.head, "style-src " + hash(inside(page.head, "<style>", "</style>")) + ";"));
}

TEST(Page, ADifferenceHasBothKernels)
{
  const std::string v4 = fixtures + "vector_add-gfx90a-v4.co",
                    other = fixtures + "layouts-gfx90a-v5.co";
  for (const std::string &b : {v5, other}) {
    SCOPED_TRACE(b);
    Page page = page_of(html_of({"diff", v4, b}, 1));
    Json json = parse(run({tool, "diff", "--json", v4, b}).out);
    ASSERT_TRUE(page.json && json);
    expect_has(page.json.get(), json.get(), "");
    json_t *kernels = json_object_get(page.json.get(), "kernels");
    ASSERT_GE(json_array_size(kernels), 1u);
    for (size_t i = 0; i < json_array_size(kernels); ++i) {
      json_t *entry = json_array_get(kernels, i);
      for (const char *side : {"a", "b"}) {
        json_t *kernel = json_object_get(entry, (std::string("kernel_") + side).c_str());
        bool there =
            json_is_string(json_object_get(entry, (std::string("target_") + side).c_str()));
        ASSERT_EQ(there, json_is_object(kernel)) << side;
        if (!there)
          continue;
        const std::string &path = *side == 'a' ? v4 : b;
        Json whole =
            parse(run({tool, "inspect", "--json", path, "--kernel", text_of(entry, "name")}).out);
        json_t *same = at(at(whole.get(), "objects", 0), "kernels", 0);
        expect_has(kernel, same, side);
      }
    }
  }
}

// A long name is there once in full.
TEST(Page, ADifferenceRepeatsNoLongNames)
{
  Scratch scratch;
  const std::string name = "k" + std::string(5000, 'x') + "END";
  spit(scratch / "k.co", object_named({name}));
  Page page = page_of(html_of({"diff", scratch / "k.co", v5}, 1));
  json_t *kernels = json_object_get(page.json.get(), "kernels"),
         *entry = json_array_get(kernels, 0);
  EXPECT_EQ(name, text_of(entry, "name"));
  EXPECT_EQ(name.substr(0, 200) + "...", text_of(json_object_get(entry, "kernel_a"), "name"));
  EXPECT_EQ(name.substr(0, 200) + "...", text_of(json_object_get(entry, "kernel_a"), "symbol"));
}

/* ---- Where it is written ---- */

TEST(Page, GoesToAFile)
{
  Scratch scratch;
  const std::string out = scratch / "page.html", html = html_of({"inspect", v5});
  for (const std::vector<std::string> &option :
       {std::vector<std::string>{"-o", out}, {"--output", out}, {"--output=" + out}}) {
    std::vector<std::string> words = {"inspect", v5};
    words.insert(words.end(), option.begin(), option.end());
    EXPECT_EQ("", html_of(words));
    EXPECT_EQ(html, slurp(out));
    spit(out, "something longer that was there before" + html + html);
  }
  EXPECT_EQ(html, html_of({"inspect", v5, "-o", "-"}));
  EXPECT_EQ("", html_of({"diff", v5, v5, "-o", out}));
  EXPECT_EQ("diff", text_of(page_of(slurp(out)).json.get(), "view"));
}

TEST(Page, DoesNotReplaceWhatIsRead)
{
  Scratch scratch;
  const std::string path = scratch / "a.co", link = scratch / "b.co", bytes = slurp(v5);
  spit(path, bytes);
  ASSERT_EQ(0, ::link(path.c_str(), link.c_str()));
  expect_refusal(run({tool, "inspect", path, "--html", "-o", link}), 3, "would be overwritten");
  expect_refusal(run({tool, "diff", v5, path, "--html", "-o", path}), 3, "would be overwritten");
  EXPECT_EQ(bytes, slurp(path));
}

// Nothing was found: the page of yesterday stays.
TEST(Page, OfNothingIsNone)
{
  Scratch scratch;
  spit(scratch / "page.html", "yesterday");
  expect_refusal(
      run({tool, "inspect", v5, "--html", "--kernel", "nobody", "-o", scratch / "page.html"}), 3,
      "no kernel's name contains 'nobody'");
  EXPECT_EQ("yesterday", slurp(scratch / "page.html"));
  EXPECT_EQ("", html_of({"inspect", v5, "--kernel", "nobody"}, 3));
}

TEST(Page, ThatCannotBeWrittenIsSaid)
{
  Scratch scratch;
  expect_refusal(run({tool, "inspect", v5, "--html", "-o", scratch / "no/page.html"}), 3,
                 "cannot write");
  expect_refusal(run({tool, "diff", v5, v5, "--html", "-o", scratch / "no/page.html"}), 3,
                 "cannot write");
  for (const char *verb : {"inspect", "diff"}) {
    std::vector<std::string> words = {tool, verb, v5, "--html", "-o", "/dev/full"};
    if (*verb == 'd')
      words.insert(words.begin() + 2, v5);
    expect_refusal(run(words), 3, "'/dev/full': No space left on device");
    Outcome got =
        run({"/bin/sh", "-c",
             tool + " " + verb + " --html " + v5 + (*verb == 'd' ? " " + v5 : "") + " >/dev/full"});
    EXPECT_EQ(3, got.status);
    EXPECT_TRUE(contains(got.err, "rawhal: standard output: ")) << got.err;
  }
}

// A damaged object: the page has what there is, and says that it is not all.
TEST(Page, OfADamagedFileSaysSo)
{
  Scratch scratch;
  const std::string whole = slurp(v5);
  spit(scratch / "two.co", whole +
                               std::string("\x7f"
                                           "ELF",
                                           4) +
                               std::string(300, '\x01'));
  Outcome json = run({tool, "inspect", "--json", scratch / "two.co"});
  Outcome page = run({tool, "inspect", "--html", scratch / "two.co"});
  ASSERT_EQ(json.status, page.status) << json.err;
  EXPECT_EQ(json.err, page.err);
  Page parts = page_of(page.out);
  expect_has(parts.json.get(), parse(json.out).get(), "");
  Page none = page_of(html_of({"inspect", scratch / "none"}, 3));
  EXPECT_EQ("NOT_FOUND", text_of(none.json.get(), "status"));
}

TEST(Page, WhatItDoesNotGoWith)
{
  expect_refusal(run({tool, "inspect", v5, "--html", "--json"}), 2, "cannot be combined");
  expect_refusal(run({tool, "inspect", v5, "--html", "--brief"}), 2, "cannot be combined");
  expect_refusal(run({tool, "inspect", v5, v5, "--html"}), 2, "take one FILE");
  expect_refusal(run({tool, "inspect", fixtures, "--html"}), 2, "take one FILE");
  expect_refusal(run({tool, "inspect", v5, "-o", "/tmp/none"}), 2, "--output requires --html");
  expect_refusal(run({tool, "diff", v5, v5, "-o", "/tmp/none"}), 2, "--output requires --html");
  expect_refusal(run({tool, "diff", v5, v5, "--html", "--json"}), 2,
                 "--html and --json cannot be combined");
}
