// Blobs appended argument by argument: what comes to lie where, and what is refused.
#include "builder_test.h"
#include "builder_types.h"
#include "tests/harness/allocator.h"

using namespace kernarg_test;

namespace {

class BuilderTest : public testing::Test {
protected:
  BuilderTest() : kernel_(28)
  {
    AddVectorAdd(kernel_);
    layout_ = Compile(kernel_);
    builder_ = Build(layout_.get());
  }
  void Addresses(uint64_t c = 0xc0, uint64_t a = 0xa0, uint64_t b = 0xb0)
  {
    EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND_NAMED(builder_.get(), "c", c));
    EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND_NAMED(builder_.get(), "a", a));
    EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND(builder_.get(), b));
  }
  Kernel kernel_;
  Layout layout_;
  Builder builder_;
};

template <typename T> std::string Bytes(T value)
{
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

} // namespace

TEST_F(BuilderTest, MakesTheBlob)
{
  Addresses();
  EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND_NAMED(builder_.get(), "n", 1024u));
  struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {0xc0, 0xa0, 0xb0, 1024};
  EXPECT_EQ(std::string(reinterpret_cast<char *>(&blob), 28), Finish(builder_));
  EXPECT_EQ(28u, Info(builder_).length);
  EXPECT_EQ(4u, Info(builder_).appended);
}

TEST_F(BuilderTest, IsEmptyAfterReset)
{
  Addresses();
  rawhal_builder_reset(builder_.get());
  Addresses(1, 2, 3);
  EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND(builder_.get(), 4));
  EXPECT_EQ(Bytes<uint64_t>(1) + Bytes<uint64_t>(2) + Bytes<uint64_t>(3) + Bytes<uint32_t>(4),
            Finish(builder_));
}

TEST_F(BuilderTest, ASizeIsTheArguments)
{
  Addresses();
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, RAWHAL_APPEND_NAMED(builder_.get(), "n", uint64_t{1}));
  EXPECT_EQ("value 3 'n' has 8 bytes, argument 3 'n' (by_value) has 4",
            Refusal(builder_, RAWHAL_INVALID_ARGUMENT));
}

TEST_F(BuilderTest, ANameIsTheArguments)
{
  EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND_NAMED(builder_.get(), "c", uint64_t{1}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, RAWHAL_APPEND_NAMED(builder_.get(), "b", uint64_t{1}));
  EXPECT_EQ("value 1 'b' has another name: the next is argument 1 'a' (global_buffer) at 8..16",
            Refusal(builder_, RAWHAL_INVALID_ARGUMENT));
  rawhal_builder_reset(builder_.get());
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, RAWHAL_APPEND_NAMED(builder_.get(), "cc", uint64_t{1}));
}

TEST_F(BuilderTest, APointerIsAPointer)
{
  float *pointer = nullptr;
  EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND(builder_.get(), pointer));
  EXPECT_EQ(RAWHAL_OK, append_pointer(builder_.get(), "a", pointer));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, RAWHAL_APPEND(builder_.get(), 1.0));
  EXPECT_EQ("value 2 is not a pointer: the next is argument 2 'b' (global_buffer) at 16..24",
            Refusal(builder_, RAWHAL_INVALID_ARGUMENT));

  Kernel kernel(8);
  kernel.Arg("word", 0, 8);
  Layout layout = Compile(kernel);
  Builder builder = Build(layout.get());
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, append_pointer(builder.get(), nullptr, pointer));
  EXPECT_EQ("value 0 is a pointer: the next is argument 0 'word' (by_value) at 0..8",
            Refusal(builder, RAWHAL_INVALID_ARGUMENT));
  rawhal_builder_reset(builder.get());
  EXPECT_EQ(RAWHAL_OK, append_address(builder.get(), "word", 1));
  rawhal_builder_reset(builder.get());
  EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND(builder.get(), 1.0));
}

