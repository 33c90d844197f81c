#include <string.h>

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

typedef struct bundle {
  scan_part_t part;
  const unsigned char *payload;
  uint64_t payload_size; /* at most, for version 1 */
  uint64_t unpacked_size;
  uint16_t method;
} bundle_t;

static uint64_t field(const unsigned char *header, uint8_t offset, uint8_t width)
{
  uint64_t value = 0; /* little-endian, as all machines that have these files */
  memcpy(&value, header + offset, width);
  return value;
}

static const char not_known[] = "a compressed bundle (CCOB) of a version or method not known here";

/* *known is false for versions and methods that may come yet. */
static rawhal_status_t read_header(const scan_t *scan, bundle_t *bundle, bool *known,
                                   rawhal_error_t *error)
{
  const scan_part_t *part = &bundle->part;
  const unsigned char *header = scan->space.bytes + part->offset;
  uint64_t version = part->size >= 8 ? field(header, 4, 2) : 0;
  *known = version >= 1 && version <= sizeof(layouts) / sizeof(*layouts);
  const struct layout *layout = &layouts[*known ? version - 1 : 0];
  if (part->size < layout->header)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "the header of a compressed bundle (CCOB) is truncated");
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

static rawhal_status_t unpack(scan_t *scan, const bundle_t *bundle, scan_space_t *space,
                              uint64_t *used, rawhal_error_t *error)
{
  const bool zlib = bundle->method == METHOD_ZLIB;
  const scan_packed_t packed = {
      .what = zlib ? "a compressed bundle (CCOB, zlib)" : "a compressed bundle (CCOB, zstd)",
      .at = bundle->part.offset,
      .bytes = bundle->payload,
      .size = bundle->payload_size,
      .unpacked_size = bundle->unpacked_size,
      .zlib = zlib,
  };
  return scan_unpack(scan, &packed, space, used, error);
}

rawhal_status_t scan_compressed(scan_t *scan, scan_part_t part, uint64_t *end,
                                rawhal_error_t *error)
{
  bundle_t bundle = {.part = part};
  bool known;
  *end = part.offset;
  rawhal_status_t status = read_header(scan, &bundle, &known, error);
  if (status != RAWHAL_OK)
    return status;
  *end = part.offset + bundle.part.size;
  if (!known)
    return scan_refuse(scan, bundle.part, not_known, error);
  scan_space_t space;
  uint64_t used;
  status = unpack(scan, &bundle, &space, &used, error);
  if (status != RAWHAL_OK)
    return status;
  if (scan->space.bytes[part.offset + 4] == 1) /* whose only mark of its end is the payload's */
    *end = part.offset + layouts[0].header + used;
  const scan_part_t inner = {.size = bundle.unpacked_size, .id = part.id, .depth = part.depth + 1};
  return scan_inside(scan, &space, inner, "a compressed bundle", part.offset, error);
}

/* Version 1 does not count its bytes: the payload ends where its stream does. zstd's frames say
 * how long their blocks are; zlib's have to be unpacked. */
rawhal_status_t measure_compressed(scan_t *scan, scan_part_t part, uint64_t *end,
                                   rawhal_error_t *error)
{
  bundle_t bundle = {.part = part};
  bool known;
  *end = part.offset;
  rawhal_status_t status = read_header(scan, &bundle, &known, error);
  if (status != RAWHAL_OK)
    return status;
  if (!known)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, part.offset, not_known);
  *end = part.offset + bundle.part.size;
  if (scan->space.bytes[part.offset + 4] != 1)
    return RAWHAL_OK;
  scan_space_t space;
  uint64_t used;
  if (bundle.method == METHOD_ZLIB) {
    status = unpack(scan, &bundle, &space, &used, error);
  } else {
    uint64_t unpacked_size;
    used = scan_zstd_frame(bundle.payload, bundle.payload_size, &unpacked_size);
    if (!used)
      status =
          rawhal_fail_at(error, RAWHAL_MALFORMED, part.offset + layouts[0].header,
                         "the payload of a compressed bundle (CCOB) is not a whole zstd frame");
  }
  *end = part.offset + layouts[0].header + used;
  return status;
}
