// Rules of probes: what they may say is in every place where people look for it.
#include "base/status.h"

// The header has atomics of C.
extern "C" {
struct probe_rule;
rawhal_status_t probe_rules_open(const char *kinds, const char *engines, probe_rule **rules,
                                 rawhal_error_t *error);
}

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace {

std::string text_of(const char *name)
{
  std::ifstream file(std::string(RAWHAL_SOURCE_DIR "/") + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What an item's name ends with, "=", ">=" or "<=", if it has a value: those that the message names.
std::set<std::string> items_of(const char *kinds, const char *engines)
{
  probe_rule *rules;
  rawhal_error_t error;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, probe_rules_open(kinds, engines, &rules, &error));
  const std::string message = error.message, begins = "expected ";
  std::set<std::string> items;
  size_t at = message.find(begins) + begins.size();
  for (const size_t end = message.find(", got"); at < end;) {
    const size_t next = message.find_first_of(", ", at);
    const std::string word = message.substr(at, next - at);
    if (word != "or")
      items.insert(
          word.substr(0, word.find('=') == std::string::npos ? word.size() : word.find('=') + 1));
    at = message.find_first_not_of(", ", next);
  }
  return items;
}

TEST(ProbeRules, EveryItemIsDocumented)
{
  std::set<std::string> items = items_of("waves,nonsense", nullptr);
  EXPECT_LE(15u, items.size());
  EXPECT_EQ(0u, items.count("limit="));
  items.merge(items_of(nullptr, "/bin/sh,nonsense"));
  EXPECT_EQ(1u, items.count("limit="));
  const std::string guide = text_of("docs/probe.md"), engines = text_of("docs/probe-engine.md"),
                    page = text_of("docs/man/rawhal-exec.1"), help = text_of("tools/exec/exec.c");
  for (const std::string &item : items) {
    const bool compares = item.find_first_of("<>") != std::string::npos;
    const std::string name = compares ? item : item.substr(0, item.find('='));
    EXPECT_NE(std::string::npos,
              page.find("Cm " + name + (name == item && !compares ? "\n" : " Ns")))
        << item;
    EXPECT_NE(std::string::npos, help.find(item)) << item;
    EXPECT_TRUE(guide.find("`" + item) != std::string::npos ||
                engines.find("`" + item) != std::string::npos)
        << item;
  }
}

} // namespace
