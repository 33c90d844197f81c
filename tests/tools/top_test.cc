// `rawhal top` and `rawhal limits set` on a region in which processes are at work.
#include "tests/tools/command.h"
#include "tests/tools/prometheus.h"
#include "tests/tools/terminal.h"

#include <csignal>
#include <set>

#include <sys/ioctl.h>

extern "C" {
#include "queue/limit/config.h"
}

namespace {

class Region : public testing::Test {
protected:
  void TearDown() override
  {
    for (rawhal_limiter_t *limiter : limiters_)
      rawhal_limiter_close(limiter);
  }
  rawhal_limiter_t *Join(const std::string &tenant,
                         const std::vector<std::pair<rawhal_limit_t, uint64_t>> &limits = {},
                         const std::string &device = "GPU-7")
  {
    rawhal_limit_config_t config = {};
    rawhal_error_t error = {};
    rawhal_limiter_t *limiter = nullptr;
    snprintf(config.region.text, sizeof(config.region.text), "%s", path_.c_str());
    snprintf(config.tenant.text, sizeof(config.tenant.text), "%s", tenant.c_str());
    for (const auto &limit : limits)
      EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, limit.first, limit.second, &error));
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, device.c_str(), &limiter, &error))
        << error.message;
    limiters_.push_back(limiter);
    return limiter;
  }
  Outcome Limits(std::vector<std::string> words)
  {
    words.insert(words.begin(), {tool, "limits"});
    return run(words);
  }
  Json Top() { return parse(run({tool, "top", path_, "--json"}).out); }
  // The row of a level and name.
  json_t *Row(const Json &document, const std::string &level, const std::string &name)
  {
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(document.get(), "rows"), index, row)
    {
      if (text_of(row, "level") == level && text_of(row, "name") == name)
        return row;
    }
    ADD_FAILURE() << level << " " << name;
    return nullptr;
  }

  Scratch scratch_;
  std::string path_ = scratch_ / "region";
  std::vector<rawhal_limiter_t *> limiters_;
};

// ---- Looking on ----

namespace {

// What a terminal gets until there is a second table, before which it may become narrow.
std::string two_tables(const std::string &region, const char *term, unsigned short columns = 80)
{
  const winsize size = {24, columns, 0, 0};
  int terminal = -1;
  const std::string head = "DEVICE / TENANT / PROCESS LIMIT%";
  pid_t child = fork_on_terminal(80, &terminal);
  if (child == 0) {
    setenv("TERM", term, 1);
    execl(tool.c_str(), "rawhal", "top", region.c_str(), nullptr);
    _exit(127);
  }
  std::string text;
  char piece[1024];
  auto heads = [&] { // whole ones
    size_t count = 0;
    for (size_t at = 0; (at = text.find(head, at)) != std::string::npos; at += head.size())
      count += text.find('\n', at) != std::string::npos;
    return count;
  };
  for (ssize_t got; heads() < 2 && (got = read(terminal, piece, sizeof(piece))) > 0;) {
    text.append(piece, static_cast<size_t>(got));
    EXPECT_TRUE(heads() != 1 || ioctl(terminal, TIOCSWINSZ, &size) == 0);
  }
  signal_child(child, SIGTERM);
  waitpid(child, nullptr, 0);
  close(terminal);
  return text.substr(0, text.find('\n', text.rfind(head)));
}

} // namespace

TEST_F(Region, IsShownAnewAsTheTerminalCan)
{
  NEEDS_TERMINAL();
  Join("blue");
  const std::string head = "DEVICE / TENANT / PROCESS LIMIT%", clear = "\x1b[H\x1b[2J";
  const std::string moving = two_tables(path_, "xterm"), dumb = two_tables(path_, "dumb"),
                    unknown = two_tables(path_, "");
  EXPECT_EQ(0u, moving.find(clear + head));
  EXPECT_TRUE(contains(moving.substr(1), "\n" + clear + head)) << moving;
  for (const std::string &text : {dumb, unknown}) {
    EXPECT_EQ(0u, text.find(head));
    EXPECT_TRUE(contains(text, "\n\r\n" + head)) << text;
    EXPECT_FALSE(contains(text, "\x1b"));
  }
  const std::string narrow = two_tables(path_, "dumb", 60);
  const size_t second = narrow.rfind(head);
  EXPECT_TRUE(contains(narrow.substr(0, second), "LAUNCHES"));
  EXPECT_FALSE(contains(narrow.substr(second), "LAUNCHES")) << narrow;
}

