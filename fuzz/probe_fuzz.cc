// Any bytes as a kernel's code: planned, made, and what is made held against it; then with some of its dwords changed. Four
// bytes say how, then come changes, and then the code.
#include "budget.h"

extern "C" {
#include "input.h"
}

#include "tests/hsaco/builder.h"

#include <cstdio>

#include <rawhal/probe.h>

namespace {

uint32_t take_dword(input_t *input)
{
  uint32_t value = 0;
  for (int shift = 0; shift < 32; shift += 8)
    value |= static_cast<uint32_t>(take(input)) << shift;
  return value;
}

build::Object object_of(input_t *code, uint8_t shape)
{
  static const uint32_t targets[] = {0x53f, 0x54c, 0x54f, 0x530};
  build::Object object;
  object.flags = targets[shape & 3];
  object.kernels = {build::plain_kernel("k")};
  object.more_code = code->size;
  object.build();
  memcpy(&object.bytes[object.text], code->data, code->size);
  const uint32_t vgprs = shape >> 2 & 3 ? 8u << (shape >> 2 & 3) * 2 : 8; // 8, 32, 128, 512
  object.set<uint32_t>(object.rodata + 44, (vgprs / 8 - 1) & 0x3f);       // half are AGPRs
  object.set<uint32_t>(object.rodata + 48, (vgprs / 8 - 1) | (shape & 16 ? 12u : 2u) << 6);
  object.set<uint32_t>(object.rodata + 52, 2 << 1 | 1 << 7);
  object.set<uint16_t>(object.rodata + 56, 8);
  object.set<uint16_t>(object.rodata + 58, shape & 32 ? 1 : 0);
  return object;
}

struct Changes {
  uint32_t places[4], dwords[4], count;
};

void probe(const rawhal_kernel_t *kernel, uint32_t kinds, uint32_t flags, const Changes &changes)
{
  rawhal_probe_spec_t spec = {};
  rawhal_probe_plan_t *plan = nullptr;
  rawhal_bytes_t bytes;
  rawhal_error_t error;
  spec.size = sizeof(spec);
  spec.kinds = kinds;
  spec.flags = flags;
  if (rawhal_probe_plan(kernel, &spec, &plan, &error) != RAWHAL_OK)
    return;
  if (rawhal_probe_apply(plan, 0x1000, &bytes, &error) == RAWHAL_OK) {
    std::string clone(static_cast<const char *>(bytes.data), bytes.size);
    if (rawhal_probe_verify(kernel, clone.data(), clone.size(), 0x1000, &error) != RAWHAL_OK) {
      fprintf(stderr, "what is made is not what is asked for: %s\n", error.message);
      __builtin_trap();
    }
    for (uint32_t i = 0; i < changes.count; ++i)
      memcpy(&clone[changes.places[i] % (clone.size() / 4) * 4], &changes.dwords[i], 4);
    if (changes.count)
      (void)!rawhal_probe_verify(kernel, clone.data(), clone.size(), 0x1000, &error);
    rawhal_probe_free(plan, &bytes);
  }
  rawhal_probe_plan_destroy(plan);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  input_t input = {data, size};
  const uint8_t kinds = take(&input) & 0x5f, flags = take(&input) & 0x1b, shape = take(&input);
  Changes changes = {};
  changes.count = take(&input) % 5;
  for (uint32_t i = 0; i < changes.count; ++i) {
    changes.places[i] = take_dword(&input);
    changes.dwords[i] = take_dword(&input);
  }
  const build::Object object = object_of(&input, shape);
  // A point is some 100 dwords of clone, and each of them is looked at some 32 times at most.
  Budget budget(budget_begin((UINT64_C(1) << 24) + size * (UINT64_C(1) << 18), UINT64_C(1) << 28));
  rawhal_hsaco_t *hsaco = nullptr;
  if (rawhal_hsaco_open(object.bytes.data(), object.bytes.size(), nullptr, &hsaco, nullptr) ==
      RAWHAL_OK)
    probe(rawhal_hsaco_kernel(hsaco, 0), kinds ? kinds : static_cast<uint32_t>(RAWHAL_PROBE_WAVES),
          flags, changes);
  rawhal_hsaco_close(hsaco);
  return 0;
}
