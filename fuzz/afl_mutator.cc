// The mutator of hsaco_mutator.cc for AFL++, which loads it into itself (AFL_CUSTOM_MUTATOR_LIBRARY):
// built without instrumentation, see CMakeLists.txt. AFL++'s own mutations run besides it.
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

namespace {

struct Mutator {
  explicit Mutator(unsigned seed) : random(seed + 1) {}
  std::minstd_rand random;
  std::vector<uint8_t> bytes;
};

} // namespace

extern "C" {

void *afl_custom_init(void *afl, unsigned seed);
size_t afl_custom_fuzz(void *mutator, uint8_t *input, size_t size, uint8_t **output, uint8_t *other,
                       size_t other_size, size_t most);
void afl_custom_deinit(void *mutator);

void *afl_custom_init(void *, unsigned seed)
{
  return new Mutator(seed);
}

size_t afl_custom_fuzz(void *mutator, uint8_t *input, size_t size, uint8_t **output, uint8_t *,
                       size_t, size_t most)
{
  Mutator *self = static_cast<Mutator *>(mutator);
  self->bytes.resize(size > most ? size : most);
  memcpy(self->bytes.data(), input, size);
  *output = self->bytes.data();
  return LLVMFuzzerCustomMutator(*output, size, most, static_cast<unsigned>(self->random()));
}

void afl_custom_deinit(void *mutator)
{
  delete static_cast<Mutator *>(mutator);
}
}
