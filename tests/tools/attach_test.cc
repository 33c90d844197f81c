// rawhal events and rawhal attach, of a program that uses librawhal: `rawhal run`, whose kernel spins until a word is set.
#include "tests/limit/schema.h"
#include "tests/tools/command.h"

#include <map>
#include <sstream>

extern "C" {
#include "debug/core/notes.h"
}

namespace {

const std::string schemas = RAWHAL_SOURCE_DIR "/docs/";
const std::vector<std::string> softly = {"RAWHAL_DEVICE=softgpu"};

std::vector<std::string> vector_add(const Scratch &scratch)
{
  spit(scratch / "a", std::string(4096, '\0'));
  return {tool,
          "run",
          fixtures + "vector_add-gfx90a-v5.co",
          "--kernel",
          "vector_add",
          "--grid",
          "4",
          "--block",
          "256",
          "out:" + (scratch / "c") + ":4K",
          "ptr:" + (scratch / "a"),
          "ptr:" + (scratch / "a"),
          "u32:1024"};
}

// Those lines that are objects, each as its schema has it.
std::vector<Json> objects(const std::string &text)
{
  const Json schema = parse(slurp(schemas + "events.schema.json"));
  std::vector<Json> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] != '{')
      continue;
    all.push_back(parse(line));
    EXPECT_EQ("", Violation(schema.get(), all.back().get())) << line;
  }
  return all;
}

std::vector<std::string> names(const std::vector<Json> &events)
{
  std::vector<std::string> all;
  for (const Json &event : events)
    all.push_back(text_of(event.get(), "event"));
  return all;
}

// Until what the words print has that.
std::string await(const std::vector<std::string> &words, const std::string &part)
{
  std::string out;
  for (int i = 0; i < 10000 && !contains(out, part); ++i)
    out = run(words).out;
  EXPECT_TRUE(contains(out, part)) << out;
  return out;
}

// The program that the process, or what it has started, has started last.
pid_t leaf_of(pid_t process)
{
  const std::string id = std::to_string(process),
                    children = slurp("/proc/" + id + "/task/" + id + "/children");
  return children.empty() ? process : leaf_of(atoi(children.c_str()));
}

// A kernel that spins until its buffer's first word is set: what watches it has all the time that it needs.
std::vector<std::string> spin()
{
  return {tool,        "run",     fixtures + "spin-gfx90a-v5.co",
          "--kernel",  "spin",    "--grid",
          "2",         "--block", "64",
          "--timeout", "0",       "ptr:zero:64K"};
}

