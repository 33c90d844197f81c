/* The wrappers in a range of memory, and what they point to. */
#include <string.h>

#include "base/error.h"
#include "hsaco/container.h"
#include "hsaco/pack_reader.h"
#include "library/process/parts.h"

/* __CudaFatBinaryWrapper of clang's runtime interface: u32 magic, u32 version, pointer, and a word
 * that is not used, or which of the archive's code objects it is. */
enum { WRAPPER = 24, MAGIC_HIPF = 0x48495046, MAGIC_HIPK = 0x4B504948, VERSION = 1 };

/* Words of memory that may be any object's: a sanitizer has marked what lies between objects. */
__attribute__((no_sanitize("address", "thread"))) static uint64_t word_at(uint64_t address)
{
  typedef uint64_t __attribute__((may_alias)) word_t;
  return *(const volatile word_t *)(uintptr_t)address;
}

/* ---- Images ---- */

/* Byte by byte: what begins otherwise may be any data, and end sooner. Cut off, it is still
 * recognised by four bytes. */
static bool starts(const unsigned char *image, uint64_t readable, const char *magic, size_t size)
{
  enum { LEAST = 4 };
  size_t same = 0;
  while (same < size && same < readable && image[same] == (unsigned char)magic[same])
    ++same;
  return same == size || (same == readable && same >= LEAST);
}

/* What tells a wrapper from other data where nothing else does. */
static bool is_known(const unsigned char *image, uint64_t readable, bool kpack)
{
  if (kpack) /* a map of msgpack: with few keys, or a count of 16 bits */
    return readable && ((image[0] & 0xf0) == 0x80 || image[0] == 0xde);
  return starts(image, readable, "__CLANG_OFFLOAD_BUNDLE__", 24) ||
         starts(image, readable, "CCOB", 4) || starts(image, readable, ELFMAG, SELFMAG) ||
         starts(image, readable, "\x10\xff\x10\xad", 4);
}

/* The extent of a reference to kpack archives: of the one value that it is. */
static rawhal_status_t measure_reference(const void *image, uint64_t readable, size_t *size,
                                         rawhal_error_t *error)
{
  enum { MOST = 65536 };
  pack_reader_t reader;
  unpack_value_t value;
  size_t most = readable < MOST ? (size_t)readable : MOST;
  work_t work;
  work_start(&work, most);
  pack_reader_init(&reader, image, most, 0, "the reference to kpack archives", error);
  reader.work = &work;
  if (!pack_value(&reader, &value))
    return reader.status;
  if (value.type != VALUE_CONTAINER)
    return rawhal_fail(error, RAWHAL_MALFORMED, "the reference to kpack archives is not a map");
  *size = reader.offset;
  return RAWHAL_OK;
}

static rawhal_status_t measure(const rawhal_process_t *process, rawhal_process_fatbin_t *fatbin,
                               uint64_t readable, rawhal_error_t *error)
{
  const void *image = fatbin->image.data;
  if (!readable)
    return rawhal_fail(error, RAWHAL_MALFORMED, "the wrapper points to %p, which cannot be read",
                       image);
  if (fatbin->kpack)
    return measure_reference(image, readable, &fatbin->image.size, error);
  rawhal_container_options_t options = {
      .size = sizeof(options),
      .max_unpacked_bytes = process->options.max_unpacked_bytes,
      .allocator = allocator_option(&process->arena.allocator),
  };
  return rawhal_container_measure(image, (size_t)readable, &options, &fatbin->image.size, error);
}

/* ---- Wrappers ---- */

rawhal_status_t rawhal_process_wrapper(const void *wrapper, rawhal_process_fatbin_t *fatbin,
                                       rawhal_error_t *error)
{
  if (!wrapper || !fatbin)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "wrapper or fatbin is NULL");
  const uint64_t address = (uintptr_t)wrapper, first = word_at(address);
  const uint32_t magic = (uint32_t)first, version = (uint32_t)(first >> 32);
  *fatbin = (rawhal_process_fatbin_t){
      .wrapper = wrapper,
      .image = {(const void *)(uintptr_t)word_at(address + 8), 0},
      .kpack = magic == MAGIC_HIPK,
  };
  if (magic != MAGIC_HIPF && magic != MAGIC_HIPK)
    return rawhal_fail(error, RAWHAL_MALFORMED, "a wrapper cannot have the magic 0x%x", magic);
  if (version != VERSION)
    return rawhal_fail(error, RAWHAL_MALFORMED, "a wrapper of version %u, not %d", version,
                       VERSION);
  return fatbin->image.data ? RAWHAL_OK
                            : rawhal_fail(error, RAWHAL_MALFORMED, "the wrapper points nowhere");
}

static rawhal_status_t keep(rawhal_process_t *process, rawhal_process_fatbin_t fatbin,
                            const char *why_not, rawhal_error_t *error)
{
  if (process->fatbin_count == process->options.max_fatbins)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "more than %u fat binaries (max_fatbins)",
                       process->options.max_fatbins);
  if (why_not) {
    fatbin.image.size = 0;
    fatbin.why_not = arena_print(&process->arena, "%s", why_not);
  }
  if (process->arena.status ||
      !arena_reserve(&process->arena, &process->fatbins, &process->fatbin_capacity,
                     process->fatbin_count, sizeof(*process->fatbins), 16))
    return arena_fail(&process->arena, error);
  process->fatbins[process->fatbin_count++] = fatbin;
  return RAWHAL_OK;
}

static rawhal_status_t read_wrapper(rawhal_process_t *process, uint64_t address, bool certain,
                                    rawhal_error_t *error)
{
  rawhal_process_fatbin_t fatbin;
  rawhal_error_t why = {0};
  rawhal_status_t status = rawhal_process_wrapper((const void *)(uintptr_t)address, &fatbin, &why);
  uint64_t readable = space_readable(&process->space, (uintptr_t)fatbin.image.data);
  if (!certain && (status != RAWHAL_OK || !is_known(fatbin.image.data, readable, fatbin.kpack)))
    return RAWHAL_OK;
  fatbin.module = process->module_count; /* which is added when it has any */
  if (status == RAWHAL_OK)
    status = measure(process, &fatbin, readable, &why);
  if (status == RAWHAL_OUT_OF_MEMORY) {
    if (error)
      *error = why;
    return status;
  }
  return keep(process, fatbin, status == RAWHAL_OK ? NULL : why.message, error);
}

/* Steps over the readable parts of a range; wrappers do not cross their ends. */
rawhal_status_t process_add_fatbins(rawhal_process_t *process, uint64_t start, uint64_t size,
                                    bool certain, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  uint64_t end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
  for (uint64_t at = start; status == RAWHAL_OK && at < end;) {
    const space_range_t *range = space_at(&process->space, at);
    if (!range)
      break; /* modules have their addresses to the end */
    uint64_t reach = range->reach < end ? range->reach : end;
    at = at > UINT64_MAX - 7 ? end : (at + 7) & ~UINT64_C(7);
    for (; status == RAWHAL_OK && at < reach && reach - at >= WRAPPER; at += 8) {
      uint32_t magic = (uint32_t)word_at(at);
      if (magic != MAGIC_HIPF && magic != MAGIC_HIPK)
        continue;
      size_t before = process->fatbin_count;
      status = read_wrapper(process, at, certain, error);
      at += process->fatbin_count != before ? WRAPPER - 8 : 0;
    }
    at = range->end > reach ? range->end : reach;
  }
  return status;
}
