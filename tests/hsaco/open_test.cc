// Opening: what a sound object gives, and who owns it.
#include "hsaco_test.h"

using build::Object;
using build::Pack;
using build::plain_kernel;
using build::plain_object;

TEST(Open, TellsWhatTheBytesSay)
{
  Opened object(plain_object(2).bytes);
  ASSERT_EQ(RAWHAL_OK, object.status) << object.error.message;
  const rawhal_hsaco_info_t &info = object.info();
  EXPECT_EQ(5u, info.code_object_version);
  EXPECT_EQ(3u, info.elf_type);
  EXPECT_EQ(224u, info.elf_machine);
  EXPECT_EQ(0x53fu, info.elf_flags);
  EXPECT_STREQ("gfx90a", info.target.processor);
  EXPECT_EQ(1u, info.note_count);
  EXPECT_EQ(1u, info.metadata_version[0]);
  EXPECT_EQ(2u, info.metadata_version[1]);
  EXPECT_EQ("amdgcn-amd-amdhsa--gfx90a", text_of(info.metadata_target));
  EXPECT_TRUE(info.loadable) << object.reason();
  EXPECT_EQ("", object.diagnostics());
  EXPECT_EQ(object.bytes.data.get(), info.bytes.data);
  ASSERT_EQ(2u, info.kernel_count);
  EXPECT_EQ(nullptr, rawhal_hsaco_kernel(object.hsaco, 2));

  const rawhal_kernel_t &kernel = object.kernel(1);
  EXPECT_EQ("kernel1", text_of(kernel.name));
  EXPECT_EQ("kernel1.kd", text_of(kernel.symbol));
  EXPECT_TRUE(kernel.has_metadata && kernel.usable && kernel.has_arguments);
  EXPECT_EQ(24u, kernel.kernarg_segment_size);
  EXPECT_EQ(8u, kernel.kernarg_segment_align);
  EXPECT_EQ(256u, kernel.max_flat_workgroup_size);
  EXPECT_EQ(64u, kernel.wavefront_size);
  ASSERT_EQ(3u, kernel.argument_count);
  EXPECT_EQ("out", text_of(kernel.arguments[0].name));
  EXPECT_EQ(RAWHAL_VALUE_GLOBAL_BUFFER, kernel.arguments[0].value_kind);
  EXPECT_EQ(RAWHAL_ADDRESS_SPACE_GLOBAL, kernel.arguments[0].address_space);
  EXPECT_EQ(8u, kernel.arguments[1].offset);
  EXPECT_EQ(4u, kernel.arguments[1].size);
  EXPECT_FALSE(rawhal_argument_is_hidden(&kernel.arguments[1]));
  EXPECT_TRUE(rawhal_argument_is_hidden(&kernel.arguments[2]));
}

TEST(Open, DecodesEveryKernelKey)
{
  Object object;
  build::Kernel kernel = plain_kernel("k");
  kernel.more = {
      {".language", Pack().str("OpenCL C").bytes},
      {".language_version", Pack().numbers({2, 0}).bytes},
      {".reqd_workgroup_size", Pack().numbers({64, 2, 1}).bytes},
      {".workgroup_size_hint", Pack().numbers({32, 1, 1}).bytes},
      {".cluster_dims", Pack().numbers({4, 1, 1}).bytes},
      {".vec_type_hint", Pack().str("float4").bytes},
      {".device_enqueue_symbol", Pack().str("blk.handle").bytes},
      {".kind", Pack().str("init").bytes},
      {".agpr_count", Pack().number(12).bytes},
      {".sgpr_spill_count", Pack().number(3).bytes},
      {".vgpr_spill_count", Pack().number(70000).bytes},
      {".max_num_workgroups_x", Pack().number(10).bytes},
      {".max_num_work_groups_y", Pack().number(11).bytes},
      {".max_num_workgroups_z", Pack().number(12).bytes},
      {".uses_dynamic_stack", Pack().boolean(false).bytes},
      {".workgroup_processor_mode", Pack().number(1).bytes},
      {".uniform_work_group_size", Pack().number(1).bytes},
  };
  object.kernels = {kernel};
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  const rawhal_kernel_t &got = opened.kernel(0);
  EXPECT_TRUE(got.usable) << text_of(got.unusable_reason);
  EXPECT_EQ("OpenCL C", text_of(got.language));
  EXPECT_EQ(2u, got.language_version[0]);
  EXPECT_EQ(64u, got.reqd_workgroup_size[0]);
  EXPECT_EQ(2u, got.reqd_workgroup_size[1]);
  EXPECT_EQ(32u, got.workgroup_size_hint[0]);
  EXPECT_EQ(4u, got.cluster_dims[0]);
  EXPECT_EQ("float4", text_of(got.vec_type_hint));
  EXPECT_EQ("blk.handle", text_of(got.device_enqueue_symbol));
  EXPECT_EQ("init", text_of(got.kind));
  EXPECT_EQ(12u, got.agpr_count);
  EXPECT_EQ(3u, got.sgpr_spill_count);
  EXPECT_EQ(70000u, got.vgpr_spill_count);
  EXPECT_EQ(10u, got.max_num_workgroups[0]);
  EXPECT_EQ(11u, got.max_num_workgroups[1]);
  EXPECT_EQ(12u, got.max_num_workgroups[2]);
  EXPECT_FALSE(got.uses_dynamic_stack);
  EXPECT_TRUE(got.workgroup_processor_mode);
  EXPECT_TRUE(got.uniform_work_group_size);
  EXPECT_EQ("", opened.diagnostics());
}

