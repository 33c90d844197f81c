/* rawhal/builder.h: blobs built argument by argument, as the host code of kernel libraries does,
 * each argument checked against the kernel's layout.
 *
 *   rawhal_builder_create(layout, NULL, &builder, &error);
 *   RAWHAL_APPEND(builder, c);               // uint64_t, a device address
 *   RAWHAL_APPEND_NAMED(builder, "n", n);    // uint32_t
 *   rawhal_builder_finish(builder, &blob, &error);
 *   dispatch.blob = blob.data, dispatch.blob_size = blob.size;
 *
 * A value is placed where a C struct would have it: after the previous one, at the next multiple of
 * its type's alignment, with zeros between. It must match the kernel's next visible argument, in
 * order of offsets: have its offset, its size, its name if both have one, and be a pointer if that
 * is one. A value that does not match is refused with the argument's index in metadata order, its
 * name and both numbers. The first failure stays: later calls do nothing, and
 * rawhal_builder_finish() reports it, so that only its result needs to be checked.
 *
 * If the layout knows only a size, values must lie within it. Without a layout nothing is checked.
 *
 * Blocks: grouped kernels read their arguments from device memory, one block for each group.
 * rawhal_builder_next() begins another block; all of them are written to a buffer, say by
 * rawhal_queue_write(). The layout, if there is one, is that of each block.
 *
 * Thread-safety: one thread at a time for each builder. */
#ifndef RAWHAL_BUILDER_H
#define RAWHAL_BUILDER_H

#include <rawhal/allocator.h>
#include <rawhal/kernarg.h>

RAWHAL_BEGIN

/* A blob that is being built. */
typedef struct rawhal_builder rawhal_builder_t;

/* Flags of rawhal_builder_options_t. */
typedef enum rawhal_builder_flags {
  /* Values lie where the layout has the argument, whatever the alignment of their type: for kernels
   * that are laid out by hand. Needs known arguments. */
  RAWHAL_BUILDER_PLACE = 1u << 0,
} rawhal_builder_flags_t;

/* Zero-initialise, then set what should differ. */
typedef struct rawhal_builder_options {
  size_t size; /* sizeof(rawhal_builder_options_t), or 0: see types.h */
  /* Where to build, `memory_size` bytes that stay the caller's; NULL: memory of the builder's own,
   * which grows. */
  void *memory;
  size_t memory_size;
  size_t stride; /* from block to block, in bytes; 0: that of an array of the struct, which is the
                    first block's size rounded up to its largest alignment and `alignment` */
  size_t alignment; /* of blocks, a power of two; 0: their contents decide. */
  uint32_t flags;
  const rawhal_allocator_t *allocator; /* NULL: the layout's or, if there is none, malloc() */
} rawhal_builder_options_t;

/* `layout` must outlive the builder; it and `options` may be NULL. INVALID_ARGUMENT: an unknown
 * flag, RAWHAL_BUILDER_PLACE without known arguments, an alignment that is not a power of two, a
 * stride that is not a multiple of it, or memory that is NULL and has a size. OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_builder_create(
    const rawhal_kernarg_layout_t *layout, const rawhal_builder_options_t *options,
    rawhal_builder_t **builder, rawhal_error_t *error);
/* Frees it with its own memory, including what rawhal_builder_finish() returned from it. NULL is
 * allowed. */
RAWHAL_API void rawhal_builder_destroy(rawhal_builder_t *builder);

/* Empties it, and forgets a failure. Its memory is kept for the next blob, which needs no
 * allocation unless it is longer. */
RAWHAL_API void rawhal_builder_reset(rawhal_builder_t *builder);

/* What an appended value is. */
typedef enum rawhal_builder_kind {
  RAWHAL_BUILDER_ANY = 0,     /* may be either: uint64_t is also how device addresses are given */
  RAWHAL_BUILDER_VALUE = 1,   /* not for an argument that is an address */
  RAWHAL_BUILDER_POINTER = 2, /* not for an argument that is passed by value or is an LDS offset */
} rawhal_builder_kind_t;

/* Appends `size` bytes at the next multiple of `alignment`, a power of two. `name` may be empty.
 * INVALID_ARGUMENT: it is not the kernel's next argument, or the call is wrong. OUT_OF_RANGE: it
 * would not lie where the argument does, the kernel takes no more arguments, or the block's stride,
 * the segment or the memory ends before it does. OUT_OF_MEMORY. On failure nothing is appended. */
RAWHAL_API rawhal_status_t rawhal_builder_append(rawhal_builder_t *builder, rawhal_string_t name,
                                                 const void *value, size_t size, size_t alignment,
                                                 rawhal_builder_kind_t kind);

/* Appends `size` zeros, like a struct's padding. */
RAWHAL_API rawhal_status_t rawhal_builder_skip(rawhal_builder_t *builder, size_t size);

/* Ends a block: pads it to the stride. Begins the next when something is appended. All blocks have
 * the same size. OUT_OF_RANGE: an argument is missing. INVALID_ARGUMENT: its size is not that of
 * the first block, or it is empty. */
RAWHAL_API rawhal_status_t rawhal_builder_next(rawhal_builder_t *builder);

/* `bytes` becomes what was appended, in the builder's memory or the caller's, and valid until the
 * next call that changes the builder: a blob that rawhal_kernarg_check() accepts and that ends with
 * the last argument; or, after rawhal_builder_next(), whole blocks. Fails as the first call that
 * failed did; OUT_OF_RANGE when an argument is missing, which may still be appended. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_builder_finish(rawhal_builder_t *builder,
                                                                rawhal_bytes_t *bytes,
                                                                rawhal_error_t *error);

/* How far a builder has come. */
typedef struct rawhal_builder_info {
  size_t size;     /* set it to sizeof(rawhal_builder_info_t), or 0: see types.h */
  size_t length;   /* bytes so far */
  size_t appended; /* values in the current block */
  size_t blocks;   /* that have ended */
  size_t stride;   /* from block to block; 0 until the first has ended, unless it was given */
} rawhal_builder_info_t;

