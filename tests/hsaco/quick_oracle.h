// The two parsers of kernels held against each other: what quick.c takes, msgpack-c's parser must
// take too, and make the same record of it. For tests and the fuzzer.
#ifndef RAWHAL_TESTS_HSACO_QUICK_ORACLE_H
#define RAWHAL_TESTS_HSACO_QUICK_ORACLE_H

#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "hsaco/quick.h"
}

class KernelReading {
public:
  enum Parser { kQuick, kThorough };

  KernelReading(Parser parser, const char *bytes, size_t size, uint32_t nesting = 32)
  {
    arena_init(&arena, uint64_t{64} << 20, nullptr);
    unpacker.arena = &arena;
    unpacker.bytes = bytes;
    unpacker.size = size;
    unpacker.max_arguments = 65536;
    unpacker.max_nesting = nesting;
    done = (parser == kQuick ? quick_kernel : unpack_kernel)(&unpacker, 2, &offset, &kernel);
  }
  ~KernelReading() { arena_free(&arena); }
  KernelReading(const KernelReading &) = delete;
  KernelReading &operator=(const KernelReading &) = delete;

  // What differs, or an empty text.
  std::string difference(const KernelReading &other) const
  {
    if (!other.done || offset != other.offset)
      return "the end";
    const unpacker_t &a = unpacker, &b = other.unpacker;
    if (a.seen != b.seen || a.odd != b.odd || a.problem_count != b.problem_count)
      return "keys seen or oddities";
    if (a.arguments_end != b.arguments_end || (a.arguments_end && a.furthest != b.furthest))
      return "the furthest argument";
    if (kernel.argument_count != other.kernel.argument_count ||
        !kernel.arguments != !other.kernel.arguments)
      return "the number of arguments";
    for (uint32_t i = 0; i < kernel.argument_count; ++i)
      if (image(kernel.arguments[i]) != image(other.kernel.arguments[i]) ||
          image(*kernel.arguments[i].detail) != image(*other.kernel.arguments[i].detail))
        return "argument " + std::to_string(i);
    return image(kernel) == image(other.kernel) ? "" : "the kernel";
  }

  bool done;
  size_t offset = 0;
  arena_t arena;
  unpacker_t unpacker = {};
  rawhal_kernel_t kernel = {};

private:
  // A record's bytes, without the pointers that may differ.
  static void tidy(rawhal_string_t *text) { text->data = text->size ? text->data : nullptr; }
  template <typename Record> static std::string bytes_of(const Record &record)
  {
    return std::string(reinterpret_cast<const char *>(&record), sizeof(record));
  }
  static std::string image(rawhal_argument_t argument)
  {
    tidy(&argument.name);
    argument.detail = nullptr;
    return bytes_of(argument);
  }
  static std::string image(const rawhal_argument_detail_t &detail)
  {
    std::string result = std::to_string(detail.pointee_align);
    for (rawhal_string_t text : {detail.value_kind_text, detail.type_name, detail.value_type})
      result += "/" + std::string(text.data ? text.data : "", text.size);
    return result;
  }
  static std::string image(rawhal_kernel_t kernel)
  {
    for (rawhal_string_t *text :
         {&kernel.name, &kernel.symbol, &kernel.language, &kernel.vec_type_hint,
          &kernel.device_enqueue_symbol, &kernel.kind})
      tidy(text);
    kernel.arguments = nullptr;
    return bytes_of(kernel);
  }
};

// Reads `bytes` both ways; what is wrong with quick.c, or an empty text. *quick: it took them.
inline std::string quick_fault(const char *bytes, size_t size, bool *quick = nullptr)
{
  KernelReading fast(KernelReading::kQuick, bytes, size);
  if (quick)
    *quick = fast.done;
  if (!fast.done)
    return fast.offset || fast.arena.chunks ? "it left something behind" : "";
  KernelReading thorough(KernelReading::kThorough, bytes, size);
  return fast.difference(thorough);
}

#endif