TEST(Open, DecodesEveryArgumentKey)
{
  Pack arguments;
  arguments.array(1).map(15).str(".offset").number(16).str(".size").number(8);
  arguments.str(".value_kind").str("dynamic_shared_pointer").str(".name").str("p");
  arguments.str(".type_name").str("int*").str(".value_type").str("i32");
  arguments.str(".address_space").str("local").str(".access").str("read_only");
  arguments.str(".actual_access").str("write_only").str(".is_const").boolean(true);
  arguments.str(".is_restrict").boolean(true).str(".is_volatile").boolean(false);
  arguments.str(".is_pipe").boolean(true).str(".pointee_align").number(16);
  arguments.str(".vendor").str("kept");
  Object object;
  object.kernels = {plain_kernel("k")};
  Pack root;
  root.map(1)
      .str("amdhsa.kernels")
      .array(1)
      .map(4)
      .str(".name")
      .str("k")
      .str(".symbol")
      .str("k.kd");
  root.str(".kernarg_segment_size").number(24).str(".args").raw(arguments.bytes);
  object.notes = {root.bytes};
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  ASSERT_EQ(1u, opened.kernel(0).argument_count);
  const rawhal_argument_t &got = opened.kernel(0).arguments[0];
  EXPECT_EQ(16u, got.offset);
  EXPECT_EQ("int*", text_of(got.detail->type_name));
  EXPECT_EQ("i32", text_of(got.detail->value_type));
  EXPECT_EQ(RAWHAL_VALUE_DYNAMIC_SHARED_POINTER, got.value_kind);
  EXPECT_EQ(RAWHAL_ADDRESS_SPACE_LOCAL, got.address_space);
  EXPECT_EQ(RAWHAL_ACCESS_READ_ONLY, got.access);
  EXPECT_EQ(RAWHAL_ACCESS_WRITE_ONLY, got.actual_access);
  EXPECT_EQ(RAWHAL_ARGUMENT_CONST | RAWHAL_ARGUMENT_RESTRICT | RAWHAL_ARGUMENT_PIPE, got.flags);
  EXPECT_EQ(16u, got.detail->pointee_align);
  EXPECT_TRUE(opened.kernel(0).usable) << text_of(opened.kernel(0).unusable_reason);
  EXPECT_TRUE(contains(opened.diagnostics(), "unknown argument keys"));
}

TEST(Open, PrivateCopyOutlivesTheCallersBytes)
{
  std::string bytes = plain_object().bytes;
  rawhal_hsaco_options_t options = {};
  options.flags = RAWHAL_HSACO_COPY;
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, nullptr));
  bytes.assign(bytes.size(), 'x');
  EXPECT_EQ("kernel0", text_of(rawhal_hsaco_kernel(hsaco, 0)->name));
  rawhal_hsaco_close(hsaco);
}

TEST(Open, UnalignedBytesAreFine)
{
  std::string bytes = plain_object(3).bytes;
  for (size_t shift = 1; shift < 8; ++shift) {
    std::string moved = std::string(shift, ' ') + bytes;
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_error_t error = {};
    ASSERT_EQ(RAWHAL_OK,
              rawhal_hsaco_open(moved.data() + shift, bytes.size(), nullptr, &hsaco, &error))
        << error.message;
    EXPECT_EQ(3u, rawhal_hsaco_info(hsaco)->kernel_count);
    rawhal_hsaco_close(hsaco);
  }
}

TEST(Open, WrongCallsAreRefused)
{
  std::string bytes = plain_object().bytes;
  rawhal_hsaco_t *hsaco = reinterpret_cast<rawhal_hsaco_t *>(1);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_hsaco_open(nullptr, 5, nullptr, &hsaco, nullptr));
  EXPECT_EQ(nullptr, hsaco);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, nullptr, nullptr));
  rawhal_hsaco_options_t options = {};
  options.flags = 1u << 31;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, nullptr));
  options = {};
  options.max_nesting = 129;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, nullptr));
  rawhal_hsaco_close(nullptr);
  EXPECT_EQ(nullptr, rawhal_hsaco_info(nullptr));
  EXPECT_EQ(nullptr, rawhal_hsaco_kernel(nullptr, 0));
}