// Runs it under `rawhal events --json` and other programs; once so many submissions were seen, it goes on to its end.
Outcome watch(const std::vector<std::string> &options, const std::vector<std::string> &around,
              size_t submissions)
{
  Scratch scratch;
  const std::string out = scratch / "out", err = scratch / "err";
  const pid_t child = fork_child();
  if (child == 0) {
    std::vector<std::string> words = {tool, "events", "--json"};
    const std::vector<std::string> program = spin();
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("--");
    words.insert(words.end(), around.begin(), around.end());
    words.insert(words.end(), program.begin(), program.end());
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(&word[0]);
    argv.push_back(nullptr);
    dup2(open(out.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), 1);
    dup2(open(err.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), 2);
    setenv("RAWHAL_DEVICE", "softgpu", 1);
    setenv("RAWHAL_DOOR", "poke", 1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  std::string text, address;
  size_t seen = 0;
  for (int i = 0; i < 20000 && seen < submissions; ++i) {
    seen = 0;
    usleep(1000);
    text = slurp(out);
    for (const Json &event : objects(text.substr(0, text.rfind('\n') + 1))) {
      seen += text_of(event.get(), "event") == "submit";
      if (number_of(event.get(), "bytes") == 65536)
        address = text_of(event.get(), "address");
    }
  }
  EXPECT_EQ(submissions, seen) << text << slurp(err);
  const Outcome poked =
      run({tool, "attach", std::to_string(leaf_of(child)), "--poke", address + ":01"});
  EXPECT_EQ(0, poked.status) << poked.err;
  if (seen < submissions || poked.status)
    end_child(leaf_of(child)), signal_child(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(out), slurp(err)};
}

// ---- rawhal events ----

TEST(Events, OfAProgramFromTheFirstToTheLast)
{
  Scratch scratch;
  const std::string saved = scratch / "events";
  const Outcome got = watch({"--save", saved}, {}, 1);
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ("", got.err);
  EXPECT_TRUE(contains(got.out, "\nkernel    spin\n")); // the program's own
  const std::vector<Json> events = objects(got.out);
  const std::vector<std::string> told = names(events);
  const std::vector<std::string> wanted = {"module-load",  "kernel",       "allocate",
                                           "queue-create", "submit",       "queue-destroy",
                                           "free",         "module-unload"};
  std::vector<std::string> mine; // when the end is seen is the program's to say
  std::remove_copy(told.begin(), told.end(), std::back_inserter(mine), "complete");
  EXPECT_EQ(wanted, mine);
  long long before = 0;
  for (const Json &event : events) {
    EXPECT_GE(number_of(event.get(), "time_ns"), before);
    before = number_of(event.get(), "time_ns");
    if (text_of(event.get(), "event") == "submit") {
      EXPECT_EQ("spin", text_of(event.get(), "kernel"));
      EXPECT_EQ(1, number_of(event.get(), "ticket"));
    }
  }
  // What was saved is the same again, in either form, and as much of it as is asked for.
  std::string lines_of_it;
  std::istringstream stream(got.out);
  for (std::string line; std::getline(stream, line);)
    lines_of_it += !line.empty() && line[0] == '{' ? line + "\n" : "";
  EXPECT_EQ(lines_of_it, run({tool, "events", "--read", saved, "--json"}).out);
  const Outcome text = run({tool, "events", "--read", saved, "--types", "submit,free"});
  EXPECT_EQ(0u, text.out.find("events of process ")) << text.out;
  EXPECT_EQ(3u, lines(text.out)) << text.out;
  EXPECT_TRUE(contains(text.out, "  submit         queue 1  ticket 1  packet 0  packets 1  spin\n"))
      << text.out;
  EXPECT_EQ("", run({tool, "events", "--read", saved, "--json", "--of", "front"}).out);
  expect_refusal(run({tool, "events", "--save", saved, "--", "/bin/true"}), 0, "File exists");
}

// Such as a shell's, or that of `rawhal exec`, which stays beside it where there are limits; both tell then.
TEST(Events, OfAProgramThatAProgramStarts)
{
  const Outcome got =
      watch({"--types", "submit,allocate"}, {"/bin/sh", "-c", "\"$@\"; exit 5", "sh"}, 1);
  EXPECT_EQ(5, got.status) << got.err;
  if (*RAWHAL_SANITIZER)
    GTEST_SKIP() << "no sanitizer's library in a program that has none";
  const Outcome both = watch({}, {tool, "exec", "--gpu-share", "90%", "--"}, 2);
  EXPECT_EQ(0, both.status) << both.err;
  std::map<std::string, std::map<std::string, int>> told;
  for (const Json &event : objects(both.out)) {
    ++told[text_of(event.get(), "door")][text_of(event.get(), "event")];
    if (text_of(event.get(), "event") == "submit") {
      EXPECT_EQ("spin", text_of(event.get(), "kernel"));
    }
  }
  for (const char *door : {"library", "front"})
    for (const char *event : {"submit", "queue-create", "queue-destroy", "module-load", "kernel"})
      EXPECT_EQ(1, told[door][event]) << door << " " << event;
  EXPECT_EQ(1, told["library"]["free"]);
}

TEST(Events, TheExitStatusIsTheProgramsOwn)
{
  const auto status = [](const std::string &script) {
    return run({tool, "events", "--", "/bin/sh", "-c", script});
  };
  EXPECT_EQ(7, status("exit 7").status);
  EXPECT_TRUE(contains(status("exit 0").err, "has ended")) << status("exit 0").err;
  EXPECT_EQ(128 + SIGTERM, status("k=kill; $k -TERM $$").status);
  EXPECT_EQ(127, run({tool, "events", "--", "/no/such/program"}).status);
  EXPECT_EQ(126, run({tool, "events", "--", fixtures + "spin-gfx90a-v5.co"}).status);
}

// A reader that has enough is no reason to end the program.
TEST(Events, AReaderThatGoesLeavesTheProgramRunning)
{
  Scratch scratch;
  std::string program;
  for (const std::string &word : vector_add(scratch))
    program += " '" + word + "'";
  run({"/bin/sh", "-c",
       tool + " events -- /bin/sh -c \"exec" + program + " > /dev/null\" 2>/dev/null | :"},
      softly);
  for (int i = 0; i < 10000 && slurp(scratch / "c").size() != 4096; ++i) // the pipe's last has gone
    usleep(1000);
  EXPECT_EQ(4096u, slurp(scratch / "c").size());
}

std::string note(const core_note_watch_t &watch, const rawhal_event_t &event)
{
  unsigned char bytes[4096];
  core_notes_t notes;
  core_notes_begin(&notes, bytes, sizeof(bytes));
  EXPECT_TRUE(core_notes_put(&notes, CORE_RECORD_WATCH, &watch));
  EXPECT_TRUE(core_notes_put(
      &notes, static_cast<core_record_type_t>(CORE_RECORD_EVENTS + event.type), &event));
  const rawhal_bytes_t all = core_notes_end(&notes);
  return "rhg_evts" + std::string(static_cast<const char *>(all.data), all.size);
}

TEST(Events, FilesOfAnybodyAreRead)
{
  Scratch scratch;
  const std::string path = scratch / "events";
  const auto shown = [&](const std::string &bytes, const char *form = "--no-demangle") {
    spit(path, bytes);
    return run({tool, "events", "--read", path, form});
  };
  rawhal_event_t event = {};
  event.type = RAWHAL_EVENT_FAULT;
  event.kind = 4711;
  event.text = rawhal_string("red\x1b[31m\nand\xe2\x80\xae more");
  const core_note_watch_t watch = {99, 5, 1234, false};
  const std::string whole = note(watch, event);
  const Outcome got = shown(whole);
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "1234 events lost\n")) << got.out;
  EXPECT_TRUE(contains(got.out, "red\\x1b[31m\\x0aand\\u{202e} more")) << got.out;
  EXPECT_EQ(2u, objects(shown(whole, "--json").out).size());
  core_note_watch_t existing = watch;
  existing.exists = true;
  existing.lost = 1;
  EXPECT_TRUE(contains(shown(note(existing, event)).out, "1 more is unlisted\nwhat exists:\n"));
  for (size_t at = 0; at < whole.size(); at += 13) { // each is a process
    const Outcome cut = shown(whole.substr(0, at));
    EXPECT_TRUE(cut.status == 3 || cut.out.size() < 40) << at;
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    EXPECT_LE(shown(damaged).status, 3) << at;
  }
}

