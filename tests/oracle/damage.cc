#include "damage.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "mutate.h"
#include "tests/hsaco/builder.h"

// Of the fuzzers (fuzz/hsaco_mutator.cc): sets fields and metadata tokens to telling values.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

// Relocations of these types against a function, an object and no symbol.
static std::string relocated(const std::vector<uint32_t> &types)
{
  build::Object object;
  object.kernels = {build::plain_kernel("a"), build::plain_kernel("b")};
  for (uint32_t type : types)
    for (uint64_t symbol : {0u, 1u, 2u})
      object.relocations.push_back({build::plain_object(2).text, ELF64_R_INFO(symbol, type), 8});
  return object.build();
}

std::vector<NamedObject> origins()
{
  std::vector<NamedObject> objects = fixtures_for("gfx90a");
  for (NamedObject &object : corpus_for("gfx90a"))
    if (object.bytes.size() < 64 << 10)
      objects.push_back(std::move(object));
  objects.push_back({"relocated", relocated({1, 2, 3, 13})});
  objects.push_back({"relocated-abs32", relocated({1, 2, 3, 6, 13})});
  return objects;
}

std::string damage_bytes(const NamedObject &object, uint32_t seed)
{
  return Mutator(object.bytes).mutant(seed);
}

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

static std::string for_device(std::string bytes)
{
  constexpr uint32_t kGfx90aAny = 0x53f;
  bytes[EI_ABIVERSION] = 3;
  memcpy(&bytes[offsetof(Elf64_Ehdr, e_flags)], &kGfx90aAny, sizeof(kGfx90aAny));
  return bytes;
}

std::string damage_bytes_for_device(const NamedObject &object, uint32_t seed)
{
  return for_device(damage_bytes(object, seed));
}

std::string damage_fields_for_device(const NamedObject &object, uint32_t seed)
{
  return for_device(damage_fields(object, seed));
}

void keep_mutant(const NamedObject &object, uint32_t seed, const std::string &bytes)
{
  const char *folder = getenv("RAWHAL_KEEP_MUTANTS");
  std::string name = object.name.substr(0, object.name.find(' '));
  if (folder)
    std::ofstream(folder + ("/" + std::to_string(seed) + "-" + name)) << bytes;
}
