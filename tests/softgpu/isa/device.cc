#include "tests/softgpu/isa/device.h"

#include <elf.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace device {

Memory::Memory(size_t size, uint32_t flags) : bytes(size)
{
  size_t pages = (size + 4095) & ~size_t{4095};
  data = aligned_alloc(4096, pages ? pages : 4096);
  memset(data, 0, pages);
  softgpu_allocation_t allocation = {address(), size, flags, 1, 0, 0, nullptr};
  if (!softgpu_memory_add(&allocation))
    throw std::runtime_error("softgpu_memory_add");
}

Memory::~Memory()
{
  softgpu_memory_remove(address());
  free(data);
}

Kernel::Kernel(const std::vector<uint32_t> &words, const Descriptor &d)
    : code(256 + words.size() * 4, SOFTGPU_MEMORY_EXECUTE), bytes(words.size() * 4)
{
  uint8_t *at = code.as<uint8_t>();
  const int64_t entry_offset = 256;
  uint32_t rsrc1 =
      (d.vgprs / 8 - 1) | (d.sgprs / 16 - 1) * 2 << 6 | d.float_mode << 12 | 1u << 21 | 1u << 23;
  uint32_t rsrc2 = uint32_t(d.private_segment) | d.user_sgprs << 1 | d.item_ids << 11;
  uint32_t rsrc3 = d.accum_offset / 4 - 1;
  for (unsigned i = 0; i < 3; ++i)
    rsrc2 |= uint32_t(d.group_id[i]) << (7 + i);
  memcpy(at + 8, &d.kernarg_size, 4);
  memcpy(at + 16, &entry_offset, 8);
  memcpy(at + 44, &rsrc3, 4);
  memcpy(at + 48, &rsrc1, 4);
  memcpy(at + 52, &rsrc2, 4);
  memcpy(at + 56, &d.properties, 2);
  memcpy(at + 58, &d.preload, 2);
  memcpy(at + 256, words.data(), bytes);
}

static std::vector<uint8_t> read_fixture(const std::string &name)
{
  std::ifstream in(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

static size_t image_size(const std::vector<uint8_t> &file)
{
  if (file.size() < sizeof(Elf64_Ehdr))
    throw std::runtime_error("no such fixture");
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(file.data());
  const auto *segments = reinterpret_cast<const Elf64_Phdr *>(file.data() + header->e_phoff);
  size_t end = 0;
  for (unsigned i = 0; i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD)
      end = std::max<size_t>(end, segments[i].p_vaddr + segments[i].p_memsz);
  return end;
}

CodeObject::CodeObject(const std::string &name)
    : file(read_fixture(name)), image(image_size(file), SOFTGPU_MEMORY_EXECUTE)
{
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(file.data());
  const auto *segments = reinterpret_cast<const Elf64_Phdr *>(file.data() + header->e_phoff);
  for (unsigned i = 0; i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD)
      memcpy(image.as<uint8_t>() + segments[i].p_vaddr, file.data() + segments[i].p_offset,
             segments[i].p_filesz);
}

uint64_t CodeObject::symbol(const std::string &name) const
{
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(file.data());
  const auto *sections = reinterpret_cast<const Elf64_Shdr *>(file.data() + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM)
      continue;
    const auto *symbols = reinterpret_cast<const Elf64_Sym *>(file.data() + sections[i].sh_offset);
    const char *strings =
        reinterpret_cast<const char *>(file.data() + sections[sections[i].sh_link].sh_offset);
    for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; ++j)
      if (name == strings + symbols[j].st_name)
        return image.address() + symbols[j].st_value;
  }
  return 0;
}

softgpu_dispatch_t dispatch(uint64_t kernel_object, const void *kernarg, uint32_t groups,
                            uint16_t items, softgpu_chip_t chip)
{
  softgpu_dispatch_t d = {};
  d.chip = chip;
  d.sram_ecc = true; // as both chips are listed
  d.workgroup[0] = items;
  d.workgroup[1] = d.workgroup[2] = 1;
  d.grid[0] = groups * items;
  d.grid[1] = d.grid[2] = 1;
  d.kernel_object = kernel_object;
  d.kernarg = reinterpret_cast<uint64_t>(kernarg);
  d.shared_aperture_hi = 0x10000;
  d.private_aperture_hi = 0x20000;
  return d;
}

Result run(const softgpu_dispatch_t &dispatch, uint64_t timeout_ms)
{
  Result result = {};
  softgpu_limits_t limits = {};
  limits.timeout_ns = timeout_ms * 1000000;
  result.ok = softgpu_execute(&dispatch, &limits, &result.fault);
  return result;
}

} // namespace device
