#include "hsaco/key_table.h"

/* Slots. `last` is the last character, `third` the third from the end, `second` the second. */
#define ARGUMENT_SLOT(size, last, third) (((size) + 13u * (last) + (third)) & 15)
#define KERNEL_SLOT(size, last, second)  ((3u * (size) + 9u * (last) + (second)) & 127)
#define KIND_SLOT(size, last, second)    ((3u * (size) + 8u * (last) + (second)) & 127)

/* The low bytes of a little-endian word. */
#define LOW_BYTES(count) ((count) >= 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * ((count)&7)) - 1)
#define TOKEN(text)                                                                                \
  {LOW_BYTES(sizeof(text)), LOW_BYTES(sizeof(text) < 8 ? 0 : sizeof(text) - 8)},                   \
      0xa0 + sizeof(text) - 1, text, sizeof(text) - 1
#define ARGUMENT_KEY(last, third, text, type, field, bit, flags, extra)                            \
  [ARGUMENT_SLOT(sizeof(text) - 1, last, third)] = {                                               \
      TOKEN(text), type, offsetof(rawhal_argument_t, field), bit, flags, extra}
#define DETAIL_KEY(last, third, text, type, field, bit)                                            \
  [ARGUMENT_SLOT(sizeof(text) - 1, last, third)] = {                                               \
      TOKEN(text), type, offsetof(rawhal_argument_detail_t, field), bit, KEY_DETAIL, 0}
#define KERNEL_KEY(last, second, text, type, field, bit, flags)                                    \
  [KERNEL_SLOT(sizeof(text) - 1, last, second)] = {                                                \
      TOKEN(text), type, offsetof(rawhal_kernel_t, field), bit, flags, 0}
#define KIND(last, second, text, kind)                                                             \
  [KIND_SLOT(sizeof(text) - 1, last, second)] = {text, sizeof(text) - 1, kind},
#define DETAIL(last, second, text, kind) [kind] = {.value_kind_text = {text, sizeof(text) - 1}},

/* clang-format off */

/* AMDGPUUsage, "Kernel Argument Metadata". `.value_type` is deprecated, and still everywhere. */
static const metadata_key_t argument_table[16] = {
    ARGUMENT_KEY('e', 'a', ".name", FIELD_STRING, name, ARGUMENT_BIT_OTHERS + 0, 0, 0),
    DETAIL_KEY('e', 'a', ".type_name", FIELD_STRING, type_name, ARGUMENT_BIT_OTHERS + 1),
    ARGUMENT_KEY('t', 's', ".offset", FIELD_U32, offset, ARGUMENT_BIT_OFFSET, KEY_ABI, 0),
    ARGUMENT_KEY('e', 'i', ".size", FIELD_U32, size, ARGUMENT_BIT_SIZE, KEY_ABI, 0),
    ARGUMENT_KEY('d', 'i', ".value_kind", FIELD_VALUE_KIND, value_kind, ARGUMENT_BIT_VALUE_KIND, KEY_ABI, 0),
    DETAIL_KEY('e', 'y', ".value_type", FIELD_STRING, value_type, ARGUMENT_BIT_OTHERS + 2),
    ARGUMENT_KEY('e', 'a', ".address_space", FIELD_ADDRESS_SPACE, address_space, ARGUMENT_BIT_OTHERS + 3, 0, 0),
    ARGUMENT_KEY('s', 'e', ".access", FIELD_ACCESS, access, ARGUMENT_BIT_OTHERS + 4, 0, 0),
    ARGUMENT_KEY('s', 'e', ".actual_access", FIELD_ACCESS, actual_access, ARGUMENT_BIT_OTHERS + 5, 0, 0),
    ARGUMENT_KEY('t', 'n', ".is_const", FIELD_FLAG, flags, ARGUMENT_BIT_OTHERS + 6, 0, RAWHAL_ARGUMENT_CONST),
    ARGUMENT_KEY('t', 'i', ".is_restrict", FIELD_FLAG, flags, ARGUMENT_BIT_OTHERS + 7, 0, RAWHAL_ARGUMENT_RESTRICT),
    ARGUMENT_KEY('e', 'i', ".is_volatile", FIELD_FLAG, flags, ARGUMENT_BIT_OTHERS + 8, 0, RAWHAL_ARGUMENT_VOLATILE),
    ARGUMENT_KEY('e', 'i', ".is_pipe", FIELD_FLAG, flags, ARGUMENT_BIT_OTHERS + 9, 0, RAWHAL_ARGUMENT_PIPE),
    DETAIL_KEY('n', 'i', ".pointee_align", FIELD_U32, pointee_align, ARGUMENT_BIT_OTHERS + 10),
};