TEST_F(BuilderTest, AnOffsetIsTheArguments)
{
  Kernel kernel(24);
  kernel.Arg("m", 0, 4).Arg("n", 8, 4).Pointer("out", 12);
  Layout layout = Compile(kernel);
  Builder builder = Build(layout.get());
  RAWHAL_APPEND(builder.get(), 1u);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, RAWHAL_APPEND(builder.get(), 2u));
  EXPECT_EQ("value 1, aligned to 4, would lie at 4, argument 1 'n' (by_value) at 8",
            Refusal(builder, RAWHAL_OUT_OF_RANGE));
  rawhal_builder_reset(builder.get());
  RAWHAL_APPEND(builder.get(), 1u);
  rawhal_builder_skip(builder.get(), 4);
  EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND(builder.get(), 2u));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, append_address(builder.get(), "out", 3));
  EXPECT_EQ("value 2 'out', aligned to 8, would lie at 16, argument 2 'out' (global_buffer) at 12",
            Refusal(builder, RAWHAL_OUT_OF_RANGE));

  rawhal_builder_options_t options = {};
  options.flags = RAWHAL_BUILDER_PLACE;
  builder = Build(layout.get(), &options);
  RAWHAL_APPEND(builder.get(), 1u);
  RAWHAL_APPEND(builder.get(), 2u);
  RAWHAL_APPEND(builder.get(), uint64_t{3});
  EXPECT_EQ(Bytes<uint32_t>(1) + Bytes<uint32_t>(0) + Bytes<uint32_t>(2) + Bytes<uint64_t>(3),
            Finish(builder));
  rawhal_builder_reset(builder.get());
  RAWHAL_APPEND(builder.get(), 1u);
  rawhal_builder_skip(builder.get(), 5); // further than the next is
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, RAWHAL_APPEND(builder.get(), 2u));
}

TEST_F(BuilderTest, OneTooMany)
{
  Addresses();
  RAWHAL_APPEND(builder_.get(), 1u);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, RAWHAL_APPEND_NAMED(builder_.get(), "m", 1u));
  EXPECT_EQ("value 4 'm' is one too many: the kernel takes 4, up to byte 28",
            Refusal(builder_, RAWHAL_OUT_OF_RANGE));
}

TEST_F(BuilderTest, OneThatIsMissingMayStillCome)
{
  Addresses();
  EXPECT_EQ("blob ends at 24, argument 3 'n' (by_value) occupies 24..28",
            Refusal(builder_, RAWHAL_OUT_OF_RANGE));
  EXPECT_EQ(RAWHAL_OK, RAWHAL_APPEND(builder_.get(), 1u));
  EXPECT_EQ(28u, Finish(builder_).size());
}

TEST_F(BuilderTest, TheFirstFailureStays)
{
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, append_float(builder_.get(), "c", 1));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, append_address(builder_.get(), "c", 1));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_builder_skip(builder_.get(), 1));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_builder_next(builder_.get()));
  EXPECT_EQ("value 0 'c' is not a pointer: the next is argument 0 'c' (global_buffer) at 0..8",
            Refusal(builder_, RAWHAL_INVALID_ARGUMENT));
  EXPECT_EQ(0u, Info(builder_).length);
  rawhal_builder_reset(builder_.get());
  Addresses();
}

