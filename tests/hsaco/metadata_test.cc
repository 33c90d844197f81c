// Metadata: what is merged, what isolates a kernel, what refuses the object.
#include "hsaco_test.h"

using build::Kernel;
using build::Object;
using build::Pack;
using build::plain_kernel;

static Object object_of(const std::vector<Kernel> &kernels)
{
  Object object;
  object.kernels = kernels;
  object.build();
  return object;
}

// An object whose single kernel has `key` set to `value` instead of what the builder writes.
static std::string with_key(const std::string &key, const std::string &value)
{
  Kernel good = plain_kernel("good"), bad = plain_kernel("bad");
  Object object;
  object.kernels = {good, bad};
  Kernel stripped = bad;
  stripped.without = {key};
  std::string map = build::pack_kernel(stripped);
  map[0] = static_cast<char>(map[0] + 1); // one more pair; the builder's maps are short
  map += Pack().str(key).raw(value).bytes;
  Pack root;
  root.map(1).str("amdhsa.kernels").array(2).raw(build::pack_kernel(good)).raw(map);
  object.notes = {root.bytes};
  return object.build();
}

TEST(Metadata, NotesAreMerged)
{
  Object object;
  object.kernels = {plain_kernel("a"), plain_kernel("b"), plain_kernel("c")};
  object.notes = {build::pack_metadata({object.kernels[0]}, "amdgcn-amd-amdhsa--gfx90a:xnack+"),
                  build::pack_metadata({object.kernels[1]}),
                  build::pack_metadata({object.kernels[2]})};
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_EQ(3u, opened.info().note_count);
  ASSERT_EQ(3u, opened.info().kernel_count);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::string(1, static_cast<char>('a' + i)), text_of(opened.kernel(i).name));
    EXPECT_TRUE(opened.kernel(i).usable);
  }
  EXPECT_EQ("amdgcn-amd-amdhsa--gfx90a:xnack+", text_of(opened.info().metadata_target));
  EXPECT_TRUE(contains(opened.diagnostics(), "the ELF flags decide"));
}

// Units that were linked together each count their formats from 1.
TEST(Metadata, FormatsWithOneNumberAreSaid)
{
  const struct {
    std::vector<std::string> formats;
    bool said;
  } cases[] = {{{"1:0:a", "2:0:b", "1:1:4:c %d"}, true},
               {{"1:0:a", "1:0:a"}, false},
               {{"0:0:11,a", "0:0:22,b"}, false},
               {{"", "x", "10:0:a", "1:0:b"}, false}};
  for (const auto &one : cases) {
    Object object;
    object.kernels = {plain_kernel("k")};
    Pack root;
    root.map(2).str("amdhsa.kernels").array(1).raw(build::pack_kernel(object.kernels[0]));
    root.str("amdhsa.printf").array(static_cast<uint32_t>(one.formats.size()));
    for (const std::string &format : one.formats)
      root.str(format);
    object.notes = {root.bytes};
    Opened opened(object.build());
    ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
    EXPECT_EQ(one.said, contains(opened.diagnostics(), "a number that another has"))
        << opened.diagnostics();
  }
}

// Both are there, by their symbols.
TEST(Metadata, OneNameTwice)
{
  Object object;
  object.kernels = {plain_kernel("k"), plain_kernel("k")};
  object.kernels[0].symbol = "first.kd";
  object.kernels[1].symbol = "second.kd";
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_TRUE(opened.kernel(0).usable && opened.kernel(1).usable);
  EXPECT_EQ(&opened.kernel(0), rawhal_hsaco_find_kernel(opened.hsaco, rawhal_string("k")));
  EXPECT_EQ(&opened.kernel(0), rawhal_hsaco_find_kernel(opened.hsaco, rawhal_string("first.kd")));
  EXPECT_EQ(&opened.kernel(1), rawhal_hsaco_find_kernel(opened.hsaco, rawhal_string("second.kd")));
  EXPECT_TRUE(contains(opened.diagnostics(), "by their symbols")) << opened.diagnostics();
}

TEST(Metadata, OneSymbolTwiceIsAnErrorOfTheObject)
{
  Object object;
  object.kernels = {plain_kernel("a")};
  object.notes = {build::pack_metadata({plain_kernel("a")}),
                  build::pack_metadata({plain_kernel("a")})};
  Opened opened(object.build());
  EXPECT_EQ(RAWHAL_MALFORMED, opened.status);
  EXPECT_TRUE(contains(opened.error.message, "a.kd")) << opened.error.message;
}

