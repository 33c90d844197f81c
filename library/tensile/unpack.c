#define ZLIB_CONST /* what it reads, it does not write */
#include "library/tensile/unpack.h"

#include "base/error.h"
#include "hsaco/work.h"

#include <limits.h>
#include <zlib.h>

enum { STEPS_A_BYTE = 4 }; /* of what comes out, see unpack_zlib() of decompress.c */
static const size_t most_unpacked = (size_t)1 << 30;

typedef struct unpacking {
  z_stream stream;
  const unsigned char *bytes;
  size_t size;
  unsigned char *to;
  size_t room;
} unpacking_t;

static void *zlib_allocate(void *allocator, uInt count, uInt size)
{
  return allocate(allocator, (size_t)count * size); /* of 32 bits each */
}

static void zlib_free(void *allocator, void *memory)
{
  allocate_free(allocator, memory);
}

bool tensile_is_packed(const void *bytes, size_t size)
{
  /* RFC 1950: the method is deflate, with a window of 32 KiB at most and no dictionary, and the two
   * bytes are a multiple of 31. */
  enum { METHOD = 0x0f, DEFLATE = 8, WIDEST = 7, DICTIONARY = 1 << 5 };
  const unsigned char *start = bytes;
  return size >= 2 && (start[0] & METHOD) == DEFLATE && start[0] >> 4 <= WIDEST &&
         !(start[1] & DICTIONARY) && (start[0] << 8 | start[1]) % 31 == 0;
}

/* Goes on, to the end of the next block at most. zlib's own counts have 32 bits. */
static int inflate_some(unpacking_t *unpacking)
{
  z_stream *stream = &unpacking->stream;
  uint64_t in = unpacking->size - stream->total_in, out = unpacking->room - stream->total_out;
  stream->next_in = unpacking->bytes + stream->total_in;
  stream->next_out = unpacking->to + stream->total_out;
  stream->avail_in = in < UINT_MAX ? (uInt)in : UINT_MAX;
  stream->avail_out = out < UINT_MAX ? (uInt)out : UINT_MAX;
  return inflate(stream, Z_BLOCK);
}

size_t tensile_unpack_start(const void *bytes, size_t size, void *start, size_t room)
{
  unpacking_t unpacking = {.bytes = bytes, .size = size, .to = start, .room = room};
  if (!room || inflateInit(&unpacking.stream) != Z_OK)
    return 0;
  for (int result = Z_OK; result == Z_OK && unpacking.stream.total_out < room;)
    result = inflate_some(&unpacking);
  inflateEnd(&unpacking.stream);
  return unpacking.stream.total_out;
}

static rawhal_status_t fail_memory(rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to unpack a solution library");
}

static rawhal_status_t make_room(unpacking_t *unpacking, const allocator_t *allocator,
                                 rawhal_error_t *error)
{
  enum { LEAST = 4096 };
  if (unpacking->stream.total_out < unpacking->room)
    return RAWHAL_OK;
  if (unpacking->room == most_unpacked)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, unpacking->stream.total_in,
                          "a solution library that unpacks to more than %zu bytes", most_unpacked);
  size_t room = unpacking->room ? unpacking->room * 2 : LEAST;
  room = room < most_unpacked ? room : most_unpacked;
  unsigned char *to = allocate_more(allocator, unpacking->to, unpacking->room, room);
  if (!to)
    return fail_memory(error);
  unpacking->to = to;
  unpacking->room = room;
  return RAWHAL_OK;
}

/* What a step of zlib's may cost is given for what it reads and makes. */
static bool pay(work_t *work, uint64_t in, uint64_t out)
{
  work_give(work, out);
  return work_take(work, WORK_BLOCK + in + STEPS_A_BYTE * out);
}

static rawhal_status_t unpack_all(unpacking_t *unpacking, const allocator_t *allocator,
                                  rawhal_error_t *error)
{
  const z_stream *stream = &unpacking->stream;
  work_t work;
  work_start(&work, unpacking->size);
  int result = Z_OK;
  while (result == Z_OK) {
    const uint64_t in = stream->total_in, out = stream->total_out;
    rawhal_status_t status = make_room(unpacking, allocator, error);
    if (status != RAWHAL_OK)
      return status;
    result = inflate_some(unpacking);
    if (!pay(&work, stream->total_in - in, stream->total_out - out))
      return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, stream->total_in,
                            "a solution library whose compressed blocks are nearly empty");
  }
  if (result == Z_MEM_ERROR)
    return fail_memory(error);
  if (result != Z_STREAM_END)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, stream->total_in,
                          "a solution library's zlib stream is damaged or truncated");
  if (stream->total_in < unpacking->size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, stream->total_in,
                          "%zu bytes follow a solution library's zlib stream",
                          unpacking->size - (size_t)stream->total_in);
  return RAWHAL_OK;
}

rawhal_status_t tensile_unpack(const void *bytes, size_t size, const allocator_t *allocator,
                               file_bytes_t *unpacked, rawhal_error_t *error)
{
  allocator_t own = *allocator; /* zlib's is not constant */
  unpacking_t unpacking = {
      .stream = {.zalloc = zlib_allocate, .zfree = zlib_free, .opaque = &own},
      .bytes = bytes,
      .size = size,
  };
  *unpacked = (file_bytes_t){0};
  if (inflateInit(&unpacking.stream) != Z_OK)
    return fail_memory(error);
  rawhal_status_t status = unpack_all(&unpacking, allocator, error);
  inflateEnd(&unpacking.stream);
  if (status != RAWHAL_OK) {
    allocate_free(allocator, unpacking.to);
    return status;
  }
  unpacked->data = unpacking.to;
  unpacked->size = unpacking.stream.total_out;
  return RAWHAL_OK;
}
