#define ZLIB_CONST /* what it reads, it does not write */
#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/scan.h"

/* What containers unpack: zlib and zstd, under one cap of what is held at once. Where all is kept,
 * it lives as long as the container. */

/* Compressed bytes, and what they unpack to. */
typedef struct unpacked {
  struct unpacked *next;
  struct unpacked *outer; /* that the packed bytes are in; NULL: the container */
  uint64_t at;            /* of those */
  scan_packed_t packed;   /* `bytes` changes with what is held */
  unsigned char *bytes;   /* NULL: not held */
  unsigned users;         /* that read them now */
} unpacked_t;

/* What holding it costs: hostile files claim much, and may name the same bytes often. */
static bool price_of(const scan_packed_t *packed, uint64_t *price)
{
  return checked_add_u64(packed->size, packed->unpacked_size, price) &&
         checked_add_u64(*price, packed->header, price);
}

static void let_go(scan_t *scan, unpacked_t *unpacked)
{
  uint64_t price = 0;
  if (!unpacked->bytes)
    return;
  allocate_free(&scan->allocator, unpacked->bytes);
  unpacked->bytes = NULL;
  (void)price_of(&unpacked->packed, &price);
  scan->held -= price;
}

void scan_free_unpacked(scan_t *scan)
{
  while (scan->unpacked) {
    unpacked_t *next = scan->unpacked->next;
    let_go(scan, scan->unpacked);
    allocate_free(&scan->allocator, scan->unpacked);
    scan->unpacked = next;
  }
}

void scan_end_unpacking(scan_t *scan)
{
  ZSTD_freeDCtx(scan->zstd);
  scan->zstd = NULL;
}

/* What is not in use goes; what others were unpacked from stays with them. */
static void make_room(scan_t *scan)
{
  for (unpacked_t *one = scan->unpacked; one && scan_holds_one(scan); one = one->next)
    if (!one->users)
      let_go(scan, one);
}

static rawhal_status_t take_budget(scan_t *scan, const scan_packed_t *packed, uint64_t *price,
                                   rawhal_error_t *error)
{
  const rawhal_container_options_t *options = &scan->options;
  if (!price_of(packed, price) || *price > options->max_unpacked_bytes - scan->held)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, packed->at,
                          "%s of %llu bytes: with all that is held unpacked, more than "
                          "max_unpacked_bytes (%llu)",
                          packed->what, (unsigned long long)packed->unpacked_size,
                          (unsigned long long)options->max_unpacked_bytes);
  if (*price > options->max_unpacked_total - scan->spent)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, packed->at,
                          "%s of %llu bytes: with all that was unpacked, more than "
                          "max_unpacked_total (%llu)",
                          packed->what, (unsigned long long)packed->unpacked_size,
                          (unsigned long long)options->max_unpacked_total);
  return RAWHAL_OK;
}

/* Both fill exactly `unpacked_size` bytes and say how many of the packed ones they used; LIMIT when
 * that takes too many steps. Blocks are counted, for one of a few bytes may bring tables that take
 * microseconds to build, and real ones have thousands of bytes. */

/* ---- zlib ---- */

static void *zlib_allocate(void *allocator, uInt count, uInt size)
{
  uint64_t total = (uint64_t)count * size; /* of 32 bits each */
  return total <= SIZE_MAX ? allocate(allocator, (size_t)total) : NULL;
}

static void zlib_free(void *allocator, void *memory)
{
  allocate_free(allocator, memory);
}

/* Goes on, to the end of the next block at most. zlib's own counts have 32 bits. */
static int inflate_some(z_stream *stream, const scan_packed_t *packed, unsigned char *to)
{
  uint64_t in = packed->size - stream->total_in, out = packed->unpacked_size - stream->total_out;
  stream->next_in = packed->bytes + stream->total_in;
  stream->next_out = to + stream->total_out;
  stream->avail_in = in < UINT_MAX ? (uInt)in : UINT_MAX;
  stream->avail_out = out < UINT_MAX ? (uInt)out : UINT_MAX;
  return inflate(stream, Z_BLOCK);
}