TEST(Open, HeadersOfOtherKindsSayWhatTheyAre)
{
  struct {
    size_t offset;
    unsigned char value;
    rawhal_status_t status;
    const char *message;
  } const cases[] = {
      {0, 'x', RAWHAL_MALFORMED, "not an ELF file"},
      {EI_CLASS, ELFCLASS32, RAWHAL_UNSUPPORTED, "64-bit"},
      {EI_DATA, ELFDATA2MSB, RAWHAL_UNSUPPORTED, "little-endian"},
      {EI_OSABI, 3, RAWHAL_UNSUPPORTED, "OS ABI 3"},
      {EI_OSABI, 65, RAWHAL_UNSUPPORTED, "PAL"},
      {EI_ABIVERSION, 0, RAWHAL_UNSUPPORTED, "V2"},
      {EI_ABIVERSION, 5, RAWHAL_UNSUPPORTED, "ABI version 5"},
      {offsetof(Elf64_Ehdr, e_machine), 62, RAWHAL_UNSUPPORTED, "machine 62"},
      {offsetof(Elf64_Ehdr, e_type), ET_EXEC, RAWHAL_UNSUPPORTED, "ELF type 2"},
      {offsetof(Elf64_Ehdr, e_version), 2, RAWHAL_MALFORMED, "version"},
      {offsetof(Elf64_Ehdr, e_phentsize), 1, RAWHAL_MALFORMED, "program headers of 1 bytes"},
      {offsetof(Elf64_Ehdr, e_shentsize), 1, RAWHAL_MALFORMED, "section headers of 1 bytes"},
      {offsetof(Elf64_Ehdr, e_phoff) + 6, 1, RAWHAL_MALFORMED, "program headers at offset"},
      {offsetof(Elf64_Ehdr, e_shoff) + 7, 0xff, RAWHAL_MALFORMED, "section headers at offset"},
  };
  for (const auto &one : cases) {
    std::string bytes = plain_object().bytes;
    bytes[one.offset] = static_cast<char>(one.value);
    Opened opened(bytes);
    EXPECT_EQ(one.status, opened.status) << one.message;
    EXPECT_TRUE(contains(opened.error.message, one.message)) << opened.error.message;
    EXPECT_EQ(nullptr, opened.hsaco);
  }
}

TEST(Open, ExtendedNumberingIsResolved)
{
  Object object = plain_object(2);
  Elf64_Ehdr header = object.header();
  Elf64_Shdr first = object.section(0);
  first.sh_size = header.e_shnum;
  first.sh_link = header.e_shstrndx;
  first.sh_info = header.e_phnum;
  header.e_shnum = 0;
  header.e_shstrndx = SHN_XINDEX;
  header.e_phnum = PN_XNUM;
  object.set_header(header);
  object.set_section(0, first);
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_EQ(2u, opened.info().kernel_count);
  EXPECT_NE(nullptr, opened.kernel(0).descriptor);
  EXPECT_EQ(3u, opened.info().segment_count);
  EXPECT_FALSE(opened.info().loadable); // ROCr cannot
  // The last is one header's size when the product is not checked.
  for (uint64_t count : {UINT64_MAX / 2, UINT64_MAX, (uint64_t{1} << 58) + 1}) {
    first.sh_size = count;
    object.set_section(0, first);
    const Opened beyond(object.bytes);
    EXPECT_EQ(RAWHAL_MALFORMED, beyond.status);
    EXPECT_TRUE(contains(beyond.error.message, "section headers at offset"))
        << beyond.error.message;
  }
}

TEST(Open, NotesComeFromSectionsWithoutSegments)
{
  Object object = plain_object();
  Elf64_Phdr note = object.segment(build::kNoteSegment);
  note.p_type = PT_NULL;
  object.set_segment(build::kNoteSegment, note);
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_TRUE(opened.kernel(0).usable);
}

TEST(Open, AnEmptyTableMayBeAnywhere)
{
  Object object = build::plain_object();
  Elf64_Ehdr header = object.get<Elf64_Ehdr>(0);
  header.e_phnum = 0;
  header.e_phoff = UINT64_MAX - 63;
  object.set(0, header);
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_EQ(0u, opened.info().segment_count);
}

TEST(Open, FixturesOpenAndLoad)
{
  size_t opened_count = 0;
  for (const char *name : {"vector_add-gfx90a-v4", "vector_add-gfx90a-v5", "vector_add-gfx942-v6",
                           "vector_add-gfx1030-v5", "many_args-gfx90a-v5", "layouts-gfx90a-v5"}) {
    std::string bytes = read_file(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + name + ".co");
    if (bytes.empty())
      continue;
    Opened opened(bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status) << name << ": " << opened.error.message;
    EXPECT_TRUE(opened.info().loadable) << name << ": " << opened.reason();
    for (size_t i = 0; i < opened.info().kernel_count; ++i) {
      const rawhal_kernel_t &kernel = opened.kernel(i);
      EXPECT_TRUE(kernel.usable) << name << ": " << text_of(kernel.unusable_reason);
      ASSERT_NE(nullptr, kernel.descriptor);
      EXPECT_EQ(0u, kernel.descriptor->entry % 256);
    }
    ++opened_count;
  }
  EXPECT_GT(opened_count, 0u);
}