TEST_F(BuilderTest, CallsThatAreWrong)
{
  auto append = [&](const void *value, size_t size, size_t alignment, int kind) {
    rawhal_builder_reset(builder_.get());
    return rawhal_builder_append(builder_.get(), {nullptr, 0}, value, size, alignment,
                                 static_cast<rawhal_builder_kind_t>(kind));
  };
  EXPECT_EQ(RAWHAL_OK, append("12345678", 8, 1, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, append(nullptr, 8, 1, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, append("", 0, 1, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, append("12345678", 8, 0, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, append("12345678", 8, 3, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, append("12345678", 8, 1, 3));
  EXPECT_EQ("value 0: unknown kind 3", Refusal(builder_, RAWHAL_INVALID_ARGUMENT));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_builder_finish(builder_.get(), nullptr, nullptr));
  rawhal_builder_destroy(nullptr);
}

TEST(BuilderOptions, ThatAreRefused)
{
  Kernel kernel(16);
  kernel.NoArguments();
  Layout layout = Compile(kernel);
  auto create = [&](size_t memory_size, size_t stride, size_t alignment, uint32_t flags) {
    rawhal_builder_options_t options = {};
    options.memory_size = memory_size;
    options.stride = stride;
    options.alignment = alignment;
    options.flags = flags;
    rawhal_builder_t *builder = nullptr;
    rawhal_status_t status = rawhal_builder_create(layout.get(), &options, &builder, nullptr);
    EXPECT_EQ(status == RAWHAL_OK, builder != nullptr);
    rawhal_builder_destroy(builder);
    return status;
  };
  EXPECT_EQ(RAWHAL_OK, create(0, 48, 16, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, create(8, 0, 0, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, create(0, 40, 16, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, create(0, 0, 12, 0));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, create(0, 0, 0, RAWHAL_BUILDER_PLACE)); // arguments not known
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, create(0, 0, 0, 2));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_builder_create(nullptr, nullptr, nullptr, nullptr));
}

TEST(BuilderLayouts, ArgumentsWithoutNames)
{
  Kernel kernel(12);
  kernel.Pointer("", 0).Arg("", 8, 4);
  Layout layout = Compile(kernel);
  Builder builder = Build(layout.get());
  RAWHAL_APPEND_NAMED(builder.get(), "whatever", uint64_t{1});
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, RAWHAL_APPEND_NAMED(builder.get(), "n", 1.0));
  EXPECT_EQ("value 1 'n' has 8 bytes, argument 1 (by_value) has 4",
            Refusal(builder, RAWHAL_INVALID_ARGUMENT));
}

TEST(BuilderLayouts, WhereOnlyTheSizeIsKnown)
{
  Kernel kernel(20);
  kernel.NoArguments();
  Layout layout = Compile(kernel);
  Builder builder = Build(layout.get());
  RAWHAL_APPEND(builder.get(), 1u);
  RAWHAL_APPEND(builder.get(), uint64_t{2});
  EXPECT_EQ("blob ends at 16, the kernarg segment has 20 bytes (its arguments are not known)",
            Refusal(builder, RAWHAL_OUT_OF_RANGE));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, RAWHAL_APPEND(builder.get(), uint64_t{3}));
  EXPECT_EQ("value 2 of 8 bytes would lie at 16, the kernarg segment ends at 20",
            Refusal(builder, RAWHAL_OUT_OF_RANGE));
  rawhal_builder_reset(builder.get());
  RAWHAL_APPEND(builder.get(), 1u);
  RAWHAL_APPEND(builder.get(), uint64_t{2});
  RAWHAL_APPEND(builder.get(), 1.0f);
  EXPECT_EQ(Bytes<uint64_t>(1) + Bytes<uint64_t>(2) + Bytes(1.0f), Finish(builder));
}

TEST(BuilderLayouts, NothingToAppend)
{
  Kernel kernel(0);
  Layout layout = Compile(kernel);
  Builder builder = Build(layout.get());
  EXPECT_EQ("", Finish(builder));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, RAWHAL_APPEND(builder.get(), 1));
}

// Hidden arguments in between are the launch's, arguments without bytes nobody's, and those past the
// segment may be left out.
TEST(BuilderLayouts, HiddenOptionalAndEmptyArguments)
{
  Kernel kernel(24);
  kernel.Pointer("out", 0)
      .Hidden(RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X, 8, 2)
      .Hidden(RAWHAL_VALUE_HIDDEN_REMAINDER_X, 10, 2)
      .Arg("none", 12, 0)
      .Arg("last", 20, 4)
      .Arg("s", 12, 6)
      .Arg("past", 24, 4);
  Layout layout = Compile(kernel);
  Builder builder = Build(layout.get());
  RAWHAL_APPEND(builder.get(), uint64_t{1});
  rawhal_builder_append(builder.get(), rawhal_string("s"), "abcdef", 6, 1, RAWHAL_BUILDER_VALUE);
  RAWHAL_APPEND_NAMED(builder.get(), "last", 2u);
  std::string expected =
      Bytes<uint64_t>(1) + std::string(4, '\0') + "abcdef" + std::string(2, '\0') + Bytes(2u);
  EXPECT_EQ(expected, Finish(builder));
  RAWHAL_APPEND_NAMED(builder.get(), "past", 3u);
  EXPECT_EQ(expected + Bytes(3u), Finish(builder));
}

/* ---- Types ---- */

TEST(BuilderTypes, InCAreThoseOfTheExpression)
{
  struct {
    bool a;
    char b;
    int8_t c;
    uint8_t d;
    int16_t e;
    uint16_t f;
    int g;
    unsigned h;
    int64_t i;
    uint64_t j;
    long long k;
    unsigned long long l;
    float m;
    double n;
    const void *o, *p;
    uint8_t q[3];
  } expected;
  memset(&expected, 0, sizeof(expected));
  expected.a = true, expected.b = 0x11, expected.c = -1, expected.d = 0xfe, expected.e = -2;
  expected.f = 0x2222, expected.g = 1, expected.h = 2, expected.i = -3, expected.j = 4;
  expected.k = -5, expected.l = 6, expected.m = 1.5f, expected.n = 2.5;
  expected.q[0] = 1, expected.q[1] = 2, expected.q[2] = 3;
  Builder builder = Build(nullptr);
  append_each_type(builder.get());
  std::string made = Finish(builder);
  ASSERT_EQ(offsetof(decltype(expected), q) + 3, made.size());
  memcpy(&expected.o, made.data() + offsetof(decltype(expected), o), sizeof(expected.o));
  EXPECT_NE(nullptr, expected.o);
  EXPECT_EQ(std::string(reinterpret_cast<char *>(&expected), made.size()), made);
}

TEST(BuilderTypes, InCppAreWhateverCanBeCopied)
{
  struct alignas(16) Vector {
    float x[4];
  } vector = {{1, 2, 3, 4}};
  enum class Mode : uint16_t { A = 7 };
  const int table[2] = {5, 6};
  Builder builder = Build(nullptr);
  RAWHAL_APPEND(builder.get(), uint8_t{1});
  RAWHAL_APPEND_OBJECT(builder.get(), vector);
  RAWHAL_APPEND(builder.get(), Mode::A);
  RAWHAL_APPEND_NAMED(builder.get(), "table", table);
  RAWHAL_APPEND(builder.get(), nullptr);
  std::string made = Finish(builder);
  ASSERT_EQ(56u, made.size());
  EXPECT_EQ(Bytes(vector), made.substr(16, 16));
  EXPECT_EQ(Bytes(Mode::A), made.substr(32, 2));
  EXPECT_EQ(Bytes(table[0]) + Bytes(table[1]), made.substr(36, 8));
}

/* ---- Memory ---- */

TEST(BuilderMemory, OfTheCaller)
{
  Kernel kernel(28);
  AddVectorAdd(kernel);
  Layout layout = Compile(kernel);
  std::string memory(40, '\xee');
  rawhal_builder_options_t options = {};
  options.memory = &memory[0];
  options.memory_size = 28;
  Builder builder = Build(layout.get(), &options);
  for (uint64_t address : {1, 2, 3})
    RAWHAL_APPEND(builder.get(), address);
  RAWHAL_APPEND(builder.get(), 4u);
  rawhal_bytes_t bytes;
  ASSERT_EQ(RAWHAL_OK, rawhal_builder_finish(builder.get(), &bytes, nullptr));
  EXPECT_EQ(memory.data(), bytes.data);
  EXPECT_EQ(std::string(12, '\xee'), memory.substr(28));

  options.memory_size = 27;
  builder = Build(layout.get(), &options);
  for (uint64_t address : {1, 2, 3})
    RAWHAL_APPEND(builder.get(), address);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, RAWHAL_APPEND(builder.get(), 4u));
  EXPECT_EQ("value 3 ends at 28, the memory at 27", Refusal(builder, RAWHAL_OUT_OF_RANGE));
}