TEST(Events, CommandLinesThatAreWrong)
{
  for (const auto &words : std::vector<std::vector<std::string>>{{},
                                                                 {"--"},
                                                                 {"1", "2"},
                                                                 {"0"},
                                                                 {"-1"},
                                                                 {"abc"},
                                                                 {"99999999999"},
                                                                 {"1", "--", "true"},
                                                                 {"--list", "--", "true"},
                                                                 {"--read", "a", "1"},
                                                                 {"--read", "a", "--", "true"},
                                                                 {"--types", "submitted", "1"},
                                                                 {"--types", "", "1"},
                                                                 {"--types", "submit,", "1"},
                                                                 {"--of", "back", "1"},
                                                                 {"--save", "a", "--list", "1"},
                                                                 {"--save", "a", "--read", "b"}}) {
    std::vector<std::string> line = {tool, "events"};
    line.insert(line.end(), words.begin(), words.end());
    EXPECT_EQ(2, run(line).status) << (words.empty() ? "" : words[0]);
  }
  expect_refusal(run({tool, "events", "536870912"}), 3, "there is no process");
  expect_refusal(run({tool, "events", std::to_string(getpid())}), 3, "shows nothing");
}

// ---- rawhal attach ----

// A kernel that spins until its buffer's first word is set.
class Attach : public testing::Test {
protected:
  void start(const std::string &mode)
  {
    child_ = fork_child();
    if (child_ == 0) {
      const int null = open("/dev/null", O_RDWR);
      dup2(null, 1);
      dup2(null, 2);
      setenv("RAWHAL_DEVICE", "softgpu", 1);
      setenv("RAWHAL_DOOR", mode.c_str(), 1);
      execl(tool.c_str(), "rawhal", "run", (fixtures + "spin-gfx90a-v5.co").c_str(), "--kernel",
            "spin", "--grid", "2", "--block", "64", "--timeout", "0", "ptr:zero:64K", nullptr);
      _exit(127);
    }
    shown_ = await({tool, "attach", pid()}, "in flight:");
    const std::vector<Json> all =
        objects(run({tool, "events", pid(), "--list", "--json", "--types", "allocate"}).out);
    ASSERT_EQ(1u, all.size());
    address_ = strtoull(text_of(all[0].get(), "address").c_str(), nullptr, 16);
  }
  void TearDown() override
  {
    if (child_ > 0)
      end_child(child_);
  }
  std::string pid() const { return std::to_string(child_); }
  Outcome attach(std::vector<std::string> words)
  {
    words.insert(words.begin(), {tool, "attach", pid()});
    return run(words);
  }
  std::string at(uint64_t offset, const std::string &rest) const
  {
    return std::to_string(address_ + offset) + ":" + rest;
  }

  pid_t child_ = 0;
  uint64_t address_ = 0;
  std::string shown_;
};

