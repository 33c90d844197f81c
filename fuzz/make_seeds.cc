// Writes the seed corpora: small, sound, and different from each other.
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <map>

#include "fuzz/elf_edit.h"
#include "tests/debug/scene.h"
#include "tests/hsaco/archive.h"
#include "tests/hsaco/carriers.h"
#include "tests/hsaco/host.h"
#include "tests/library/tensile_build.h"
#include "tests/record/recording.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

extern "C" {
#include "debug/core/records.h"
#include "debug/door/format.h"
#include "library/index.h"
}

using namespace build;

static void save(const std::string &folder, const std::string &name, const std::string &bytes)
{
  mkdir(folder.c_str(), 0777);
  std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
}

static Kernel full_kernel()
{
  Kernel kernel = plain_kernel("full");
  kernel.arguments.push_back({"lds", 24, 4, "dynamic_shared_pointer", "local"});
  kernel.arguments.push_back({"", 32, 8, "hidden_global_offset_x"});
  kernel.more = {{".language", Pack().str("OpenCL C").bytes},
                 {".language_version", Pack().numbers({2, 0}).bytes},
                 {".reqd_workgroup_size", Pack().numbers({64, 1, 1}).bytes},
                 {".uniform_work_group_size", Pack().number(1).bytes},
                 {".uses_dynamic_stack", Pack().boolean(false).bytes},
                 {".kind", Pack().str("init").bytes}};
  return kernel;
}

// What the linker and the compiler make of code objects: one translation unit, two, compressed, and
// without section headers.
static void save_hosts(const std::string &folder, const std::string &one, const std::string &other)
{
  const std::string id = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  const std::string first = bundle({{"host-x86_64-unknown-linux-gnu-", ""}, {id, one}}, 8);
  const std::string packed = ccob(2, 1, bundle({{id, one}, {id, other}}, 8));
  save(folder, "host", host_file(first));
  save(folder, "host_stripped", host_file(first, false));
  save(folder, "host_back_to_back", host_file(first + ccob(3, 0, other) + one));
  save(folder, "host_packed", host_program({packed}));
  save(folder, "host_program", host_program({first, packed}));
  save(folder, "host_padded", host_file(std::string(4096, 'x') + first + '\1', false));
}

// Names that are longer than what is read of each: of a kernel, and of variables that share one.
static std::string long_names()
{
  Object object;
  object.kernels = {plain_kernel(std::string(1500, 'k')), plain_kernel("k")};
  std::string bytes = object.build();
  const size_t symbols = edit::find_section(bytes, SHT_SYMTAB);
  Elf64_Sym variable = object.get<Elf64_Sym>(object.symbols + sizeof(variable));
  variable.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  variable.st_shndx = Object::kRodata;
  variable.st_value = object.rodata;
  for (int i = 0; i < 2; ++i) {
    edit::add_entry(bytes, symbols, variable);
    edit::add_entry(bytes, symbols, object.get<Elf64_Sym>(object.symbols + 2 * sizeof(variable)));
  }
  edit::add_relocation(bytes, {object.text, ELF64_R_INFO(uint64_t{5}, 3), 0});
  return bytes;
}

// What the linker leaves for loaders alone: a dynamic section, with DT_HASH or DT_GNU_HASH only.
static std::string dynamic(bool gnu_hash)
{
  std::ifstream file(RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx90a-v5.co", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Elf64_Ehdr header = edit::get<Elf64_Ehdr>(bytes, 0);
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
  edit::set(bytes, 0, header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const Elf64_Phdr segment = edit::get<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(segment));
    for (size_t at = 0; segment.p_type == PT_DYNAMIC && at < segment.p_filesz;
         at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry = edit::get<Elf64_Dyn>(bytes, segment.p_offset + at);
      if (entry.d_tag == DT_HASH && gnu_hash)
        entry.d_tag = DT_DEBUG;
      edit::set(bytes, segment.p_offset + at, entry);
    }
  }
  return bytes;
}

