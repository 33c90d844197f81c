// The `rawhal` command as a user meets it: help, exit codes, JSON, one-line errors.
#include "tests/hsaco/archive.h"
#include "tests/hsaco/carriers.h"
#include "tests/tools/command.h"

TEST(Help, TheCommandAndEverySubcommand)
{
  Outcome top = run({tool, "--help"});
  EXPECT_EQ(0, top.status);
  EXPECT_TRUE(contains(top.out, "exit status"));
  for (const char *command : {"inspect", "check", "header", "diff", "run"}) {
    EXPECT_TRUE(contains(top.out, command));
    Outcome help = run({tool, command, "--help"});
    EXPECT_EQ(0, help.status);
    EXPECT_TRUE(contains(help.out, std::string("usage: rawhal ") + command));
    EXPECT_TRUE(contains(help.out, "exit status"));
    EXPECT_EQ("", help.err);
    EXPECT_EQ(help.out, run({tool, "help", command}).out);
  }
}

TEST(Help, WrongCommandLinesAreStatus2)
{
  EXPECT_EQ(2, run({tool}).status);
  expect_refusal(run({tool, "frobnicate"}), 2, "unknown command 'frobnicate'");
  expect_refusal(run({tool, "inspect"}), 2, "expected at least one PATH");
  expect_refusal(run({tool, "inspect", "--brief", "a", "b"}), 2, "--brief takes one FILE");
  expect_refusal(run({tool, "inspect", "--frob", "x"}), 2, "--frob");
  expect_refusal(run({tool, "inspect", "--target", "gfx9999", "x"}), 2, "gfx9999");
  expect_refusal(run({tool, "run", "x.co", "--grid", "1", "--block", "1"}), 2, "--kernel");
  expect_refusal(run({tool, "run", "x.co", "--kernel", "k", "--grid", "1,1,1,1", "--block", "1"}),
                 2, "--grid");
  expect_refusal(run({tool, "run", "x.co", "--kernel", "k", "--grid", "-1", "--block", "1"}), 2,
                 "--grid");
}

TEST(Inspect, TextShowsTheLayout)
{
  Outcome got = run({tool, "inspect", fixtures + "vector_add-gfx90a-v5.co"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "gfx90a"));
  EXPECT_TRUE(contains(got.out, "kernel vector_add"));
  EXPECT_TRUE(contains(got.out, "global_buffer"));
  EXPECT_TRUE(contains(got.out, "28 of them explicit"));
}

TEST(Inspect, FiltersByKernelAndTarget)
{
  Outcome one =
      run({tool, "inspect", "--brief", "--kernel", "fault_lds", fixtures + "fault-gfx90a-v5.co"});
  EXPECT_TRUE(contains(one.out, "fault_lds_store"));
  EXPECT_FALSE(contains(one.out, "fault_trap"));
  Outcome bundle = run({tool, "inspect", "--target", "gfx942", fixtures + "vector_add.bundle"});
  EXPECT_EQ(0, bundle.status) << bundle.err;
  EXPECT_TRUE(contains(bundle.out, "gfx942"));
  EXPECT_FALSE(contains(bundle.out, "gfx90a"));
}

TEST(Inspect, TargetsLeaveOpenWhatTheyDoNotName)
{
  // vector_add-gfx90a-v5.co leaves both features open; with xnack on it is for gfx90a all the same.
  std::string bytes = slurp(fixtures + "vector_add-gfx90a-v5.co");
  bytes[0x31] = static_cast<char>((bytes[0x31] & ~0x03) | 0x03); // e_flags: xnack on
  Scratch scratch;
  spit(scratch / "on.co", bytes.data(), bytes.size());
  auto shows = [&](const char *target) {
    Outcome got = run({tool, "inspect", "--brief", "--target", target, scratch / "on.co"});
    const bool shown = contains(got.out, "vector_add");
    EXPECT_EQ(shown ? 0 : 3, got.status) << got.err;
    EXPECT_EQ(!shown, contains(got.err, "NOT_FOUND: no code object runs on ")) << got.err;
    EXPECT_EQ(!shown, contains(got.err, "; available: gfx90a:xnack+")) << got.err;
    EXPECT_TRUE(shown || got.out.empty()) << got.out;
    return shown;
  };
  EXPECT_TRUE(shows("gfx90a"));
  EXPECT_TRUE(shows("gfx90a:xnack+"));
  EXPECT_FALSE(shows("gfx90a:xnack-"));
  EXPECT_FALSE(shows("gfx942"));
}