TEST(Metadata, OneBadKernelLeavesItsSiblingsAlone)
{
  struct {
    const char *key;
    std::string value;
    const char *reason;
  } const cases[] = {
      {".kernarg_segment_size", Pack().str("24").bytes, "wrong type"},
      {".kernarg_segment_size", Pack().negative(-24).bytes, "wrong type"},
      {".kernarg_segment_size", Pack().number(uint64_t{1} << 32).bytes, "32 bits"},
      {".kernarg_segment_size", Pack().nil().bytes, "wrong type"},
      {".kernarg_segment_align", Pack().number(12).bytes, "power of two"},
      {".wavefront_size", Pack().number(48).bytes, "neither 32 nor 64"},
      {".max_flat_workgroup_size", Pack().real(256).bytes, "wrong type"},
      {".reqd_workgroup_size", Pack().numbers({1, 2}).bytes, "wrong type"},
      {".reqd_workgroup_size", Pack().array(3).str("a").number(1).number(1).bytes, "wrong type"},
      {".reqd_workgroup_size", Pack().array(3).number(1).numbers({1}).number(1).bytes,
       "wrong type"},
      {".args", Pack().nil().bytes, "wrong type"},
      {".args", Pack().map(0).bytes, "wrong type"},
      {".args", Pack().numbers({1, 2}).bytes, "not a map"},
      {".args", Pack().array(1).map(0).bytes, "is missing"},
      {".args",
       Pack()
           .array(1)
           .map(3)
           .str(".offset")
           .number(0)
           .str(".size")
           .boolean(true)
           .str(".value_kind")
           .str("by_value")
           .bytes,
       "argument 0: .size has a value of the wrong type"},
      {".args",
       Pack()
           .array(1)
           .map(3)
           .str(".offset")
           .number(0xffffffff)
           .str(".size")
           .number(2)
           .str(".value_kind")
           .str("by_value")
           .bytes,
       "beyond 32 bits"},
      {".args",
       Pack()
           .array(1)
           .map(4)
           .str(".offset")
           .number(0)
           .str(".size")
           .number(2)
           .str(".size")
           .number(4)
           .str(".value_kind")
           .str("by_value")
           .bytes,
       "argument 0: .size is given twice"},
  };
  for (const auto &one : cases) {
    Opened opened(with_key(one.key, one.value));
    ASSERT_EQ(RAWHAL_OK, opened.status) << one.key << ": " << opened.error.message;
    ASSERT_EQ(2u, opened.info().kernel_count);
    EXPECT_TRUE(opened.find("good")->usable);
    const rawhal_kernel_t *bad = opened.find("bad");
    ASSERT_NE(nullptr, bad);
    EXPECT_FALSE(bad->usable) << one.key << " " << one.reason;
    EXPECT_TRUE(contains(text_of(bad->unusable_reason), one.reason))
        << one.key << ": " << text_of(bad->unusable_reason);
    EXPECT_TRUE(contains(opened.diagnostics(), one.reason));
    EXPECT_TRUE(opened.info().loadable); // the siblings load
  }
}

