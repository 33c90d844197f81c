// Products by kernels of Tensile, the generator of rocBLAS' and hipBLASLt's kernels, for gfx90a and
// gfx942, against sums of whole numbers, which are exact in all formats. No object is part of this
// repository: they are looked for in the folder RAWHAL_TENSILE_DIR, *.co, of any number of kernels.
// What has to be known of a kernel its name says (kernel.h); blobs are made by the names that the
// metadata give the arguments (call.h).
#include "tests/hal/device_test.h"
#include "tests/tensile/call.h"
#include "tests/values.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

namespace {

class Tensile : public DeviceTest, public testing::WithParamInterface<const char *> {
protected:
  const char *softgpu_options() override
  {
    options = std::string("gpus=1,vram_mib=1024,timeout_ms=300000,chip=") + GetParam();
    if (strcmp(GetParam(), "gfx90a"))
      options += ",listed=gfx90a";
    return options.c_str();
  }

  void send(Matrices &matrices, bool pointers)
  {
    matrices.buffer = upload(matrices.bytes);
    std::vector<uint64_t> addresses;
    for (uint32_t i = 0; i < matrices.batch; ++i)
      addresses.push_back(rawhal_buffer_address(matrices.buffer) + matrices.start +
                          size_t{i} * matrices.batch_stride * matrices.format.bytes);
    if (pointers)
      matrices.pointers = upload(addresses);
  }

  void run_case(const rawhal_device_kernel_t *loaded, const Kernel &kernel, const Shape &shape,
                bool flush)
  {
    const auto [m, n, k, batch, alpha, beta, padding] = shape;
    const Format &sum = *kernel.sum;
    const int limit = kernel.d->bytes == 1 || sum.bytes == 2 ? 1 : kernel.a->fnuz ? 2 : 3;
    const Numbers a(batch, m, k, limit, kernel.a->complex, random);
    const Numbers b(batch, n, k, limit, kernel.b->complex, random);
    const Numbers c(batch, n, m, limit, kernel.d->complex, random);
    Matrices a_memory(*kernel.a, kernel.a_transposed ? k : m, kernel.a_transposed ? m : k, batch,
                      padding, flush);
    Matrices b_memory(*kernel.b, kernel.b_transposed ? n : k, kernel.b_transposed ? k : n, batch,
                      padding, flush);
    const uint32_t c_padding = kernel.split == Split::kLast ? 0 : padding;
    Matrices c_memory(*kernel.d, m, n, batch, c_padding, false);
    // Halves are added by two at once, and no atomic instruction takes an address that is not aligned.
    const uint32_t even = kernel.split == Split::kAtomic && kernel.d->bytes == 2 ? ~1u : ~0u;
    Matrices d_memory(*kernel.d, m, n, batch,
                      (kernel.same_strides ? c_padding : c_padding / 2) & even, false);
    const bool multiple = kernel.split == Split::kMultiple || kernel.split == Split::kLast;
    const uint32_t copies = multiple ? kernel.splits : 1;
    Matrices work(sum, m, n, batch * copies, 0, false);
    const bool has_work = kernel.split == Split::kSingle || kernel.split == Split::kMultiple;
    Matrices &result = (has_work ? work : d_memory).as_result();

    for (uint32_t each = 0; each < batch; ++each) {
      for (uint32_t l = 0; l < k; ++l) {
        for (uint32_t i = 0; i < m; ++i)
          a_memory.put(kernel.a_transposed ? a_memory.at(each, l, i) : a_memory.at(each, i, l),
                       a.at(each, i, l));
        for (uint32_t j = 0; j < n; ++j)
          b_memory.put(kernel.b_transposed ? b_memory.at(each, j, l) : b_memory.at(each, l, j),
                       b.at(each, j, l));
      }
      for (uint32_t j = 0; j < n; ++j)
        for (uint32_t i = 0; i < m; ++i) {
          const Number number = c.at(each, j, i);
          Matrices &before = kernel.in_place ? result : c_memory;
          if (beta) // or else it is not read
            before.put(before.at(each, i, j), number);
          // What another kernel does first, where sums are added to what is there.
          if (kernel.split == Split::kAtomic || kernel.split == Split::kSingle)
            result.put(result.at(each, i, j), {number.real * beta, number.imaginary * beta});
        }
    }
    for (Matrices *each : {&a_memory, &b_memory, &c_memory, &d_memory})
      send(*each, kernel.pointers && !(has_work && (each == &c_memory || each == &d_memory)));
    send(work, false);

    Arguments arguments(loaded);
    const Call call = {kernel,
                       shape,
                       a_memory,
                       b_memory,
                       has_work || kernel.in_place ? result : c_memory,
                       result,
                       work,
                       upload(std::vector<uint32_t>(1 << 16))};
    const auto set = is_hipblaslt(arguments) ? set_hipblaslt : set_rocblas;
    const Groups groups = set(arguments, call);
    if (!launch(arguments, groups))
      return;

    std::vector<uint8_t> got = download<uint8_t>(result.buffer, result.bytes.size());
    for (uint32_t each = 0; each < batch; ++each)
      for (uint32_t j = 0; j < n; ++j)
        for (uint32_t i = 0; i < m; ++i) {
          Number expected = product(kernel, a, b, each, i, j);
          if (kernel.split == Split::kMultiple) {
            expect_parts(work, got, each, i, j, batch, copies, expected, alpha == 0);
            continue;
          }
          const Number before = c.at(each, j, i);
          expected.real = alpha * expected.real + beta * before.real;
          expected.imaginary = alpha * expected.imaginary + beta * before.imaginary;
          result.put(result.at(each, i, j), expected);
          expect_element(result, got, each, i, j);
        }
    // All else has been left alone.
    for (size_t i = 0; i < got.size(); ++i)
      if (got[i] != result.bytes[i] && ++wrong <= 3)
        ADD_FAILURE() << name << ": byte " << i << " of " << got.size() << ", the matrix begins at "
                      << result.start;
  }

