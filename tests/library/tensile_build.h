// Solution libraries as Tensile's writer has them, as small as they may be. For tests and seeds.
#ifndef RAWHAL_TESTS_LIBRARY_TENSILE_BUILD_H
#define RAWHAL_TESTS_LIBRARY_TENSILE_BUILD_H

#include "tests/hsaco/builder.h"

namespace build {

using Members = std::vector<std::pair<std::string, std::string>>; // values are msgpack

inline std::string record(const Members &members)
{
  Pack pack;
  pack.map(static_cast<uint32_t>(members.size()));
  for (const auto &[key, value] : members)
    pack.str(key).raw(value);
  return pack.bytes;
}

inline std::string items(const std::vector<std::string> &values)
{
  Pack pack;
  pack.array(static_cast<uint32_t>(values.size()));
  for (const std::string &item : values)
    pack.raw(item);
  return pack.bytes;
}

inline std::string number(uint64_t value)
{
  return Pack().number(value).bytes;
}
inline std::string words(const std::string &text)
{
  return Pack().str(text).bytes;
}

inline std::string solution(const std::string &name, uint64_t index, bool source = false,
                            const Members &more = {}, const Members &more_sizes = {})
{
  Members sizes = {
      {"workGroup", Pack().numbers({16, 17, 18}).bytes},
      {"macroTile", Pack().numbers({64, 65, 66}).bytes},
      {"threadTile", Pack().numbers({4, 5}).bytes},
      {"staggerU", number(5)},
      {"depthU", number(32)},
      {"globalSplitU", number(2)},
      {"staggerStrideShift", number(3)},
      {"workGroupMapping", Pack().negative(-8).bytes},
      {"persistentKernel", number(0)},
      {"sourceKernel", Pack().boolean(source).bytes},
      {"globalAccumulation", number(1)},
      {"workspaceSizePerElemC", number(4)},
  };
  sizes.insert(sizes.end(), more_sizes.begin(), more_sizes.end());
  const std::string anything = record({{"type", words("TruePred")}});
  Members members = {
      {"name", words(name)},
      {"index", number(index)},
      {"hardwarePredicate", anything},
      {"problemPredicate", anything},
      {"debugKernel", Pack().boolean(false).bytes},
      {"sizeMapping", record(sizes)},
      {"problemType", record({{"operationIdentifier", words("Contraction_l_Alik_Bjlk_Cijk_Dijk")},
                              {"aType", words("Float")}})},
  };
  members.insert(members.end(), more.begin(), more.end());
  return record(members);
}

inline std::string single(uint64_t index)
{
  return record({{"type", words("Single")}, {"index", number(index)}});
}

inline std::string placeholder(const std::string &file)
{
  return record({{"type", words("Placeholder")}, {"value", words(file)}});
}

inline std::string rows(const std::vector<std::string> &libraries)
{
  std::vector<std::string> values;
  for (const std::string &library : libraries)
    values.push_back(
        record({{"predicate", record({{"type", words("TruePred")}})}, {"library", library}}));
  return record({{"type", words("Hardware")}, {"rows", items(values)}});
}

inline std::string branches(const Members &libraries)
{
  return record({{"type", words("ProblemMap")},
                 {"property", record({{"type", words("OperationIdentifier")}})},
                 {"map", record(libraries)}});
}

inline std::string tensile(const std::vector<std::string> &solutions,
                           const std::string &library = single(0))
{
  return record(
      {{"version", words("4.33.0")}, {"solutions", items(solutions)}, {"library", library}});
}

} // namespace build

#endif
