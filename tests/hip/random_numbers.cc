// What every function of rocRAND gives with every generator, each value as it is: what one chip prints another must, too.
// usage: random_numbers GENERATOR...; exits with 77 when there is no rocRAND.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "hip.h"
#include "unpacked.h"

namespace {

constexpr size_t N =
    20011; // rounded up where a function wants an even number, or a multiple of dimensions
constexpr size_t BYTES = (N + 1) * 8;

void check(int status, const std::string &what)
{
  if (status == 0)
    return;
  std::printf("%s: status %d\n", what.c_str(), status);
  std::exit(1);
}

// Fowler, Noll and Vo's FNV-1a.
uint64_t sum_of(const std::vector<unsigned char> &bytes)
{
  uint64_t sum = 0xcbf29ce484222325;
  for (unsigned char byte : bytes)
    sum = (sum ^ byte) * 0x100000001b3;
  return sum;
}

class Generator {
public:
  explicit Generator(int kind) : kind_(kind)
  {
    call("create_generator", &generator_, kind);
    check(hipMalloc(&device_, BYTES), "hipMalloc");
  }
  ~Generator()
  {
    call("destroy_generator", generator_);
    check(hipFree(device_), "hipFree");
  }
  template <typename... Parameters> void show(const char *name, Parameters... parameters)
  {
    check(hipMemset(device_, 0x5a, BYTES), "hipMemset");
    call(name, generator_, device_, N + 1, parameters...);
    std::vector<unsigned char> bytes(BYTES);
    check(hipMemcpy(bytes.data(), device_, BYTES, hipMemcpyDeviceToHost), "hipMemcpy");
    std::printf("%d %s %016" PRIx64 "\n", kind_, name, sum_of(bytes));
  }

private:
  template <typename... Arguments> void call(const std::string &name, Arguments... arguments)
  {
    auto *function = (int (*)(Arguments...))dlsym(rocrand_library(), ("rocrand_" + name).c_str());
    check(function ? function(arguments...) : -1, name);
  }
  int kind_;
  void *generator_ = nullptr, *device_ = nullptr;
};

} // namespace

int main(int argc, char **argv)
{
  if (!rocrand_library()) {
    std::fputs("skipped: librocrand1 is not there\n", stderr);
    return 77;
  }
  const uint16_t one = 0x3c00, half = 0x3800; // as __half
  for (int i = 1; i < argc; ++i) {
    Generator generator(std::atoi(argv[i]));
    for (const char *name : {"generate", "generate_char", "generate_short", "generate_uniform",
                             "generate_uniform_double", "generate_uniform_half"})
      generator.show(name);
    generator.show("generate_normal", 3.0f, 2.0f);
    generator.show("generate_normal_double", 3.0, 2.0);
    generator.show("generate_normal_half", one, half);
    generator.show("generate_log_normal", 1.0f, 0.5f);
    generator.show("generate_log_normal_double", 1.0, 0.5);
    generator.show("generate_log_normal_half", one, half);
    generator.show("generate_poisson", 6.5);
    generator.show("generate_poisson", 900.0);
  }
}