/* AMDGPUUsage, "Kernel Metadata"; `.max_num_work_groups_*` is its spelling of what LLVM writes as
 * `.max_num_workgroups_*`. */
static const metadata_key_t kernel_table[128] = {
    KERNEL_KEY('e', 'n', ".name", FIELD_STRING, name, KERNEL_BIT_NAME, KEY_ABI),
    KERNEL_KEY('l', 's', ".symbol", FIELD_STRING, symbol, KERNEL_BIT_SYMBOL, KEY_ABI),
    KERNEL_KEY('s', 'a', ".args", FIELD_ARGUMENTS, arguments, KERNEL_BIT_ARGS, KEY_ABI),
    KERNEL_KEY('e', 'k', ".kernarg_segment_size", FIELD_U32, kernarg_segment_size, KERNEL_BIT_KERNARG_SIZE, KEY_ABI),
    KERNEL_KEY('n', 'k', ".kernarg_segment_align", FIELD_U32, kernarg_segment_align, KERNEL_BIT_KERNARG_ALIGN, KEY_ABI),
    KERNEL_KEY('e', 'g', ".group_segment_fixed_size", FIELD_U32, group_segment_fixed_size, KERNEL_BIT_GROUP_SIZE, KEY_ABI),
    KERNEL_KEY('e', 'p', ".private_segment_fixed_size", FIELD_U32, private_segment_fixed_size, KERNEL_BIT_PRIVATE_SIZE, KEY_ABI),
    KERNEL_KEY('e', 'w', ".wavefront_size", FIELD_U32, wavefront_size, KERNEL_BIT_WAVEFRONT_SIZE, KEY_ABI),
    KERNEL_KEY('e', 'm', ".max_flat_workgroup_size", FIELD_U32, max_flat_workgroup_size, KERNEL_BIT_MAX_FLAT, KEY_ABI),
    KERNEL_KEY('t', 'v', ".vgpr_count", FIELD_U32, vgpr_count, KERNEL_BIT_VGPR_COUNT, 0),
    KERNEL_KEY('t', 's', ".sgpr_count", FIELD_U32, sgpr_count, KERNEL_BIT_OTHERS + 0, 0),
    KERNEL_KEY('t', 'a', ".agpr_count", FIELD_U32, agpr_count, KERNEL_BIT_OTHERS + 1, 0),
    KERNEL_KEY('t', 's', ".sgpr_spill_count", FIELD_U32, sgpr_spill_count, KERNEL_BIT_OTHERS + 2, 0),
    KERNEL_KEY('t', 'v', ".vgpr_spill_count", FIELD_U32, vgpr_spill_count, KERNEL_BIT_OTHERS + 3, 0),
    KERNEL_KEY('k', 'u', ".uses_dynamic_stack", FIELD_BOOL, uses_dynamic_stack, KERNEL_BIT_DYNAMIC_STACK, 0),
    KERNEL_KEY('e', 'w', ".workgroup_processor_mode", FIELD_BOOL, workgroup_processor_mode, KERNEL_BIT_OTHERS + 4, 0),
    KERNEL_KEY('e', 'u', ".uniform_work_group_size", FIELD_BOOL, uniform_work_group_size, KERNEL_BIT_OTHERS + 5, KEY_ABI),
    KERNEL_KEY('e', 'r', ".reqd_workgroup_size", FIELD_U32X3, reqd_workgroup_size, KERNEL_BIT_OTHERS + 6, KEY_ABI),
    KERNEL_KEY('t', 'w', ".workgroup_size_hint", FIELD_U32X3, workgroup_size_hint, KERNEL_BIT_OTHERS + 7, 0),
    KERNEL_KEY('s', 'c', ".cluster_dims", FIELD_U32X3, cluster_dims, KERNEL_BIT_OTHERS + 8, KEY_ABI),
    KERNEL_KEY('e', 'l', ".language", FIELD_STRING, language, KERNEL_BIT_OTHERS + 9, 0),
    KERNEL_KEY('n', 'l', ".language_version", FIELD_U32X2, language_version, KERNEL_BIT_OTHERS + 10, 0),
    KERNEL_KEY('t', 'v', ".vec_type_hint", FIELD_STRING, vec_type_hint, KERNEL_BIT_OTHERS + 11, 0),
    KERNEL_KEY('l', 'd', ".device_enqueue_symbol", FIELD_STRING, device_enqueue_symbol, KERNEL_BIT_OTHERS + 12, 0),
    KERNEL_KEY('d', 'k', ".kind", FIELD_STRING, kind, KERNEL_BIT_OTHERS + 13, 0),
    KERNEL_KEY('x', 'm', ".max_num_workgroups_x", FIELD_U32, max_num_workgroups[0], KERNEL_BIT_OTHERS + 14, 0),
    KERNEL_KEY('x', 'm', ".max_num_work_groups_x", FIELD_U32, max_num_workgroups[0], KERNEL_BIT_OTHERS + 14, 0),
    KERNEL_KEY('y', 'm', ".max_num_workgroups_y", FIELD_U32, max_num_workgroups[1], KERNEL_BIT_OTHERS + 15, 0),
    KERNEL_KEY('y', 'm', ".max_num_work_groups_y", FIELD_U32, max_num_workgroups[1], KERNEL_BIT_OTHERS + 15, 0),
    KERNEL_KEY('z', 'm', ".max_num_workgroups_z", FIELD_U32, max_num_workgroups[2], KERNEL_BIT_OTHERS + 16, 0),
    KERNEL_KEY('z', 'm', ".max_num_work_groups_z", FIELD_U32, max_num_workgroups[2], KERNEL_BIT_OTHERS + 16, 0),
};

