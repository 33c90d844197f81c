#include "softgpu/device/written.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include "softgpu/device/retire.h"

enum {
  WORD = 64,   /* bits */
  PART = 16,   /* bytes that the host has written when it has changed one */
  ROUNDED = 4, /* bytes that are accessed for one of them */
};
#define PATTERN 0xbad0d00du

struct softgpu_written {
  const unsigned char *memory;
  uint64_t mapped;       /* bytes of this */
  _Atomic uint64_t left; /* bytes that have not been written */
  _Atomic uint64_t bits[];
};

softgpu_written_t *softgpu_written_begin(void *memory, uint64_t size)
{
  const uint64_t mapped = sizeof(softgpu_written_t) + (size / WORD + 1) * sizeof(uint64_t);
  softgpu_written_t *written = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (written == MAP_FAILED)
    return NULL;
  written->memory = memory;
  written->mapped = mapped;
  atomic_init(&written->left, size);
  _Static_assert(sizeof(wchar_t) == sizeof(uint32_t), "wide characters are dwords");
  wmemset(memory, (wchar_t)PATTERN, size / sizeof(uint32_t));
  return written;
}

void softgpu_written_retire(softgpu_written_t *written)
{
  if (written)
    softgpu_retire_unmap(written, written->mapped);
}

bool softgpu_written_is_all(const softgpu_written_t *written)
{
  return atomic_load_explicit(&written->left, memory_order_relaxed) == 0;
}

/* Of the word that `at` is in, the bits from there on, no more than `bytes`, which loses them. */
static uint64_t take_bits(uint64_t at, uint64_t *bytes)
{
  const uint64_t first = at % WORD, most = WORD - first, count = *bytes < most ? *bytes : most;
  *bytes -= count;
  return (count < WORD ? (UINT64_C(1) << count) - 1 : UINT64_MAX) << first;
}

void softgpu_written_add(softgpu_written_t *written, uint64_t offset, uint64_t bytes)
{
  for (uint64_t at = offset; bytes; at = (at / WORD + 1) * WORD) {
    const uint64_t bits = take_bits(at, &bytes);
    _Atomic uint64_t *word = &written->bits[at / WORD];
    if ((atomic_load_explicit(word, memory_order_relaxed) & bits) == bits)
      continue;
    const uint64_t before = atomic_fetch_or_explicit(word, bits, memory_order_relaxed);
    const uint64_t added = (uint64_t)__builtin_popcountll(bits & ~before);
    atomic_fetch_sub_explicit(&written->left, added, memory_order_relaxed);
  }
}

static void remove_bytes(softgpu_written_t *written, uint64_t offset, uint64_t bytes)
{
  for (uint64_t at = offset; bytes; at = (at / WORD + 1) * WORD) {
    const uint64_t bits = take_bits(at, &bytes);
    const uint64_t had =
        atomic_fetch_and_explicit(&written->bits[at / WORD], ~bits, memory_order_relaxed);
    const uint64_t lost = (uint64_t)__builtin_popcountll(had & bits);
    atomic_fetch_add_explicit(&written->left, lost, memory_order_relaxed);
  }
}

void softgpu_written_bound(softgpu_written_t *written, uint64_t before, uint64_t now)
{
  if (now < before)
    softgpu_written_add(written, now, before - now);
  else
    remove_bytes(written, before, now - before);
}

static bool has_bit(const softgpu_written_t *written, uint64_t at)
{
  return atomic_load_explicit(&written->bits[at / WORD], memory_order_relaxed) >> at % WORD & 1;
}

/* Whether nobody has said so, but part of what is around `at` is not what was there at first. The
 * host may write it at this moment: then either answer is right. */
__attribute__((no_sanitize("thread"))) static bool has_changed(const softgpu_written_t *written,
                                                               uint64_t at)
{
  const uint64_t first = at / PART * PART;
  for (uint64_t i = first; i < first + PART; ++i) {
    const unsigned char is = *(const volatile unsigned char *)&written->memory[i];
    if (!has_bit(written, i) && is != (unsigned char)(PATTERN >> i % sizeof(uint32_t) * 8))
      return true;
  }
  return false;
}

bool softgpu_written_copy(softgpu_written_t *to, uint64_t at, const softgpu_written_t *from,
                          uint64_t offset, uint64_t bytes)
{
  uint64_t part = UINT64_MAX;
  bool changed = false, any = false;
  for (uint64_t i = 0; i < bytes; ++i) {
    if (has_bit(from, offset + i))
      continue;
    if ((offset + i) / PART != part)
      changed = has_changed(from, offset + i);
    part = (offset + i) / PART;
    if (!changed)
      remove_bytes(to, at + i, 1);
    any |= !changed;
  }
  return any;
}

bool softgpu_written_has(const softgpu_written_t *written, uint64_t offset, uint64_t bytes)
{
  const bool by_dwords = offset % ROUNDED == 0 && bytes % ROUNDED == 0;
  const uint64_t each = by_dwords ? ROUNDED : 1;
  for (uint64_t at = offset; at < offset + bytes; at += each) {
    bool has = false;
    for (uint64_t i = at; i < at + each; ++i)
      has |= has_bit(written, i);
    if (!has && !has_changed(written, at))
      return false;
  }
  return true;
}