TEST(Metadata, MissingKeys)
{
  for (const char *key : {".name", ".symbol", ".kernarg_segment_size"}) {
    Kernel kernel = plain_kernel("k");
    kernel.without = {key};
    Opened opened(object_of({kernel, plain_kernel("good")}).bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
    EXPECT_FALSE(opened.kernel(0).usable) << key;
    EXPECT_TRUE(
        contains(text_of(opened.kernel(0).unusable_reason), std::string(key) + " is missing"));
    EXPECT_TRUE(opened.find("good")->usable);
  }
  Kernel kernel = plain_kernel("k");
  kernel.without = {".kernarg_segment_align", ".group_segment_fixed_size", ".wavefront_size",
                    ".sgpr_count"};
  Opened opened(object_of({kernel}).bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status);
  EXPECT_TRUE(opened.kernel(0).usable) << text_of(opened.kernel(0).unusable_reason);
  EXPECT_TRUE(contains(opened.diagnostics(), ".wavefront_size is missing"));
}

// The last list counts, and what is said of its furthest argument is not about one of the first.
TEST(Metadata, ArgumentsTwice)
{
  std::vector<build::Argument> five, one = {{"n", 0, 8, "by_value"}};
  for (uint32_t i = 0; i < 5; ++i)
    five.push_back({"first" + std::to_string(i), 8 * i, 8, "by_value"});
  Pack arguments;
  arguments.array(1);
  build::pack_argument(arguments, one[0]);
  Kernel kernel = plain_kernel("k");
  kernel.arguments = five;
  kernel.kernarg_size = 4;
  kernel.more = {{".args", arguments.bytes}};
  Opened opened(object_of({kernel}).bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status);
  ASSERT_EQ(1u, opened.kernel(0).argument_count);
  EXPECT_EQ("n", text_of(opened.kernel(0).arguments[0].name));
  EXPECT_EQ(".args is given twice", text_of(opened.kernel(0).unusable_reason));
  EXPECT_TRUE(contains(opened.diagnostics(), "argument 0 'n' ends at 8, the declared"))
      << opened.diagnostics();
}

TEST(Metadata, NoArgumentsDiffersFromUnknownArguments)
{
  Kernel none = plain_kernel("none"), unknown = plain_kernel("unknown");
  none.arguments.clear();
  unknown.without = {".args"};
  Opened opened(object_of({none, unknown}).bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status);
  EXPECT_TRUE(opened.find("none")->has_arguments);
  EXPECT_EQ(0u, opened.find("none")->argument_count);
  EXPECT_FALSE(opened.find("unknown")->has_arguments);
  EXPECT_TRUE(opened.find("unknown")->usable);
}

TEST(Metadata, ShippingOdditiesAreDiagnosticsOnly)
{
  Kernel kernel = plain_kernel("k");
  kernel.arguments = {{"", 4, 8, "global_buffer", "global"}, // unnamed, unaligned pointer
                      {"kind", 12, 4, "by_wire"},            // unknown kind
                      {"pad", 20, 12, "by_value"}};          // past the segment
  kernel.kernarg_size = 28;                                  // not a multiple of 8
  Object object = object_of({kernel});
  Pack root;
  root.map(2).str("amdhsa.version").numbers({1, 0}).str("amdhsa.kernels").array(1);
  root.raw(build::pack_kernel(kernel));
  object.notes = {root.bytes};
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_TRUE(opened.kernel(0).usable);
  EXPECT_TRUE(opened.info().loadable) << opened.reason();
  std::string all = opened.diagnostics();
  for (const char *text :
       {"arguments without a name", "8-byte pointer arguments", "unknown argument value kinds",
        "argument 2 'pad' ends at 32, the declared kernarg segment at 28",
        "not a multiple of its alignment", "metadata version 1.0 in a V5", "no `amdhsa.target`"})
    EXPECT_TRUE(contains(all, text)) << text << "\n" << all;
  EXPECT_EQ("by_wire", text_of(opened.kernel(0).arguments[1].detail->value_kind_text));
}

TEST(Metadata, DescriptorAndMetadataAreCompared)
{
  Object object = object_of({plain_kernel("k")});
  object.set<uint32_t>(object.rodata, 1024);   // LDS
  object.set<uint32_t>(object.rodata + 8, 32); // kernarg
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status);
  EXPECT_TRUE(contains(opened.diagnostics(), "group segment size: metadata says 0"));
  EXPECT_TRUE(contains(opened.diagnostics(), "kernarg segment size: metadata says 24"));
  EXPECT_EQ(1024u, opened.kernel(0).descriptor->group_segment_size);
  object.set<uint32_t>(object.rodata, 0);
  object.set<uint32_t>(object.rodata + 8, 0); // 0 = unspecified
  EXPECT_EQ("", Opened(object.bytes).diagnostics());
}

