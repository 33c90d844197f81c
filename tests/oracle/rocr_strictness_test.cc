// What rawhal refuses to call loadable though ROCr accepts it is refused on purpose.
#include <gtest/gtest.h>

#include <map>

#include <rawhal/hsaco.h>

#include "answer.h"
#include "damage.h"
#include "rocr_test.h"
#include "tests/extended.h"

extern "C" {
#include "hsaco/loadable.h"
}

namespace {

// What rawhal refuses of this object, up to the numbers; empty when it does not open or is loadable.
std::string rule_broken_by(const std::string &bytes)
{
  rawhal_hsaco_t *hsaco;
  if (rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, nullptr))
    return "";
  rawhal_string_t reason = rawhal_hsaco_info(hsaco)->not_loadable_reason;
  std::string text(reason.data ? reason.data : "", reason.size);
  rawhal_hsaco_close(hsaco);
  return text.substr(0, text.find(':'));
}

// Rules that refuse objects ROCr may accept, with the same facts: why they do.
const struct {
  loadable_rule rule;
  const char *why;
} stricter[] = {
    {LOADABLE_LINKED, "ROCr never looks at e_type; unlinked code has nothing at its addresses"},
    {LOADABLE_PLAIN_NUMBERING, "of three fields, ROCr understands one"},
    {LOADABLE_SIZE_BY_SECTIONS, "what ROCr takes for the file has another end than the file"},
    {LOADABLE_FIRST_SECTION_EMPTY, "it becomes the target of relocations, by number 0"},
    {LOADABLE_SECTION_INSIDE, "libelf gives ROCr nothing of it, which is noticed when it is used"},
    {LOADABLE_NAMES_TABLE, "names are read from whatever is there"},
    {LOADABLE_NOTE_WHOLE, "the walk over notes ends by chance"},
    {LOADABLE_SEGMENT_SIZES, "ROCr copies more than there is room for; hardened ones refuse it"},
    {LOADABLE_SEGMENT_INSIDE, "hardened ROCr refuses it"},
    {LOADABLE_SEGMENT_ALIGNMENT, "no loader that heeds alignment can do what is asked"},
    {LOADABLE_SEGMENT_ORDER, "what is copied last wins, if it does not lie outside of the room"},
    {LOADABLE_SPAN, "whether there is so much memory is chance"},
    {LOADABLE_TABLE_SOUND, "libelf refuses the table, and ROCr finds no symbols without saying so"},
    {LOADABLE_SYMBOL_NAME_INSIDE, "ROCr throws as soon as it asks for the name"},
    {LOADABLE_SYMBOL_0_EMPTY, "relocations without a symbol use it"},
    {LOADABLE_OBJECT_BINDING, "a reserved binding: ROCr takes all but local ones for global"},
    {LOADABLE_OBJECT_NAMED, "nobody can ask for it, and two are one too many"},
    {LOADABLE_OBJECT_IN_SECTION, "ROCr takes a descriptor's sizes from another place"},
    {LOADABLE_OBJECT_LOADED, "between segments there is memory, but nothing of the object"},
    {LOADABLE_DESCRIPTOR_NAMED, "no kernel has this descriptor"},
    {LOADABLE_DESCRIPTOR_SIZE, "ROCr reads 64 bytes whatever the size says"},
    {LOADABLE_DESCRIPTOR_IN_FILE, "a descriptor of zeros sends the device to itself"},
    {LOADABLE_DESCRIPTOR_SAME_BYTES, "ROCr's sizes are not the device's, unless by chance"},
    {LOADABLE_SYMTAB_BY_NAME, "ROCr finds no kernels without saying so"},
    {LOADABLE_RELOCATIONS_FORM, "ROCr skips them: addresses stay wrong"},
    {LOADABLE_RELOCATIONS_DYNAMIC, "ROCr skips them: addresses stay wrong"},
    {LOADABLE_RELOCATIONS_SOUND, "ROCr applies what it can make of them"},
    {LOADABLE_RELOCATION_PLACE, "between segments there is memory, but nothing of the object"},
    {LOADABLE_RELOCATION_NO_DESCRIPTOR, "the device gets another descriptor than the file's"},
    {LOADABLE_RELOCATION_UNTYPED, "ROCr takes the addend for the address"},
    {LOADABLE_RELOCATION_EXTERNAL, "ROCr takes the addend for the address"},
    {LOADABLE_RELOCATION_ADDEND, "ROCr takes the addend for the address"},
};

bool is_stricter_on_purpose(const std::string &broken)
{
  for (const auto &one : stricter) {
    std::string text = loadable_text(one.rule);
    if (text.substr(0, text.find(':')) == broken)
      return true;
  }
  return false;
}

// Damages objects until `wanted` of them open but are not loadable, and counts by rule those that
// ROCr accepts with the same facts.
void load_refused(const Damage &damage, uint32_t first, size_t wanted)
{
  const std::vector<NamedObject> objects = origins();
  std::vector<Mutant> mutants;
  std::vector<std::string> rules;
  for (uint32_t seed = first; mutants.size() < wanted && seed - first < 100000; ++seed)
    for (size_t i = 0; i < objects.size() && mutants.size() < wanted; ++i) {
      std::string rule = rule_broken_by(damage(objects[i], seed));
      if (rule.empty())
        continue;
      mutants.push_back({i, seed});
      rules.push_back(rule);
    }
  ASSERT_EQ(mutants.size(), wanted);
  auto load = [&](size_t i, std::string &) {
    std::string ignored;
    return ask_rocr_all_the_same(damage(objects[mutants[i].origin], mutants[i].seed), ignored)
        .packed();
  };
  std::string ignored;
  std::vector<Outcome> outcomes = run_in_children(mutants.size(), load, ignored);
  struct Count {
    size_t accepted, refused, other, crashed;
  };
  std::map<std::string, Count> counts;
  for (size_t i = 0; i < mutants.size(); ++i) {
    Count &count = counts[rules[i]];
    Answer answer = Answer::unpack(outcomes[i].value);
    if (outcomes[i].kind != Outcome::kDone)
      ++count.crashed;
    else if (answer.kind == Answer::kAccepted)
      ++count.accepted;
    else if (answer.kind == Answer::kDisagrees)
      ++count.other;
    else
      ++count.refused;
    if (outcomes[i].kind == Outcome::kDone && answer.kind == Answer::kAccepted &&
        !is_stricter_on_purpose(rules[i]))
      keep_mutant(objects[mutants[i].origin], mutants[i].seed,
                  damage(objects[mutants[i].origin], mutants[i].seed));
  }
  printf("%zu that open and are not loadable, from seed %u on: ROCr accepts, with other facts, "
         "refuses, crashes\n",
         wanted, first);
  for (const auto &[rule, count] : counts) {
    printf("%7zu %5zu %5zu %5zu %s\n", count.accepted, count.other, count.refused, count.crashed,
           rule.c_str());
    EXPECT_TRUE(!count.accepted || is_stricter_on_purpose(rule)) << rule << ": needless";
  }
}

using OracleStrictness = RocrTest;

} // namespace

TEST_F(OracleStrictness, WhatIsRefusedAndNeedNotBeIsOnPurpose)
{
  if (!is_extended()) // most of these crash the loader, which takes a while to start again
    GTEST_SKIP() << "RAWHAL_TEST_EXTENDED is not set";
  load_refused(damage_bytes_for_device, 0, is_extended_to_all() ? 1500 : 150);
  load_refused(damage_fields_for_device, 0, is_extended_to_all() ? 500 : 50);
}