  static Number product(const Kernel &kernel, const Numbers &a, const Numbers &b, uint32_t each,
                        uint32_t i, uint32_t j)
  {
    const size_t in_a = (size_t{each} * a.outer + i) * a.inner;
    const size_t in_b = (size_t{each} * b.outer + j) * b.inner;
    const int *a_real = a.real.data() + in_a, *b_real = b.real.data() + in_b;
    const int real = dot(a_real, b_real, a.inner);
    if (!kernel.d->complex)
      return {real, 0};
    const int *a_other = a.imaginary.data() + in_a, *b_other = b.imaginary.data() + in_b;
    const int a_sign = kernel.a_conjugate ? -1 : 1, b_sign = kernel.b_conjugate ? -1 : 1;
    return {real - a_sign * b_sign * dot(a_other, b_other, a.inner),
            b_sign * dot(a_real, b_other, a.inner) + a_sign * dot(a_other, b_real, a.inner)};
  }

  // Takes what is right (0 of any sign) out of what is left to compare.
  void expect_element(Matrices &expected, std::vector<uint8_t> &got, uint32_t each, uint32_t i,
                      uint32_t j)
  {
    const Format &format = expected.format;
    uint8_t *want = expected.at(each, i, j), *have = got.data() + (want - expected.bytes.data());
    const unsigned parts = format.complex ? 2 : 1, size = format.bytes / parts;
    for (unsigned part = 0; part < parts; ++part, want += size, have += size) {
      uint64_t want_bits = 0, have_bits = 0;
      memcpy(&want_bits, want, size);
      memcpy(&have_bits, have, size);
      const double value = decode(format, have_bits);
      if (want_bits != have_bits && !(want_bits == 0 && value == 0 && !format.fnuz) && ++wrong <= 3)
        ADD_FAILURE() << name << " at " << i << ", " << j << " of " << each << ", part " << part
                      << ": " << value << ", not " << decode(format, want_bits);
      memcpy(have, want, size);
    }
  }

  // Of as many sums as there are copies. Where alpha is 0, by which another kernel multiplies them, A and B need not be read,
  // and then all sums are 0: so are they of rocBLAS' kernels.
  void expect_parts(Matrices &work, std::vector<uint8_t> &got, uint32_t each, uint32_t i,
                    uint32_t j, uint32_t batch, uint32_t copies, Number expected, bool may_be_none)
  {
    const unsigned parts = work.format.complex ? 2 : 1, size = work.format.bytes / parts;
    double sums[2] = {0, 0};
    for (uint32_t copy = 0; copy < copies; ++copy) {
      uint8_t *want = work.at(copy * batch + each, i, j);
      uint8_t *have = got.data() + (want - work.bytes.data());
      for (unsigned part = 0; part < parts; ++part) {
        uint64_t bits = 0;
        memcpy(&bits, have + part * size, size);
        sums[part] += decode(work.format, bits);
      }
      memcpy(have, want, work.format.bytes);
    }
    const bool is_none = may_be_none && sums[0] == 0 && sums[1] == 0;
    if (!is_none && (sums[0] != expected.real || sums[1] != expected.imaginary) && ++wrong <= 3)
      ADD_FAILURE() << name << " at " << i << ", " << j << " of " << each << ": " << sums[0] << ", "
                    << sums[1] << ", not " << expected.real << ", " << expected.imaginary;
  }

  bool launch(const Arguments &arguments, const Groups &groups)
  {
    EXPECT_EQ(arguments.missing(), "") << name;
    const rawhal_kernel_t *facts = rawhal_device_kernel_info(arguments.kernel)->kernel;
    rawhal_dispatch_t dispatch = {};
    dispatch.kernel = arguments.kernel;
    dispatch.workgroup[0] = static_cast<uint16_t>(facts->max_flat_workgroup_size);
    dispatch.workgroup[1] = dispatch.workgroup[2] = 1;
    dispatch.work_items[0] = groups.x * facts->max_flat_workgroup_size;
    dispatch.work_items[1] = groups.y;
    dispatch.work_items[2] = groups.z;
    dispatch.blob = arguments.blob.data();
    dispatch.blob_size = arguments.blob.size();
    const rawhal_status_t status = run_to_the_end(dispatch);
    EXPECT_EQ(status, RAWHAL_OK) << name << ": " << error.message;
    wrong += status != RAWHAL_OK;
    return status == RAWHAL_OK;
  }