TEST(Inspect, TargetsThatThereAreAreNamedOnceEach)
{
  const std::string open = slurp(fixtures + "vector_add-gfx90a-v5.co");
  std::string on = open;
  on[0x31] = static_cast<char>((on[0x31] & ~0x03) | 0x03); // e_flags: xnack on
  Scratch scratch;
  spit(scratch / "all.a",
       build::ar_archive({{"a.co", on}, {"b.co", open}, {"c.co", on}, {"d.co", open}}));
  expect_refusal(run({tool, "inspect", "--target", "gfx1100", scratch / "all.a"}), 3,
                 "available: gfx90a:xnack+, gfx90a\n");
}

TEST(Inspect, JsonIsVersionedAndExact)
{
  Outcome got = run({tool, "inspect", "--json", fixtures + "vector_add-gfx90a-v5.co"});
  ASSERT_EQ(0, got.status) << got.err;
  json_t *document = json_loads(got.out.c_str(), 0, nullptr);
  ASSERT_NE(nullptr, document);
  EXPECT_STREQ("rawhal-inspect-1", json_string_value(json_object_get(document, "schema")));
  EXPECT_STREQ("OK", json_string_value(json_object_get(document, "status")));
  json_t *object = json_array_get(json_object_get(document, "objects"), 0);
  EXPECT_TRUE(json_is_true(json_object_get(object, "loadable")));
  EXPECT_EQ(3, json_integer_value(json_object_get(json_object_get(object, "elf"), "abi_version")));
  json_t *kernel = json_array_get(json_object_get(object, "kernels"), 0);
  json_t *kernarg = json_object_get(kernel, "kernarg");
  EXPECT_EQ(28, json_integer_value(json_object_get(kernarg, "explicit_end")));
  json_t *n = json_array_get(json_object_get(kernarg, "arguments"), 3);
  EXPECT_EQ(24, json_integer_value(json_object_get(n, "offset")));
  EXPECT_EQ(4, json_integer_value(json_object_get(n, "size")));
  EXPECT_STREQ("by_value", json_string_value(json_object_get(n, "value_kind")));
  json_t *metadata = json_object_get(object, "metadata");
  json_t *verbatim = json_array_get(json_object_get(metadata, "kernels"), 0);
  EXPECT_STREQ("vector_add", json_string_value(json_object_get(verbatim, "name")));
  json_decref(document);
}

TEST(Inspect, JsonHoldsWhatWasReadBeforeARefusal)
{
  Scratch scratch;
  std::string good = slurp(fixtures + "vector_add-gfx90a-v5.co"), bad = good;
  const std::string key = "amdhsa.kernels";
  bad[bad.find(key) + key.size()] = '\xc0'; // nil instead of a list
  std::string file = good + good + bad;
  spit(scratch / "three.co", file.data(), file.size());
  Outcome got = run({tool, "inspect", "--json", scratch / "three.co"});
  expect_refusal(got, 3, "MALFORMED");
  json_t *document = json_loads(got.out.c_str(), 0, nullptr);
  ASSERT_NE(nullptr, document) << got.out;
  EXPECT_STREQ("MALFORMED", json_string_value(json_object_get(document, "status")));
  json_t *objects = json_object_get(document, "objects");
  ASSERT_EQ(2u, json_array_size(objects));
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(static_cast<json_int_t>(i * good.size()),
              json_integer_value(json_object_get(json_array_get(objects, i), "offset")));
  json_decref(document);
}

