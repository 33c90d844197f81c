/* Signatures: 64-bit FNV-1a over the canonical byte strings that kernarg.h documents. What is
 * hashed here may only change together with the prefixes. */
#include "kernarg/layout.h"

#include <string.h>

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
  const unsigned char *byte = bytes;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t hash_start(const char *prefix)
{
  return hash_bytes(UINT64_C(0xcbf29ce484222325), prefix, strlen(prefix));
}

static uint64_t hash_u32(uint64_t hash, uint32_t value)
{
  const unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                                  (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
  return hash_bytes(hash, bytes, sizeof(bytes));
}

static uint64_t hash_argument(uint64_t hash, const rawhal_kernarg_argument_t *argument)
{
  hash = hash_u32(hash, argument->offset);
  hash = hash_u32(hash, argument->size);
  hash = hash_bytes(hash, argument->value_kind_text.data, argument->value_kind_text.size);
  return hash_bytes(hash, "", 1);
}

void layout_sign(rawhal_kernarg_layout_t *layout)
{
  rawhal_kernarg_info_t *info = &layout->info;
  const uint32_t all[] = {info->knowledge,   info->segment_size, info->effective_size,
                          info->alignment,   info->explicit_end, info->visible_count,
                          info->hidden_count};
  bool known = info->knowledge == RAWHAL_KERNARG_ARGUMENTS;
  const uint32_t blob[] = {info->knowledge, info->explicit_end, known ? 0 : info->segment_size,
                           info->visible_count};

  info->signature = hash_start("rawhal-kernarg-1");
  for (size_t i = 0; i < sizeof(all) / sizeof(*all); ++i)
    info->signature = hash_u32(info->signature, all[i]);
  info->blob_signature = hash_start("rawhal-blob-1");
  for (size_t i = 0; i < sizeof(blob) / sizeof(*blob); ++i)
    info->blob_signature = hash_u32(info->blob_signature, blob[i]);

  for (uint32_t i = 0; i < info->visible_count + info->hidden_count; ++i) {
    const rawhal_kernarg_argument_t *argument = &layout->arguments[i];
    info->signature = hash_argument(info->signature, argument);
    if (!argument->hidden)
      info->blob_signature = hash_argument(info->blob_signature, argument);
  }
}
