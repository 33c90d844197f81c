// Reads everything an opened object offers, so that a sanitizer sees each pointer that is wrong.
#ifndef RAWHAL_FUZZ_HSACO_READER_H
#define RAWHAL_FUZZ_HSACO_READER_H

#include <cstddef>
#include <cstdint>

extern "C" {
#include "hsaco/hsaco.h"
}

class HsacoReader {
public:
  // Opens `bytes` both ways and reads both; returns the first status.
  static rawhal_status_t open(const void *bytes, size_t size)
  {
    HsacoReader reader;
    rawhal_hsaco_options_t options = {};
    rawhal_status_t status = reader.once(bytes, size, options);
    options.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS | RAWHAL_HSACO_COPY;
    options.max_diagnostics = 3;
    rawhal_status_t second = reader.once(bytes, size, options);
    check(status == second); // neither option decides whether an object opens
    return status;
  }

private:
  static void check(bool fine)
  {
    if (!fine)
      __builtin_trap();
  }
  void text(rawhal_string_t string)
  {
    for (size_t i = 0; i < string.size; ++i)
      sum += static_cast<unsigned char>(string.data[i]);
  }
  void kernel(const rawhal_hsaco_t *hsaco, const rawhal_kernel_t &one)
  {
    text(one.name);
    text(one.symbol);
    text(one.unusable_reason);
    text(one.language);
    text(one.vec_type_hint);
    text(one.device_enqueue_symbol);
    text(one.kind);
    check(one.usable == (one.unusable_reason.size == 0));
    check(!one.usable || one.descriptor);
    check(!one.name.size || rawhal_hsaco_find_kernel(hsaco, one.name));
    sum += one.descriptor ? one.descriptor->kernarg_size : 0;
    for (uint32_t i = 0; i < one.argument_count; ++i) {
      text(one.arguments[i].name);
      text(one.arguments[i].detail->type_name);
      text(one.arguments[i].detail->value_kind_text);
      text(one.arguments[i].detail->value_type);
      const uint8_t kind = one.arguments[i].value_kind;
      check(kind <= RAWHAL_VALUE_QUEUE || kind == RAWHAL_VALUE_HIDDEN_UNKNOWN ||
            (kind >= RAWHAL_VALUE_HIDDEN_FIRST && kind <= RAWHAL_VALUE_HIDDEN_QUEUE_PTR));
    }
  }
  rawhal_status_t once(const void *bytes, size_t size, const rawhal_hsaco_options_t &options)
  {
    rawhal_hsaco_t *hsaco = reinterpret_cast<rawhal_hsaco_t *>(this);
    rawhal_error_t error = {};
    rawhal_status_t status = rawhal_hsaco_open(bytes, size, &options, &hsaco, &error);
    check(status == error.status && (status == RAWHAL_OK) == (hsaco != nullptr));
    check(status == RAWHAL_OK || error.message[0]);
    if (status != RAWHAL_OK)
      return status;
    const rawhal_hsaco_info_t &info = *rawhal_hsaco_info(hsaco);
    check(info.loadable == (info.not_loadable_reason.size == 0));
    for (size_t i = 0; i < info.relocation_count; ++i)
      text(rawhal_hsaco_relocation(hsaco, i)->symbol);
    for (size_t i = 0; i < info.kernel_count; ++i)
      kernel(hsaco, *rawhal_hsaco_kernel(hsaco, i));
    for (size_t i = 0; i < info.symbol_count; ++i)
      text(rawhal_hsaco_symbol(hsaco, i)->name);
    for (size_t i = 0; i < info.printf_count; ++i)
      text(rawhal_hsaco_printf(hsaco, i));
    for (size_t i = 0; i < info.diagnostic_count; ++i) {
      text(rawhal_hsaco_diagnostic(hsaco, i)->kernel);
      text(rawhal_hsaco_diagnostic(hsaco, i)->message);
      check(rawhal_hsaco_diagnostic(hsaco, i)->message.size);
    }
    auto add = [](void *context, const char *piece, size_t count) {
      static_cast<HsacoReader *>(context)->text({piece, count});
      return true;
    };
    check(rawhal_hsaco_metadata_json(hsaco, add, this, nullptr) == RAWHAL_OK);
    rawhal_hsaco_close(hsaco);
    return status;
  }

  size_t sum = 0;
};

#endif
