#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/scan.h"

/* Compressed offload bundles (CCOB): magic, u16 version, u16 method, then sizes whose place and
 * width depend on the version, a hash, and the payload (LLVM, OffloadBundler.cpp). The hash, half
 * an MD5, is not checked: what was unpacked is read as carefully as anything else. */

enum { METHOD_ZLIB, METHOD_ZSTD };

/* Where version `index + 1` has its fields; `total` counts the whole bundle, version 1 lacks it. */
static const struct layout {
  uint8_t header, total, unpacked, width;
} layouts[] = {{20, 0, 8, 4}, {24, 8, 12, 4}, {32, 8, 16, 8}};

struct bundle {
  struct scan_part part;
  const unsigned char *payload;
  uint64_t payload_size; /* at most, for version 1 */
  uint64_t unpacked_size;
  uint16_t method;
};

/* One bundle's bytes, which the objects in it point into. */
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

static uint64_t field(const unsigned char *header, uint8_t offset, uint8_t width)
{
  uint64_t value = 0; /* little-endian, as all machines that have these files */
  memcpy(&value, header + offset, width);
  return value;
}

/* *known is false for versions and methods that may come yet. */
static rawhal_status_t read_header(const struct scan *scan, struct bundle *bundle, bool *known,
                                   rawhal_error_t *error)
{
  const struct scan_part *part = &bundle->part;
  const unsigned char *header = scan->space.bytes + part->offset;
  uint64_t version = part->size >= 8 ? field(header, 4, 2) : 0;
  *known = version >= 1 && version <= sizeof(layouts) / sizeof(*layouts);
  const struct layout *layout = &layouts[*known ? version - 1 : 0];
  if (part->size < layout->header)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "the header of a compressed bundle (CCOB) is cut");
  if (!*known)
    return RAWHAL_OK;
  uint64_t total = layout->total ? field(header, layout->total, layout->width) : part->size;
  if (total < layout->header || total > part->size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "a compressed bundle (CCOB) of %llu bytes where %llu are left",
                          (unsigned long long)total, (unsigned long long)part->size);
  bundle->part.size = total;
  bundle->payload = header + layout->header;
  bundle->payload_size = total - layout->header;
  bundle->unpacked_size = field(header, layout->unpacked, layout->width);
  bundle->method = (uint16_t)field(header, 6, 2);
  *known = bundle->method <= METHOD_ZSTD;
  return RAWHAL_OK;
}

/* Hostile files claim much, and may name the same bytes often: both sizes are paid for. */
static rawhal_status_t take_budget(struct scan *scan, const struct bundle *bundle,
                                   rawhal_error_t *error)
{
  uint64_t price;
  if (!checked_add_u64(bundle->payload_size, bundle->unpacked_size, &price) ||
      price > scan->options.max_unpacked_bytes - scan->spent)
    return rawhal_fail_at(error, RAWHAL_LIMIT, bundle->part.offset,
                          "a compressed bundle of %llu bytes: with what else was unpacked, more "
                          "than max_unpacked_bytes (%llu)",
                          (unsigned long long)bundle->unpacked_size,
                          (unsigned long long)scan->options.max_unpacked_bytes);
  scan->spent += price;
  return RAWHAL_OK;
}

/* Both fill exactly `unpacked_size` bytes and say how many of the payload they used. */

static rawhal_status_t unpack_zlib(struct bundle *bundle, unsigned char *to, uint64_t *used)
{
  uLong source = bundle->payload_size;
  uLongf size = bundle->unpacked_size;
  int result = uncompress2(to, &size, bundle->payload, &source);
  *used = source;
  if (result == Z_MEM_ERROR)
    return RAWHAL_OUT_OF_MEMORY;
  return result == Z_OK && size == bundle->unpacked_size ? RAWHAL_OK : RAWHAL_MALFORMED;
}

static rawhal_status_t unpack_zstd(struct bundle *bundle, unsigned char *to, uint64_t *used)
{
  *used = ZSTD_findFrameCompressedSize(bundle->payload, bundle->payload_size);
  if (ZSTD_isError(*used))
    return RAWHAL_MALFORMED;
  size_t size = ZSTD_decompress(to, bundle->unpacked_size, bundle->payload, *used);
  if (ZSTD_isError(size) && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
    return RAWHAL_OUT_OF_MEMORY;
  return size == bundle->unpacked_size ? RAWHAL_OK : RAWHAL_MALFORMED;
}

static rawhal_status_t unpack(struct scan *scan, struct bundle *bundle, uint64_t *used,
                              rawhal_error_t *error)
{
  rawhal_status_t status = take_budget(scan, bundle, error);
  if (status)
    return status;
  uint64_t bytes;
  struct unpacked *unpacked =
      checked_add_u64(sizeof(*unpacked), bundle->unpacked_size, &bytes) ? malloc(bytes) : NULL;
  if (!unpacked)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to unpack %llu bytes",
                       (unsigned long long)bundle->unpacked_size);
  unpacked->next = scan->unpacked;
  scan->unpacked = unpacked;
  status = bundle->method == METHOD_ZLIB ? unpack_zlib(bundle, unpacked->bytes, used)
                                         : unpack_zstd(bundle, unpacked->bytes, used);
  if (status == RAWHAL_OUT_OF_MEMORY)
    return rawhal_fail(error, status, "no memory to unpack a compressed bundle");
  if (status)
    return rawhal_fail_at(error, status, bundle->part.offset,
                          "a compressed bundle (CCOB, %s) is damaged or does not unpack to the "
                          "%llu bytes it claims",
                          bundle->method == METHOD_ZLIB ? "zlib" : "zstd",
                          (unsigned long long)bundle->unpacked_size);
  return RAWHAL_OK;
}

/* Reads the unpacked bytes in the place of the container's: offsets count in them meanwhile. */
static rawhal_status_t scan_unpacked(struct scan *scan, const struct bundle *bundle,
                                     rawhal_error_t *error)
{
  const struct scan_space outer = scan->space;
  if (!outer.unpacked)
    scan->space.offset = bundle->part.offset;
  scan->space.unpacked = true;
  scan->space.bytes = scan->unpacked->bytes;
  struct scan_part inner = {0, bundle->unpacked_size, bundle->part.id, bundle->part.depth + 1};
  rawhal_status_t status = scan_range(scan, inner, error);
  scan->space = outer;
  if (status && error)
    return rawhal_fail_at(error, status, bundle->part.offset, "inside a compressed bundle: %s",
                          error->message);
  return status;
}

rawhal_status_t scan_compressed(struct scan *scan, struct scan_part part, uint64_t *end,
                                rawhal_error_t *error)
{
  struct bundle bundle = {.part = part};
  bool known;
  *end = part.offset;
  rawhal_status_t status = read_header(scan, &bundle, &known, error);
  if (status)
    return status;
  *end = part.offset + bundle.part.size;
  if (!known)
    return scan_refuse(scan, bundle.part,
                       "a compressed bundle (CCOB) of a version or method not known here", error);
  uint64_t used = 0;
  status = unpack(scan, &bundle, &used, error);
  if (status)
    return status;
  if (scan->space.bytes[part.offset + 4] == 1) /* whose only mark of its end is the payload's */
    *end = part.offset + layouts[0].header + used;
  return scan_unpacked(scan, &bundle, error);
}
