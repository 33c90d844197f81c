// rocRAND's distributions, of every generator: Kolmogorov and Smirnov's distance to what they shall
// be, at most 2 / sqrt(n), which true samples exceed once in 1,500 times; the seeds are fixed.
#include <algorithm>
#include <cmath>

#include "hip.h"
#include "unpacked.h"

namespace {

enum { SOBOL32 = 501, SOBOL64 = 504 }; // rocrand_rng_type

class Distributions : public ::testing::TestWithParam<int> {
protected:
  static constexpr size_t N = 100000;

  void SetUp() override
  {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a minute or more each under a sanitizer";
#endif
    if (!rocrand_library())
      GTEST_SKIP() << "librocrand1 is not there";
    call("create_generator", &generator, GetParam());
    EXPECT_EQ(hipMalloc((void **)&device, N * 8), hipSuccess);
  }
  void TearDown() override
  {
    if (!generator)
      return;
    call("destroy_generator", generator);
    EXPECT_EQ(hipFree(device), hipSuccess);
  }

  template <typename... Arguments> void call(const std::string &name, Arguments... arguments)
  {
    auto *function = (int (*)(Arguments...))dlsym(rocrand_library(), ("rocrand_" + name).c_str());
    ASSERT_NE(function, nullptr) << name;
    ASSERT_EQ(function(arguments...), 0) << name;
  }

  template <typename T, typename... Parameters>
  std::vector<double> numbers(const char *name, Parameters... parameters)
  {
    call(name, generator, (T *)device, N, parameters...);
    std::vector<T> values(N);
    EXPECT_EQ(hipMemcpy(values.data(), device, N * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
    return {values.begin(), values.end()};
  }

  template <typename Cumulative>
  static double distance(std::vector<double> values, Cumulative cumulative)
  {
    std::sort(values.begin(), values.end());
    double most = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected = cumulative(values[i]), n = double(values.size());
      most = std::max({most, expected - double(i) / n, double(i + 1) / n - expected});
    }
    return most;
  }

  static double normal(double x)
  {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
  }

  // By a table for small means, by rejection or approximation for large ones.
  void expect_poisson(double mean)
  {
    double sum = 0, squares = 0;
    for (double count : numbers<uint32_t>("generate_poisson", mean)) {
      sum += count;
      squares += (count - mean) * (count - mean);
    }
    // Six standard errors; that of the variance is about mean * sqrt(2 + 1 / mean).
    const double n = double(N);
    EXPECT_NEAR(sum / n, mean, 6 * std::sqrt(mean / n)) << mean;
    EXPECT_NEAR(squares / n, mean, 6 * mean * std::sqrt((2 + 1 / mean) / n)) << mean;
  }

  const double most = 2 / std::sqrt(double(N));
  void *generator = nullptr;
  char *device = nullptr;
};

// All of them in one test, as preparing a generator is most of the work.
TEST_P(Distributions, are_what_they_shall_be)
{
  const bool is_64 = GetParam() == SOBOL64; // has no functions of 32 bits
  auto uniform = [](double x) { return x; };
  EXPECT_LE(distance(numbers<double>("generate_uniform_double"), uniform), most);
  auto shifted = [](double x) { return normal((x - 3) / 2); };
  EXPECT_LE(distance(numbers<double>("generate_normal_double", 3.0, 2.0), shifted), most);
  if (is_64)
    return; // of numbers for its log-normal ones, 5.3.3 takes the lower halves, which are 0
  auto logarithmic = [](double x) { return normal((std::log(x) - 1) / 0.5); };
  EXPECT_LE(distance(numbers<double>("generate_log_normal_double", 1.0, 0.5), logarithmic), most);
  EXPECT_LE(distance(numbers<float>("generate_uniform"), uniform), most);
  EXPECT_LE(distance(numbers<float>("generate_normal", 3.0f, 2.0f), shifted), most);
  EXPECT_LE(distance(numbers<float>("generate_log_normal", 1.0f, 0.5f), logarithmic), most);
  for (double mean : {0.7, 6.5, 60.0, 900.0, 5000.0})
    expect_poisson(mean);
}

// XORWOW, MRG32k3a, MTGP32, Philox4x32-10, Sobol32, Sobol64.
INSTANTIATE_TEST_SUITE_P(generators, Distributions,
                         ::testing::Values(401, 402, 403, 404, SOBOL32, SOBOL64),
                         testing::PrintToStringParamName());

} // namespace
