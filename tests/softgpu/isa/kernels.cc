#include "tests/softgpu/isa/kernels.h"

#include <map>

namespace kernels {

struct Entry {
  std::vector<uint32_t> words;
  char kind;
};

static const std::map<std::string, Entry> &all()
{
  static const std::map<std::string, Entry> table = {
#define KERNEL(name, chip, ...)      {name, {{__VA_ARGS__}, 'k'}},
#define INSTRUCTION(text, chip, ...) {text, {{__VA_ARGS__}, 'i'}},
#define FORM(text, chip, ...)        {text, {{__VA_ARGS__}, 'f'}},
#include "tests/softgpu/isa/kernels.inc"
  };
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