static rawhal_status_t unpack_zlib(scan_t *scan, const scan_packed_t *packed, unsigned char *to,
                                   uint64_t *used)
{
  enum { STEPS_A_BYTE = 4 }; /* of what comes out */
  z_stream stream = {.zalloc = zlib_allocate, .zfree = zlib_free, .opaque = &scan->allocator};
  *used = 0;
  if (!work_take(&scan->work, STEPS_A_BYTE * packed->unpacked_size))
    return RAWHAL_CAP_EXCEEDED;
  if (inflateInit(&stream) != Z_OK)
    return RAWHAL_OUT_OF_MEMORY;
  int result = Z_OK;
  bool enough = true;
  while (enough && result == Z_OK) {
    uint64_t before = stream.total_in;
    result = inflate_some(&stream, packed, to);
    enough = work_take(&scan->work, WORK_BLOCK + stream.total_in - before);
  }
  inflateEnd(&stream);
  *used = stream.total_in;
  if (!enough)
    return RAWHAL_CAP_EXCEEDED;
  if (result == Z_MEM_ERROR)
    return RAWHAL_OUT_OF_MEMORY;
  return result == Z_STREAM_END && stream.total_out == packed->unpacked_size ? RAWHAL_OK
                                                                             : RAWHAL_MALFORMED;
}

/* ---- zstd ---- */

/* Formats before 1.0 of 2016, which the library may still read, do not count as frames here. */
static bool starts_zstd_frame(const unsigned char *bytes, uint64_t size)
{
  static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
  return size >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

/* The blocks of a frame that ZSTD_findFrameCompressedSize() has walked, too: it does not say how
 * many there are (RFC 8878, "Zstandard Frames"). */
static uint64_t count_blocks(const unsigned char *bytes, uint64_t size)
{
  static const uint8_t dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8}; /* bytes of fields */
  enum { DESCRIPTOR = 4, BLOCK_HEADER = 3, TYPE_RLE = 1 };
  if (size <= DESCRIPTOR)
    return 0;
  unsigned descriptor = bytes[DESCRIPTOR], single = descriptor >> 5 & 1;
  unsigned window = !single, least_content = single && descriptor >> 6 == 0; /* of one byte */
  uint64_t at = DESCRIPTOR + 1u + window + least_content;
  at += (unsigned)dictionary[descriptor & 3] + content[descriptor >> 6];
  uint64_t count = 0;
  for (bool last = false; !last && range_within(at, BLOCK_HEADER, size); ++count) {
    uint32_t header = bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16;
    last = header & 1;
    at += BLOCK_HEADER + ((header >> 1 & 3) == TYPE_RLE ? 1 : header >> 3);
  }
  return count;
}

static rawhal_status_t unpack_zstd(scan_t *scan, const scan_packed_t *packed, unsigned char *to,
                                   uint64_t *used)
{
  enum { STEPS_A_BYTE = 2 };
  if (!scan->zstd) /* making one takes longer than unpacking a small frame */
    scan->zstd = ZSTD_createDCtx();
  if (!scan->zstd)
    return RAWHAL_OUT_OF_MEMORY;
  *used = 0;
  if (!starts_zstd_frame(packed->bytes, packed->size))
    return RAWHAL_MALFORMED;
  *used = ZSTD_findFrameCompressedSize(packed->bytes, packed->size);
  if (ZSTD_isError(*used))
    return RAWHAL_MALFORMED;
  if (!work_take(&scan->work, STEPS_A_BYTE * packed->unpacked_size + *used) ||
      !work_take(&scan->work, WORK_BLOCK * count_blocks(packed->bytes, *used)))
    return RAWHAL_CAP_EXCEEDED;
  size_t size = ZSTD_decompressDCtx(scan->zstd, to, packed->unpacked_size, packed->bytes, *used);
  if (ZSTD_isError(size) && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
    return RAWHAL_OUT_OF_MEMORY;
  return size == packed->unpacked_size ? RAWHAL_OK : RAWHAL_MALFORMED;
}

/* Its packed bytes are there. */
static rawhal_status_t fill(scan_t *scan, unpacked_t *unpacked, uint64_t *used,
                            rawhal_error_t *error)
{
  const scan_packed_t *packed = &unpacked->packed;
  uint64_t price;
  *used = 0;
  make_room(scan);
  rawhal_status_t status = take_budget(scan, packed, &price, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t size = packed->header + packed->unpacked_size;
  unpacked->bytes = allocate(&scan->allocator, size ? (size_t)size : 1);
  if (!unpacked->bytes)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to unpack %llu bytes",
                       (unsigned long long)packed->unpacked_size);
  scan->held += price;
  scan->spent += price;
  work_give(&scan->work, packed->unpacked_size);
  memcpy(unpacked->bytes, packed->header_bytes, (size_t)packed->header);
  unsigned char *to = unpacked->bytes + packed->header;
  status = (packed->zlib ? unpack_zlib : unpack_zstd)(scan, packed, to, used);
  if (status == RAWHAL_OUT_OF_MEMORY)
    return rawhal_fail(error, status, "no memory to unpack %s", packed->what);
  if (status == RAWHAL_CAP_EXCEEDED)
    return scan_fail_work(packed->at, error);
  if (status != RAWHAL_OK)
    return rawhal_fail_at(error, status, packed->at,
                          "%s is damaged or does not unpack to the %llu bytes it claims",
                          packed->what, (unsigned long long)packed->unpacked_size);
  return RAWHAL_OK;
}

rawhal_status_t scan_unpack(scan_t *scan, const scan_packed_t *packed, scan_space_t *space,
                            uint64_t *used, rawhal_error_t *error)
{
  *space = (scan_space_t){0};
  *used = 0;
  unpacked_t *unpacked = allocate(&scan->allocator, sizeof(*unpacked));
  if (!unpacked)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to unpack %llu bytes",
                       (unsigned long long)packed->unpacked_size);
  *unpacked = (unpacked_t){.next = scan->unpacked,
                           .outer = scan->space.unpacked,
                           .at = (uint64_t)(packed->bytes - scan->space.bytes),
                           .packed = *packed};
  scan->unpacked = unpacked;
  rawhal_status_t status = fill(scan, unpacked, used, error);
  unpacked->packed.what = "what was read before"; /* the text is the caller's */
  if (status != RAWHAL_OK) {
    let_go(scan, unpacked);
    return status;
  }
  *space = (scan_space_t){
      .bytes = unpacked->bytes,
      .unpacked = unpacked,
      .offset = scan->space.unpacked ? scan->space.offset : packed->at,
  };
  return RAWHAL_OK;
}

