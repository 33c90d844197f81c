/* rawhal/container.h: finding the code objects in whatever carries them.
 *
 * A container is a range of bytes or a file: a bare code object, a clang offload bundle, compressed
 * (CCOB) or not, an offload binary (clang-offload-packager's), a kpack archive (ROCm's KPAK,
 * compressed or not), a host executable, library or object with code objects in its sections
 * (.hip_fatbin, .llvm.offloading, __CLANG_OFFLOAD_BUNDLE__...), or an ar archive of any of these.
 * They may nest, five deep. Each code object found gets an exact, bounded extent; nothing outside
 * the caller's bytes is read. Ownership and thread-safety are those of rawhal_hsaco_t: entries and
 * strings live until close, everything is immutable after open. */
#ifndef RAWHAL_CONTAINER_H
#define RAWHAL_CONTAINER_H

#include <rawhal/hsaco.h>

RAWHAL_BEGIN

/* The code objects found in a file or a range of bytes. */
typedef struct rawhal_container rawhal_container_t;

/* Flags of rawhal_container_options_t. */
typedef enum rawhal_container_flags {
  RAWHAL_CONTAINER_COPY = 1u << 0, /* keep a private copy of the bytes */
  /* Of compressed data, keep unpacked only what is being read: a library may unpack to many times
   * its size, bundle after bundle. Only rawhal_container_read() then gives the bytes of unpacked
   * objects. */
  RAWHAL_CONTAINER_HOLD_ONE = 1u << 1,
} rawhal_container_flags_t;

/* Zero-initialise, then set what should differ; 0 means the default. */
typedef struct rawhal_container_options {
  size_t size;                 /* sizeof(rawhal_container_options_t), or 0: see types.h */
  uint32_t max_objects;        /* and blobs of a kpack archive; default 65,536 */
  uint32_t max_bundle_entries; /* of one bundle; default 256 */
  uint64_t max_file_bytes;     /* default 4 GiB */
  uint64_t max_unpacked_bytes; /* unpacked and held at once, with the compressed bytes; default 1
                                  GiB. Without HOLD_ONE, that is all that is unpacked */
  uint32_t flags;
  const rawhal_allocator_t *allocator; /* NULL: malloc() */
  uint64_t max_unpacked_total; /* unpacked in all while it is opened, with the compressed bytes;
                                  default 16 GiB */
} rawhal_container_options_t;

/* A code object that was found. */
typedef struct rawhal_container_object {
  rawhal_bytes_t bytes; /* exactly one ELF code object; `data` is NULL if it was unpacked, with
                           HOLD_ONE: use rawhal_container_read() */
  uint64_t offset;    /* of its first byte in the container, or of the bytes it was unpacked from */
  bool unpacked;      /* `bytes` were unpacked; without HOLD_ONE they live until close */
  rawhal_string_t id; /* of the bundle entry ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-") or offload
                         binary ("amdgcn-amd-amdhsa--gfx90a:xnack-"); the target id a kpack archive
                         lists it under ("gfx90a:xnack-"); else empty */
  rawhal_string_t binary; /* in a kpack archive, the host file and translation unit it was made for
                             ("lib/librocrand.so.1#0"); else empty */
  uint32_t ordinal;       /* its number in a kpack archive */
  rawhal_target_t target; /* from the object's e_flags */
  bool readable; /* its ELF header is that of an AMDGPU code object; else why_not says what it is */
  rawhal_string_t why_not;
  rawhal_string_t member; /* in an ar archive, the member that it is or is part of ("scale.o");
                             else empty */
} rawhal_container_object_t;

/* Finds the code objects in `bytes`, which must stay alive and unchanged until close unless
 * RAWHAL_CONTAINER_COPY is given. `options` may be NULL. INVALID_ARGUMENT (an unknown flag),
 * MALFORMED, UNSUPPORTED (a recognised carrier that rawhal does not read, or a host file whose code
 * objects are in kpack archives: the message names them), NOT_FOUND (it carries no code objects),
 * CAP_EXCEEDED (an option, or the work), OUT_OF_MEMORY.
 *
 * The cost of reading grows with the bytes of the container and those unpacked from it, and with
 * nothing else: whatever they contain, 100 MB take less than a second on a processor like those of
 * docs/performance.md. If entries or sections name the same bytes again and again, or millions of
 * compressed blocks or table entries hold next to nothing, reading ends with CAP_EXCEEDED. The work
 * is counted, not timed, so for any one file this happens always or never. Also, the sizes of all
 * objects listed add up to at most 64 times those bytes, which bounds the cost of opening them all.
 */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_container_open(const void *bytes, size_t size, const rawhal_container_options_t *options,
                      rawhal_container_t **container, rawhal_error_t *error);

