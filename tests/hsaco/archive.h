// kpack archives for tests and seeds, put together from the format's description.
#ifndef RAWHAL_TESTS_HSACO_ARCHIVE_H
#define RAWHAL_TESTS_HSACO_ARCHIVE_H

#include <string>
#include <utility>
#include <vector>

#include "builder.h"
#include "compressed.h"

namespace build {

struct ArchiveEntry {
  std::string binary, arch, object;
};

// A table at `offset`, where the bytes end that come before it.
inline std::string archive_of(const std::string &blobs, const std::string &table)
{
  std::string bytes = "KPAK" + little(1, 4) + little(64 + blobs.size(), 8);
  bytes.resize(64);
  return bytes + blobs + table;
}

// The stored bytes of archives, and the root map's keys that tell where they are.
class Store {
public:
  explicit Store(bool zstd) : zstd_(zstd) {}
  size_t add(const std::string &object)
  {
    if (zstd_) {
      std::string frame = zstd_packed(object);
      frames_ += little(frame.size(), 4) + frame;
    } else {
      blobs_.map(2).str("offset").number(64 + plain_.size()).str("size").number(object.size());
      plain_ += object;
    }
    return count_++;
  }
  std::string bytes() const { return zstd_ ? little(count_, 4) + frames_ : plain_; }
  static uint32_t keys(bool zstd) { return zstd ? 3 : 2; }
  Pack &describe(Pack &root) const
  {
    root.str("compression_scheme").str(zstd_ ? "zstd-per-kernel" : "none");
    if (zstd_)
      return root.str("zstd_offset").number(64).str("zstd_size").number(bytes().size());
    return root.str("blobs").array(static_cast<uint32_t>(count_)).raw(blobs_.bytes);
  }

private:
  bool zstd_;
  size_t count_ = 0;
  std::string frames_, plain_;
  Pack blobs_;
};

inline Pack archive_entry(size_t ordinal, size_t size)
{
  Pack entry;
  entry.map(3).str("type").str("hsaco").str("ordinal").number(ordinal);
  entry.str("original_size").number(size);
  return entry;
}

// As ROCm's packer writes them: ordinals in the order of the entries, the table at the end with `toc`
// before what says how it is stored. Entries of one binary stand together.
inline std::string archive(const std::vector<ArchiveEntry> &entries, bool zstd)
{
  Store store(zstd);
  Pack toc, arches, root;
  uint32_t binaries = 0, count = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const ArchiveEntry &entry = entries[i];
    arches.str(entry.arch).raw(archive_entry(store.add(entry.object), entry.object.size()).bytes);
    ++count;
    if (i + 1 < entries.size() && entries[i + 1].binary == entry.binary)
      continue;
    toc.str(entry.binary).map(count).raw(arches.bytes);
    arches.bytes.clear();
    count = 0;
    ++binaries;
  }
  root.map(5 + Store::keys(zstd)).str("format_version").number(1).str("group_name").str("rand");
  root.str("gfx_arch_family").str("gfx90X").str("gfx_arches").array(1).str("gfx90a");
  root.str("toc").map(binaries).raw(toc.bytes);
  store.describe(root);
  return archive_of(store.bytes(), root.bytes);
}

} // namespace build

#endif
