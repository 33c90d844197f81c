#include "rocr.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#define HSA_FUNCTIONS(F)                                                                           \
  F(hsa_init)                                                                                      \
  F(hsa_iterate_agents)                                                                            \
  F(hsa_agent_get_info)                                                                            \
  F(hsa_isa_get_info_alt)                                                                          \
  F(hsa_code_object_reader_create_from_memory)                                                     \
  F(hsa_code_object_reader_destroy)                                                                \
  F(hsa_executable_create_alt)                                                                     \
  F(hsa_executable_load_agent_code_object)                                                         \
  F(hsa_executable_freeze)                                                                         \
  F(hsa_executable_get_symbol_by_name)                                                             \
  F(hsa_executable_symbol_get_info)                                                                \
  F(hsa_executable_destroy)

namespace {

struct Functions {
#define HSA_MEMBER(name) decltype(&::name) name = nullptr;
  HSA_FUNCTIONS(HSA_MEMBER)
#undef HSA_MEMBER
} hsa;

} // namespace

Rocr &Rocr::get()
{
  static Rocr *rocr = new Rocr; // the process ends with _exit()
  return *rocr;
}

Rocr::Rocr()
{
  if (!dlopen(SOFTGPU_LIBRARY, RTLD_NOW | RTLD_GLOBAL))
    return;
  void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!runtime)
    return;
#define HSA_RESOLVE(name) hsa.name = (decltype(hsa.name))dlsym(runtime, #name);
  HSA_FUNCTIONS(HSA_RESOLVE)
#undef HSA_RESOLVE
  if (hsa.hsa_init() != HSA_STATUS_SUCCESS)
    return;
  auto first_gpu = [](hsa_agent_t agent, void *data) {
    hsa_device_type_t type;
    hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type != HSA_DEVICE_TYPE_GPU)
      return HSA_STATUS_SUCCESS;
    *static_cast<hsa_agent_t *>(data) = agent;
    return HSA_STATUS_INFO_BREAK;
  };
  hsa_isa_t isa;
  char name[64] = "";
  started_ = hsa.hsa_iterate_agents(first_gpu, &gpu_) == HSA_STATUS_INFO_BREAK &&
             !hsa.hsa_agent_get_info(gpu_, HSA_AGENT_INFO_ISA, &isa) &&
             !hsa.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
  isa_ = name;
}

Rocr::Loaded Rocr::load(const void *bytes, size_t size)
{
  Loaded loaded;
  auto passed = [&](Step step, hsa_status_t status) {
    loaded.step = step;
    loaded.status = status;
    return status == HSA_STATUS_SUCCESS;
  };
  if (passed(kReader, hsa.hsa_code_object_reader_create_from_memory(bytes, size, &loaded.reader)) &&
      passed(kCreate, hsa.hsa_executable_create_alt(HSA_PROFILE_BASE,
                                                    HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                                    nullptr, &loaded.executable)) &&
      passed(kLoad, hsa.hsa_executable_load_agent_code_object(loaded.executable, gpu_,
                                                              loaded.reader, nullptr, nullptr)) &&
      passed(kFreeze, hsa.hsa_executable_freeze(loaded.executable, nullptr)))
    loaded.step = kDone;
  return loaded;
}

void Rocr::unload(Loaded &loaded)
{
  if (loaded.executable.handle)
    hsa.hsa_executable_destroy(loaded.executable);
  if (loaded.reader.handle)
    hsa.hsa_code_object_reader_destroy(loaded.reader);
  loaded = {};
}

Rocr::Symbol Rocr::symbol(const Loaded &loaded, const std::string &name)
{
  Symbol symbol;
  hsa_executable_symbol_t found;
  if (hsa.hsa_executable_get_symbol_by_name(loaded.executable, name.c_str(), &gpu_, &found))
    return symbol;
  symbol.found = true;
  auto get = [&](hsa_executable_symbol_info_t what, void *into) {
    symbol.found &= hsa.hsa_executable_symbol_get_info(found, what, into) == HSA_STATUS_SUCCESS;
  };
  get(HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &symbol.kind);
  if (symbol.kind == HSA_SYMBOL_KIND_KERNEL) {
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &symbol.address);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &symbol.kernarg_size);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &symbol.group_size);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &symbol.private_size);
  } else {
    get(HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &symbol.address);
    get(HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &symbol.variable_size);
  }
  return symbol;
}

Guarded::Guarded(const std::string &bytes)
{
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t inside = (bytes.size() + page - 1) / page * page;
  room_ = inside + page;
  memory_ = mmap(nullptr, room_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED)
    _exit(99);
  data_ = static_cast<char *>(memory_) + inside - bytes.size();
  memcpy(data_, bytes.data(), bytes.size());
  mprotect(static_cast<char *>(memory_) + inside, page, PROT_NONE);
}

Guarded::~Guarded()
{
  munmap(memory_, room_);
}
