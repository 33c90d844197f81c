// Any bytes as the JSON beside a code object of Triton's. What is taken must be within the bounds that the header has,
// and its strings must be printable; and it must agree, or not, with an object of a kernel "k".
#include <cstring>
#include <string>

#include "budget.h"
extern "C" {
#include "library/triton/parts.h"
}
#include "tests/hsaco/builder.h"

static void check(bool holds)
{
  if (!holds)
    __builtin_trap();
}

static void check_string(rawhal_string_t text)
{
  if (!text.data)
    return;
  check(strlen(text.data) == text.size);
  for (size_t i = 0; i < text.size; ++i)
    check(static_cast<unsigned char>(text.data[i]) >= ' ' && text.data[i] != 0x7f);
}

static void check_entry(const rawhal_triton_kernel_t &entry)
{
  for (const rawhal_string_t &text :
       {entry.name, entry.hash, entry.triton_version, entry.backend, entry.arch})
    check_string(text);
  check(entry.name.size && entry.num_warps - 1 < 1024 && entry.warp_size <= 64 &&
        entry.num_ctas >= 1 && entry.shared <= INT32_MAX && entry.scratch_pointers <= 2);
  check(!entry.backend.size || !strcmp(entry.backend.data, "hip"));
  for (uint64_t align : {entry.global_scratch_align, entry.profile_scratch_align})
    check((align & (align - 1)) == 0);
}

static void check_object(rawhal_triton_kernel_t &entry)
{
  static build::Object object;
  static rawhal_hsaco_t *hsaco = [] {
    rawhal_hsaco_t *opened = nullptr;
    object.kernels = {build::plain_kernel("k")};
    object.build();
    check(rawhal_hsaco_open(object.bytes.data(), object.bytes.size(), nullptr, &opened, nullptr) ==
          RAWHAL_OK);
    return opened;
  }();
  rawhal_error_t error = {};
  const rawhal_status_t status = triton_check(hsaco, &entry, &error);
  if (status == RAWHAL_OK)
    check(entry.workgroup == entry.num_warps * entry.warp_size && entry.workgroup &&
          !strcmp(entry.name.data, "k"));
  else
    check(error.status == status && *error.message);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  rawhal_triton_kernel_t entry = {};
  rawhal_error_t error = {};
  arena memory;
  arena_init(&memory, UINT64_MAX, nullptr);
  {
    Budget budget(budget_begin(100000 + 2000 * size, (1 << 20) + 512 * size));
    const rawhal_status_t status = triton_read(data, size, &memory, &entry, &error);
    if (status == RAWHAL_OK) {
      check_entry(entry);
      check_object(entry);
    } else {
      check(error.status == status && *error.message);
    }
  }
  arena_free(&memory);
  return 0;
}