// A launch and what a blob is made of, as layout_fuzz.cc takes them from the end.
static std::string tail(uint32_t grid, uint16_t group, uint32_t length, uint32_t flags)
{
  std::string bytes;
  for (uint32_t items : {grid, 1u, 1u})
    bytes += little(items, 4);
  for (uint16_t items : {group, uint16_t{1}, uint16_t{1}})
    bytes += little(items, 2);
  bytes += little(flags & 3, 2) + little(64, 4) + little(32, 4);
  return bytes + little(0x7f0012345678, 8) + little(length, 4) + little(flags, 4);
}

static Kernel launched_kernel()
{
  Kernel kernel = plain_kernel("launched");
  kernel.arguments.push_back({"k", 16, 1, "by_value"});
  kernel.arguments.push_back({"offset", 24, 8, "by_value"});
  kernel.arguments[2] = {"", 32, 4, "hidden_block_count_x"};
  kernel.arguments.push_back({"", 36, 2, "hidden_group_size_x"});
  kernel.arguments.push_back({"", 40, 8, "hidden_queue_ptr"});
  kernel.kernarg_size = 48;
  kernel.more = {{".uniform_work_group_size", Pack().number(1).bytes},
                 {".max_num_workgroups_x", Pack().number(16).bytes}};
  return kernel;
}

// What kernels leave to be printed or to be answered, as services_fuzz.c takes it: the first byte says what.
static void save_services(const std::string &folder)
{
  const std::string nul(1, '\0');
  const std::string opencl = "1:2:4:16:%d of %v4hlf\\n" + nul + "2:0:a\\72b" + nul + nul;
  save(folder, "opencl", nul + opencl + little(2, 4) + little(1, 4) + std::string(20, 'x'));
  const std::string hip = "0:0:ff12345678abcdef,%d\n" + nul + nul;
  save(folder, "hip",
       nul + hip + little(20 << 2 | 2, 4) + little(0xff12345678abcdef, 8) + little(7, 8) +
           little(20 << 2 | 1, 4) + "i %d" + little(0, 4) + little(4, 8));
  save(folder, "format",
       "\1" + nul + nul + little(100, 2) + "\x0e<%*.*f|%s|%3c>" + little(9, 8) + little(2, 8) +
           little(0x4004000000000000, 8) + "a text" + little(0, 2) + little('c', 8));
  // A message of two requests to packet 1, lane 5; then a slab is taken.
  const std::string begins = std::string("\1\1\2\5\6\x41", 6) + little(0, 8) + "%s and %";
  const std::string ends = std::string("\1\1\2\5\x0e\x62", 6) + "d\n" + little(0, 6) + "text" +
                           little(0, 4) + little(7, 8);
  const std::string takes = std::string("\1\0\3\7\2\0", 6) + little(2 << 20, 4);
  save(folder, "hostcalls", "\2\x40" + nul + begins + ends + takes);
  save(folder, "heap",
       "\3\2" + nul + little(5000, 3) + nul + little(2 << 20, 3) + "\1" + little(0, 3) + "\1" +
           little(512, 3));
}

// The content of an index of two objects, of which both have one kernel and the second has another, in order of hashes.
static std::string library_index()
{
  const std::string names[] = {"vector_add", "vector_add", "other"};
  const uint32_t objects[] = {0, 1, 1};
  index_header_t header = {};
  memcpy(header.magic, INDEX_MAGIC, sizeof(header.magic));
  header.format = INDEX_FORMAT;
  header.byte_order = INDEX_BYTE_ORDER;
  header.pages = 1;
  header.kernels = header.entry_count = 3;
  header.object_count = 2;
  std::string texts;
  std::multimap<uint64_t, std::string> entries;
  for (size_t i = 0; i < 3; ++i) {
    index_entry_t entry = {};
    entry.hash = XXH3_64bits_withSeed(names[i].data(), names[i].size(), 0);
    entry.text = sizeof(header) + texts.size();
    entry.size = static_cast<uint32_t>(names[i].size());
    entry.object = objects[i];
    entry.flags = INDEX_BY_NAME | INDEX_BY_SYMBOL | INDEX_USABLE;
    entries.emplace(entry.hash, edit::bytes_of(entry));
    texts += names[i];
  }
  std::string list;
  for (uint32_t i = 0; i < 2; ++i) {
    index_object_t object = {};
    object.size = 4736;
    object.file = i;
    object.rating = 5;
    list += edit::bytes_of(object);
  }
  header.objects_at = sizeof(header) + texts.size();
  header.entries_at = header.objects_at + list.size();
  std::string bytes = edit::bytes_of(header) + texts + list;
  for (const auto &entry : entries)
    bytes += entry.second;
  return bytes;
}

