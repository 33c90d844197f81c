// What the tests of this folder share: opened objects that close themselves, and text.
#ifndef RAWHAL_TESTS_HSACO_TEST_H
#define RAWHAL_TESTS_HSACO_TEST_H

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "builder.h"

extern "C" {
#include "hsaco/container.h"
#include "hsaco/hsaco.h"
}

inline std::string text_of(rawhal_string_t text)
{
  return std::string(text.data, text.size);
}
inline rawhal_string_t string_of(const std::string &text)
{
  return {text.data(), text.size()};
}

// Bytes on the heap in an allocation of exactly their size, so that a sanitizer sees every step
// outside.
class Exact {
public:
  explicit Exact(const std::string &text) : size(text.size()), data(new char[text.size()])
  {
    memcpy(data.get(), text.data(), size);
  }
  const size_t size;
  const std::unique_ptr<char[]> data;
};

class Opened {
public:
  explicit Opened(const std::string &text, rawhal_hsaco_options_t options = {}) : bytes(text)
  {
    status = rawhal_hsaco_open(bytes.data.get(), bytes.size, &options, &hsaco, &error);
  }
  ~Opened() { rawhal_hsaco_close(hsaco); }
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;

  const rawhal_hsaco_info_t &info() const { return *rawhal_hsaco_info(hsaco); }
  const rawhal_kernel_t &kernel(size_t index) const { return *rawhal_hsaco_kernel(hsaco, index); }
  const rawhal_kernel_t *find(const std::string &name) const
  {
    return rawhal_hsaco_find_kernel(hsaco, string_of(name));
  }
  std::string reason() const { return text_of(info().not_loadable_reason); }
  // All diagnostics, one a line: "severity kernel: message".
  std::string diagnostics() const
  {
    std::ostringstream all;
    for (size_t i = 0; i < info().diagnostic_count; ++i) {
      const rawhal_diagnostic_t *one = rawhal_hsaco_diagnostic(hsaco, i);
      all << one->severity << " " << text_of(one->kernel) << ": " << text_of(one->message) << "\n";
    }
    return all.str();
  }
  std::string json() const
  {
    std::string text;
    auto append = [](void *context, const char *piece, size_t size) {
      static_cast<std::string *>(context)->append(piece, size);
      return true;
    };
    rawhal_error_t failure = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_hsaco_metadata_json(hsaco, append, &text, &failure))
        << failure.message;
    return text;
  }

  const Exact bytes;
  rawhal_status_t status;
  rawhal_error_t error = {};
  rawhal_hsaco_t *hsaco = nullptr;
};

inline std::string read_file(const std::string &path)
{
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline bool contains(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

#endif
