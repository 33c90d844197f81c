// Any bytes as a code object; what its kernels say becomes layouts, whose blobs and images are
// checked as those of made-up kernels are. The last bytes are the launch and what is in the blob.
#include <cstring>

#include "budget.h"
#include "kernarg_checks.h"

extern "C" {
#include "hsaco/hsaco.h"
}

namespace {

enum { MOST_KERNELS = 8 };

struct Tail { // as it stands at the end of the input
  uint32_t work_items[3];
  uint16_t workgroup[3], dimensions;
  uint32_t dynamic_lds, stated_size;
  uint64_t address;
  uint32_t blob_length, flags;
};

void take_launch(const Tail &tail, scene_t *scene)
{
  rawhal_launch_t &launch = scene->launch;
  memcpy(launch.work_items, tail.work_items, sizeof(tail.work_items));
  memcpy(launch.workgroup, tail.workgroup, sizeof(tail.workgroup));
  launch.dimensions = tail.dimensions % 5;
  launch.dynamic_lds = tail.dynamic_lds;
  uint64_t *const addresses[] = {
      &launch.queue_ptr,     &launch.printf_buffer,     &launch.hostcall_buffer, &launch.heap,
      &launch.default_queue, &launch.completion_action, &launch.multigrid_sync};
  uint64_t address = tail.address;
  for (uint64_t *one : addresses)
    *one = address *= 3;
  for (uint64_t &offset : launch.global_offset)
    offset = address >>= 5;
  launch.private_base_hi = launch.shared_base_hi = static_cast<uint32_t>(tail.address >> 32);
  scene->stated_size = tail.stated_size % 8192;
  scene->blob_length = tail.blob_length % CHECKS_ROOM;
  scene->flags = tail.flags % 4;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static scene_t scene;
  Tail tail = {};
  const size_t some = size < sizeof(tail) ? size : sizeof(tail);
  if (some)
    memcpy(&tail, data + size - some, some);
  rawhal_hsaco_t *hsaco = nullptr;
  rawhal_hsaco_options_t options = {};
  options.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS;
  Budget budget(budget_of_object(size, 1 + MOST_KERNELS));
  if (rawhal_hsaco_open(data, size, &options, &hsaco, nullptr))
    return 0;
  for (size_t i = 0; i < MOST_KERNELS && i < rawhal_hsaco_info(hsaco)->kernel_count; ++i) {
    scene = {};
    scene.kernel = *rawhal_hsaco_kernel(hsaco, i);
    take_launch(tail, &scene);
    for (size_t at = 0; at < sizeof(scene.values); ++at)
      scene.values[at] = static_cast<uint8_t>(at * 29 + data[size - 1 - at % some]);
    kernarg_checks(&scene); // of kernels that cannot be used, too: nothing may happen to those
    scene.stated_size = 0;
    kernarg_checks(&scene);
  }
  rawhal_hsaco_close(hsaco);
  return 0;
}