// A library with solutions of both writers, and one that refers to others.
static void save_tensile(const std::string &folder)
{
  const std::string takes = record({{"version", number(2)},
                                    {"gsu", Pack().boolean(true).bytes},
                                    {"wgm", Pack().boolean(true).bytes},
                                    {"staggerU", Pack().boolean(false).bytes},
                                    {"useUniversalArgs", Pack().boolean(true).bytes}});
  const std::string matching =
      record({{"type", words("Matching")},
              {"properties", items({record({{"type", words("FreeSizeA")}, {"index", number(0)}})})},
              {"table", items({record({{"key", items({number(64)})}, {"index", number(7)}})})},
              {"distance", words("Euclidean")}});
  const std::string solutions =
      tensile({solution("Cijk_A", 7),
               solution("Cijk_B", 9, true,
                        {{"kernelName", words("Cijk_K")}, {"internalArgsSupport", takes}})},
              rows({matching}));
  save(folder, "solutions", solutions);
  save(folder, "packed", zlib_packed(solutions));
  save(folder, "lazy",
       tensile({}, rows({branches({{"Contraction_1", rows({placeholder("T_one")})},
                                   {"Contraction_2", single(3)}})})));
}

// Recordings: of everything, one that is torn, and one that a full disk has ended.
static void save_recordings(const std::string &folder)
{
  const forge::File whole = forge::whole();
  save(folder, "whole", whole.bytes);
  save(folder, "first_version", forge::whole_of_version_1().bytes);
  save(folder, "second_version", forge::whole_of_version_2().bytes);
  save(folder, "torn", whole.bytes.substr(0, whole.frames[5] + 30));
  save(folder, "full",
       forge::File()
           .object(1, 1, "code")
           .dispatch(1, 1, "k", "12345678")
           .end(1, 1, RECORD_FULL)
           .bytes);
  save(folder, "failed", forge::File().end(0, 0, RECORD_FAILED, 28).bytes);
}

// Of each layout of save areas, as small as a file of waves can be that can be launched again, and one to be merged.
static void save_cores(const std::string &folder)
{
  std::string bytes;
  for (int i : {0, 1}) {
    const scene::Chip chip = {
        scene::chips[i].name, scene::chips[i].fixture, scene::chips[i].version, 1, 1, 512};
    scene::Scene made(chip);
    core_written_t written;
    rawhal_error_t error;
    made.options.classes =
        CORE_CLASS_BIT(CORE_OWN) | CORE_CLASS_BIT(CORE_KERNARG) | CORE_CLASS_BIT(CORE_BUFFER);
    made.add(scene::BUFFER, std::string(64, 'B'), CORE_BUFFER);
    for (core_wave_t &wave : made.waves) {
      wave.vgpr_count = 4;
      wave.agpr_count = 0;
    }
    for (core_memory_t &memory : made.memory)
      memory.size = memory.kind == CORE_QUEUE     ? 256
                    : memory.kind == CORE_CODE    ? 0x1a00
                    : memory.kind == CORE_KERNARG ? 288
                                                  : memory.size;
    if (scene::write(made, &bytes, &written, &error) == RAWHAL_OK)
      save(folder, chip.name, bytes);
  }
  const std::string host = scene::host_core(4242, scene::RING, 1 << 20);
  const uint32_t first = static_cast<uint32_t>(host.size());
  save(folder, "merged",
       std::string(reinterpret_cast<const char *>(&first), sizeof first) + host + bytes);
}

