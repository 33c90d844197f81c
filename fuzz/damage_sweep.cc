// damage_sweep MUTANTS FILE...: every prefix of each file, and so many damaged copies of them all
// together, opened and read. The same every time.
#include <sanitizer/asan_interface.h>

#include <fstream>
#include <iterator>

#include "budget.h"
#include "hsaco_reader.h"
#include "tests/oracle/mutate.h"

static bool open_within_budget(const uint8_t *bytes, size_t size)
{
  Budget budget(budget_of_object(size, 2));
  return HsacoReader::open(bytes, size) == RAWHAL_OK;
}

// Returns how many open. From the longest to the shortest, so that a sanitizer learns of one more
// byte each time that is not to be read.
static size_t open_prefixes(const std::string &bytes, size_t *count)
{
  size_t opened = 0;
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  for (size_t size = bytes.size(); size--;) {
    ASAN_POISON_MEMORY_REGION(copy.data() + size, 1);
    if (size > 64 << 10 && size % 251)
      continue; // of large files every prefix up to 64 KiB, and some
    opened += open_within_budget(copy.data(), size);
    ++*count;
  }
  ASAN_UNPOISON_MEMORY_REGION(copy.data(), copy.size());
  return opened;
}

static size_t open_mutants(const std::string &bytes, size_t count)
{
  size_t opened = 0;
  const Mutator mutator(bytes);
  for (uint32_t seed = 0; seed < count; ++seed) {
    const std::string mutant = mutator.mutant(seed);
    const std::vector<uint8_t> copy(mutant.begin(), mutant.end()); // without a spare byte
    opened += open_within_budget(copy.data(), copy.size());
  }
  return opened;
}

int main(int count, char **words)
{
  if (count < 3)
    return 2;
  const size_t files = static_cast<size_t>(count - 2);
  const size_t each = strtoul(words[1], nullptr, 10) / files + 1;
  size_t prefixes = 0, opened_prefixes = 0, mutants = 0, opened_mutants = 0;
  for (size_t i = 0; i < files; ++i) {
    std::ifstream file(words[2 + i], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    opened_prefixes += open_prefixes(bytes, &prefixes);
    if (bytes.empty())
      continue;
    opened_mutants += open_mutants(bytes, each);
    mutants += each;
  }
  printf("%zu files: %zu prefixes (%zu open), %zu mutants (%zu open)\n", files, prefixes,
         opened_prefixes, mutants, opened_mutants);
  return 0;
}
