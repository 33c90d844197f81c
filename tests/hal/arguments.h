// A kernel's blob, made by the names that its object's metadata give its arguments.
#ifndef RAWHAL_TESTS_HAL_ARGUMENTS_H
#define RAWHAL_TESTS_HAL_ARGUMENTS_H

#include <rawhal/rawhal.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/assert_ok.h"

// Arguments that nobody set are zeros.
class Arguments {
public:
  explicit Arguments(const rawhal_device_kernel_t *kernel)
      : kernel(kernel), layout(rawhal_device_kernel_info(kernel)->layout),
        blob(rawhal_kernarg_layout_info(layout)->explicit_end)
  {
  }

  template <typename T> Arguments &set(const char *name, T value)
  {
    rawhal_error_t error = {};
    EXPECT_OK(rawhal_kernarg_set_named(layout, {name, strlen(name)}, &value, sizeof(value),
                                       blob.data(), blob.size(), &error));
    names.insert(name);
    return *this;
  }
  Arguments &set(const char *name, rawhal_buffer_t *buffer)
  {
    return set(name, rawhal_buffer_address(buffer));
  }
  // Of a family whose members do not all have it.
  template <typename T> Arguments &set_if_there(const char *name, T value)
  {
    size_t index;
    if (rawhal_kernarg_layout_find(layout, {name, strlen(name)}, &index, nullptr) == RAWHAL_OK)
      set(name, value);
    return *this;
  }

  // The named arguments that were forgotten.
  std::string missing() const
  {
    std::string result;
    const rawhal_kernarg_argument_t *each;
    for (size_t i = 0; (each = rawhal_kernarg_layout_argument(layout, i)); ++i) {
      std::string name(each->name.data, each->name.size);
      if (name != "pad" && name != "padding" && !names.count(name))
        result += ' ' + name;
    }
    return result;
  }

  const rawhal_device_kernel_t *kernel;
  const rawhal_kernarg_layout_t *layout;
  std::vector<uint8_t> blob;

private:
  std::set<std::string> names;
};

#endif