// What a process writes, and when the observer looks: the steps of door_fuzz.c.
static void save_doors(const std::string &folder)
{
  enum { HEAD, SLOT, ENTRY = 3, WANT, LOOK, LIST, QUEUE, ASK };
  const auto word = [](uint64_t value) {
    return "\xfe" + std::string(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  const std::string start(3, '\0');
  std::string slots, entries;
  char ahead = 0;
  for (const rawhal_event_type_t type : {RAWHAL_EVENT_SUBMIT, RAWHAL_EVENT_DUMP}) {
    rawhal_event_t event = {};
    event.type = type;
    event.text = rawhal_string("a text of several slots, so that more than one of them is read");
    uint64_t words[DOOR_RECORD_BYTES / 8] = {};
    const auto record = static_cast<core_record_type_t>(CORE_RECORD_EVENTS + type);
    const size_t bytes = record_bytes(record, &event);
    record_put(record, &event, reinterpret_cast<unsigned char *>(words));
    for (size_t at = 0; at < bytes / 8; at += DOOR_SLOT_WORDS)
      slots += std::string{SLOT, ahead++} + '\0' +
               std::string(reinterpret_cast<const char *>(words + at), DOOR_SLOT_WORDS * 8);
    entries += std::string{ENTRY, ahead, 2, 31} +
               std::string(reinterpret_cast<const char *>(words), 31 * 8);
  }
  save(folder, "events", start + slots + std::string{HEAD, ahead, 0, 0, 0, 0, LOOK});
  save(folder, "entries", start + entries + static_cast<char>(LIST));
  save(folder, "lies",
       start + static_cast<char>(HEAD) + word(UINT64_MAX / 2) + std::string(4, '\0') +
           std::string{LOOK, WANT, 12, HEAD, 0, 0, 0, 0, 0, LOOK});
  save(folder, "queue",
       start + static_cast<char>(QUEUE) + std::string(512, '\2') + std::string{64, 5, 9, 0, 3});
  for (const char first : {0, 1, 2, 3})
    save(folder, "answer" + std::to_string(first),
         start + std::string{ASK, 4, 0, 0, 100, 3, 'y', 'e', 's', 0, first, 1});
}

// Loads, computes, stores, branches, with every kind of probe in SGPRs and in lanes, of three chips; and a change of one
// dword; and with what is kept in scratch memory.
static std::string probed_code(int number)
{
  const uint32_t code[] = {0xc00a0100, 0,          0x24020082, 0xbf8cc07f, 0xdc508000, 0x02040001,
                           0xbf8c0f70, 0xbf048002, 0xbf840001, 0xbf8a0000, 0xdc708000, 0x00060201,
                           0x7e060280, 0xbf87fff4, 0xbe841c00, 0xd3e40000, 0x04020300, 0xbf810000};
  const char how[] = {char(number == 4   ? 0x01
                           : number == 3 ? 0x0e
                                         : 0x5f),
                      char(number == 4 ? 2 : number & 1), char(number % 3), char(number == 2)};
  const uint32_t change[] = {0x430, 0xbe800080};
  std::string bytes(how, sizeof(how));
  if (number == 2)
    bytes.append(reinterpret_cast<const char *>(change), sizeof(change));
  return bytes.append(reinterpret_cast<const char *>(code), sizeof(code));
}

int main(int count, char **words)
{
  if (count != 2)
    return 1;
  std::string root = words[1];
  mkdir(root.c_str(), 0777);
  Object plain = plain_object(), full, relocated, bare;
  full.abi = 4;
  full.flags = 0x0100055f;
  full.kernels = {full_kernel(), plain_kernel("other")};
  full.notes = {pack_metadata({full.kernels[0]}), pack_metadata({full.kernels[1]})};
  relocated.kernels = {plain_kernel("k")};
  relocated.relocations = {{plain.text, ELF64_R_INFO(uint64_t{1}, 3), 0}};
  bare.kernels = {plain_kernel("k")};
  bare.sections = false;
  const std::string objects[] = {plain.bytes, full.build(), relocated.build(), bare.build()};
  for (size_t i = 0; i < 4; ++i)
    save(root + "/hsaco", "object" + std::to_string(i), objects[i]);
  save(root + "/hsaco", "long_names", long_names());
  save(root + "/hsaco", "dynamic", dynamic(false));
  save(root + "/hsaco", "dynamic_gnu", dynamic(true));
  for (int i = 0; i < 5; ++i)
    save(root + "/probe", "code" + std::to_string(i), probed_code(i));
  save(root + "/metadata", "plain", pack_metadata({plain_kernel("a"), plain_kernel("b")}));
  save(root + "/metadata", "full", pack_metadata({full_kernel()}));
  Pack odd;
  odd.map(3).str("amdhsa.kernels").array(0).str("amdhsa.printf").array(1).str("1:0:x");
  odd.str("custom.config").map(1).numbers({1}).real(0.5);
  save(root + "/metadata", "odd", odd.bytes);
  Object launched;
  launched.kernels = {launched_kernel(), full_kernel()};
  const std::string last = launched.build();
  save(root + "/layout", "fits", last + tail(1024, 64, 32, 0));
  save(root + "/layout", "refused", last + tail(1000, 64, 31, 1));
  save(root + "/layout", "one", objects[1] + tail(64, 64, 48, 2));
  save(root + "/layout", "bare", objects[3] + tail(256, 256, 24, 3));
  save_hosts(root + "/container", objects[0], objects[2]);
  save(root + "/container", "two", objects[0] + objects[1]);
  save(root + "/container", "bundle",
       bundle({{"host-x86_64-unknown-linux", ""},
               {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", objects[0]}},
              8));
  save(root + "/container", "compressed",
       ccob(2, 1, bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", objects[0]}}, 8)));
  save(root + "/container", "zlib", ccob(1, 0, objects[0] + objects[2]) + ccob(3, 1, objects[0]));
  const std::vector<ArchiveEntry> entries = {{"lib/a.so#0", "gfx90a", objects[0]},
                                             {"lib/a.so#0", "gfx9-4-generic", objects[1]},
                                             {"lib/a.so#1", "gfx90a", objects[2]}};
  save(root + "/container", "archive", archive(entries, false));
  save(root + "/container", "archive_zstd", archive(entries, true));
  for (bool zstd : {false, true}) // whose tables are most of them
    save(root + "/container", zstd ? "table_zstd" : "table",
         archive({{"a", "gfx90a", "1"}, {"a", "gfx942", "2"}, {"b", "gfx90a", "3"}}, zstd));
  Pack reference;
  reference.map(2).str("kernel_name").str("lib/a.so").str("kpack_search_paths").array(1);
  save(root + "/container", "reference", split_host(reference.str("a_@GFXARCH@.kpack").bytes));
  const std::string offload =
      offload_binary(objects[0], "gfx90a") + offload_binary(objects[1], "gfx9-4-generic");
  save(root + "/container", "offload", offload);
  const std::vector<OffloadImage> images = {{"amdgpu9.0a-amd-amdhsa", "gfx90a", objects[0]},
                                            {"spirv64-amd-amdhsa", "", "\x03\x02\x23\x07"}};
  save(root + "/container", "offload_2", offload_binary_of(2, images, not_packed));
  save(root + "/container", "offload_3", offload_binary_of(3, images, zstd_packed));
  const std::string constants =
      "x" + objects[0] + "CCOB" +
      bundle({{"sycl-spir64", "?"}, {"hip-amdgpu--gfx90a", objects[2]}}, 8);
  save(root + "/container", "constants",
       host_object({{".rodata", constants, SHT_PROGBITS, SHF_ALLOC}}));
  save(root + "/container", "windows", windows_file(false, constants));
  save(root + "/container", "coff", windows_file(true, constants));
  save(root + "/container", "ar_gnu",
       ar_archive({{"a.co", objects[0]},
                   {"a_member_with_a_long_name.o",
                    host_object({{".llvm.offloading", offload, kOffloading}})}}));
  save(root + "/container", "ar_bsd",
       ar_archive({{"b.o", host_object({{"__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx90a",
                                         objects[0]}})}},
                  ArStyle::kBsd));
  const std::string packed = archive({{"a", "gfx90a", objects[0]}}, true);
  save(root + "/container", "archive_inside",
       ar_archive(
           {{"a.kpack", packed},
            {"c.o", host_object(
                        {{".hip_fatbin",
                          ccob(2, 1, bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", packed}}, 8))}})}}));
  save_services(root + "/services");
  save(root + "/library_index", "two", library_index());
  save_tensile(root + "/tensile");
  save_recordings(root + "/record");
  save_doors(root + "/door");
  save_cores(root + "/core");
  save(root + "/target", "id", "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  save(root + "/target", "generic", "gfx9-4-generic:xnack+");
  return 0;
}
