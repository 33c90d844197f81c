// Any bytes as a container, at the limits that programs have which set none; what it finds is opened.
#include <cstring>
#include <memory>

#include "budget.h"
#include "hsaco_reader.h"

#include <initializer_list>

extern "C" {
#include "hsaco/container.h"
}

// As an image without a size: it has no more bytes than there are, and those it has are enough to say so.
static size_t measure(const uint8_t *data, size_t size)
{
  size_t measured = 0;
  rawhal_error_t error = {};
  Budget budget(budget_of_container(size, uint64_t{1} << 30));
  if (rawhal_container_measure(data, size, nullptr, &measured, &error) && measured)
    __builtin_trap();
  return measured;
}

static void check_measure(const uint8_t *data, size_t size)
{
  size_t measured = size ? measure(data, size) : 0;
  if (measured > size)
    __builtin_trap();
  std::unique_ptr<uint8_t[]> exact(new uint8_t[measured + !measured]);
  memcpy(exact.get(), data, measured);
  if (measured && measure(exact.get(), measured) != measured)
    __builtin_trap();
}

// Where one bundle at a time is held, the same is found.
static void check_one_at_a_time(const uint8_t *data, size_t size,
                                const rawhal_container_t *expected)
{
  rawhal_container_options_t options = {};
  options.flags = RAWHAL_CONTAINER_HOLD_ONE;
  rawhal_container_t *container = nullptr;
  {
    Budget budget(budget_of_container(size, uint64_t{1} << 30));
    if (rawhal_container_open(data, size, &options, &container, nullptr) ||
        rawhal_container_count(container) != rawhal_container_count(expected))
      __builtin_trap();
  }
  for (size_t i = 0; i < rawhal_container_count(container) && i < 8; ++i) {
    const rawhal_container_object_t *object = rawhal_container_object(expected, i);
    rawhal_bytes_t bytes = {};
    if (rawhal_container_read(container, i, &bytes, nullptr) || bytes.size != object->bytes.size ||
        (bytes.size && memcmp(bytes.data, object->bytes.data, bytes.size) != 0))
      __builtin_trap();
  }
  rawhal_container_close(container);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  check_measure(data, size);
  rawhal_container_t *container = nullptr;
  rawhal_error_t error = {};
  {
    Budget budget(budget_of_container(size, uint64_t{1} << 30));
    if (rawhal_container_open(data, size, nullptr, &container, &error))
      return 0;
  }
  volatile uint8_t sum = 0; // what reads them stays
  for (size_t i = 0; i < rawhal_container_count(container); ++i) {
    const rawhal_container_object_t *object = rawhal_container_object(container, i);
    const uint8_t *start = static_cast<const uint8_t *>(object->bytes.data);
    if (object->offset > size ||
        (!object->unpacked &&
         (start != data + object->offset || object->bytes.size > size - object->offset)))
      __builtin_trap();
    if (object->readable == (object->why_not.size != 0))
      __builtin_trap();
    // Of what was unpacked it is bytes of that, which live as long.
    const uint8_t *binary = reinterpret_cast<const uint8_t *>(object->binary.data);
    if (object->binary.size && !object->unpacked &&
        (binary < data || object->binary.size > size - (binary - data)))
      __builtin_trap();
    for (rawhal_string_t name : {object->binary, object->id, object->member})
      for (size_t at = 0; at < name.size; ++at)
        sum = sum + static_cast<uint8_t>(name.data[at]);
    if (object->readable && i < 8) {
      Budget budget(budget_of_object(object->bytes.size, 2));
      HsacoReader::open(object->bytes.data, object->bytes.size);
    }
  }
  check_one_at_a_time(data, size, container);
  rawhal_target_t device;
  rawhal_target_from_flags(0xe3f, 3, &device);
  size_t index;
  if (!rawhal_container_select(container, &device, &index, &error) &&
      rawhal_target_match(&rawhal_container_object(container, index)->target, &device))
    __builtin_trap();
  rawhal_container_close(container);
  return 0;
}