/* The same for a file. It is mapped until close: later writes to it are seen, and if it is
 * truncated, reading past its new end is fatal (SIGBUS), in the library and wherever an object's
 * bytes are used. If others may write to it, use RAWHAL_CONTAINER_COPY, which reads all of it once
 * instead: a copy takes as much memory as the file has bytes, a mapping only what is touched.
 * Neither keeps the file open. Also NOT_FOUND, and INVALID_ARGUMENT if it cannot be opened, is not
 * a regular file, or was truncated meanwhile.
 *
 * The library itself opens a code object's file by no other call than this one and
 * rawhal_hsaco_open_file(), and neither copies unless told to; the rawhal command tells them to. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_container_open_file(const char *path, const rawhal_container_options_t *options,
                           rawhal_container_t **container, rawhal_error_t *error);

/* Measures an image in memory that comes without a size, such as programs hand to
 * hipModuleLoadData(): how many bytes it has according to its own headers. `readable` bytes at
 * `image` may be read, and nothing else is; `options` as above, may be NULL. It is one carrier, or
 * one code object: what follows it directly is not counted. A code object ends where the last of
 * its tables, segments and sections does, a bundle where the last of its entries does; an offload
 * binary and a compressed bundle state their size. A compressed bundle of version 1 does not; if it
 * was compressed by zlib, it is unpacked to find its end.
 *
 * INVALID_ARGUMENT; MALFORMED: it does not start like any known carrier, contradicts itself, or
 * ends after the `readable` bytes; UNSUPPORTED: archives, kpack archives, bitcode and wrappers do
 * not say where they end; CAP_EXCEEDED, OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_container_measure(
    const void *image, size_t readable, const rawhal_container_options_t *options, size_t *size,
    rawhal_error_t *error);

/* Measures and opens an image in memory of this process. All that /proc/self/maps shows as mapped
 * there without a gap may be read; no part of it that maps a file may lie beyond the file's end
 * (SIGBUS). None of it may be unmapped meanwhile. Fails as rawhal_container_measure() and
 * rawhal_container_open() do; INVALID_ARGUMENT: nothing readable is at `image`; NOT_FOUND: no
 * /proc/self/maps. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_container_open_image(const void *image, const rawhal_container_options_t *options,
                            rawhal_container_t **container, rawhal_error_t *error);

/* Frees it with its objects, unpacked bytes included. NULL is allowed. */
RAWHAL_API void rawhal_container_close(rawhal_container_t *container);

/* How many code objects it has, unreadable ones included. 0 for NULL. */
RAWHAL_API size_t rawhal_container_count(const rawhal_container_t *container);

/* Owned by the container. NULL when index >= count. In file order; of a kpack archive, in the order
 * of its table of contents. */
RAWHAL_API const rawhal_container_object_t *
rawhal_container_object(const rawhal_container_t *container, size_t index);

/* The bytes of an object, in any kind of container. With HOLD_ONE, those of an unpacked object live
 * until the next such call or close, and are unpacked again unless they belong to the last call's
 * bundle: if objects are read in order, each bundle is unpacked twice in all. Not thread-safe with
 * HOLD_ONE. INVALID_ARGUMENT; MALFORMED: the file has changed meanwhile; CAP_EXCEEDED,
 * OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_container_read(rawhal_container_t *container,
                                                                size_t index, rawhal_bytes_t *bytes,
                                                                rawhal_error_t *error);

/* Finds the best object for a device: exact features before ANY, exact processors before generic
 * ones, the first of equals. A kpack archive's objects of different binaries are different code:
 * choosing among those is up to the caller. TARGET_MISMATCH names every candidate with its reason
 * (as far as the message has room). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_container_select(const rawhal_container_t *container, const rawhal_target_t *device,
                        size_t *index, rawhal_error_t *error);

RAWHAL_END

#endif