// What was in the caller's memory shows nowhere.
TEST(BuilderMemory, GapsAreZeros)
{
  std::string memory(64, '\xee');
  rawhal_builder_options_t options = {};
  options.memory = &memory[0];
  options.memory_size = memory.size();
  Builder builder = Build(nullptr, &options);
  RAWHAL_APPEND(builder.get(), uint8_t{1});
  RAWHAL_APPEND(builder.get(), uint64_t{2});
  rawhal_builder_skip(builder.get(), 3);
  RAWHAL_APPEND(builder.get(), uint8_t{3});
  RAWHAL_APPEND(builder.get(), uint32_t{4});
  rawhal_builder_skip(builder.get(), 1);
  rawhal_builder_next(builder.get());
  EXPECT_EQ(Bytes<uint64_t>(1) + Bytes<uint64_t>(2) + std::string(3, '\0') + "\3" + Bytes(4u) +
                std::string(8, '\0'),
            Finish(builder));
}

TEST(BuilderMemory, OfItsOwnGrows)
{
  Allocator own;
  rawhal_builder_options_t options = {};
  options.allocator = own.hook();
  std::string expected;
  {
    Builder builder = Build(nullptr, &options);
    for (uint32_t i = 0; i < 5000; ++i) {
      ASSERT_EQ(RAWHAL_OK, RAWHAL_APPEND(builder.get(), i));
      expected += Bytes(i);
    }
    EXPECT_EQ(expected, Finish(builder));
    size_t taken = own.taken();
    EXPECT_LT(taken, 12u);
    rawhal_builder_reset(builder.get());
    for (uint32_t i = 0; i < 5000; ++i)
      RAWHAL_APPEND(builder.get(), i);
    EXPECT_EQ(expected, Finish(builder));
    EXPECT_EQ(taken, own.taken());
  }
  EXPECT_EQ(0u, own.live());
}