/* Fills in `*info`. Neither may be NULL. */
RAWHAL_API void rawhal_builder_info(const rawhal_builder_t *builder, rawhal_builder_info_t *info);

RAWHAL_END

/* ---- By type ----
 *
 * RAWHAL_APPEND(builder, value), RAWHAL_APPEND_NAMED(builder, "name", value): arithmetic types and
 * pointers to objects, with the size, alignment and kind of the expression's type: 1 is an int, of
 * 4 bytes. RAWHAL_APPEND_OBJECT(builder, object): structs, arrays and whatever else has an address,
 * with the alignment that it has there: members of packed structs have 1. In C++ all three take
 * every trivially copyable type. */
#if defined(__cplusplus)

#include <cstddef>
#include <type_traits>

template <typename T>
inline rawhal_status_t rawhal_append(rawhal_builder_t *builder, const T &value,
                                     const char *name = nullptr)
{
  static_assert(std::is_trivially_copyable<T>::value, "kernels take the bytes of a value");
  return rawhal_builder_append(
      builder, rawhal_string(name), &value, sizeof(T), alignof(T),
      std::is_pointer<T>::value || std::is_same<T, std::nullptr_t>::value ? RAWHAL_BUILDER_POINTER
      : std::is_integral<T>::value && std::is_unsigned<T>::value && sizeof(T) == 8
          ? RAWHAL_BUILDER_ANY
          : RAWHAL_BUILDER_VALUE);
}

#define RAWHAL_APPEND(builder, value)             rawhal_append((builder), (value))
#define RAWHAL_APPEND_NAMED(builder, name, value) rawhal_append((builder), (value), (name))
#define RAWHAL_APPEND_OBJECT(builder, object)     rawhal_append((builder), (object))

#else

/* clang-format off */
/* suffix, type, kind */
#define RAWHAL_BUILDER_TYPES(type)                                                                 \
  type(bool, _Bool, RAWHAL_BUILDER_VALUE)                                                          \
  type(char, char, RAWHAL_BUILDER_VALUE)                                                           \
  type(schar, signed char, RAWHAL_BUILDER_VALUE)                                                   \
  type(uchar, unsigned char, RAWHAL_BUILDER_VALUE)                                                 \
  type(short, short, RAWHAL_BUILDER_VALUE)                                                         \
  type(ushort, unsigned short, RAWHAL_BUILDER_VALUE)                                               \
  type(int, int, RAWHAL_BUILDER_VALUE)                                                             \
  type(uint, unsigned int, RAWHAL_BUILDER_VALUE)                                                   \
  type(long, long, RAWHAL_BUILDER_VALUE)                                                           \
  type(ulong, unsigned long, RAWHAL_BUILDER_ANY)                                                   \
  type(llong, long long, RAWHAL_BUILDER_VALUE)                                                     \
  type(ullong, unsigned long long, RAWHAL_BUILDER_ANY)                                             \
  type(float, float, RAWHAL_BUILDER_VALUE)                                                         \
  type(double, double, RAWHAL_BUILDER_VALUE)                                                       \
  type(pointer, const void *, RAWHAL_BUILDER_POINTER)
/* clang-format on */

#define RAWHAL_BUILDER_FUNCTION(suffix, type, kind)                                                \
  RAWHAL_INLINE rawhal_status_t rawhal_append_##suffix(rawhal_builder_t *builder,                  \
                                                       const char *name, type value)               \
  {                                                                                                \
    return rawhal_builder_append(builder, rawhal_string(name), &value, sizeof(value),              \
                                 _Alignof(type), kind);                                            \
  }
/* What RAWHAL_APPEND() and RAWHAL_APPEND_NAMED() call in C, for a value of each type. `name` may be
 * NULL. They fail as rawhal_builder_append() does. */
RAWHAL_BUILDER_TYPES(RAWHAL_BUILDER_FUNCTION)
#undef RAWHAL_BUILDER_FUNCTION
#undef RAWHAL_BUILDER_TYPES

#define RAWHAL_APPEND(builder, value) RAWHAL_APPEND_NAMED(builder, NULL, value)
/* clang-format off */
#define RAWHAL_APPEND_NAMED(builder, name, value)                                                  \
  _Generic((value),                                                                                \
      _Bool: rawhal_append_bool,                                                                   \
      char: rawhal_append_char,                                                                    \
      signed char: rawhal_append_schar,                                                            \
      unsigned char: rawhal_append_uchar,                                                          \
      short: rawhal_append_short,                                                                  \
      unsigned short: rawhal_append_ushort,                                                        \
      int: rawhal_append_int,                                                                      \
      unsigned int: rawhal_append_uint,                                                            \
      long: rawhal_append_long,                                                                    \
      unsigned long: rawhal_append_ulong,                                                          \
      long long: rawhal_append_llong,                                                              \
      unsigned long long: rawhal_append_ullong,                                                    \
      float: rawhal_append_float,                                                                  \
      double: rawhal_append_double,                                                                \
      default: rawhal_append_pointer)((builder), (name), (value))
/* clang-format on */
#define RAWHAL_APPEND_OBJECT(builder, object)                                                      \
  rawhal_builder_append((builder), rawhal_string(NULL), &(object), sizeof(object),                 \
                        __alignof__(object), RAWHAL_BUILDER_ANY)

#endif

#endif
