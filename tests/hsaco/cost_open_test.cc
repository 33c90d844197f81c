// What opening an object costs, in steps of tests/harness/steps.h: it grows with the bytes, whatever
// names, segments and symbols are in them.
#include "hsaco_test.h"

extern "C" {
#include "tests/harness/steps.h"
}

namespace {

enum { LEAST = 2 << 20 };

// ---- Names ----

// An object whose symbols all are `symbol`, but for where their names start: `stride` bytes after
// each other in one string of `name_size` bytes that ends in `tail`.
std::string object_of_symbols(size_t count, Elf64_Sym symbol, size_t name_size, size_t stride,
                              const std::string &tail)
{
  build::Object object = build::plain_object();
  Elf64_Shdr symbols = object.section(build::Object::kSymbols),
             strings = object.section(build::Object::kStrings);
  symbols.sh_offset = object.bytes.size();
  symbols.sh_size = (count + 1) * sizeof(symbol);
  object.append(Elf64_Sym{});
  if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx == build::Object::kRodata)
    symbol.st_value = object.rodata;
  for (size_t i = 0; i < count; ++i) {
    symbol.st_name = static_cast<uint32_t>(1 + i * stride % (name_size / 2));
    object.append(symbol);
  }
  strings.sh_offset = object.bytes.size();
  object.bytes += '\0' + std::string(name_size - tail.size(), 'n') + tail + '\0';
  strings.sh_size = object.bytes.size() - strings.sh_offset;
  object.set_section(build::Object::kSymbols, symbols);
  object.set_section(build::Object::kStrings, strings);
  return object.bytes;
}

// One symbol of a long name, which every relocation is against.
std::string object_of_relocations(size_t count, size_t name_size)
{
  Elf64_Sym variable = {0, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, build::Object::kRodata, 0, 8};
  build::Object object;
  object.kernels = {build::plain_kernel("k")};
  object.relocations.assign(count, {0, ELF64_R_INFO(uint64_t{1}, 3), 0});
  object.build();
  Elf64_Shdr strings = object.section(build::Object::kStrings);
  strings.sh_offset = object.bytes.size();
  object.bytes += '\0' + std::string(name_size, 'n') + '\0';
  strings.sh_size = object.bytes.size() - strings.sh_offset;
  object.set_section(build::Object::kStrings, strings);
  variable.st_name = 1;
  variable.st_value = object.rodata;
  object.set(object.symbols + sizeof(variable), variable);
  return object.bytes;
}

uint64_t cost_of_opening(const std::string &bytes, rawhal_status_t status, const char *name)
{
  uint64_t before = steps_counted();
  Opened opened(bytes);
  uint64_t steps = steps_counted() - before;
  EXPECT_EQ(status, opened.status) << name << ": " << opened.error.message;
  return steps;
}

// A symbol takes 24 bytes whatever its name, which may be that of all others.
TEST(OpeningCost, NamesThatSymbolsShare)
{
  enum { SYMBOLS = 43690, NAME = 65000, STEPS = 24 };
  const unsigned char exported = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  const Elf64_Sym variable = {0, exported, 0, build::Object::kRodata, 0, 8},
                  descriptor = {0, exported, 0, build::Object::kRodata, 0, 64},
                  function = {0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, build::Object::kText, 0,
                              8},
                  local = {0, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, build::Object::kRodata, 0,
                           8};
  const struct {
    const char *name;
    Elf64_Sym symbol;
    size_t name_size, stride;
    const char *tail;
    rawhal_status_t status;
  } cases[] = {
      {"variables", variable, NAME, 0, "x", RAWHAL_OK},
      {"descriptors", descriptor, NAME, 0, ".kd", RAWHAL_OK},
      {"functions", function, NAME, 0, "x", RAWHAL_OK},
      {"local ones", local, NAME, 0, "x", RAWHAL_OK},
      {"short ones", variable, 1000, 0, "x", RAWHAL_OK},
      {"no end in reach", variable, 70000, 0, "x", RAWHAL_OK},
      {"what is no descriptor", function, NAME, 0, ".kd", RAWHAL_CAP_EXCEEDED},
      {"variables, each its own", variable, NAME, 1, "x", RAWHAL_CAP_EXCEEDED},
      {"local ones, each its own", local, NAME, 1, "x", RAWHAL_OK}, // nobody looks at their names
      {"no end in reach, each its own", variable, 400000, 1, "x", RAWHAL_CAP_EXCEEDED},
  };
  for (const auto &one : cases) {
    std::string bytes = object_of_symbols(SYMBOLS, one.symbol, one.name_size, one.stride, one.tail);
    uint64_t steps = cost_of_opening(bytes, one.status, one.name);
    EXPECT_LT(steps, STEPS * bytes.size() + LEAST) << one.name;
    printf("  %-32s %5.2f steps a byte\n", one.name,
           static_cast<double>(steps) / static_cast<double>(bytes.size()));
  }
  std::string bytes = object_of_relocations(SYMBOLS, NAME);
  EXPECT_LT(cost_of_opening(bytes, RAWHAL_OK, "relocations"), STEPS * bytes.size() + LEAST);
}

