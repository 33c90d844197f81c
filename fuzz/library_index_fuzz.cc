// Any content as the index of a library, in pages that say they are whole: whoever damages an index on purpose can make
// them say so. Answers may then be wrong, and are found out when the object is opened; nothing else may happen.
#include <cstdint>
#include <cstring>

#include "budget.h"

extern "C" {
#include "library/index.h"
}

namespace {

bool look_at(void *context, uint32_t object, uint32_t)
{
  index_object_t found;
  (void)index_object_at(static_cast<const library_index_t *>(context), object, &found);
  return true;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Budget budget(budget_begin(400000 + 4000 * size, 16384 + 4 * size));
  image_t image;
  library_index_t index = {};
  index_header_t header;
  image_begin(&image, INDEX_SEED, nullptr);
  if (!image_append(&image, data, size))
    __builtin_trap();
  image_seal(&image);
  const uint64_t pages = image_bytes(&image).size / IMAGE_PAGE;
  if (!image_read(&image, 0, &header, sizeof(header)) ||
      !index_take(&index, &image, pages, &header.source)) {
    image_free(&image);
    return 0;
  }
  const rawhal_string_t known = RAWHAL_STRING("vector_add");
  (void)index_find(&index, known, look_at, &index);
  for (size_t at = 0; at + 8 < size && at < 4096; at += 7) // parts of itself
    (void)index_find(&index, {reinterpret_cast<const char *>(data) + at, at % 8}, look_at, &index);
  index_object_t object;
  for (uint32_t i = 0; i < 4; ++i)
    (void)index_object_at(&index, i, &object);
  index_free(&index);
  return 0;
}
