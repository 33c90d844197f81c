#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/scan.h"

/* What containers unpack: zlib and zstd, into memory that lives as long as the container, all of it
 * under one cap. */

/* Unpacked bytes, which objects point into. */
struct unpacked {
  struct unpacked *next;
  _Alignas(16) unsigned char bytes[];
};

void scan_free_unpacked(struct scan *scan)
{
  while (scan->unpacked) {
    struct unpacked *next = scan->unpacked->next;
    free(scan->unpacked);
    scan->unpacked = next;
  }
}

void scan_end_unpacking(struct scan *scan)
{
  ZSTD_freeDCtx(scan->zstd);
  scan->zstd = NULL;
}

/* Hostile files claim much, and may name the same bytes often: both sizes are paid for. */
static rawhal_status_t take_budget(struct scan *scan, const struct scan_packed *packed,
                                   rawhal_error_t *error)
{
  uint64_t price;
  if (!checked_add_u64(packed->size, packed->unpacked_size, &price) ||
      price > scan->options.max_unpacked_bytes - scan->spent)
    return rawhal_fail_at(error, RAWHAL_LIMIT, packed->at,
                          "%s of %llu bytes: with what else was unpacked, more than "
                          "max_unpacked_bytes (%llu)",
                          packed->what, (unsigned long long)packed->unpacked_size,
                          (unsigned long long)scan->options.max_unpacked_bytes);
  scan->spent += price;
  scan->patience += SCAN_MOST_LOOKS * packed->unpacked_size;
  return RAWHAL_OK;
}

/* Both fill exactly `unpacked_size` bytes and say how many of the packed ones they used. */

static rawhal_status_t unpack_zlib(struct scan *scan, const struct scan_packed *packed,
                                   unsigned char *to, uint64_t *used)
{
  (void)scan;
  uLong source = packed->size;
  uLongf size = packed->unpacked_size;
  int result = uncompress2(to, &size, packed->bytes, &source);
  *used = source;
  if (result == Z_MEM_ERROR)
    return RAWHAL_OUT_OF_MEMORY;
  return result == Z_OK && size == packed->unpacked_size ? RAWHAL_OK : RAWHAL_MALFORMED;
}

static rawhal_status_t unpack_zstd(struct scan *scan, const struct scan_packed *packed,
                                   unsigned char *to, uint64_t *used)
{
  if (!scan->zstd) /* making one takes longer than unpacking a small frame */
    scan->zstd = ZSTD_createDCtx();
  if (!scan->zstd)
    return RAWHAL_OUT_OF_MEMORY;
  *used = ZSTD_findFrameCompressedSize(packed->bytes, packed->size);
  if (ZSTD_isError(*used))
    return RAWHAL_MALFORMED;
  size_t size = ZSTD_decompressDCtx(scan->zstd, to, packed->unpacked_size, packed->bytes, *used);
  if (ZSTD_isError(size) && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
    return RAWHAL_OUT_OF_MEMORY;
  return size == packed->unpacked_size ? RAWHAL_OK : RAWHAL_MALFORMED;
}

rawhal_status_t scan_unpack(struct scan *scan, const struct scan_packed *packed,
                            const unsigned char **bytes, uint64_t *used, rawhal_error_t *error)
{
  *bytes = NULL;
  *used = 0;
  rawhal_status_t status = take_budget(scan, packed, error);
  if (status)
    return status;
  uint64_t size;
  struct unpacked *unpacked =
      checked_add_u64(sizeof(*unpacked), packed->unpacked_size, &size) ? malloc(size) : NULL;
  if (!unpacked)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to unpack %llu bytes",
                       (unsigned long long)packed->unpacked_size);
  unpacked->next = scan->unpacked;
  scan->unpacked = unpacked;
  *bytes = unpacked->bytes;
  status = (packed->zlib ? unpack_zlib : unpack_zstd)(scan, packed, unpacked->bytes, used);
  if (status == RAWHAL_OUT_OF_MEMORY)
    return rawhal_fail(error, status, "no memory to unpack %s", packed->what);
  if (status)
    return rawhal_fail_at(error, status, packed->at,
                          "%s is damaged or does not unpack to the %llu bytes it claims",
                          packed->what, (unsigned long long)packed->unpacked_size);
  return RAWHAL_OK;
}

uint64_t scan_zstd_frame(const unsigned char *bytes, uint64_t size, uint64_t *unpacked_size)
{
  unsigned long long content = ZSTD_getFrameContentSize(bytes, size);
  size_t frame = ZSTD_findFrameCompressedSize(bytes, size);
  *unpacked_size = SCAN_SIZE_UNKNOWN;
  if (content == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(frame))
    return 0;
  if (content != ZSTD_CONTENTSIZE_UNKNOWN)
    *unpacked_size = content;
  return frame;
}
