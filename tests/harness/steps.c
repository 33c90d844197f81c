#include "tests/harness/steps.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>

static uint64_t steps, unpacked;

uint64_t steps_counted(void)
{
  return steps;
}

uint64_t steps_unpacked(void)
{
  return unpacked;
}

/* The linker sends here what calls `name`; __real_ is the function itself. Visible, for the linker
 * takes the calls inside of shared libraries for ours, too. */
#define WRAP(result, name, parameters)                                                             \
  result __real_##name parameters;                                                                 \
  __attribute__((visibility("default"))) result __wrap_##name parameters;                          \
  result __wrap_##name parameters

/* The compiler puts a call into every basic block. The fuzzer's runtime has such a function, too. */
void __wrap___sanitizer_cov_trace_pc(void);
void __wrap___sanitizer_cov_trace_pc(void)
{
  ++steps;
}

static void bulk(size_t bytes)
{
  steps += bytes / 16 + 1;
}

WRAP(void *, memcpy, (void *to, const void *from, size_t size))
{
  bulk(size);
  return __real_memcpy(to, from, size);
}

WRAP(void *, memmove, (void *to, const void *from, size_t size))
{
  bulk(size);
  return __real_memmove(to, from, size);
}

WRAP(void *, memset, (void *to, int byte, size_t size))
{
  bulk(size);
  return __real_memset(to, byte, size);
}

WRAP(void *, memchr, (const void *bytes, int byte, size_t size))
{
  void *found = __real_memchr(bytes, byte, size);
  bulk(found ? (size_t)((const char *)found - (const char *)bytes) : size);
  return found;
}

WRAP(int, memcmp, (const void *left, const void *right, size_t size))
{
  const unsigned char *a = left, *b = right;
  size_t same = 0;
  while (same < size && a[same] == b[same])
    ++same;
  bulk(same); /* the rest is not looked at */
  return __real_memcmp(left, right, size);
}

WRAP(size_t, strlen, (const char *text))
{
  size_t size = __real_strlen(text);
  bulk(size);
  return size;
}

WRAP(int, vsnprintf, (char *to, size_t size, const char *format, va_list arguments))
{
  int length = __real_vsnprintf(to, size, format, arguments);
  steps += 64 + (uint64_t)(length > 0 ? length : 0);
  return length;
}

/* Decompressors: a byte takes longer than a copied one, and so does every call. */
WRAP(int, inflate, (z_stream * stream, int flush))
{
  uint64_t in = stream->total_in, out = stream->total_out;
  int result = __real_inflate(stream, flush);
  unpacked += stream->total_out - out;
  steps += stream->total_in - in + stream->total_out - out + 64;
  return result;
}

WRAP(size_t, ZSTD_findFrameCompressedSize, (const void *from, size_t size))
{
  size_t frame = __real_ZSTD_findFrameCompressedSize(from, size);
  bulk(ZSTD_isError(frame) ? size : frame);
  return frame;
}

WRAP(size_t, ZSTD_decompressDCtx,
     (ZSTD_DCtx * context, void *to, size_t room, const void *from, size_t size))
{
  size_t written = __real_ZSTD_decompressDCtx(context, to, room, from, size);
  uint64_t out = ZSTD_isError(written) ? room : written; /* at most */
  unpacked += out;
  steps += size + out / 2 + 64;
  return written;
}