/* ---- Once more ---- */

/* Of nested ones the outermost first: those that others are read from stay meanwhile. At most as
 * deep as carriers nest. */
static rawhal_status_t fill_again(scan_t *scan, unpacked_t *unpacked, const unsigned char *root,
                                  rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  uint64_t used;
  if (unpacked->bytes)
    return RAWHAL_OK;
  if (unpacked->outer) {
    status = fill_again(scan, unpacked->outer, root, error);
    if (status != RAWHAL_OK)
      return status;
    ++unpacked->outer->users;
  }
  unpacked->packed.bytes = (unpacked->outer ? unpacked->outer->bytes : root) + unpacked->at;
  status = fill(scan, unpacked, &used, error);
  if (status != RAWHAL_OK)
    let_go(scan, unpacked);
  if (unpacked->outer)
    --unpacked->outer->users;
  return status;
}

rawhal_status_t scan_hold(scan_t *scan, scan_space_t *space, rawhal_error_t *error)
{
  if (!space->unpacked)
    return RAWHAL_OK;
  rawhal_status_t status = fill_again(scan, space->unpacked, scan->container, error);
  space->bytes = space->unpacked->bytes;
  return status;
}

rawhal_status_t scan_inside(scan_t *scan, const scan_space_t *space, scan_part_t part,
                            const char *what, uint64_t at, rawhal_error_t *error)
{
  const scan_space_t outer = scan->space;
  scan->space = *space;
  ++space->unpacked->users;
  rawhal_status_t status = scan_range(scan, part, error);
  --space->unpacked->users;
  scan->space = outer;
  if (status != RAWHAL_OK && error)
    return rawhal_fail_at(error, status, at, "inside %s: %s", what, error->message);
  return status;
}

rawhal_status_t scan_object_bytes(scan_t *scan, size_t index, rawhal_bytes_t *bytes,
                                  rawhal_error_t *error)
{
  const scan_origin_t *origin = &scan->origins[index];
  *bytes = scan->objects[index].bytes;
  if (!origin->unpacked || bytes->data)
    return RAWHAL_OK;
  scan_space_t space = {.unpacked = origin->unpacked};
  scan->spent = 0; /* it was allowed before */
  work_start(&scan->work, UINT64_MAX);
  rawhal_status_t status = scan_hold(scan, &space, error);
  bytes->data = space.bytes ? space.bytes + origin->offset : NULL;
  scan_end_unpacking(scan);
  return status;
}

uint64_t scan_zstd_frame(const unsigned char *bytes, uint64_t size, uint64_t *unpacked_size)
{
  *unpacked_size = SCAN_SIZE_UNKNOWN;
  if (!starts_zstd_frame(bytes, size))
    return 0;
  unsigned long long content = ZSTD_getFrameContentSize(bytes, size);
  size_t frame = ZSTD_findFrameCompressedSize(bytes, size);
  if (content == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(frame))
    return 0;
  if (content != ZSTD_CONTENTSIZE_UNKNOWN)
    *unpacked_size = content;
  return frame;
}
