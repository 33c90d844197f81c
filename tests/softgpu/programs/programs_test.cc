// Programs in OpenCL C, compiled by clang for each chip and width and for the host, which must give the same bytes.
#include "tests/extended.h"
#include "tests/hal/device_test.h"
#include "tests/softgpu/isa/split_mix.h"
#include "tests/softgpu/programs/host.h"

namespace {

enum class Input { WORDS, FLOATS, DOUBLES, HALVES, MODERATE, PLACES };

struct Program {
  const char *name;
  HostProgram *on_host;
  Extents extents;
  uint32_t n, element; // how many the input has, and bytes of one
  size_t output;       // bytes
  Input input = Input::WORDS;
};

#define PROGRAMS(P)                                                                                \
  P(wide_integers, 3, 64, 8, 64)                                                                   \
  P(division, 3, 64, 4, 32)                                                                        \
  P(bit_tricks, 5, 64, 4, 4)                                                                       \
  P(small_integers, 3, 96, 4, 12)                                                                  \
  P(of_bytes, 3, 64, 4, 36)                                                                        \
  P(dot_products, 2, 64, 4, 12)                                                                    \
  P(sha256, 1, 100, 4, 32)                                                                         \
  P(crc32, 2, 96, 1, 4)                                                                            \
  P(floats, 9, 64, 4, 48, Input::FLOATS)                                                           \
  P(doubles, 7, 64, 8, 72, Input::DOUBLES)                                                         \
  P(conversions, 5, 64, 4, 64)                                                                     \
  P(kahan_sum, 2, 64, 4, 8)                                                                        \
  P(mandelbrot, 6, 128, 4, 4)                                                                      \
  P(medians, 5, 64, 4, 24)                                                                         \
  P(polynomial, 3, 64, 4, 8)                                                                       \
  P(bodies, 2, 64, 16, 12, Input::MODERATE)                                                        \
  P(scalar_halves, 9, 64, 2, 18, Input::HALVES)                                                    \
  P(kept_halves, 5, 64, 4, 8)                                                                      \
  P(packed_halves, 5, 64, 4, 12)                                                                   \
  P(mixed_precision, 3, 64, 4, 8)                                                                  \
  P(collatz, 3, 64, 4, 8)                                                                          \
  P(interpreter, 3, 64, 4, 12)                                                                     \
  P(calls, 3, 100, 4, 4)                                                                           \
  P(call_chain, 2, 64, 4, 4)                                                                       \
  P(string_search, 3, 64, 1, 8)                                                                    \
  P(leaving, 4, 100, 4, 4)                                                                         \
  P(scratch, 2, 100, 4, 4)                                                                         \
  P(much_scratch, 2, 100, 4, 4)                                                                    \
  P(full_group, 1, 1024, 4, 4)                                                                     \
  P(pointers, 2, 128, 4, 16)                                                                       \
  P(records, 3, 64, 1, 16)                                                                         \
  P(vectors, 2, 64, 16, 32)                                                                        \
  P(histogram, 3, 128, 1, 4)                                                                       \
  P(atomics, 3, 256, 4, 4)                                                                         \
  P(tickets, 2, 200, 4, 4)                                                                         \
  P(chain, 2, 96, 4, 4, Input::PLACES)                                                             \
  P(function_pointers, 3, 64, 4, 4)                                                                \
  P(descriptors, 1, 256, 4, 4)                                                                     \
  P(matrix_of_bytes, 3, 64, 4, 32)                                                                 \
  P(matrix_of_nibbles, 3, 64, 4, 32)                                                               \
  P(matrix_of_halves, 3, 64, 4, 32)                                                                \
  P(matrix_of_bf16, 3, 64, 4, 32)                                                                  \
  P(dot_of_halves, 3, 64, 4, 4)                                                                    \
  P(transpose, 16, 256, 4, 4)                                                                      \
  P(compaction, 4, 128, 4, 8)                                                                      \
  P(permutations, 3, 128, 4, 28)                                                                   \
  P(rows, 3, 128, 4, 48)                                                                           \
  P(scan, 3, 128, 4, 4)                                                                            \
  P(row_permutations, 3, 128, 4, 20)                                                               \
  P(extremes, 3, 128, 4, 8)                                                                        \
  P(prefix_sum, 2, 256, 4, 4)                                                                      \
  P(radix_pass, 3, 128, 4, 4)                                                                      \
  P(bitonic_sort, 2, 256, 4, 4)                                                                    \
  P(matrix_product, 4, 256, 4, 4, Input::MODERATE)                                                 \
  P(matrix_of_doubles, 1, 256, 4, 8, Input::MODERATE)                                              \
  P(life, 2, 256, 1, 4)                                                                            \
  P(reduction, 4, 128, 4, 8)

#define DECLARED(name, ...) void name(const void *, void *, uint32_t);
extern "C" {
PROGRAMS(DECLARED)
HostProgram coordinates;
}

// With as many elements as work-items, and at least so many that none asks for one beyond.
constexpr uint32_t least = 4096;
Program one_row(const char *name, HostProgram *on_host, uint32_t groups, uint32_t items,
                uint32_t element, size_t output, Input input = Input::WORDS)
{
  return {name,
          on_host,
          {{groups, 1, 1}, {items, 1, 1}},
          std::max(groups * items, least),
          element,
          output * groups * items,
          input};
}
#define ROW(name, ...) one_row(#name, name, __VA_ARGS__),
const Program programs[] = {
    PROGRAMS(ROW){"coordinates", coordinates, {{2, 3, 2}, {8, 4, 2}}, 1, 4, size_t(768) * 4},
};

float float_of(uint64_t random)
{
  static const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     1,          0x807fffff, 0x00800000, 0x7f7fffff, 0x3f800000,
                                     0xbf800000, 0x4b000000, 0x4b7fffff, 0x3effffff, 0x3f000000};
  auto bits = static_cast<uint32_t>(random);
  if (random >> 62 == 0)
    bits = special[bits % std::size(special)];
  else if (random >> 62 == 1)
    bits = (bits & 0x807fffff) | (100 + (bits >> 23) % 50) << 23;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Where no two of such have a quotient or sum at the edges, which other tests are for.
float moderate(uint64_t random)
{
  return static_cast<float>(static_cast<int64_t>(random) >> 40) * 0x1p-17f;
}

template <typename T> void put(std::vector<char> &to, size_t index, T value)
{
  memcpy(&to[index * sizeof value], &value, sizeof value);
}

std::vector<char> input_of(const Program &program, uint64_t seed)
{
  std::vector<char> bytes(program.n * program.element);
  SplitMix random{program.n * 31 + program.output + (seed << 32)};
  for (size_t i = 0; i < bytes.size() / 8; ++i) {
    const uint64_t word = random(), more = random();
    switch (program.input) {
    case Input::WORDS:
      put(bytes, i, word);
      break;
    case Input::HALVES:
      put(bytes, i, word & (more | 0x8fff8fff8fff8fff));
      break;
    case Input::DOUBLES:
      put(bytes, i, static_cast<double>(float_of(word)) * (more % 3 ? 1 : 1e-290));
      break;
    case Input::FLOATS:
      put(bytes, 2 * i, float_of(word)), put(bytes, 2 * i + 1, float_of(more));
      break;
    case Input::MODERATE:
      put(bytes, 2 * i, moderate(word)), put(bytes, 2 * i + 1, moderate(more));
      break;
    case Input::PLACES:
      put(bytes, 2 * i, static_cast<uint32_t>(word % program.n));
      put(bytes, 2 * i + 1, static_cast<uint32_t>(more % program.n));
      break;
    }
  }
  return bytes;
}

struct Target {
  const char *chip;
  uint32_t wave;
  bool is_reference = false; // the other engine
};
std::ostream &operator<<(std::ostream &out, const Target &target)
{
  return out << target.chip << "_wave" << target.wave << (target.is_reference ? "_reference" : "");
}

class Programs : public DeviceTest, public testing::WithParamInterface<Target> {
protected:
  const char *softgpu_options() override
  {
    options_ = std::string("gpus=1,vram_mib=2048,timeout_ms=60000,chip=") + GetParam().chip;
    if (GetParam().is_reference)
      options_ += ",reference=1";
    if (is_gfx11())
      options_ += ",listed=gfx1030"; // a name that every runtime knows
    return options_.c_str();
  }
  static bool is_gfx11() { return strncmp(GetParam().chip, "gfx11", 5) == 0; }
  static bool is_rdna() { return strcmp(GetParam().chip, "gfx90a") != 0; }

