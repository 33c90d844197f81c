// Kernels of libraries that nobody here wrote: found by their C++ signature, dispatched with a
// prepacked blob through the public API, their results compared with what a CPU says.
#ifndef TESTS_LIBRARIES_LIBRARY_H
#define TESTS_LIBRARIES_LIBRARY_H

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <rawhal/hal.h>

struct Extent {
  uint32_t x, y = 1, z = 1;
};

// A device with one queue, and the library's objects that fit it, loaded as kernels are asked for.
class Library {
public:
  // One a process, opened when first asked for and closed when the tests have run. NULL when it is
  // not there.
  static Library *rocsparse();
  static Library *rocrand();
  static Library *gemm(); // of the fixtures

  // The path of `pattern` below the build folder; empty when nothing is there.
  static std::string find_file(const std::string &pattern);

  // The first kernel whose demangled name, without return type, is `name`:
  // "axpyi_kernel<256u, int, float, float>", or with its arguments where the name alone is not
  // enough. NULL and a failed expectation otherwise.
  const rawhal_device_kernel_t *kernel(const std::string &name);
  bool has(const std::string &name);

  void run(const std::string &name, Extent workgroups, Extent workgroup,
           const std::vector<uint8_t> &blob);

  rawhal_device_t *device() { return device_; }

  ~Library();
  Library(const Library &) = delete;

private:
  explicit Library(const std::string &path);
  static Library *open(const std::string &path);
  const rawhal_device_kernel_t *find(const std::string &name); // NULL when it has no such kernel
  rawhal_executable_t *executable(size_t object);

  rawhal_instance_t *instance_ = nullptr;
  rawhal_device_t *device_ = nullptr;
  rawhal_queue_t *queue_ = nullptr;
  rawhal_container_t *container_ = nullptr;
  std::map<size_t, rawhal_hsaco_t *> objects_; // those that fit the device
  std::map<size_t, rawhal_executable_t *> executables_;
  std::map<std::string, const rawhal_device_kernel_t *> kernels_;
};

// Device memory with a copy of `values`, or a pattern that no result equals by chance.
template <typename T> class Device {
public:
  Device(Library *library, const std::vector<T> &values) : Device(library, values.size())
  {
    EXPECT_EQ(RAWHAL_OK, rawhal_buffer_write(buffer_.get(), 0, values.data(), bytes(), nullptr));
  }
  Device(Library *library, size_t count) : count_(count)
  {
    rawhal_buffer_t *buffer = nullptr;
    size_t room = (bytes() + 4) / 4 * 4;
    EXPECT_EQ(RAWHAL_OK, rawhal_buffer_allocate(library->device(), RAWHAL_MEMORY_DEVICE, room,
                                                &buffer, nullptr));
    buffer_.reset(buffer);
    EXPECT_EQ(RAWHAL_OK, rawhal_buffer_fill(buffer, 0, 0x7fc5a5a5, room, nullptr));
  }
  std::vector<T> read() const
  {
    std::vector<T> values(count_);
    EXPECT_EQ(RAWHAL_OK, rawhal_buffer_read(buffer_.get(), 0, values.data(), bytes(), nullptr));
    return values;
  }
  uint64_t address() const { return rawhal_buffer_address(buffer_.get()); }

private:
  struct Free {
    void operator()(rawhal_buffer_t *buffer) { rawhal_buffer_free(buffer); }
  };
  size_t bytes() const { return count_ * sizeof(T); }
  size_t count_;
  std::unique_ptr<rawhal_buffer_t, Free> buffer_;
};

// The kernarg segment as the compiler lays it out: each argument at its natural alignment. Buffers
// stand for their addresses.
inline void pack(std::vector<uint8_t> &) {}

template <typename T> uint64_t argument_of(const Device<T> &buffer)
{
  return buffer.address();
}
template <typename T, typename = std::enable_if_t<std::is_trivially_copyable_v<T>>>
T argument_of(T value)
{
  return value;
}

template <typename A, typename... Rest>
void pack(std::vector<uint8_t> &blob, const A &first, const Rest &...rest)
{
  auto value = argument_of(first);
  size_t at = (blob.size() + alignof(decltype(value)) - 1) / alignof(decltype(value)) *
              alignof(decltype(value));
  blob.resize(at + sizeof(value));
  memcpy(&blob[at], &value, sizeof(value));
  pack(blob, rest...);
}

template <typename... A> std::vector<uint8_t> blob_of(const A &...arguments)
{
  std::vector<uint8_t> blob;
  pack(blob, arguments...);
  return blob;
}

template <typename T> const char *type_name();
template <> inline const char *type_name<float>()
{
  return "float";
}
template <> inline const char *type_name<double>()
{
  return "double";
}

// "axpyi_kernel<256u, int, T, T>" with the type's name for each T.
template <typename T> std::string with_type(const std::string &text)
{
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool word = text[i] == 'T' && (i == 0 || !isalnum(text[i - 1])) &&
                (i + 1 == text.size() || (!isalnum(text[i + 1]) && text[i + 1] != '_'));
    result += word ? std::string(type_name<T>()) : std::string(1, text[i]);
  }
  return result;
}

// Kernels of one library.
class LibraryTest : public ::testing::Test {
protected:
  template <typename T> Device<T> device(const std::vector<T> &values) { return {library, values}; }
  template <typename T> Device<T> device(size_t count) { return {library, count}; }
  template <typename... A>
  void run(const std::string &name, Extent workgroups, Extent workgroup, const A &...arguments)
  {
    library->run(name, workgroups, workgroup, blob_of(arguments...));
  }
  Library *library = nullptr;
};

#endif