TEST(OpeningCost, SharedNamesAreStillRead)
{
  const Elf64_Sym variable = {
      0, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, build::Object::kRodata, 0, 8};
  const Opened opened(object_of_symbols(50, variable, 3000, 0, "tail"));
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  ASSERT_EQ(50u, opened.info().symbol_count);
  for (size_t i = 0; i < 50; ++i)
    EXPECT_EQ(std::string(2996, 'n') + "tail", text_of(rawhal_hsaco_symbol(opened.hsaco, i)->name));
  EXPECT_EQ("a symbol is defined twice: symbol 2 like symbol 1", opened.reason());
  const Opened relocated(object_of_relocations(50, 3000));
  ASSERT_EQ(50u, relocated.info().relocation_count);
  for (size_t i = 0; i < 50; ++i)
    EXPECT_EQ(std::string(3000, 'n'), text_of(rawhal_hsaco_relocation(relocated.hsaco, i)->symbol));
}

// The descriptor of a kernel with a long name is found the first time and every other time.
TEST(OpeningCost, NamesOf64KiBAreNoNames)
{
  const Elf64_Sym variable = {
      0, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, build::Object::kRodata, 0, 8};
  for (size_t size : {65535, 65536, 65537, 200000}) {
    const Opened opened(object_of_symbols(1, variable, size, 0, "x"));
    ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
    EXPECT_EQ(size < 65536 ? 1u : 0u, opened.info().symbol_count) << size;
    EXPECT_EQ(size >= 65536, contains(opened.diagnostics(), "1 symbols have names")) << size;
  }
}

TEST(OpeningCost, KernelsWithSharedLongNames)
{
  const std::string name(3000, 'k');
  build::Object object;
  object.kernels = {build::plain_kernel("other"), build::plain_kernel(name)};
  object.build();
  const Opened sound(object.bytes);
  ASSERT_EQ(RAWHAL_OK, sound.status) << sound.error.message;
  EXPECT_TRUE(sound.info().loadable) << sound.reason();
  EXPECT_TRUE(sound.find(name)->usable);
  EXPECT_EQ(sound.find(name), sound.find(name + ".kd"));
  // Symbols are null, other, other.kd, name, name.kd: the third becomes a second name.kd.
  object.set(object.symbols + 3 * sizeof(Elf64_Sym),
             object.get<Elf64_Sym>(object.symbols + 4 * sizeof(Elf64_Sym)));
  const Opened twice(object.bytes);
  ASSERT_EQ(RAWHAL_OK, twice.status) << twice.error.message;
  EXPECT_EQ("a symbol is defined twice: symbol 4 like symbol 3", twice.reason());
  EXPECT_TRUE(twice.find(name)->usable);
}

// ---- Growth ----

// `count` kernels whose names differ in their last bytes only.
std::string object_of_kernels(size_t count)
{
  return build::plain_object(count).bytes;
}

// A note for each kernel, as in libraries that are linked from many objects.
std::string object_of_notes(size_t count)
{
  build::Object object;
  for (size_t i = 0; i < count; ++i) {
    object.kernels.push_back(build::plain_kernel("kernel" + std::to_string(i)));
    object.notes.push_back(build::pack_metadata({object.kernels.back()}));
  }
  return object.build();
}

// `count` segments of 16 bytes that are loaded, and a relocation in each.
std::string object_of_segments(size_t count)
{
  build::Object object;
  const uint64_t base = uint64_t{1} << 24;
  object.kernels = {build::plain_kernel("k")};
  for (size_t i = 0; i < count; ++i)
    object.relocations.push_back({base + 16 * i, ELF64_R_INFO(0, 13), 0});
  object.build();
  Elf64_Ehdr header = object.header();
  const std::string old =
      object.bytes.substr(header.e_phoff, static_cast<size_t>(header.e_phnum) * sizeof(Elf64_Phdr));
  Elf64_Shdr names = object.section(build::Object::kNames);
  std::string moved = object.bytes.substr(names.sh_offset, names.sh_size);
  header.e_phoff = object.bytes.size();
  header.e_phnum = static_cast<uint16_t>(header.e_phnum + count);
  object.bytes += old;
  for (size_t i = 0; i < count; ++i)
    object.append(Elf64_Phdr{PT_LOAD, PF_R, 0, base + 16 * i, base + 16 * i, 16, 16, 1});
  names.sh_offset =
      object.bytes.size(); // the loader takes what no section covers for no part of it
  object.bytes += moved;
  object.set_section(build::Object::kNames, names);
  object.set_header(header);
  return object.bytes;
}

// Four times the bytes take about four times the steps; searching one by one, sixteen times.
TEST(OpeningCost, GrowsWithTheBytes)
{
  const struct {
    const char *name;
    std::string (*make)(size_t count);
  } kinds[] = {
      {"kernels", object_of_kernels},
      {"notes", object_of_notes},
      {"segments", object_of_segments},
  };
  for (const auto &kind : kinds) {
    EXPECT_EQ("", Opened(kind.make(100)).reason()) << kind.name; // all of it is looked at
    uint64_t few = cost_of_opening(kind.make(5000), RAWHAL_OK, kind.name);
    uint64_t many = cost_of_opening(kind.make(20000), RAWHAL_OK, kind.name);
    EXPECT_LT(many, 5 * few) << kind.name;
    printf("  %-32s %5.2f times\n", kind.name,
           static_cast<double>(many) / static_cast<double>(few));
  }
}

} // namespace
