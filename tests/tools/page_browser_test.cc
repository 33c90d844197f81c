// The pages of --html in a browser: they draw what they hold, and what a file calls its kernels
// stays a name. Without Chromium (Debian's chromium) they are skipped.
#include "tests/hsaco/builder.h"
#include "tests/tools/browser.h"
#include "tests/tools/demo_rocrand.h"
#include "tests/tools/page.h"

namespace {

size_t count(const std::string &text, const std::string &part)
{
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

class Browser : public testing::Test {
protected:
  void SetUp() override
  {
    program = chromium();
    if (program.empty())
      GTEST_SKIP() << "Chromium is not installed";
  }

  // What the browser has made of it.
  std::string dom_of(const std::vector<std::string> &words)
  {
    const std::string html = scratch / "page.html";
    std::vector<std::string> command = {tool};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--html", "-o", html});
    Outcome made = run(command);
    EXPECT_EQ("", made.err);
    Outcome got = browse(program, scratch / "profile", html);
    EXPECT_EQ(0, got.status) << got.err;
    EXPECT_FALSE(contains(got.err, "Content Security Policy")) << got.err;
    EXPECT_FALSE(contains(got.err, "Uncaught")) << got.err;
    return got.out;
  }

  // The same after a person did something: `script` runs behind the page's own, which takes the
  // page's policy away.
  std::string dom_after(const std::vector<std::string> &words, const std::string &script)
  {
    std::vector<std::string> command = {tool};
    command.insert(command.end(), words.begin(), words.end());
    command.push_back("--html");
    std::string page = run(command).out;
    size_t policy = page.find("<meta http-equiv=\"Content-Security-Policy\""),
           end = page.find('>', policy);
    EXPECT_NE(std::string::npos, policy);
    page.erase(policy, end + 1 - policy);
    page.insert(page.rfind("</body>"),
                "<script>const $ = (one) => document.querySelector(one);\n"
                "const press = (key, on) => (on || document.activeElement).dispatchEvent(new "
                "KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));\n"
                "const type = (text) => { $('#search').value = text; "
                "$('#search').dispatchEvent(new Event('input')); };\n" +
                    script + "</script>");
    spit(scratch / "page.html", page);
    Outcome got = browse(program, scratch / "profile", scratch / "page.html");
    EXPECT_FALSE(contains(got.err, "Uncaught")) << got.err;
    return got.out;
  }

  // The names in the list, in its order.
  static std::vector<std::string> rows(const std::string &dom)
  {
    static const std::string before = "<summary><span class=\"name\">";
    std::vector<std::string> names;
    for (size_t at = 0; (at = dom.find(before, at)) != std::string::npos;) {
      at += before.size();
      names.push_back(dom.substr(at, dom.find('<', at) - at));
    }
    return names;
  }

  static std::string title(const std::string &dom)
  {
    size_t from = dom.find("<title>"), to = dom.find("</title>");
    return from == std::string::npos ? "" : dom.substr(from + 7, to - from - 7);
  }

  // Milliseconds from the navigation to where all rows were there; printed, for a loaded machine may take any.
  static long drawn_after(const std::string &dom)
  {
    size_t at = dom.find("data-drawn-after-ms=\"");
    return at == std::string::npos ? -1 : atol(dom.c_str() + at + 21);
  }

  std::string program;
  Scratch scratch;
};

} // namespace

TEST_F(Browser, DrawsSegmentsAsMapsOfBytes)
{
  std::string dom = dom_of({"inspect", fixtures + "many_args-gfx90a-v5.co"});
  EXPECT_EQ(fixtures + "many_args-gfx90a-v5.co - rawhal inspect", title(dom));
  EXPECT_EQ(1u, count(dom, "<details open=\"\">")); // the only kernel is shown at once
  EXPECT_TRUE(contains(
      dom, "<div class=\"piece value\" title=\"flag: argument 0, bytes 0 to 0, by_value\""));
  EXPECT_TRUE(contains(dom, "title=\"out: argument 2, bytes 8 to 15, global_buffer\""));
  EXPECT_TRUE(contains(dom, "title=\"padding: bytes 1 to 3\""));
  EXPECT_TRUE(contains(
      dom, "title=\"block_count_x: argument 10, bytes 184 to 187, hidden_block_count_x\""));
  EXPECT_TRUE(contains(dom, "440 bytes: "));
  EXPECT_TRUE(contains(dom, "1 kernel in 1 code object"));
}

TEST_F(Browser, ShowsDiagnosticsAndRefusals)
{
  spit(scratch / "bad.co", slurp(fixtures + "vector_add-gfx90a-v5.co").substr(0, 3000));
  const std::string html = scratch / "bad.html";
  Outcome made = run({tool, "inspect", scratch / "bad.co", "--html", "-o", html});
  ASSERT_EQ(3, made.status);
  Outcome got = browse(program, scratch / "profile", html);
  EXPECT_TRUE(contains(got.out, "<span class=\"badge error\">MALFORMED</span>")) << made.err;
}

TEST_F(Browser, MarksWhatDiffers)
{
  std::string dom =
      dom_of({"diff", fixtures + "vector_add-gfx90a-v4.co", fixtures + "vector_add-gfx90a-v5.co"});
  EXPECT_EQ(2u, count(dom, "class=\"map\""));
  EXPECT_TRUE(
      contains(dom, "class=\"piece hides marked added\" title=\"block_count_x: argument 4"));
  EXPECT_TRUE(contains(dom, "another ABI"));
  EXPECT_TRUE(contains(dom, "<td class=\"text\">segment_size</td>"));
}

TEST_F(Browser, NamesStayNames)
{
  std::string all;
  for (const std::string &name : page_attacks)
    all += name + "|";
  std::vector<std::vector<std::string>> objects = {page_attacks,
                                                   {all}}; // a list, and one that is open
  for (const std::vector<std::string> &names : objects) {
    build::Object object;
    for (const std::string &name : names) {
      build::Kernel kernel = build::plain_kernel(name);
      kernel.arguments[1].name = name;
      kernel.arguments[1].kind = name;
      object.kernels.push_back(kernel);
    }
    spit(scratch / "k.co", object.build());
    for (const std::vector<std::string> &words :
         {std::vector<std::string>{"inspect", scratch / "k.co"},
          {"diff", scratch / "k.co", fixtures + "vector_add-gfx90a-v5.co"}}) {
      SCOPED_TRACE(words[0]);
      std::string dom = dom_of(words);
      EXPECT_FALSE(contains(title(dom), "pwned")) << title(dom);
      EXPECT_TRUE(contains(title(dom), " - rawhal " + words[0])) << title(dom);
      EXPECT_EQ(2u, count(dom, "<script")) << dom; // the JSON and the program
      EXPECT_EQ(0u, count(dom, "<img") + count(dom, "<svg") + count(dom, "<!--"));
      size_t from = dom.find("<ol id=\"kernels\""), to = dom.find("</ol>");
      ASSERT_LT(from, to);
      const std::string list = dom.substr(from, to - from);
      EXPECT_EQ(words[0] == "diff" ? names.size() + 1 : names.size(), count(list, "<li><details"));
      EXPECT_TRUE(contains(list, "&lt;/script&gt;&lt;script&gt;document.title="));
      EXPECT_TRUE(contains(list, "k\\u{202e}drow\\u{2066}\\u{2028}\\u{2029}\\u{feff}"));
      EXPECT_TRUE(contains(list, "k\\x00&lt;b&gt;\\x1b[31m\\x0d\\x0a\\x09"));
      for (const char *hidden :
           {"\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xc2\x9b", "\x1b"})
        EXPECT_FALSE(contains(list, hidden)) << testing::PrintToString(hidden);
    }
  }
}

TEST_F(Browser, DrawsEveryKernelOfALibrary)
{
  build::Object object;
  for (int i = 0; i < 640; ++i)
    object.kernels.push_back(build::plain_kernel("kernel" + std::to_string(i)));
  spit(scratch / "640.co", object.build());
  std::string dom = dom_of({"inspect", scratch / "640.co"});
  EXPECT_EQ(640u, count(dom, "<li><details><summary>"));
  printf("640 kernels drawn after %ld ms\n", drawn_after(dom));
  EXPECT_GE(drawn_after(dom), 0);
  const std::string rocrand = demo_rocrand();
  if (rocrand.empty())
    GTEST_SKIP() << "no rocRAND below " RAWHAL_BUILD_DIR;
  Json json = parse(run({tool, "inspect", "--json", rocrand}).out);
  json_t *objects = json_object_get(json.get(), "objects");
  size_t kernels = 0;
  for (size_t i = 0; i < json_array_size(objects); ++i)
    kernels += json_array_size(json_object_get(json_array_get(objects, i), "kernels"));
  dom = dom_of({"inspect", rocrand});
  EXPECT_EQ(kernels, count(dom, "<li><details><summary>"));
  printf("rocRAND's %zu kernels drawn after %ld ms\n", kernels, drawn_after(dom));
}

// More rows than are drawn at once: the rest behind a button.
TEST_F(Browser, DrawsTheFirstOfVeryMany)
{
  build::Object object;
  for (int i = 0; i < 2500; ++i)
    object.kernels.push_back(build::plain_kernel("kernel" + std::to_string(i)));
  spit(scratch / "many.co", object.build());
  std::string dom = dom_of({"inspect", scratch / "many.co"});
  EXPECT_EQ(1000u, count(dom, "<li><details><summary>"));
  EXPECT_TRUE(contains(dom, ">Show 1000 more</button>"));
}

/* ---- What a person does ---- */

class BrowserUse : public Browser {
protected:
  void SetUp() override
  {
    Browser::SetUp();
    build::Object object;
    const uint32_t memory[] = {64, 1024, 0, 256};
    const char *const names[] = {"delta", "alpha", "charlie", "bravo"};
    for (int i = 0; i < 4; ++i) {
      build::Kernel kernel = build::plain_kernel(names[i]);
      kernel.group_size = memory[i];
      kernel.arguments[0].name = std::string("out_") + names[i][0];
      object.kernels.push_back(kernel);
    }
    spit(path, object.build());
  }

