// rawhal probe show --html: a page that holds what --json says, loads nothing, and in which what a file
// calls its kernels stays a name. In Chromium, where there is one, it draws what it holds.
#include <sys/stat.h>

#include "tests/tools/browser.h"
#include "tests/tools/page.h"
#include "tests/tools/probe_scene.h"

namespace {

size_t count(const std::string &text, const std::string &part)
{
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

// Names of kernels, of arguments and of the file.
probes::Scene hostile(const std::string &name)
{
  probes::Scene scene = probes::everything();
  scene.kernel = name;
  scene.allocations[0].name = {page_attacks[1].data(), page_attacks[1].size()};
  return scene;
}

class ProbePage : public testing::Test {
protected:
  std::string page_of_file(const std::string &recording, const std::vector<std::string> &more = {})
  {
    std::vector<std::string> words = {tool,     "probe", "show",           recording,
                                      "--html", html,    "--disassembler", "/nonexistent"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome got = run(words);
    EXPECT_EQ(0, got.status) << got.err;
    EXPECT_EQ("", got.out + got.err);
    return slurp(html);
  }

  std::string dom_of(const std::string &recording)
  {
    page_of_file(recording);
    const Outcome got = browse(program, scratch / "profile", html);
    EXPECT_EQ(0, got.status) << got.err;
    EXPECT_FALSE(contains(got.err, "Content Security Policy")) << got.err;
    EXPECT_FALSE(contains(got.err, "Uncaught")) << got.err;
    return got.out;
  }

  bool has_browser()
  {
    program = chromium();
    return !program.empty();
  }

  Scratch scratch;
  std::string path = scratch / "recording", html = scratch / "page.html", program;
};

const char caveat[] = "Probes have not met hardware: all results are those of softgpu.";

TEST_F(ProbePage, HasWhatTheJsonHas)
{
  probes::Scene scene = probes::everything();
  probes::save(path, scene, 2);
  const std::string text = page_of_file(path);
  const Page page = page_of(text);
  const Json json =
      parse(run({tool, "probe", "show", path, "--json", "--disassembler", "/nonexistent"}).out);
  ASSERT_TRUE(page.json && json);
  EXPECT_TRUE(json_equal(page.json.get(), json.get()));
  EXPECT_TRUE(contains(page.head, caveat));
  EXPECT_TRUE(contains(run({tool, "probe", "show", path}).out, caveat));
  EXPECT_TRUE(contains(run({tool, "probe", "--help"}).out, caveat));
  // nothing is loaded: the policy allows nothing, and nothing is named
  EXPECT_TRUE(contains(page.head, "default-src 'none'"));
  for (const char *word : {" src=", " href=\"h", "url(", "@import", "http-equiv=\"refresh\""})
    EXPECT_FALSE(contains(page.head + page.tail, word)) << word;
}

TEST_F(ProbePage, NothingOfAFileIsMarkup)
{
  probes::Scene plain = probes::everything();
  probes::save(path, plain);
  const Page expected = page_of(page_of_file(path));
  std::string huge(RECORD_MOST_NAME, '<');
  std::vector<std::string> names = page_attacks;
  names.push_back(huge);
  for (const std::string &name : names) {
    SCOPED_TRACE(testing::PrintToString(name.substr(0, 100)));
    const std::string odd = scratch / "<b onclick=alert(1)>&\"'.rec";
    probes::Scene scene = hostile(name);
    probes::save(odd, scene);
    const Page page = page_of(page_of_file(odd));
    EXPECT_EQ(expected.head, page.head);
    EXPECT_EQ(expected.tail, page.tail);
    EXPECT_EQ(std::string::npos, page.data.find_first_of("<>&"));
    EXPECT_EQ(odd, text_of(page.json.get(), "file"));
    ASSERT_EQ(0, unlink(odd.c_str()));
  }
}

// As python's parser has it: elements end, there are two scripts, and nothing names another file.
TEST_F(ProbePage, IsWholeMarkup)
{
  if (run({"/bin/sh", "-c", "command -v python3"}).status)
    GTEST_SKIP() << "python3 is not installed";
  probes::Scene scene = hostile(page_attacks[0]);
  probes::save(path, scene);
  page_of_file(path);
  const std::string script = R"(
import sys
from html.parser import HTMLParser
class Parser(HTMLParser):
    empty = {"meta", "link", "input", "br", "img", "hr"}
    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.outside = [], 0, []
    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        self.outside += [value for name, value in attributes if name in ("src", "href", "srcset", "action")
                         and not value.startswith("#")]
        self.outside += [name for name, value in attributes if name.startswith("on") or name == "style"]
        if tag not in self.empty:
            self.open.append(tag)
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
parser = Parser()
parser.feed(open(sys.argv[1], encoding="utf-8").read())
parser.close()
print(parser.open, parser.scripts, parser.outside)
)";
  const Outcome got = run({"/usr/bin/env", "python3", "-c", script, html});
  EXPECT_EQ("[] 2 []\n", got.out) << got.err;
}

TEST_F(ProbePage, Files)
{
  probes::Scene scene = probes::everything();
  probes::save(path, scene);
  const std::string before = slurp(path);
  expect_refusal(run({tool, "probe", "show", path, "--html", path}), 3, "is the input");
  EXPECT_EQ(before, slurp(path));
  expect_refusal(run({tool, "probe", "show", path, "--html", html, "--dispatch", "9"}), 3,
                 "no such dispatch");
  EXPECT_NE(0, access(html.c_str(), F_OK)) << "nothing was written";
  expect_refusal(run({tool, "probe", "show", path, "--html", scratch / "no/such"}), 3,
                 "cannot write");
}

// Of many dispatches and waves, some are drawn, and the page says so.
TEST_F(ProbePage, LargeFilesAreSampled)
{
  probes::Scene scene = probes::everything();
  scene.events.clear();
  scene.lanes.clear();
  for (uint32_t i = 4; i < 9000; ++i)
    scene.wave(i / 2, i % 2, probes::hw_id(0, i % 4, i % 16), 1000 + i, 2000 + i);
  probes::save(path, [&](record_writer_t *writer) {
    probes::Scene small = probes::everything();
    scene.write(writer);
    small.write(writer, 70);
  });
  const Page page = page_of(page_of_file(path));
  EXPECT_EQ(7, number_of(page.json.get(), "dispatches_left_out"));
  const json_t *dispatches = json_object_get(page.json.get(), "dispatches");
  ASSERT_EQ(size_t{64}, json_array_size(dispatches));
  const json_t *waves = json_object_get(json_array_get(dispatches, 0), "waves");
  EXPECT_EQ(9000, number_of(waves, "recorded"));
  EXPECT_EQ(3, number_of(waves, "sample_every"));
  EXPECT_EQ(size_t{3000}, json_array_size(json_object_get(waves, "sample")));
  if (!has_browser())
    GTEST_SKIP() << "Chromium is not installed";
  const std::string dom = dom_of(path);
  EXPECT_TRUE(contains(dom, "One in 3 waves is drawn."));
  EXPECT_TRUE(contains(dom, "7 more are left out"));
  EXPECT_EQ(3000u, count(dom, "class=\"wave "));
  EXPECT_EQ(64u, count(dom, "<li><details"));
}

TEST_F(ProbePage, DrawsWhatItHolds)
{
  if (!has_browser())
    GTEST_SKIP() << "Chromium is not installed";
  probes::Scene scene = probes::everything();
  probes::save(path, scene);
  const std::string dom = dom_of(path);
  EXPECT_TRUE(contains(dom, "<title>" + path + " - rawhal probe show</title>"));
  EXPECT_TRUE(contains(dom, caveat));
  EXPECT_EQ(4u, count(dom, "class=\"wave "));
  EXPECT_EQ(2u, count(dom, "<canvas"));
  EXPECT_EQ(3u, count(dom, "<tr class=\"block\">"));
  for (const char *words :
       {"Every recorded wave is drawn.", "wave 3, work-group 1, 0, 0: SIMD 0, slot 0, 250 to 400",
        "50.0%", "34.00 for 4.00: 12%", "in, again", "wave 0: 2", "0xabcd", "64.00 lanes",
        "1.50 times the mean", "in gfx950", "c0020002"})
    EXPECT_TRUE(contains(dom, words)) << words;
}

TEST_F(ProbePage, NamesStayNames)
{
  if (!has_browser())
    GTEST_SKIP() << "Chromium is not installed";
  std::string all;
  for (const std::string &name : page_attacks)
    all += name + "|";
  probes::save(path, [&](record_writer_t *writer) {
    for (const std::string &name : {all, page_attacks[0], page_attacks[6]}) {
      probes::Scene scene = hostile(name);
      scene.write(writer);
    }
  });
  const std::string dom = dom_of(path);
  EXPECT_FALSE(contains(dom.substr(0, dom.find("</title>")), "pwned"));
  EXPECT_EQ(2u, count(dom, "<script")); // the JSON and the program
  EXPECT_EQ(0u, count(dom, "<img") + count(dom, "<body onload") + count(dom, "<!--"));
  const size_t from = dom.find("<ol id=\"dispatches\""), to = dom.find("</ol>");
  ASSERT_LT(from, to);
  const std::string list = dom.substr(from, to - from);
  EXPECT_EQ(3u, count(list, "<li><details"));
  EXPECT_TRUE(contains(list, "&lt;script&gt;document.title="));
  EXPECT_TRUE(contains(list, "k\\u{202e}drow\\u{2066}"));
  for (const char *hidden : {"\xe2\x80\xae", "\xe2\x81\xa6", "\xef\xbb\xbf", "\xc2\x9b", "\x1b"})
    EXPECT_FALSE(contains(list, hidden)) << testing::PrintToString(hidden);
}

} // namespace