TEST(BuilderMemory, MayBeRefused)
{
  Allocator own;
  rawhal_builder_options_t options = {};
  options.allocator = own.hook();
  for (long allowed = 0; allowed < 4; ++allowed) {
    own.left = allowed;
    rawhal_builder_t *builder = nullptr;
    rawhal_error_t error = {};
    rawhal_bytes_t bytes = {};
    rawhal_status_t status = rawhal_builder_create(nullptr, &options, &builder, &error);
    EXPECT_EQ(allowed ? RAWHAL_OK : RAWHAL_OUT_OF_MEMORY, status);
    for (uint32_t i = 0; builder && i < 100; ++i)
      RAWHAL_APPEND(builder, i);
    if (builder)
      status = rawhal_builder_finish(builder, &bytes, &error);
    EXPECT_EQ(allowed < 3 ? RAWHAL_OUT_OF_MEMORY : RAWHAL_OK, status) << allowed;
    EXPECT_EQ(allowed < 3 ? 0u : 400u, bytes.size);
    own.left = -1;
    rawhal_builder_destroy(builder);
    EXPECT_EQ(0u, own.live());
  }
}

/* ---- Blocks ---- */

namespace {

struct Group {
  uint64_t c, a, b;
  uint32_t n;
};

void Append(const Builder &builder, const Group &group)
{
  RAWHAL_APPEND_NAMED(builder.get(), "c", group.c);
  RAWHAL_APPEND_NAMED(builder.get(), "a", group.a);
  RAWHAL_APPEND_NAMED(builder.get(), "b", group.b);
  RAWHAL_APPEND_NAMED(builder.get(), "n", group.n);
}

} // namespace