  std::vector<char> on_device(const Program &program, const rawhal_device_kernel_t *kernel,
                              const std::vector<char> &in, const std::vector<char> &before)
  {
    rawhal_buffer_t *const from = upload(in), *const to = upload(before);
    rawhal_dispatch_t dispatch = {};
    Blob blob;
    blob.add(rawhal_buffer_address(from)).add(rawhal_buffer_address(to)).add(program.n);
    dispatch.kernel = kernel;
    for (size_t d = 0; d < 3; ++d) {
      dispatch.workgroup[d] = static_cast<uint16_t>(program.extents.items[d]);
      dispatch.work_items[d] = program.extents.groups[d] * program.extents.items[d];
    }
    dispatch.blob = blob.bytes.data();
    dispatch.blob_size = blob.bytes.size();
    EXPECT_OK(run_to_the_end(dispatch));
    std::vector<char> after = download<char>(to, before.size());
    for (rawhal_buffer_t *each : {from, to})
      rawhal_buffer_free(each);
    buffers.resize(buffers.size() - 2);
    return after;
  }

  void compare(const Program &program, rawhal_executable_t *executable, uint64_t seed)
  {
    SCOPED_TRACE(program.name);
    const rawhal_device_kernel_t *kernel = nullptr;
    ASSERT_OK(rawhal_executable_kernel(executable, {program.name, strlen(program.name)}, 0, &kernel,
                                       &error));
    const std::vector<char> in = input_of(program, seed), before(program.output + 64, 0x4a);
    std::vector<char> expected = before;
    ASSERT_TRUE(run_on_host(program.on_host, program.extents, GetParam().wave, is_rdna(), in.data(),
                            expected.data(), program.n));
    EXPECT_NE(before, expected);
    const std::vector<char> found = on_device(program, kernel, in, before);
    const auto differing = std::mismatch(found.begin(), found.end(), expected.begin());
    if (differing.first != found.end()) {
      const size_t at = static_cast<size_t>(differing.first - found.begin()) / 4 * 4;
      uint32_t words[2];
      memcpy(&words[0], &found[at], 4);
      memcpy(&words[1], &expected[at], 4);
      ADD_FAILURE() << "at byte " << at << " of " << program.output << std::hex << ": found "
                    << words[0] << ", expected " << words[1];
    }
  }

private:
  std::string options_;
};

TEST_P(Programs, AreAsOnTheHost)
{
  const Target &target = GetParam();
  std::ifstream file(std::string(PROGRAMS_DIR "/") + target.chip + "-" +
                         std::to_string(target.wave) + ".co",
                     std::ios::binary);
  rawhal_executable_t *const executable =
      load(std::vector<char>(std::istreambuf_iterator<char>(file), {}));
  ASSERT_NE(executable, nullptr);
  for (uint64_t seed = 0; seed < by_length(1u, 1u, 40u); ++seed) {
    for (const Program &program : programs)
      compare(program, executable, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Programs,
                         testing::Values(Target{"gfx90a", 64}, Target{"gfx1030", 32},
                                         Target{"gfx1030", 64}, Target{"gfx1100", 32},
                                         Target{"gfx1100", 64}, Target{"gfx1151", 32},
                                         Target{"gfx1151", 64}, Target{"gfx1030", 32, true},
                                         Target{"gfx1030", 64, true}, Target{"gfx1151", 32, true},
                                         Target{"gfx1100", 64, true}),
                         testing::PrintToStringParamName());

} // namespace
