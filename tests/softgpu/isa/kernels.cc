#include "tests/softgpu/isa/kernels.h"

#include <initializer_list>
#include <map>

namespace kernels {

struct Entry {
  std::vector<uint32_t> words;
  char kind;
};

// Constant data: a map written out like this takes sanitizers minutes to compile.
static const struct {
  const char *name;
  char kind;
  std::initializer_list<uint32_t> words;
} entries[] = {
#define KERNEL(name, chip, ...)      {name, 'k', {__VA_ARGS__}},
#define INSTRUCTION(text, chip, ...) {text, 'i', {__VA_ARGS__}},
#define FORM(text, chip, ...)        {text, 'f', {__VA_ARGS__}},
#include "tests/softgpu/isa/kernels.inc"
};

static const std::map<std::string, Entry> &all()
{
  static const std::map<std::string, Entry> table = [] {
    std::map<std::string, Entry> out;
    for (const auto &entry : entries)
      out[entry.name] = {entry.words, entry.kind};
    return out;
  }();
  return table;
}

const std::vector<uint32_t> &words(const std::string &name)
{
  return all().at(name).words;
}

std::vector<uint32_t> around(const std::string &begin, const std::string &instruction,
                             const std::string &end)
{
  std::vector<uint32_t> out = words(begin);
  for (const std::string *part : {&instruction, &end})
    out.insert(out.end(), words(*part).begin(), words(*part).end());
  return out;
}

std::vector<std::string> instructions(const std::string &prefix)
{
  std::vector<std::string> out;
  for (const auto &entry : all())
    if (entry.first.compare(0, prefix.size(), prefix) == 0 && entry.second.kind == 'i')
      out.push_back(entry.first);
  return out;
}

std::vector<std::string> forms()
{
  std::vector<std::string> out;
  for (const auto &entry : all())
    if (entry.second.kind == 'f')
      out.push_back(entry.first);
  return out;
}

} // namespace kernels
