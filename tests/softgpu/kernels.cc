#include "kernels.h"

#include <fstream>
#include <iterator>

void Kernels::TearDown()
{
  for (hsa_executable_t executable : executables_)
    EXPECT_EQ(hsa->hsa_executable_destroy(executable), HSA_STATUS_SUCCESS);
  for (hsa_code_object_reader_t reader : readers_)
    hsa->hsa_code_object_reader_destroy(reader);
  executables_.clear();
  readers_.clear();
  Runtime::TearDown();
}

Kernel Kernels::load(const char *file, const char *name)
{
  std::ifstream stream(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + file, std::ios::binary);
  images_.emplace_back((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  EXPECT_EQ(hsa->hsa_code_object_reader_create_from_memory(images_.back().data(),
                                                           images_.back().size(), &reader),
            HSA_STATUS_SUCCESS);
  readers_.push_back(reader);
  EXPECT_EQ(hsa->hsa_executable_create_alt(
                HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable),
            HSA_STATUS_SUCCESS);
  executables_.push_back(executable);
  EXPECT_EQ(hsa->hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->hsa_executable_freeze(executable, nullptr), HSA_STATUS_SUCCESS);
  hsa_executable_symbol_t symbol{};
  std::string descriptor = std::string(name) + ".kd";
  EXPECT_EQ(hsa->hsa_executable_get_symbol_by_name(executable, descriptor.c_str(), &gpu, &symbol),
            HSA_STATUS_SUCCESS);
  Kernel kernel;
  auto get = hsa->hsa_executable_symbol_get_info;
  get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group);
  get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.scratch);
  return kernel;
}

hsa_kernel_dispatch_packet_t Kernels::packet(const Kernel &kernel, void *kernarg, uint32_t grid,
                                             uint16_t workgroup, hsa_signal_t done)
{
  auto made = dispatch_packet(kernel.object, kernarg, grid, workgroup, done);
  made.group_segment_size = kernel.group;
  made.private_segment_size = kernel.scratch;
  return made;
}

hsa_signal_t Kernels::start(hsa_queue_t *on, const Kernel &kernel, void *kernarg, uint32_t grid,
                            uint16_t workgroup)
{
  auto made = packet(kernel, kernarg, grid, workgroup, signal(1));
  submit(on, &made, dispatch_header());
  return made.completion_signal;
}

void *Kernels::kernargs(std::vector<uint64_t> words)
{
  void *memory = host_memory(4096);
  memset(memory, 0, 4096);
  memcpy(memory, words.data(), words.size() * 8);
  return memory;
}

softgpu_counters_t Kernels::copy(void *to, const void *from, size_t size)
{
  EXPECT_EQ(hsa->hsa_memory_copy(to, from, size), HSA_STATUS_SUCCESS);
  softgpu_counters_t now{};
  hsa->counters(&now, sizeof(now));
  return now;
}
