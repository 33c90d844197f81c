// Writes the seed corpora: small, sound, and different from each other.
#include <sys/stat.h>

#include <fstream>

#include "tests/hsaco/archive.h"
#include "tests/hsaco/host.h"

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
  save(root + "/metadata", "plain", pack_metadata({plain_kernel("a"), plain_kernel("b")}));
  save(root + "/metadata", "full", pack_metadata({full_kernel()}));
  Pack odd;
  odd.map(3).str("amdhsa.kernels").array(0).str("amdhsa.printf").array(1).str("1:0:x");
  odd.str("custom.config").map(1).numbers({1}).real(0.5);
  save(root + "/metadata", "odd", odd.bytes);
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
  save(root + "/target", "id", "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  save(root + "/target", "generic", "gfx9-4-generic:xnack+");
  return 0;
}
