// The list of all entries of the runtime's tables: against the runtime's header, against what the front replaces, and
// against what its document says. UPDATE_DOCUMENT=1 writes the document's part.
#include "front/entries.h"
#include "tests/front/front_test.h"

#include <hsa/hsa_api_trace.h>

#include <fstream>
#include <vector>

namespace {

enum Memory {
#define X(name, hooked, meaning) MEMORY_##name,
  FRONT_ENTRY_MEMORY(X)
#undef X
};
enum Time {
#define X(name, hooked, meaning) TIME_##name,
  FRONT_ENTRY_TIME(X)
#undef X
};

struct Meaning {
  bool hooked;
  const char *text;
};

const Meaning of_memory[] = {
#define X(name, hooked, meaning) {hooked, meaning},
    FRONT_ENTRY_MEMORY(X)
#undef X
};
const Meaning of_time[] = {
#define X(name, hooked, meaning) {hooked, meaning},
    FRONT_ENTRY_TIME(X)
#undef X
};

struct Entry {
  const char *name;
  bool later;
  Memory memory;
  Time time;
  bool hooked() const { return of_memory[memory].hooked || of_time[time].hooked; }
};

struct Table {
  const char *prefix;
  std::vector<Entry> entries;
  void *(*at)(size_t offset);

  // In that major; 0: not there.
  size_t offset(size_t index, int major) const
  {
    size_t offset = 16;
    for (size_t i = 0; i < index; ++i)
      offset += major == 2 || !entries[i].later ? 8 : 0;
    return major == 2 || !entries[index].later ? offset : 0;
  }
};

#define X(name, memory, time) {#name, false, MEMORY_##memory, TIME_##time},
#define Y(name, memory, time) {#name, true, MEMORY_##memory, TIME_##time},
const Table core = {"hsa_", {FRONT_ENTRIES_CORE(X, Y)}, toy_core};
const Table amd = {"hsa_amd_", {FRONT_ENTRIES_AMD(X, Y)}, toy_amd};
const Table image = {"hsa_ext_", {FRONT_ENTRIES_IMAGE(X, Y)}, toy_image};
const Table finalizer = {"hsa_ext_", {FRONT_ENTRIES_FINALIZER(X, Y)}, nullptr};
#undef X
#undef Y

class FrontEntries : public FrontTest {};

// Which names mean what, each of them once.
std::string Document()
{
  std::string text = "| device memory | device time | functions |\n|---|---|---|\n";
  for (size_t i = 0; i < std::size(of_memory); ++i)
    for (size_t j = 0; j < std::size(of_time); ++j) {
      std::string names;
      for (const Table *table : {&core, &amd, &image, &finalizer})
        for (const Entry &entry : table->entries)
          if (entry.memory == static_cast<Memory>(i) && entry.time == static_cast<Time>(j))
            names += (names.empty() ? "`" : ", `") + std::string(table->prefix) + entry.name + "`";
      const auto cell = [](const char *meaning) { return *meaning ? meaning : "none"; };
      if (!names.empty())
        text += std::string("| ") + cell(of_memory[i].text) + " | " + cell(of_time[j].text) +
                " | " + names + " |\n";
    }
  return text;
}

} // namespace

// Of a header with entries that are not in the list the sizes differ.
TEST_F(FrontEntries, AreThoseOfTheHeader)
{
  if (sizeof(AmdExtTable) != 400)
    GTEST_SKIP() << "the installed header is not of major 1";
  const std::map<const Table *, size_t> sizes = {{&core, sizeof(CoreApiTable)},
                                                 {&amd, sizeof(AmdExtTable)},
                                                 {&image, sizeof(ImageExtTable)},
                                                 {&finalizer, sizeof(FinalizerExtTable)}};
  for (const auto &[table, size] : sizes) {
    size_t count = 0;
    for (const Entry &entry : table->entries)
      count += !entry.later;
    EXPECT_EQ(size, 16 + 8 * count) << table->prefix;
  }
  const std::map<std::string, size_t> places = {
#define Y(name, memory, time)
#define X(name, memory, time) {"hsa_" #name, offsetof(CoreApiTable, hsa_##name##_fn)},
      FRONT_ENTRIES_CORE(X, Y)
#undef X
#define X(name, memory, time) {"hsa_amd_" #name, offsetof(AmdExtTable, hsa_amd_##name##_fn)},
          FRONT_ENTRIES_AMD(X, Y)
#undef X
#define X(name, memory, time) {"hsa_ext_" #name, offsetof(ImageExtTable, hsa_ext_##name##_fn)},
              FRONT_ENTRIES_IMAGE(X, Y)
#undef X
#define X(name, memory, time) {"hsa_ext_" #name, offsetof(FinalizerExtTable, hsa_ext_##name##_fn)},
                  FRONT_ENTRIES_FINALIZER(X, Y)
#undef X
#undef Y
  };
  for (const Table *table : {&core, &amd, &image, &finalizer})
    for (size_t i = 0; i < table->entries.size(); ++i)
      if (!table->entries[i].later) {
        const std::string name = std::string(table->prefix) + table->entries[i].name;
        EXPECT_EQ(places.at(name), table->offset(i, 1)) << name;
      }
}

// Nothing is called charged or held that the runtime still does by itself, and nothing else is replaced.
TEST_F(FrontEntries, AreReplacedIfTheyAreSaidToBe)
{
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Set("RAWHAL_GPU_SHARE", "50%");
  for (const int major : {1, 2}) {
    const uint32_t step = major == 1 ? 0 : 0x12;
    toy_make(static_cast<uint32_t>(major), step, 0);
    std::map<std::string, void *> made;
    const auto each = [&](const auto &visit) {
      for (const Table *table : {&core, &amd, &image})
        for (size_t i = 0; i < table->entries.size(); ++i)
          if (const size_t offset = table->offset(i, table == &amd ? major : 1))
            visit(std::string(table->prefix) + table->entries[i].name, table->entries[i],
                  table->at(offset));
    };
    each([&](const std::string &name, const Entry &, void *at) { made[name] = at; });
    Load(static_cast<uint32_t>(major), step);
    each([&](const std::string &name, const Entry &entry, void *at) {
      EXPECT_EQ(entry.hooked(), at != made[name]) << name << " of major " << major;
    });
    Unload();
  }
}

TEST_F(FrontEntries, AreInTheDocument)
{
  const std::string path = RAWHAL_SOURCE_DIR "/docs/front.md";
  const std::string begins = "<!-- front/entries.h -->\n", ends = "<!-- end -->\n";
  std::string text = slurp(path);
  const size_t from = text.find(begins), to = text.find(ends);
  ASSERT_NE(std::string::npos, from);
  ASSERT_NE(std::string::npos, to);
  const size_t at = from + begins.size();
  if (getenv("UPDATE_DOCUMENT")) {
    text.replace(at, to - at, Document());
    std::ofstream(path) << text;
  }
  EXPECT_EQ(Document(), text.substr(at, text.find(ends) - at)) << "UPDATE_DOCUMENT=1 writes it";
}