TEST_F(Attach, ToAProcessThatDoesNotAnswer)
{
  Scratch scratch;
  start("events");
  for (const char *part : {"answers nothing (RAWHAL_DOOR=answers)", "spin\n", " 128,1,1 ",
                           "1 kernels, 1 allocations of 65536 bytes\n"})
    EXPECT_TRUE(contains(shown_, part)) << shown_;
  const Json document = parse(attach({"--why", "--json"}).out);
  const Json schema = parse(slurp(schemas + "attach.schema.json"));
  EXPECT_EQ("", Violation(schema.get(), document.get()));
  const json_t *door = json_array_get(json_object_get(document.get(), "doors"), 0);
  const std::string why = text_of(json_object_get(door, "why"), "text");
  EXPECT_TRUE(contains(why, "queue 1: packet 0, kernel 'spin', was the first in line")) << why;
  const Outcome peeked = attach({"--peek", at(65536 - 20, "20")});
  EXPECT_EQ(0, peeked.status) << peeked.err;
  EXPECT_EQ(2u, lines(peeked.out));
  for (const auto &words :
       std::vector<std::vector<std::string>>{{"--poke", at(0, "01")}, {"--core", scratch / "core"}})
    expect_refusal(attach(words), 3, "RAWHAL_DOOR=answers");
  EXPECT_EQ(-1, access((scratch / "core").c_str(), F_OK));
  expect_refusal(attach({"--peek", at(65536 - 20, "21")}), 3, "in no allocation");
  expect_refusal(attach({"--of", "front"}), 3, "no door of the front");

  // Whoever watches until he has enough has what came.
  const pid_t watcher = fork_child();
  const std::string saved = scratch / "events";
  if (watcher == 0) {
    close(1);
    (void)open("/dev/null", O_WRONLY);
    execl(tool.c_str(), "rawhal", "events", pid().c_str(), "--save", saved.c_str(), nullptr);
    _exit(127);
  }
  await({tool, "events", "--read", saved, "--json"}, "queue-create");
  EXPECT_TRUE(signal_child(watcher, SIGINT));
  int status = -1;
  EXPECT_EQ(watcher, waitpid(watcher, &status, 0));
  EXPECT_EQ(0, status);
  EXPECT_EQ(4u, objects(run({tool, "events", "--read", saved, "--json"}).out).size());
}

TEST_F(Attach, ToAProcessThatAnswers)
{
  Scratch scratch;
  start("poke");
  EXPECT_TRUE(contains(shown_, "tells events and answers")) << shown_;
  EXPECT_TRUE(contains(attach({"--why"}).out, "kernel spin"));
  const std::string core = scratch / "core", raw = scratch / "raw";
  EXPECT_EQ(0, attach({"--core", core}).status);
  expect_refusal(attach({"--core", core}), 3, "--force");
  std::string waves = run({tool, "core", "show", core}).out;
  for (int i = 0; i < 10000 && !contains(waves, "spin+0x"); ++i) { // until they have begun
    EXPECT_EQ(0, attach({"--core", core, "--force"}).status);
    waves = run({tool, "core", "show", core}).out;
  }
  EXPECT_TRUE(contains(waves, "spin+0x")) << waves;
  EXPECT_EQ(0, attach({"--poke", at(64, "616263Ff")}).status);
  EXPECT_TRUE(contains(attach({"--peek", at(64, "5")}).out, " 61 62 63 ff 00  "));
  EXPECT_EQ(0, attach({"--peek", at(0, "65536"), "--output", raw}).status);
  EXPECT_EQ(std::string(64, '\0') + "abc\xff" + std::string(65536 - 68, '\0'), slurp(raw));
  expect_refusal(attach({"--peek", at(0, "65537")}), 3, "in no allocation");
  expect_refusal(attach({"--poke", at(65535, "0000")}), 3, "in no allocation");

  // The kernel goes on, and the program ends.
  EXPECT_EQ(0, attach({"--poke", at(0, "01")}).status);
  int status = -1;
  EXPECT_EQ(child_, waitpid(child_, &status, 0));
  EXPECT_EQ(0, status);
  expect_refusal(attach({}), 3, "there is no process");
  child_ = 0;
}

TEST(AttachLine, ThatIsWrong)
{
  for (const auto &words :
       std::vector<std::vector<std::string>>{{},
                                             {"1", "2"},
                                             {"0"},
                                             {"x"},
                                             {"1", "--why", "--core", "a"},
                                             {"1", "--json", "--core", "a"},
                                             {"1", "--output", "a"},
                                             {"1", "--peek", ""},
                                             {"1", "--peek", "1:0"},
                                             {"1", "--peek", "0xffffffffffffffff:2"},
                                             {"1", "--peek", "1:x"},
                                             {"1", "--poke", "1"},
                                             {"1", "--poke", "1:"},
                                             {"1", "--poke", "1:0"},
                                             {"1", "--poke", "1:0g"},
                                             {"1", "--poke", "1:" + std::string(8194, '0')}}) {
    std::vector<std::string> line = {tool, "attach"};
    line.insert(line.end(), words.begin(), words.end());
    EXPECT_EQ(2, run(line).status) << words.size();
  }
}

} // namespace