/* AMDGPUUsage, "Kernel Argument Metadata", `.value_kind`: last and second character, text, kind. */
#define KINDS(X)                                                                                   \
  X('e', 'y', "by_value", RAWHAL_VALUE_BY_VALUE)                                                   \
  X('r', 'l', "global_buffer", RAWHAL_VALUE_GLOBAL_BUFFER)                                         \
  X('r', 'y', "dynamic_shared_pointer", RAWHAL_VALUE_DYNAMIC_SHARED_POINTER)                       \
  X('r', 'a', "sampler", RAWHAL_VALUE_SAMPLER)                                                     \
  X('e', 'm', "image", RAWHAL_VALUE_IMAGE)                                                         \
  X('e', 'i', "pipe", RAWHAL_VALUE_PIPE)                                                           \
  X('e', 'u', "queue", RAWHAL_VALUE_QUEUE)                                                         \
  X('e', 'i', "hidden_none", RAWHAL_VALUE_HIDDEN_NONE)                                             \
  X('x', 'i', "hidden_global_offset_x", RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X)                       \
  X('y', 'i', "hidden_global_offset_y", RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Y)                       \
  X('z', 'i', "hidden_global_offset_z", RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Z)                       \
  X('x', 'i', "hidden_block_count_x", RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X)                           \
  X('y', 'i', "hidden_block_count_y", RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Y)                           \
  X('z', 'i', "hidden_block_count_z", RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Z)                           \
  X('x', 'i', "hidden_group_size_x", RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X)                             \
  X('y', 'i', "hidden_group_size_y", RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Y)                             \
  X('z', 'i', "hidden_group_size_z", RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Z)                             \
  X('x', 'i', "hidden_remainder_x", RAWHAL_VALUE_HIDDEN_REMAINDER_X)                               \
  X('y', 'i', "hidden_remainder_y", RAWHAL_VALUE_HIDDEN_REMAINDER_Y)                               \
  X('z', 'i', "hidden_remainder_z", RAWHAL_VALUE_HIDDEN_REMAINDER_Z)                               \
  X('s', 'i', "hidden_grid_dims", RAWHAL_VALUE_HIDDEN_GRID_DIMS)                                   \
  X('r', 'i', "hidden_printf_buffer", RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER)                           \
  X('r', 'i', "hidden_hostcall_buffer", RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER)                       \
  X('g', 'i', "hidden_multigrid_sync_arg", RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG)                 \
  X('1', 'i', "hidden_heap_v1", RAWHAL_VALUE_HIDDEN_HEAP_V1)                                       \
  X('e', 'i', "hidden_default_queue", RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE)                           \
  X('n', 'i', "hidden_completion_action", RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION)                   \
  X('e', 'i', "hidden_dynamic_lds_size", RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE)                     \
  X('e', 'i', "hidden_private_base", RAWHAL_VALUE_HIDDEN_PRIVATE_BASE)                             \
  X('e', 'i', "hidden_shared_base", RAWHAL_VALUE_HIDDEN_SHARED_BASE)                               \
  X('r', 'i', "hidden_queue_ptr", RAWHAL_VALUE_HIDDEN_QUEUE_PTR)