  using Names = std::vector<std::string>;
  std::string path = scratch / "four.co";
};

TEST_F(BrowserUse, Sorts)
{
  EXPECT_EQ((Names{"alpha", "bravo", "charlie", "delta"}), rows(dom_after({"inspect", path}, "")));
  std::string dom = dom_after({"inspect", path}, "$('#heads [value=lds]').click();");
  EXPECT_EQ((Names{"alpha", "bravo", "delta", "charlie"}), rows(dom)); // the largest first
  EXPECT_TRUE(contains(dom, "value=\"lds\" aria-pressed=\"true\""));
  EXPECT_TRUE(contains(dom, "value=\"name\" aria-pressed=\"false\""));
  dom = dom_after({"inspect", path},
                  "$('#heads [value=lds]').click(); $('#heads [value=lds]').click();");
  EXPECT_EQ((Names{"charlie", "delta", "bravo", "alpha"}), rows(dom));
}

TEST_F(BrowserUse, Searches)
{
  std::string dom = dom_after({"inspect", path}, "type('LT');");
  EXPECT_EQ((Names{"delta"}), rows(dom));
  EXPECT_TRUE(contains(dom, ">1 of 4 kernels<"));
  EXPECT_EQ((Names{"bravo"}),
            rows(dom_after({"inspect", path}, "type('gfx90a  out_b');"))); // words, in any order
  dom = dom_after({"inspect", path}, "type('<b>'); ");
  EXPECT_EQ(Names{}, rows(dom));
  EXPECT_TRUE(contains(dom, ">0 of 4 kernels<"));
  EXPECT_EQ(4u, rows(dom_after({"inspect", path},
                               "type('delta'); $('#search').focus(); press('Escape');"))
                    .size());
}

TEST_F(BrowserUse, Keys)
{
  const std::string say =
      " document.title = document.activeElement.innerText.split(/\\s/)[0] + '|' + "
      "document.activeElement.id;";
  EXPECT_EQ("|search", title(dom_after({"inspect", path}, "press('/', document.body);" + say)));
  EXPECT_EQ("alpha|", title(dom_after({"inspect", path}, "press('j', document.body);" + say)));
  EXPECT_EQ("charlie|", title(dom_after({"inspect", path},
                                        "press('ArrowDown', document.body); press('ArrowDown'); "
                                        "press('j'); press('j'); press('k');" +
                                            say)));
  // In the search a letter is a letter, and the arrow leads to the list.
  EXPECT_EQ("|search", title(dom_after({"inspect", path},
                                       "$('#search').focus(); press('j'); press('/');" + say)));
  EXPECT_EQ("alpha|",
            title(dom_after({"inspect", path}, "$('#search').focus(); press('ArrowDown');" + say)));
}

TEST_F(BrowserUse, OpensAKernelAndFiltersTargets)
{
  std::string dom =
      dom_after({"inspect", path}, "$('summary').click(); document.querySelector('details')"
                                   ".dispatchEvent(new Event('toggle'));");
  EXPECT_EQ(1u, count(dom, "class=\"map\""));
  EXPECT_TRUE(contains(dom, "title=\"out_a: argument 0, bytes 0 to 7, global_buffer\""));
  dom = dom_after({"inspect", fixtures + "vector_add.bundle"},
                  "$('#only').value = 'gfx942'; "
                  "$('#only').dispatchEvent(new Event('change'));");
  EXPECT_EQ(1u, rows(dom).size());
  EXPECT_TRUE(contains(dom, ">1 of 2 kernels<"));
  dom = dom_after({"diff", path, fixtures + "vector_add-gfx90a-v5.co"},
                  "$('#only').value = 'added'; "
                  "$('#only').dispatchEvent(new Event('change'));");
  EXPECT_EQ((Names{"vector_add "}), rows(dom));
}

TEST_F(Browser, ShowsMoreOnDemand)
{
  build::Object object;
  for (int i = 0; i < 1500; ++i)
    object.kernels.push_back(build::plain_kernel("kernel" + std::to_string(i)));
  spit(scratch / "many.co", object.build());
  std::string dom = dom_after({"inspect", scratch / "many.co"}, "$('#more').click();");
  EXPECT_EQ(1500u, rows(dom).size());
  EXPECT_TRUE(contains(dom, "<button id=\"more\" type=\"button\" hidden=\"\">"));
}
