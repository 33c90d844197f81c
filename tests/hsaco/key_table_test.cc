// The vocabulary tables: every word finds itself, and nothing else does.
#include "hsaco_test.h"

extern "C" {
#include "hsaco/key_table.h"
}

typedef const metadata_key *(*lookup_fn)(rawhal_string_t);

static void check_table(const metadata_key *keys, size_t count, size_t words, lookup_fn lookup)
{
  size_t found = 0;
  uint64_t bits = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!keys[i].size)
      continue;
    ++found;
    std::string text(keys[i].text, keys[i].size);
    EXPECT_EQ(&keys[i], lookup(string_of(text))) << text;
    EXPECT_EQ('.', text[0]);
    EXPECT_LT(keys[i].bit, 64);
    bits |= uint64_t{1} << keys[i].bit;
    for (size_t at = 0; at < text.size(); ++at) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ 0x80);
      EXPECT_EQ(nullptr, lookup(string_of(other))) << other;
    }
    std::string longer = text + "x", shorter = text.substr(0, text.size() - 1);
    EXPECT_EQ(nullptr, lookup(string_of(longer)));
    EXPECT_EQ(nullptr, lookup(string_of(shorter)));
  }
  EXPECT_EQ(words, found);
  EXPECT_LE(__builtin_popcountll(bits), static_cast<int>(words));
}

TEST(KeyTable, EveryKeyFindsItself)
{
  size_t count;
  const metadata_key *keys = argument_keys(&count);
  check_table(keys, count, 14, argument_key);
  keys = kernel_keys(&count);
  check_table(keys, count, 31, kernel_key);
  EXPECT_EQ(nullptr, kernel_key({"", 0}));
  EXPECT_EQ(nullptr, argument_key({".", 1}));
}

TEST(KeyTable, EveryValueKindOfAmdgpuUsage)
{
  const std::pair<const char *, rawhal_value_kind_t> kinds[] = {
      {"by_value", RAWHAL_VALUE_BY_VALUE},
      {"global_buffer", RAWHAL_VALUE_GLOBAL_BUFFER},
      {"dynamic_shared_pointer", RAWHAL_VALUE_DYNAMIC_SHARED_POINTER},
      {"sampler", RAWHAL_VALUE_SAMPLER},
      {"image", RAWHAL_VALUE_IMAGE},
      {"pipe", RAWHAL_VALUE_PIPE},
      {"queue", RAWHAL_VALUE_QUEUE},
      {"hidden_none", RAWHAL_VALUE_HIDDEN_NONE},
      {"hidden_global_offset_x", RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X},
      {"hidden_global_offset_y", RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Y},
      {"hidden_global_offset_z", RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Z},
      {"hidden_block_count_x", RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X},
      {"hidden_block_count_y", RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Y},
      {"hidden_block_count_z", RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Z},
      {"hidden_group_size_x", RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X},
      {"hidden_group_size_y", RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Y},
      {"hidden_group_size_z", RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Z},
      {"hidden_remainder_x", RAWHAL_VALUE_HIDDEN_REMAINDER_X},
      {"hidden_remainder_y", RAWHAL_VALUE_HIDDEN_REMAINDER_Y},
      {"hidden_remainder_z", RAWHAL_VALUE_HIDDEN_REMAINDER_Z},
      {"hidden_grid_dims", RAWHAL_VALUE_HIDDEN_GRID_DIMS},
      {"hidden_printf_buffer", RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER},
      {"hidden_hostcall_buffer", RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER},
      {"hidden_multigrid_sync_arg", RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG},
      {"hidden_heap_v1", RAWHAL_VALUE_HIDDEN_HEAP_V1},
      {"hidden_default_queue", RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE},
      {"hidden_completion_action", RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION},
      {"hidden_dynamic_lds_size", RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE},
      {"hidden_private_base", RAWHAL_VALUE_HIDDEN_PRIVATE_BASE},
      {"hidden_shared_base", RAWHAL_VALUE_HIDDEN_SHARED_BASE},
      {"hidden_queue_ptr", RAWHAL_VALUE_HIDDEN_QUEUE_PTR},
      {"hidden_of_tomorrow", RAWHAL_VALUE_HIDDEN_UNKNOWN},
      {"hidden_", RAWHAL_VALUE_HIDDEN_UNKNOWN},
      {"hidden", RAWHAL_VALUE_UNKNOWN},
      {"by_valuf", RAWHAL_VALUE_UNKNOWN},
      {"", RAWHAL_VALUE_UNKNOWN},
  };
  for (const auto &[text, kind] : kinds) {
    EXPECT_EQ(kind, value_kind_of({text, strlen(text)})) << text;
    bool known = kind != RAWHAL_VALUE_UNKNOWN && kind != RAWHAL_VALUE_HIDDEN_UNKNOWN;
    EXPECT_EQ(known ? text : "", text_of(detail_of_kind[kind].value_kind_text));
  }
}

// quick.c compares sixteen bytes of an argument's key, under a mask: its header and text.
TEST(KeyTable, MasksCoverKeysOfArguments)
{
  size_t count;
  const metadata_key *keys = argument_keys(&count);
  for (size_t i = 0; i < count; ++i) {
    if (!keys[i].size)
      continue;
    ASSERT_LE(1u + keys[i].size, sizeof(keys[i].mask)) << keys[i].text;
    EXPECT_EQ(0xa0 + keys[i].size, keys[i].header);
    unsigned char expected[16] = {};
    memset(expected, 0xff, 1u + keys[i].size);
    EXPECT_EQ(0, memcmp(expected, keys[i].mask, sizeof(expected))) << keys[i].text;
  }
}

TEST(KeyTable, ShortLists)
{
  EXPECT_EQ(RAWHAL_ADDRESS_SPACE_GLOBAL, address_space_of({"global", 6}));
  EXPECT_EQ(RAWHAL_ADDRESS_SPACE_REGION, address_space_of({"region", 6}));
  EXPECT_EQ(RAWHAL_ADDRESS_SPACE_NONE, address_space_of({"", 0}));
  EXPECT_EQ(RAWHAL_ACCESS_READ_WRITE, access_of({"read_write", 10}));
  EXPECT_EQ(RAWHAL_ACCESS_NONE, access_of({"read", 4}));
  EXPECT_EQ(ROOT_KERNELS, root_key_of({"amdhsa.kernels", 14}));
  EXPECT_EQ(ROOT_OTHER, root_key_of({"amdhsa.kernel", 13}));
}