TEST(Metadata, DocumentsThatRefuseTheObject)
{
  const std::string kernels = Pack().str("amdhsa.kernels").array(0).bytes;
  struct {
    std::string document;
    const char *message;
  } const cases[] = {
      {"", "empty"},
      {Pack().numbers({1}).bytes, "not a msgpack map"},
      {Pack().map(1).str("amdhsa.kernels").number(5).bytes, "not an array"},
      {Pack().map(1).str("amdhsa.kernels").bytes, "ends"},
      {Pack().map(1).str("amdhsa.kernels").raw("\xdd\xff\xff\xff\xff").bytes, "truncated"},
      {Pack().map(1).str("amdhsa.kernels").array(1).number(7).bytes, "not a map"},
      {Pack().map(1).str("amdhsa.kernels").array(1).raw("\xdf\xff\xff\xff\xff").bytes, "truncated"},
      {Pack().map(2).raw(kernels).raw(kernels).bytes, "twice"},
      {Pack().map(2).str("x").nil().str("x").nil().bytes, "twice"},
      {Pack().map(1).str("x").raw("\xc1").bytes, "not msgpack"},
      {Pack().map(1).str("x").raw("\xdb\xff\xff\xff\xff").bytes, "truncated"},
      {Pack().map(1).str("amdhsa.printf").nil().bytes, "not an array"},
      {Pack().map(1).str("x").raw(std::string(200, '\x91')).nil().bytes, "nests too deeply"},
      {Pack()
           .map(1)
           .str("amdhsa.kernels")
           .array(1)
           .map(1)
           .str(".args")
           .raw("\xdd\x10\x01\x01\x01")
           .bytes,
       "more arguments"},
  };
  for (const auto &one : cases) {
    Object object;
    object.notes = {one.document};
    Opened opened(object.build());
    EXPECT_EQ(RAWHAL_MALFORMED, opened.status) << one.message;
    EXPECT_TRUE(contains(opened.error.message, one.message)) << opened.error.message;
    EXPECT_LT(opened.error.offset, object.bytes.size());
  }
}

TEST(Metadata, CapsFailWithLimit)
{
  std::string bytes = object_of({plain_kernel("a"), plain_kernel("b")}).bytes;
  auto status_with = [&](auto set) {
    rawhal_hsaco_options_t options = {};
    set(options);
    return Opened(bytes, options).status;
  };
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, status_with([](auto &o) { o.max_kernels = 1; }));
  EXPECT_EQ(RAWHAL_OK, status_with([](auto &o) { o.max_kernels = 2; }));
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, status_with([](auto &o) { o.max_arguments = 2; }));
  EXPECT_EQ(RAWHAL_OK, status_with([](auto &o) { o.max_arguments = 3; }));
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, status_with([](auto &o) { o.max_nesting = 4; }));
  EXPECT_EQ(RAWHAL_OK, status_with([](auto &o) { o.max_nesting = 5; })); // argument maps
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, status_with([](auto &o) { o.max_metadata_bytes = 100; }));
}

TEST(Metadata, DiagnosticsAreCapped)
{
  std::vector<Kernel> kernels;
  for (int i = 0; i < 20; ++i) {
    kernels.push_back(plain_kernel("k" + std::to_string(i)));
    kernels.back().kernarg_align = 3;
  }
  rawhal_hsaco_options_t options = {};
  options.max_diagnostics = 5;
  Opened opened(object_of(kernels).bytes, options);
  ASSERT_EQ(RAWHAL_OK, opened.status);
  EXPECT_EQ(5u, opened.info().diagnostic_count);
  EXPECT_TRUE(contains(opened.diagnostics(), "16 more diagnostics are not recorded"));
  EXPECT_FALSE(opened.kernel(19).usable);
  EXPECT_TRUE(contains(text_of(opened.kernel(19).unusable_reason), "power of two"));
}

TEST(Metadata, PrintfFormatsKeepTheirPlaces)
{
  Pack root;
  root.map(2).str("amdhsa.kernels").array(0).str("amdhsa.printf").array(3);
  root.str("1:0:a\\n").number(4).str("2:1:4:%d");
  Object object;
  object.notes = {root.bytes, root.bytes};
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  ASSERT_EQ(6u, opened.info().printf_count);
  EXPECT_EQ("1:0:a\\n", text_of(rawhal_hsaco_printf(opened.hsaco, 0)));
  EXPECT_EQ("", text_of(rawhal_hsaco_printf(opened.hsaco, 1)));
  EXPECT_EQ("2:1:4:%d", text_of(rawhal_hsaco_printf(opened.hsaco, 5)));
  EXPECT_EQ(0u, rawhal_hsaco_printf(opened.hsaco, 6).size);
}