// ---- Setting ----

TEST_F(Region, AnOperatorChangesARunningTenant)
{
  rawhal_limiter_t *blue = Join("blue"), *red = Join("red");
  rawhal_limiter_t *elsewhere = Join("blue", {}, "GPU-8");
  Outcome got = Limits({"set", path_, "blue", "share=30%", "rate=1000", "memory=25%", "burst=5ms",
                        "charging=wall", "--memory", "64G", "--on", "GPU-7"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ("", got.out);
  EXPECT_EQ(300000u, rawhal_limiter_get(blue, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(1000u, rawhal_limiter_get(blue, RAWHAL_LIMIT_DISPATCH_RATE));
  EXPECT_EQ(16ull << 30, rawhal_limiter_get(blue, RAWHAL_LIMIT_MEMORY));
  EXPECT_EQ(5000000u, rawhal_limiter_get(blue, RAWHAL_LIMIT_BURST));
  EXPECT_EQ(RAWHAL_UNLIMITED, rawhal_limiter_get(red, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(RAWHAL_UNLIMITED, rawhal_limiter_get(elsewhere, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(0, Limits({"set", path_, "blue", "device-share=90%"}).status); // on all of its devices
  EXPECT_EQ(900000u, rawhal_limiter_get(red, RAWHAL_LIMIT_DEVICE_SHARE));
  EXPECT_EQ(900000u, rawhal_limiter_get(elsewhere, RAWHAL_LIMIT_DEVICE_SHARE));
  Json document = Top();
  json_t *held = json_object_get(Row(document, "tenant", "blue"), "held");
  ASSERT_EQ(5u, json_array_size(held));
  EXPECT_STREQ("memory", json_string_value(json_array_get(held, 0)));
  EXPECT_EQ(0u, json_array_size(json_object_get(Row(document, "tenant", "red"), "held")));
  EXPECT_EQ(0, Limits({"release", path_, "blue"}).status);
  document = Top();
  EXPECT_EQ(0u, json_array_size(json_object_get(Row(document, "tenant", "blue"), "held")));
  EXPECT_EQ(0u, json_array_size(json_object_get(Row(document, "device", "GPU-7"), "held")));
}

TEST_F(Region, AnOperatorSuspendsAndResumes)
{
  Join("blue");
  Join("red");
  EXPECT_EQ(0, Limits({"suspend", path_, "blue"}).status);
  Json document = Top();
  EXPECT_TRUE(json_is_true(json_object_get(Row(document, "tenant", "blue"), "suspended")));
  EXPECT_TRUE(json_is_false(json_object_get(Row(document, "tenant", "red"), "suspended")));
  std::string text = run({tool, "top", path_}).out;
  EXPECT_TRUE(contains(text.substr(text.find("  blue"), 120), "suspended")) << text;
  EXPECT_EQ(1u, lines(text.substr(0, text.find("suspended"))) - 1) << text; // once, in blue's row
  EXPECT_EQ(0, Limits({"resume", path_, "blue"}).status);
  document = Top();
  EXPECT_TRUE(json_is_false(json_object_get(Row(document, "tenant", "blue"), "suspended")));
}

TEST_F(Region, WhatCannotBeChangedIsSaid)
{
  rawhal_limiter_t *blue = Join("blue");
  expect_refusal(Limits({"set", path_, "green", "share=30%"}), 3, "no tenant 'green'");
  expect_refusal(Limits({"set", path_, "blue", "share=30%", "--on", "GPU-9"}), 3, "'GPU-9'");
  expect_refusal(Limits({"suspend", scratch_ / "none", "blue"}), 3, "NOT_FOUND");
  expect_refusal(Limits({"suspend", fixtures + "README.md", "blue"}), 3, "UNSUPPORTED");
  expect_refusal(Limits({"suspend", path_}), 2, "expected REGION and TENANT");
  expect_refusal(Limits({"suspend", path_, "blue", "share=1%"}), 2, "share=1%");
  expect_refusal(Limits({"set", path_, "blue"}), 2, "NAME=VALUE");
  expect_refusal(Limits({"set", path_, "blue", "share"}), 2, "NAME=VALUE");
  expect_refusal(Limits({"set", path_, "blue", "frob=1"}), 2, "'frob'");
  expect_refusal(Limits({"set", path_, "blue", "memory=25%"}), 2, "size is not known");
  expect_refusal(Limits({"set", path_, "blue", "--frob"}), 2, "--frob");
  // One that is wrong, and none is set.
  expect_refusal(Limits({"set", path_, "blue", "share=30%", "weight=7"}), 2,
                 "is set for each process");
  expect_refusal(Limits({"set", path_, "blue", "share=30%", "burst=forever"}), 2, "'forever'");
  EXPECT_EQ(RAWHAL_UNLIMITED, rawhal_limiter_get(blue, RAWHAL_LIMIT_GPU_SHARE));
}

// ---- Prometheus ----

TEST_F(Region, MetricsAreInPrometheusFormat)
{
  Join("free");
  Join("bo\"und\\ \xff \xe2\x82\xac", {{RAWHAL_LIMIT_GPU_SHARE, 125000},
                                       {RAWHAL_LIMIT_MEMORY, 1 << 30},
                                       {RAWHAL_LIMIT_DISPATCH_RATE, 1000}});
  ASSERT_EQ(0, Limits({"suspend", path_, "free"}).status);
  Outcome got = run({tool, "top", "--prometheus", path_});
  ASSERT_EQ(0, got.status) << got.err;
  Exposition metrics(got.out);
  EXPECT_EQ("", metrics.wrong()) << got.out;
  const std::map<std::string, std::string> bound = {{"device", "GPU-7"},
                                                    {"tenant", "bo\"und\\\\ \\xff \xe2\x82\xac"}};
  EXPECT_DOUBLE_EQ(0.125, metrics.Value("rawhal_tenant_share_limit_ratio", bound));
  EXPECT_TRUE(std::isnan(metrics.Value("rawhal_tenant_share_limit_ratio", {{"tenant", "free"}})));
  EXPECT_DOUBLE_EQ(1 << 30, metrics.Value("rawhal_tenant_memory_limit_bytes", bound));
  EXPECT_DOUBLE_EQ(0.02, metrics.Value("rawhal_tenant_burst_seconds", bound));
  EXPECT_DOUBLE_EQ(1000, metrics.Value("rawhal_tenant_dispatch_rate_limit", bound));
  EXPECT_DOUBLE_EQ(2, metrics.Value("rawhal_device_processes", {}));
  EXPECT_DOUBLE_EQ(1, metrics.Value("rawhal_tenant_suspended", {{"tenant", "free"}}));
  EXPECT_DOUBLE_EQ(0, metrics.Value("rawhal_tenant_suspended", bound));
  auto process = bound;
  process["pid"] = std::to_string(getpid());
  EXPECT_DOUBLE_EQ(0, metrics.Value("rawhal_process_denials_total", process));
  process["le"] = "0.000001";
  EXPECT_DOUBLE_EQ(0, metrics.Value("rawhal_process_wait_seconds_bucket", process));
  // Nothing that counts is summed over processes that come and go, but for what the region keeps.
  const std::set<std::string> kept = {
      "rawhal_device_device_seconds_total", "rawhal_device_returned_seconds_total",
      "rawhal_tenant_device_seconds_total", "rawhal_tenant_returned_seconds_total"};
  for (const auto &family : metrics.families()) {
    EXPECT_TRUE(family.second.type == "gauge" || contains(family.first, "rawhal_process_") ||
                kept.count(family.first))
        << family.first;
  }
  // Another's reader, where it is installed.
  std::string file = scratch_ / "metrics";
  spit(file, got.out);
  Outcome oracle = run(
      {"/usr/bin/env", "python3", "-c",
       "import sys\n"
       "try: from prometheus_client.parser import text_string_to_metric_families as parse\n"
       "except ImportError: sys.exit(77)\n"
       "print(sum(len(f.samples) for f in parse(open(sys.argv[1], encoding='utf-8').read())))\n",
       file});
  if (oracle.status == 77 || oracle.status == 127)
    GTEST_SKIP() << "python3 has no prometheus_client; our own reader is content";
  EXPECT_EQ(0, oracle.status) << oracle.err;
  size_t count = 0;
  for (const auto &family : metrics.families())
    count += family.second.samples.size();
  EXPECT_EQ(std::to_string(count) + "\n", oracle.out);
}

TEST_F(Region, MetricsOfAnEmptyRegionAreInPrometheusFormat)
{
  rawhal_limiter_close(Join("gone"));
  limiters_.clear();
  Outcome got = run({tool, "top", "--prometheus", path_});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ("", Exposition(got.out).wrong());
}

// Names that differ in what cannot be seen: two tenants still, and the collector takes them all.
TEST_F(Region, MetricsOfHostileNamesAreOneSeriesEach)
{
  const std::vector<std::string> names = {"a\xff",         "a\xfe",     "a?",           "a\\xff",
                                          "a\xe2\x80\xae", "a\xc2\x9b", "a\xef\xbb\xbf"};
  for (const std::string &name : names)
    Join(name);
  Outcome got = run({tool, "top", "--prometheus", path_});
  ASSERT_EQ(0, got.status) << got.err;
  Exposition metrics(got.out);
  EXPECT_EQ("", metrics.wrong()) << got.out;
  EXPECT_EQ(names.size(), metrics.families().at("rawhal_tenant_processes").samples.size());
  for (const char *label :
       {"a\\xff", "a\\xfe", "a?", "a\\\\xff", "a\\u{202e}", "a\\u{9b}", "a\\u{feff}"})
    EXPECT_DOUBLE_EQ(1, metrics.Value("rawhal_tenant_processes", {{"tenant", label}}))
        << label << got.out;
}

// The longest escapes fit.
TEST_F(Region, MetricsOfTheLongestNames)
{
  Join(std::string(63, '\xff'));
  Join(std::string(63, '\\'));
  Exposition metrics(run({tool, "top", "--prometheus", path_}).out);
  EXPECT_EQ("", metrics.wrong());
  std::string bytes;
  for (int i = 0; i < 63; ++i)
    bytes += "\\xff";
  for (const std::string &label : {bytes, std::string(126, '\\')})
    EXPECT_DOUBLE_EQ(1, metrics.Value("rawhal_tenant_processes", {{"tenant", label}})) << label;
}

// The judge itself: each rule can say no.
TEST(Prometheus, ViolationsAreFound)
{
  const std::string head = "# HELP a_total A.\n# TYPE a_total counter\n";
  EXPECT_EQ("", Exposition(head + "a_total{b=\"c\\\\\\\"\\n\",d=\"\"} 1e3\na_total 2\n").wrong());
  const struct {
    std::string text, wrong;
  } cases[] = {
      {"", "does not end"},
      {head + "a_total 1", "does not end"},
      {"a_total 1\n", "no type"},
      {head + head, "second"},
      {head + "a_total 1\n# TYPE a_total counter\n", "second"},
      {"# TYPE a_total counter\na_total 1\n# HELP a_total A.\n", "after a sample"},
      {head + "# HELP b B.\n# TYPE b gauge\nb 1\na_total 1\n", "left before"},
      {head + "a_total 1\na_total 2\n", "twice"},
      {head + "a_total{b=\"1\",b=\"2\"} 1\n", "twice"},
      {head + "a_total{b=\"\\x\"} 1\n", "escape"},
      {head + "a_total{b=\"1} 1\n", "does not end"},
      {head + "a_total{b=\"1\" c=\"2\"} 1\n", "comma"},
      {head + "a_total{b=1} 1\n", "without a value"},
      {head + "a_total{1b=\"1\"} 1\n", "label's name"},
      {head + "a_total{__b=\"1\"} 1\n", "label's name"},
      {head + "a_total{b=\"\xff\"} 1\n", "UTF-8"},
      {head + "a_total lots\n", "no value"},
      {head + "a_total -1\n", "below zero"},
      {"# HELP a A.\n# TYPE a counter\na 1\n", "is a counter"},
      {"# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n", "is a gauge"},
      {"# HELP a_ms A.\n# TYPE a_ms gauge\na_ms 1\n", "base unit"},
      {"# HELP a A.\n# TYPE a number\n", "no type"},
      {"# TYPE a gauge\na 1\n", "no help"},
      {"# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum "
       "1\na_count 1\n",
       "grow"},
      {"# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n", "whole"},
      {"# HELP a A.\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n", "whole"},
  };
  for (const auto &c : cases)
    EXPECT_TRUE(contains(Exposition(c.text).wrong(), c.wrong))
        << c.text << Exposition(c.text).wrong();
}

// ---- The log ----

// The device memory that a process of its own is refused, before it goes away.
void BeRefused(const std::string &path, const std::string &tenant)
{
  Outcome got =
      run({tool, "run", fixtures + "vector_add-gfx90a-v5.co", "--kernel", "vector_add", "--grid",
           "1", "--block", "64", "ptr:zero:1M", "ptr:zero:1M", "ptr:zero:1M", "u32:64"},
          {"RAWHAL_DEVICE=softgpu", "RAWHAL_LIMIT_REGION=" + path, "RAWHAL_TENANT=" + tenant,
           "RAWHAL_MEMORY_LIMIT=4096"});
  EXPECT_NE(0, got.status);
  EXPECT_TRUE(contains(got.err, "QUOTA_EXCEEDED")) << got.err;
}

TEST_F(Region, TheLogHasALineForEachRefusal)
{
  Join("watcher");
  std::string out = scratch_ / "log";
  pid_t child = fork_child();
  if (child == 0) {
    int fd = open(out.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(fd, 1);
    execl(tool.c_str(), tool.c_str(), "top", "--log", path_.c_str(), nullptr);
    _exit(127);
  }
  BeRefused(path_, "greedy\"\x01");
  for (int tries = 0; tries < 1000 && lines(slurp(out)) < 1; ++tries)
    usleep(10000);
  std::string log = slurp(out);
  EXPECT_EQ(1u, lines(log)) << log;
  EXPECT_EQ(0u, log.find("time=20")) << log;
  for (const char *part : {"Z device=\"", " tenant=\"greedy\\\"?\" pid=", " limit=memory asked=",
                           " used=", " allowed=4KiB\n"})
    EXPECT_TRUE(contains(log, part)) << part << ": " << log;
  BeRefused(path_, "other");
  for (int tries = 0; tries < 1000 && lines(slurp(out)) < 2; ++tries)
    usleep(10000);
  log = slurp(out);
  EXPECT_EQ(2u, lines(log)) << log;
  EXPECT_TRUE(contains(log, "tenant=\"other\"")) << log;
  signal_child(child, SIGTERM);
  waitpid(child, nullptr, 0);
  Outcome once = run({tool, "top", "--log", "--once", path_}); // the region remembers the last
  EXPECT_EQ(0, once.status);
  EXPECT_TRUE(contains(once.out, "tenant=\"other\"")) << once.out;
}

// What another tenant chose is one line of plain text there, and a string that JSON's readers read.
TEST_F(Region, TheLogQuotesNames)
{
  const std::string name = "a\" tenant=\"b\\\xe2\x80\xae\xc2\x9b\xff\xe2\x82\xac";
  Join("watcher");
  BeRefused(path_, name);
  Outcome got = run({tool, "top", "--log", "--once", path_});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(1u, lines(got.out)) << got.out;
  EXPECT_TRUE(
      contains(got.out, " tenant=\"a\\\" tenant=\\\"b\\\\\\u202e\\u009b\\u00ff\xe2\x82\xac\" pid="))
      << got.out;
}

TEST_F(Region, OutputThatCannotBeWrittenIsAnErrorInEachForm)
{
  Join("watcher");
  BeRefused(path_, "greedy");
  for (const char *form : {"--once", "--json", "--prometheus", "--log --once", "--log"})
    for (const char *out : {">/dev/full", ">&-"}) {
      Outcome got =
          run({"/bin/sh", "-c", "exec '" + tool + "' top " + form + " '" + path_ + "' " + out});
      EXPECT_EQ(3, got.status) << form << out;
      EXPECT_EQ(0u, got.err.find("rawhal: standard output: ")) << form << out << got.err;
      EXPECT_EQ(1u, lines(got.err)) << form << out << got.err;
    }
}

TEST_F(Region, OneFormAtATime)
{
  expect_refusal(run({tool, "top", "--json", "--log", path_}), 2, "cannot be combined");
  expect_refusal(run({tool, "top", "--prometheus", "--json", path_}), 2, "cannot be combined");
}

} // namespace