static std::string json_status(const Outcome &got)
{
  json_t *document = json_loads(got.out.c_str(), 0, nullptr);
  const char *status = json_string_value(json_object_get(document, "status"));
  std::string text = status ? status : "no status";
  const char *message = json_string_value(json_object_get(document, "message"));
  EXPECT_TRUE(message && *message);
  json_decref(document);
  return text;
}

TEST(Inspect, CompressedBundlesAreReadAndRun)
{
  Scratch scratch;
  std::string file = build::ccob(2, 1, slurp(fixtures + "vector_add.bundle"));
  spit(scratch / "small.ccob", file.data(), file.size());
  Outcome got = run({tool, "inspect", "--json", scratch / "small.ccob"});
  ASSERT_EQ(0, got.status) << got.err;
  Json document = parse(got.out);
  json_t *objects = json_object_get(document.get(), "objects");
  ASSERT_EQ(2u, json_array_size(objects));
  EXPECT_TRUE(json_is_true(json_object_get(json_array_get(objects, 1), "unpacked")));
  EXPECT_EQ(0, number_of(json_array_get(objects, 1), "offset"));
  EXPECT_TRUE(contains(run({tool, "inspect", scratch / "small.ccob"}).out, "unpacked"));
  got =
      run({tool, "run", scratch / "small.ccob", "--kernel", "vector_add", "--grid", "1", "--block",
           "64", "out:" + (scratch / "sum") + ":256", "ptr:zero:256", "ptr:zero:256", "u32:64"});
  EXPECT_EQ(0, got.status) << got.err;
  file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 0xff);
  file.resize(file.size() - 1);
  spit(scratch / "damaged.ccob", file.data(), file.size());
  expect_refusal(run({tool, "inspect", scratch / "damaged.ccob"}), 3, "MALFORMED");
}

TEST(Inspect, ArchivesAreListedAndRun)
{
  Scratch scratch;
  const std::string object = slurp(fixtures + "vector_add-gfx90a-v5.co");
  for (bool zstd : {false, true}) {
    std::string file = build::archive(
        {{"lib/libadd.so#0", "gfx90a", object}, {"lib/libadd.so#1", "gfx90a", object}}, zstd);
    spit(scratch / "add.kpack", file.data(), file.size());
    Outcome got = run({tool, "inspect", "--json", scratch / "add.kpack"});
    ASSERT_EQ(0, got.status) << got.err;
    Json document = parse(got.out);
    json_t *objects = json_object_get(document.get(), "objects");
    ASSERT_EQ(2u, json_array_size(objects));
    json_t *second = json_array_get(objects, 1), *archive = json_object_get(second, "archive");
    EXPECT_STREQ("lib/libadd.so#1", json_string_value(json_object_get(archive, "binary")));
    EXPECT_STREQ("gfx90a", json_string_value(json_object_get(archive, "target")));
    EXPECT_EQ(1, number_of(archive, "ordinal"));
    EXPECT_EQ(static_cast<json_int_t>(object.size()), number_of(second, "size"));
    EXPECT_EQ(zstd, json_is_true(json_object_get(second, "unpacked")));
    EXPECT_TRUE(json_is_null(json_object_get(second, "bundle_id")));
    std::string text = run({tool, "inspect", scratch / "add.kpack"}).out;
    EXPECT_TRUE(contains(text, "archive entry lib/libadd.so#0 for gfx90a, ordinal 0")) << text;
    EXPECT_TRUE(contains(text, "archive entry lib/libadd.so#1 for gfx90a, ordinal 1")) << text;
    EXPECT_EQ(zstd, contains(text, "unpacked"));
    got =
        run({tool, "run", scratch / "add.kpack", "--kernel", "vector_add", "--grid", "1", "--block",
             "64", "out:" + (scratch / "sum") + ":256", "ptr:zero:256", "ptr:zero:256", "u32:64"});
    EXPECT_EQ(0, got.status) << got.err;
  }
}