TEST_F(BuilderTest, BlocksAreAnArrayOfTheStruct)
{
  Group groups[3];
  memset(groups, 0, sizeof(groups));
  for (uint32_t i = 0; i < 3; ++i)
    groups[i].c = i + 1, groups[i].a = 10 + i, groups[i].b = 20 + i, groups[i].n = 30 + i;
  for (const rawhal_kernarg_layout_t *layout :
       {static_cast<rawhal_kernarg_layout_t *>(nullptr), layout_.get()})
    for (bool ended : {true, false}) {
      Builder builder = Build(layout);
      for (uint32_t i = 0; i < 3; ++i) {
        Append(builder, groups[i]);
        if (ended || i < 2) {
          EXPECT_EQ(RAWHAL_OK, rawhal_builder_next(builder.get()));
        }
      }
      EXPECT_EQ(std::string(reinterpret_cast<char *>(groups), sizeof(groups)), Finish(builder));
      EXPECT_EQ(3u, Info(builder).blocks);
      EXPECT_EQ(sizeof(Group), Info(builder).stride);
      EXPECT_EQ(std::string(reinterpret_cast<char *>(groups), sizeof(groups)), Finish(builder));
    }
}

TEST_F(BuilderTest, BlocksLieAtAStride)
{
  rawhal_builder_options_t options = {};
  options.stride = 64;
  Builder builder = Build(layout_.get(), &options);
  Append(builder, {1, 2, 3, 4});
  rawhal_builder_next(builder.get());
  Append(builder, {5, 6, 7, 8});
  std::string made = Finish(builder);
  ASSERT_EQ(128u, made.size());
  EXPECT_EQ(std::string(36, '\0'), made.substr(28, 36));
  EXPECT_EQ(Bytes<uint64_t>(5), made.substr(64, 8));
  options.stride = 0;
  options.alignment = 256;
  builder = Build(layout_.get(), &options);
  Append(builder, {1, 2, 3, 4});
  EXPECT_EQ(28u, Finish(builder).size()); // one blob, until there is another block
  rawhal_builder_next(builder.get());
  Append(builder, {5, 6, 7, 8});
  EXPECT_EQ(512u, Finish(builder).size());
}

TEST_F(BuilderTest, BlocksThatAreRefused)
{
  rawhal_builder_options_t options = {};
  options.stride = 24;
  Builder builder = Build(layout_.get(), &options);
  Append(builder, {1, 2, 3, 4});
  EXPECT_EQ("value 3 of block 0 occupies 24..28, blocks are 24 bytes apart",
            Refusal(builder, RAWHAL_OUT_OF_RANGE));

  builder = Build(layout_.get());
  Append(builder, {1, 2, 3, 4});
  rawhal_builder_next(builder.get());
  RAWHAL_APPEND(builder.get(), uint64_t{1});
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_builder_next(builder.get()));
  EXPECT_EQ("block 1 has 8 bytes, block 0 has 28", Refusal(builder, RAWHAL_INVALID_ARGUMENT));

  builder = Build(layout_.get());
  RAWHAL_APPEND(builder.get(), uint64_t{1});
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_builder_next(builder.get()));
  EXPECT_EQ("blob ends at 8, argument 1 'a' (global_buffer) occupies 8..16",
            Refusal(builder, RAWHAL_OUT_OF_RANGE));

  builder = Build(nullptr);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_builder_next(builder.get()));
  EXPECT_EQ("block 0 is empty", Refusal(builder, RAWHAL_INVALID_ARGUMENT));
}

TEST(BuilderMemory, SizesThatDoNotExist)
{
  Builder builder = Build(nullptr);
  RAWHAL_APPEND(builder.get(), 1);
  EXPECT_EQ(RAWHAL_OK, rawhal_builder_skip(builder.get(), SIZE_MAX - 8));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_builder_skip(builder.get(), 8));
  rawhal_builder_reset(builder.get());
  rawhal_builder_skip(builder.get(), SIZE_MAX - 1);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, RAWHAL_APPEND(builder.get(), uint64_t{1}));
  rawhal_builder_reset(builder.get());
  RAWHAL_APPEND(builder.get(), 1);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_builder_append(builder.get(), {nullptr, 0}, "",
                                                       SIZE_MAX - 3, 1, RAWHAL_BUILDER_ANY));
}
