// Products of tests/fixtures/src/tensile.s on a device. Hand-written assembly without metadata: the
// blob is known from its writer only.
#ifndef RAWHAL_TESTS_HAL_TENSILE_TEST_H
#define RAWHAL_TESTS_HAL_TENSILE_TEST_H

#include "device_test.h"

class TensileTest : public DeviceTest {
protected:
  struct Shape {
    uint32_t m, n, k, stride; // of the rows of both operands, in elements
    uint32_t step;            // of k, that the kernel takes at once
  };

  // `codes`: the elements from -3 to 3. Between the rows is `never`, which is not to be read. Tiles are
  // of 32 x 32.
  template <typename T>
  void expect_product(const char *fixture, const char *name, const T (&codes)[7], T never,
                      const Shape &shape)
  {
    expect_product(fixture_bytes(fixture), name, codes, never, shape);
  }

  template <typename T>
  void expect_product(const std::vector<char> &object, const char *name, const T (&codes)[7],
                      T never, const Shape &shape)
  {
    const auto [m, n, k, stride, step] = shape;
    rawhal_executable_t *executable = load(object, RAWHAL_HSACO_DESCRIPTOR_KERNELS);
    ASSERT_NE(executable, nullptr);
    const rawhal_device_kernel_t *found = nullptr;
    ASSERT_OK(rawhal_executable_kernel(executable, {name, strlen(name)}, 0, &found, &error));
    std::vector<T> a(m * stride, never), b(n * stride, never);
    auto value = [](uint32_t row, uint32_t i) { return (row * 5 + i * 3 + row * i) % 7; };
    for (uint32_t i = 0; i < k; ++i) {
      for (uint32_t row = 0; row < m; ++row)
        a[row * stride + i] = codes[value(row, i)];
      for (uint32_t row = 0; row < n; ++row)
        b[row * stride + i] = codes[value(row + 3, i)];
    }
    rawhal_buffer_t *in_a = upload(a), *in_b = upload(b), *out = buffer(m * n * 4);
    Blob blob;
    for (const rawhal_buffer_t *each : {in_a, in_b, out})
      blob.add(rawhal_buffer_address(each));
    for (uint32_t number : {m, n, k, stride, stride, m, k / step, 1u, 1u, 0u})
      blob.add(number);
    rawhal_dispatch_t dispatch = dispatch_of(found, (m + 31) / 32 * 64, 64, blob);
    dispatch.work_items[1] = (n + 31) / 32;
    ASSERT_OK(run(queue(), dispatch));
    std::vector<float> product = download<float>(out, m * n);
    for (uint32_t j = 0; j < n; ++j)
      for (uint32_t i = 0; i < m; ++i) {
        int sum = 0;
        for (uint32_t at = 0; at < shape.k; ++at)
          sum += (static_cast<int>(value(i, at)) - 3) * (static_cast<int>(value(j + 3, at)) - 3);
        ASSERT_EQ(product[j * m + i], static_cast<float>(sum)) << i << ", " << j;
      }
  }
};

#endif