TEST(Inspect, RefusedFilesSayWhy)
{
  Scratch scratch;
  Outcome missing = run({tool, "inspect", "--json", scratch / "nothing.co"});
  expect_refusal(missing, 3, "nothing.co");
  EXPECT_EQ("NOT_FOUND", json_status(missing));

  spit(scratch / "empty.co", "", 0);
  Outcome empty = run({tool, "inspect", "--json", scratch / "empty.co"});
  expect_refusal(empty, 3, "MALFORMED");
  EXPECT_EQ("MALFORMED", json_status(empty));

  spit(scratch / "text.co", "this is no code object, is it?\n", 31);
  expect_refusal(run({tool, "inspect", scratch / "text.co"}), 3, "MALFORMED");

  std::string whole = slurp(fixtures + "vector_add-gfx90a-v5.co");
  spit(scratch / "cut.co", whole.data(), whole.size() / 2);
  expect_refusal(run({tool, "inspect", scratch / "cut.co"}), 3, "MALFORMED");

  std::string foreign = whole;
  foreign[18] = 62; // e_machine: x86-64, and no .hip_fatbin in it
  spit(scratch / "foreign.co", foreign.data(), foreign.size());
  EXPECT_EQ(3, run({tool, "inspect", scratch / "foreign.co"}).status);
}

// ---- Exit statuses ----

namespace {

// FILE stands for what is tried.
const char *const verbs[] = {
    "inspect FILE",
    "inspect --json FILE",
    "inspect --list FILE",
    "inspect --brief FILE",
    "inspect --html FILE",
    "find vector_add FILE",
    "check FILE --kernel vector_add --blob blob",
    "header FILE",
    "diff good.co FILE",
    "diff --json good.co FILE",
    "diff --html good.co FILE",
    "run FILE --kernel vector_add --grid 1 --block 1 ptr:zero:64 ptr:zero:64 ptr:zero:64 u32:1",
    "coverage FILE",
    "unpack --force --output out FILE",
    "replay FILE",
    "replay --list FILE",
    "core show FILE",
    "top FILE",
    "limits suspend FILE tenant",
    "devices",
    "limits",
    "doctor",
    "completion bash",
};

std::string with_file(std::string words, const std::string &file)
{
  const size_t at = words.find("FILE");
  return at == std::string::npos ? words : words.replace(at, 4, file);
}

} // namespace

TEST(Statuses, AreThoseThatAreDocumented)
{
  Scratch scratch;
  const std::string good = slurp(fixtures + "vector_add-gfx90a-v5.co");
  spit(scratch / "good.co", good);
  spit(scratch / "cut.co", good.substr(0, 3000));
  spit(scratch / "empty", std::string());
  spit(scratch / "text", std::string("text\n"));
  spit(scratch / "blob", std::string(28, '\1'));
  ASSERT_EQ(0, system(("mkdir " + (scratch / "dir") + " " + (scratch / "out")).c_str()));
  auto status = [&](const std::string &words) {
    return run({"/bin/sh", "-c", "cd " + scratch.root + " && exec " + tool + " " + words},
               {"RAWHAL_DEVICE=softgpu"});
  };
  for (const std::string words : verbs) {
    SCOPED_TRACE(words);
    const std::string name = words.substr(0, words.find(' '));
    expect_refusal(status(name + " --frob"), 2, "'--frob'");
    expect_refusal(status(name + " good.co -xy"), 2,
                   "'-xy'"); // the word, also if more is wrong in it
    const std::pair<std::string, std::string> ends[] = {{" >/dev/full", "No space left on device"},
                                                        {" >&-", "Bad file descriptor"}};
    for (const auto &[closed, why] : ends) {
      const Outcome got = status(with_file(words, "good.co") + closed);
      EXPECT_EQ(3, got.status) << closed;
      const bool refused = !words.find("core") || !words.find("top") || !words.find("limits s") ||
                           !words.find("replay");
      EXPECT_TRUE(refused || contains(got.err, "rawhal: standard output: " + why)) << got.err;
    }
    if (words.find("FILE") == std::string::npos)
      continue;
    for (const char *file : {"none", "dir", "empty", "text", "cut.co", "/dev/null"}) {
      const bool taken = (words.find("unpack") == 0 &&
                          file == std::string("cut.co")) || // damaged ones are unpacked,
                         (words.find("replay --list") == 0 &&
                          file == std::string("empty")); // and recordings end anywhere
      const bool wrong = words.find("--brief") != std::string::npos ||
                         words.find("inspect --html") == 0; // are of a file
      const Outcome got = status(with_file(words, file));
      const bool folder = file == std::string("dir");
      const int expected = taken                                ? 0
                           : folder && words.find("find ") == 0 ? 1 // it has no kernel
                           : folder && wrong                    ? 2
                                                                : 3;
      EXPECT_EQ(expected, got.status) << file << ": " << got.err;
    }
  }
}

