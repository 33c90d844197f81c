// Objects to damage, and ways to damage them.
#ifndef TESTS_ORACLE_DAMAGE_H
#define TESTS_ORACLE_DAMAGE_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "objects.h"

// Objects the loader takes apart in different ways: compiled ones, and one with relocations.
std::vector<NamedObject> origins();

struct Mutant {
  size_t origin; // which of origins()
  uint32_t seed;
};

// A damaged copy of an object, the same for the same seed.
using Damage = std::function<std::string(const NamedObject &object, uint32_t seed)>;

// One to eight bytes, half of them where the structures are.
std::string damage_bytes(const NamedObject &object, uint32_t seed);

// One to three fields that are wrong on purpose, rather than by accident.
std::string damage_fields(const NamedObject &object, uint32_t seed);

// The same damage in an object for the device and the runtime here, so that neither is a reason to
// refuse it.
std::string damage_bytes_for_device(const NamedObject &object, uint32_t seed);
std::string damage_fields_for_device(const NamedObject &object, uint32_t seed);

// RAWHAL_KEEP_MUTANTS names a folder: what was found is kept there, to look at it.
void keep_mutant(const NamedObject &object, uint32_t seed, const std::string &bytes);

#endif