typedef struct kind_word {
  char text[28];
  uint8_t size, kind;
} kind_word_t;

static const kind_word_t kind_table[128] = {KINDS(KIND)};

const rawhal_argument_detail_t detail_of_kind[VALUE_KINDS] = {KINDS(DETAIL)};
/* clang-format on */

static const metadata_key_t *match(const metadata_key_t *key, rawhal_string_t text)
{
  return key->size == text.size && same_text(key->text, text.data, text.size) ? key : NULL;
}

const metadata_key_t *argument_key(rawhal_string_t text)
{
  if (text.size < 4)
    return NULL;
  const unsigned char *end = (const unsigned char *)text.data + text.size;
  return match(&argument_table[ARGUMENT_SLOT(text.size, end[-1], end[-3])], text);
}

const metadata_key_t *kernel_key(rawhal_string_t text)
{
  if (text.size < 4)
    return NULL;
  const unsigned char *data = (const unsigned char *)text.data;
  return match(&kernel_table[KERNEL_SLOT(text.size, data[text.size - 1], data[1])], text);
}

const metadata_key_t *argument_keys(size_t *count)
{
  *count = sizeof(argument_table) / sizeof(*argument_table);
  return argument_table;
}

const metadata_key_t *kernel_keys(size_t *count)
{
  *count = sizeof(kernel_table) / sizeof(*kernel_table);
  return kernel_table;
}

rawhal_value_kind_t value_kind_of(rawhal_string_t text)
{
  static const char hidden[] = "hidden_";
  if (text.size < 4)
    return RAWHAL_VALUE_UNKNOWN;
  const unsigned char *data = (const unsigned char *)text.data;
  const kind_word_t *word = &kind_table[KIND_SLOT(text.size, data[text.size - 1], data[1])];
  if (word->size == text.size && same_text(word->text, text.data, text.size))
    return (rawhal_value_kind_t)word->kind;
  if (text.size >= sizeof(hidden) - 1 && memcmp(text.data, hidden, sizeof(hidden) - 1) == 0)
    return RAWHAL_VALUE_HIDDEN_UNKNOWN;
  return RAWHAL_VALUE_UNKNOWN;
}

/* ---- Short lists: few words, rare or one of few ---- */

static int index_of(const char *const *words, int count, rawhal_string_t text)
{
  for (int i = 1; i < count; ++i)
    if (strlen(words[i]) == text.size && memcmp(words[i], text.data, text.size) == 0)
      return i;
  return 0;
}

rawhal_address_space_t address_space_of(rawhal_string_t text)
{
  static const char *const words[] = {
      [RAWHAL_ADDRESS_SPACE_NONE] = "",         [RAWHAL_ADDRESS_SPACE_PRIVATE] = "private",
      [RAWHAL_ADDRESS_SPACE_GLOBAL] = "global", [RAWHAL_ADDRESS_SPACE_CONSTANT] = "constant",
      [RAWHAL_ADDRESS_SPACE_LOCAL] = "local",   [RAWHAL_ADDRESS_SPACE_GENERIC] = "generic",
      [RAWHAL_ADDRESS_SPACE_REGION] = "region",
  };
  if (text.size == 6 && same_text(text.data, "global", 6)) /* nearly always */
    return RAWHAL_ADDRESS_SPACE_GLOBAL;
  return (rawhal_address_space_t)index_of(words, sizeof(words) / sizeof(*words), text);
}

rawhal_access_t access_of(rawhal_string_t text)
{
  static const char *const words[] = {
      [RAWHAL_ACCESS_NONE] = "",
      [RAWHAL_ACCESS_READ_ONLY] = "read_only",
      [RAWHAL_ACCESS_WRITE_ONLY] = "write_only",
      [RAWHAL_ACCESS_READ_WRITE] = "read_write",
  };
  return (rawhal_access_t)index_of(words, sizeof(words) / sizeof(*words), text);
}

root_key_t root_key_of(rawhal_string_t text)
{
  static const char *const words[] = {
      [ROOT_OTHER] = "",
      [ROOT_VERSION] = "amdhsa.version",
      [ROOT_TARGET] = "amdhsa.target",
      [ROOT_PRINTF] = "amdhsa.printf",
      [ROOT_KERNELS] = "amdhsa.kernels",
  };
  return (root_key_t)index_of(words, sizeof(words) / sizeof(*words), text);
}
