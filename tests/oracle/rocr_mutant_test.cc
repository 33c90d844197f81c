// Damaged objects that rawhal still calls loadable do not crash ROCr's loader, nor hang it, nor
// make it read past the file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <rawhal/hsaco.h>

#include "children.h"
#include "mutate.h"
#include "objects.h"
#include "rocr.h"
#include "tests/hsaco/builder.h"

// Of the fuzzers (fuzz/hsaco_mutator.cc): sets fields and metadata tokens to telling values.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

namespace {

struct Mutant {
  size_t origin;
  uint32_t seed;
};

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

// Objects the loader takes apart in different ways: compiled ones, and one with relocations.
std::vector<NamedObject> origins()
{
  std::vector<NamedObject> objects = fixtures_for("gfx90a");
  for (NamedObject &object : corpus_for("gfx90a"))
    if (object.bytes.size() < 64 << 10)
      objects.push_back(std::move(object));
  build::Object relocated;
  relocated.kernels = {build::plain_kernel("a"), build::plain_kernel("b")};
  for (uint32_t type : {1u, 2u, 3u, 6u, 13u})
    relocated.relocations.push_back(
        {build::plain_object(2).text, ELF64_R_INFO(uint64_t{1}, type), 8});
  objects.push_back({"relocated", relocated.build()});
  return objects;
}

// A damaged copy of an object, the same for the same seed.
using Damage = std::function<std::string(const NamedObject &object, uint32_t seed)>;

std::string damage_bytes(const NamedObject &object, uint32_t seed)
{
  return Mutator(object.bytes).mutant(seed);
}

// One to three fields that are wrong on purpose, rather than by accident.
std::string damage_fields(const NamedObject &object, uint32_t seed)
{
  std::string bytes = object.bytes;
  const size_t most = bytes.size() + 4096;
  for (uint32_t round = 0; round <= seed % 3; ++round) {
    size_t size = bytes.size();
    bytes.resize(most);
    bytes.resize(LLVMFuzzerCustomMutator(reinterpret_cast<uint8_t *>(bytes.data()), size, most,
                                         seed * 3 + round));
  }
  return bytes;
}

// Damages the objects in turn until `wanted` of the results are loadable, and loads those.
void load_mutants(const Damage &damage, size_t wanted)
{
  const std::vector<NamedObject> objects = origins();
  std::vector<Mutant> mutants;
  uint32_t seed = 0;
  for (; mutants.size() < wanted && seed < 1000000; ++seed)
    for (size_t i = 0; i < objects.size(); ++i)
      if (is_worth_loading(damage(objects[i], seed)))
        mutants.push_back({i, seed});
  ASSERT_GE(mutants.size(), wanted);
  auto load = [&](size_t i, std::string &) {
    std::string bytes = damage(objects[mutants[i].origin], mutants[i].seed);
    Guarded guarded(bytes);
    Rocr::Loaded loaded = Rocr::get().load(guarded.data(), bytes.size());
    int status = loaded.status;
    Rocr::get().unload(loaded);
    return status;
  };
  std::string complaints;
  std::vector<Outcome> outcomes = run_in_children(mutants.size(), load, complaints);
  size_t frozen = 0;
  for (size_t i = 0; i < mutants.size(); ++i) {
    const Mutant &mutant = mutants[i];
    frozen += outcomes[i].kind == Outcome::kDone && outcomes[i].value == HSA_STATUS_SUCCESS;
    EXPECT_EQ(Outcome::kDone, outcomes[i].kind)
        << "seed " << mutant.seed << " of " << objects[mutant.origin].name
        << (outcomes[i].kind == Outcome::kHung ? " hangs" : " ends with signal ")
        << outcomes[i].value;
    const char *keep = getenv("RAWHAL_KEEP_MUTANTS"); // a folder, to look at what was found
    if (keep && outcomes[i].kind != Outcome::kDone)
      std::ofstream(
          keep + ("/" + std::to_string(mutant.origin) + "-" + std::to_string(mutant.seed) + ".co"))
          << damage(objects[mutant.origin], mutant.seed);
  }
  printf("%zu loadable of %zu mutants, %zu of them frozen by ROCr\n", mutants.size(),
         objects.size() * seed, frozen);
}

class OracleMutants : public testing::Test {
protected:
  void SetUp() override
  {
    std::string ignored;
    auto start = [](size_t, std::string &) { return int{Rocr::get().started()}; };
    if (!run_in_children(1, start, ignored)[0].value)
      GTEST_SKIP() << "no libhsa-runtime64.so.1 here";
  }
};

} // namespace

TEST_F(OracleMutants, LoadableOnesDoNotHarmTheLoader)
{
  load_mutants(damage_bytes, 2000);
}

TEST_F(OracleMutants, WrongFieldsDoNotEither)
{
  load_mutants(damage_fields, 1000);
}

TEST_F(OracleMutants, ManyMore)
{
  if (!extended())
    GTEST_SKIP() << "RAWHAL_TEST_EXTENDED is not set";
  load_mutants(damage_bytes, 60000);
  load_mutants(damage_fields, 20000);
}
