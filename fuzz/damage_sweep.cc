// damage_sweep MUTANTS FILE...: every prefix of each file, and so many damaged copies of them all
// together, opened and read. The same every time.
#include <fstream>
#include <iterator>

#include "budget.h"
#include "hsaco_reader.h"
#include "tests/oracle/mutate.h"

static bool open_within_budget(const std::string &bytes)
{
  // Exactly so many bytes on the heap: a sanitizer sees the first one beyond.
  uint8_t *copy = new uint8_t[bytes.size()];
  memcpy(copy, bytes.data(), bytes.size());
  bool opened;
  {
    Budget budget(bytes.size());
    opened = HsacoReader::open(copy, bytes.size()) == RAWHAL_OK;
  }
  delete[] copy;
  return opened;
}

int main(int count, char **words)
{
  if (count < 3)
    return 2;
  const size_t files = static_cast<size_t>(count - 2);
  const size_t mutants = strtoul(words[1], nullptr, 10) / files + 1;
  size_t prefixes = 0, opened_prefixes = 0, opened_mutants = 0;
  for (size_t i = 0; i < files; ++i) {
    std::ifstream file(words[2 + i], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    // Of large files every prefix up to 64 KiB, and some.
    for (size_t size = 0; size < bytes.size(); size += size < 64 << 10 ? 1 : 251, ++prefixes)
      opened_prefixes += open_within_budget(bytes.substr(0, size));
    if (bytes.size() < sizeof(Elf64_Ehdr))
      continue;
    const Mutator mutator(bytes);
    for (uint32_t seed = 0; seed < mutants; ++seed)
      opened_mutants += open_within_budget(mutator.mutant(seed));
  }
  printf("%zu files: %zu prefixes (%zu open), %zu mutants (%zu open)\n", files, prefixes,
         opened_prefixes, mutants * files, opened_mutants);
  return 0;
}