TEST(Options, AreUnknownOrHaveAValueTooManyOrTooFew)
{
  const std::pair<std::vector<std::string>, std::string> rows[] = {
      {{"inspect", "--jso=1", "a"}, "option '--jso' takes no value"},
      {{"inspect", "--json=", "a"}, "option '--json' takes no value"},
      {{"inspect", "a", "--kernel"}, "option '--kernel' needs a value"},
      {{"inspect", "a", "-o"}, "option '-o' needs a value"},
      {{"inspect", "--jsonn", "a"}, "unknown option '--jsonn'"},
      {{"inspect", "--frob=1", "a"}, "unknown option '--frob=1'"},
      {{"inspect", "-x", "a"}, "unknown option '-x'"},
      {{"record", "-o"}, "option '-o' needs a value"},
      {{"exec", "--record-buffers=1", "--", "true"}, "option '--record-buffers' takes no value"},
      {{"exec", "--memory"}, "option '--memory' needs a value"},
      {{"exec", "--memroy", "1G", "--", "true"}, "unknown option '--memroy'"},
  };
  for (const auto &[words, said] : rows) {
    std::vector<std::string> all = {tool};
    all.insert(all.end(), words.begin(), words.end());
    expect_refusal(run(all), 2, "rawhal " + words[0] + ": " + said + "\n");
  }
}

TEST(Statuses, OfWhatIsNotFound)
{
  const std::string good = fixtures + "vector_add-gfx90a-v5.co";
  const struct {
    std::vector<std::string> words;
    int status;
  } rows[] = {
      {{"inspect", good, "--kernel", "nobody"}, 3},
      {{"inspect", good, "--target", "gfx942"}, 3},
      {{"inspect", "--list", good, "--kernel", "nobody"}, 3},
      {{"find", "nobody", good}, 1},
      {{"header", good, "--kernel", "nobody"}, 3},
      {{"header", good, "--object", "9"}, 3},
      {{"check", good, "--kernel", "nobody", "--blob", good}, 3},
      {{"check", good, "--kernel", "vector_add", "--blob", "/nonexistent"}, 3},
      {{"coverage", good, "--target", "gfx942"}, 3},
      {{"unpack", good, "--object", "9"}, 3},
      {{"diff", good, good, "--kernel", "nobody"}, 3},
      {{"diff", good, good, "--target", "gfx942"}, 3},
      {{"run", good, "--kernel", "nobody", "--grid", "1", "--block", "1", "--device", "softgpu"},
       3},
      {{"exec", "--", "/nonexistent"}, 127},
      {{"exec", "--", good}, 126},
      {{"exec", "--", "/"}, 126},
  };
  for (const auto &row : rows) {
    std::vector<std::string> words = row.words;
    words.insert(words.begin(), tool);
    const Outcome got = run(words);
    EXPECT_EQ(row.status, got.status) << row.words[0] << ": " << got.err;
    EXPECT_EQ(1u, lines(got.err)) << got.err;
    EXPECT_EQ("", got.out);
  }
}