  void run_kernel(const std::string &object, rawhal_executable_t *executable,
                  rawhal_string_t symbol)
  {
    std::string why;
    const std::optional<Kernel> kernel = parse_kernel(std::string(symbol.data, symbol.size), &why);
    if (!kernel) {
      printf("%s: not tried, %s: %.60s\n", object.c_str(), why.c_str(), symbol.data);
      return;
    }
    const rawhal_device_kernel_t *loaded = nullptr;
    EXPECT_OK(rawhal_executable_kernel(executable, symbol, 0, &loaded, &error));
    if (!loaded)
      return;
    std::vector<Kernel> ways = {*kernel};
    // What hipBLASLt says at run time: also that three work-groups share each sum.
    const bool hipblaslt = is_hipblaslt(Arguments(loaded));
    if (hipblaslt && (kernel->if_split == Split::kMultiple || kernel->if_split == Split::kLast)) {
      ways.push_back(*kernel);
      ways.back().splits = 3;
      ways.back().split = kernel->if_split;
      ways.back().sizes[3].least = std::max(kernel->sizes[3].least, 3 * kernel->depth);
    }
    for (const Kernel &way : ways)
      run_shapes(object, hipblaslt ? "hipBLASLt's " : "", loaded, way);
  }

  void run_shapes(const std::string &object, const std::string &whose,
                  const rawhal_device_kernel_t *loaded, const Kernel &kernel)
  {
    const std::string problem = whose + kernel.problem + (kernel.pointers ? ", by pointers" : "");
    auto &[right, all] = counts[problem];
    for (const Shape &shape : shapes_for(kernel)) {
      wrong = 0;
      name = object + ", " + problem + ' ' + std::to_string(shape.m) + " by " +
             std::to_string(shape.n) + " by " + std::to_string(shape.k) + " in " +
             std::to_string(kernel.splits) + ", batch " + std::to_string(shape.batch) + ", alpha " +
             std::to_string(shape.alpha) + ", beta " + std::to_string(shape.beta);
      run_case(loaded, kernel, shape, ++all % 2 == 0);
      EXPECT_EQ(wrong, 0u) << name;
      right += wrong == 0;
      for (rawhal_buffer_t *each : buffers)
        rawhal_buffer_free(each);
      buffers.clear();
    }
  }

  void run_object(const std::filesystem::path &path)
  {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    rawhal_hsaco_t *hsaco = nullptr;
    EXPECT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
    if (!hsaco)
      return;
    const char *given =
        getenv("RAWHAL_TENSILE_EACH"); // one in so many kernels, of rocBLAS' objects of thousands
    const char *part = getenv("RAWHAL_TENSILE_KERNEL"); // of names
    const size_t each = given ? std::max(1ul, strtoul(given, nullptr, 10)) : 1;
    char target[64] = "";
    rawhal_target_format(&rawhal_hsaco_info(hsaco)->target, target, sizeof(target));
    if (std::string(target).substr(0, strlen(GetParam())) == GetParam()) {
      ++objects;
      rawhal_executable_t *executable = load(bytes);
      for (size_t i = 0; executable && i < rawhal_hsaco_info(hsaco)->kernel_count; i += each)
        if (const rawhal_string_t symbol = rawhal_hsaco_kernel(hsaco, i)->name;
            !part || std::string(symbol.data, symbol.size).find(part) != std::string::npos)
          run_kernel(path.filename().string(), executable, symbol);
    }
    rawhal_hsaco_close(hsaco);
  }

  std::mt19937 random{7};
  std::string options, name;
  size_t wrong = 0, objects = 0;
  std::map<std::string, std::pair<size_t, size_t>> counts; // of a problem: right, all
};

TEST_P(Tensile, Products)
{
  std::vector<std::filesystem::path> paths;
  if (const char *folder = getenv("RAWHAL_TENSILE_DIR"))
    for (const auto &each : std::filesystem::directory_iterator(folder))
      if (each.path().extension() == ".co")
        paths.push_back(each.path());
  std::sort(paths.begin(), paths.end());
  for (const auto &path : paths)
    run_object(path);
  if (objects == 0)
    GTEST_SKIP() << "none of Tensile's objects for " << GetParam()
                 << ": RAWHAL_TENSILE_DIR is the folder that has them";
  size_t right = 0, all = 0;
  for (const auto &[problem, count] : counts) {
    printf("%s, %s: %zu of %zu cases right\n", GetParam(), problem.c_str(), count.first,
           count.second);
    right += count.first;
    all += count.second;
  }
  printf("%s: %zu of %zu cases right, of %zu objects\n", GetParam(), right, all, objects);
}

INSTANTIATE_TEST_SUITE_P(Objects, Tensile, testing::Values("gfx90a", "gfx942"),
                         [](const auto &each) { return std::string(each.param); });

} // namespace
