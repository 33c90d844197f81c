// What the tests of containers share.
#ifndef RAWHAL_TESTS_HSACO_CONTAINER_TEST_H
#define RAWHAL_TESTS_HSACO_CONTAINER_TEST_H

#include "host.h"
#include "hsaco_test.h"

inline std::string object_for(uint32_t flags, uint8_t abi = 3)
{
  build::Object object;
  object.flags = flags;
  object.abi = abi;
  object.kernels = {build::plain_kernel("k")};
  return object.build();
}

class Container {
public:
  explicit Container(const std::string &text, rawhal_container_options_t options = {}) : bytes(text)
  {
    status = rawhal_container_open(bytes.data.get(), bytes.size, &options, &container, &error);
  }
  ~Container() { rawhal_container_close(container); }
  Container(const Container &) = delete;
  Container &operator=(const Container &) = delete;
  size_t count() const { return rawhal_container_count(container); }
  const rawhal_container_object_t &at(size_t index) const
  {
    return *rawhal_container_object(container, index);
  }
  std::string content(size_t index) const
  {
    return std::string(static_cast<const char *>(at(index).bytes.data), at(index).bytes.size);
  }
  std::string read(size_t index)
  {
    rawhal_bytes_t read = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_container_read(container, index, &read, &error)) << error.message;
    return std::string(static_cast<const char *>(read.data), read.size);
  }
  rawhal_status_t select(const std::string &device, size_t *index)
  {
    rawhal_target_t target;
    EXPECT_EQ(RAWHAL_OK, rawhal_target_parse(string_of(device), &target, &error));
    return rawhal_container_select(container, &target, index, &error);
  }

  const Exact bytes;
  rawhal_status_t status;
  rawhal_error_t error = {};
  rawhal_container_t *container = nullptr;
};

#endif
