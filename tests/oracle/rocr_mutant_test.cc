// Damaged objects that rawhal still calls loadable do not crash ROCr's loader, nor hang it, nor
// make it read past the file; and ROCr loads them, with the same facts, or refuses them for one of
// the reasons that hsaco.h lists.
#include <gtest/gtest.h>

#include <elf.h>

#include <cstdlib>
#include <map>

#include <rawhal/hsaco.h>

#include "answer.h"
#include "damage.h"
#include "rocr_test.h"
#include "tests/extended.h"

namespace {

// ROCr allocates and clears all that the segments span, which takes seconds for gigabytes: those
// are left out.
bool is_worth_loading(const std::string &bytes)
{
  constexpr uint64_t kMost = 16 << 20;
  rawhal_hsaco_t *hsaco;
  if (rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, nullptr))
    return false;
  bool worth = rawhal_hsaco_info(hsaco)->loadable;
  for (size_t i = 0; i < rawhal_hsaco_info(hsaco)->segment_count; ++i) {
    const rawhal_segment_t *segment = rawhal_hsaco_segment(hsaco, i);
    worth &= segment->type != PT_LOAD || segment->address + segment->memory_size <= kMost;
  }
  rawhal_hsaco_close(hsaco);
  return worth;
}

// Damages the objects in turn, from seed `first` on, until `wanted` of the results are loadable.
std::vector<Mutant> make_mutants(const std::vector<NamedObject> &objects, const Damage &damage,
                                 uint32_t first, size_t wanted)
{
  std::vector<Mutant> mutants;
  uint32_t seed = first;
  for (; mutants.size() < wanted && seed - first < 1000000; ++seed)
    for (size_t i = 0; i < objects.size() && mutants.size() < wanted; ++i)
      if (is_worth_loading(damage(objects[i], seed)))
        mutants.push_back({i, seed});
  printf("%zu loadable of %zu mutants from seed %u on\n", mutants.size(),
         objects.size() * (seed - first), first);
  return mutants;
}

// Loads `wanted` damaged objects that rawhal calls loadable: each is accepted, or refused for a
// known reason.
void load_mutants(const Damage &damage, uint32_t first, size_t wanted)
{
  const std::vector<NamedObject> objects = origins();
  std::vector<Mutant> mutants = make_mutants(objects, damage, first, wanted);
  ASSERT_GE(mutants.size(), wanted);
  auto load = [&](size_t i, std::string &complaints) {
    return ask_rocr(damage(objects[mutants[i].origin], mutants[i].seed), complaints).packed();
  };
  std::string complaints;
  std::vector<Outcome> outcomes = run_in_children(mutants.size(), load, complaints);
  EXPECT_EQ("", complaints);
  std::map<std::string, size_t> counts;
  for (size_t i = 0; i < mutants.size(); ++i) {
    const Mutant &mutant = mutants[i];
    Answer answer = Answer::unpack(outcomes[i].value);
    std::string what = answer.text();
    if (outcomes[i].kind != Outcome::kDone)
      what = (outcomes[i].kind == Outcome::kHung ? "hangs, signal " : "ends with signal ") +
             std::to_string(outcomes[i].value);
    ++counts[what];
    if (outcomes[i].kind == Outcome::kDone && answer.is_sound())
      continue;
    ADD_FAILURE() << "seed " << mutant.seed << " of " << objects[mutant.origin].name << ": "
                  << what;
    keep_mutant(objects[mutant.origin], mutant.seed, damage(objects[mutant.origin], mutant.seed));
  }
  for (const auto &[what, count] : counts)
    printf("%7zu %s\n", count, what.c_str());
}

using OracleMutants = RocrTest;

} // namespace

TEST_F(OracleMutants, LoadableOnesAreAcceptedOrRefusedForAReason)
{
  load_mutants(damage_bytes, 0, 1000);
  load_mutants(damage_bytes_for_device, 0, 1000);
}

TEST_F(OracleMutants, SoAreThoseWithWrongFields)
{
  load_mutants(damage_fields, 0, 500);
  load_mutants(damage_fields_for_device, 0, 500);
}

// RAWHAL_MUTANT_SEED starts elsewhere, RAWHAL_MUTANTS makes more: for longer searches.
TEST_F(OracleMutants, ManyMore)
{
  if (!is_extended_to_all())
    GTEST_SKIP() << "minutes: RAWHAL_TEST_EXTENDED=all";
  const char *seed = getenv("RAWHAL_MUTANT_SEED"), *count = getenv("RAWHAL_MUTANTS");
  const uint32_t start = seed ? static_cast<uint32_t>(strtoul(seed, nullptr, 0)) : 1000000;
  const size_t wanted = count ? strtoul(count, nullptr, 0) : 6000;
  for (uint32_t round = 0; round < 4; ++round) {
    load_mutants(damage_bytes, start + round * 1000000, wanted);
    load_mutants(damage_fields, start + round * 1000000, wanted);
    load_mutants(damage_bytes_for_device, start + round * 1000000, wanted);
    load_mutants(damage_fields_for_device, start + round * 1000000, wanted);
  }
}
