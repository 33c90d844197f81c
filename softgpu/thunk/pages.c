/* Address space for the device: pages with inaccessible ones around them. */
#include "softgpu/thunk/pages.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "softgpu/device/option.h"
#include "softgpu/device/retire.h"
#include "softgpu/thunk/allocate.h"
#include "softgpu/thunk/svm.h"

enum {
  PAGE = 4096,
  LARGE_PAGE = 2 << 20,
  /* Each takes two of the 65,530 mappings Linux lets a process have; pages side by side share one.
   * At the limit all of the program's own mappings would fail, so half of them is left alone. */
  MOST_GUARDED = 16384,
};

static _Atomic uint32_t guarded;

/* What devices had of the program's memory at these addresses, they have no more. */
static void taken(uint64_t base, uint64_t size)
{
  softgpu_svm_forget(base, size);
  softgpu_registrations_forget(base, size);
}

/* Gives back what is reserved beyond [base, base + size). */
static void reservation_trim(softgpu_pages_t *pages, uint64_t base, uint64_t size)
{
  uint64_t end = pages->reserved + pages->reserved_size;
  if (base > pages->reserved)
    munmap((void *)pages->reserved, base - pages->reserved);
  if (base + size < end)
    munmap((void *)(base + size), end - (base + size));
  pages->reserved = base;
  pages->reserved_size = size;
}

static uint64_t alignment_of(uint64_t size, uint64_t asked)
{
  uint64_t own = size >= LARGE_PAGE ? LARGE_PAGE : PAGE;
  return asked > own ? asked : own;
}

/* Takes pages->size bytes with `guard` bytes of nothing on both sides. */
static bool take(softgpu_pages_t *pages, uint64_t guard, uint64_t align, int protection)
{
  uint64_t inside, total;
  if (__builtin_add_overflow(pages->size, 2 * guard, &inside) ||
      __builtin_add_overflow(inside, align - PAGE, &total))
    return false;
  void *memory = mmap(NULL, total, guard > 0 ? PROT_NONE : protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  pages->reserved = (uint64_t)memory;
  pages->reserved_size = total;
  pages->base = (pages->reserved + guard + align - 1) & ~(align - 1);
  reservation_trim(pages, pages->base - guard, inside);
  taken(pages->reserved, pages->reserved_size);
  if (guard == 0 || protection == PROT_NONE ||
      mprotect((void *)pages->base, pages->size, protection) == 0)
    return true;
  munmap((void *)pages->reserved, pages->reserved_size);
  return false;
}

static uint64_t guard_bytes(void)
{
  uint64_t guard = softgpu_option(SOFTGPU_OPTION_GUARD_KIB) << 10;
  return (guard + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

bool softgpu_pages_map_aligned(softgpu_pages_t *pages, uint64_t size, uint64_t alignment)
{
  *pages = (softgpu_pages_t){.size = size};
  uint64_t guard = guard_bytes(), align = alignment_of(size, alignment);
  if (size == 0)
    return false;
  if (guard > 0) {
    pages->guarded = atomic_fetch_add(&guarded, 1) < MOST_GUARDED &&
                     take(pages, guard, align, PROT_READ | PROT_WRITE);
    if (pages->guarded)
      return true;
    atomic_fetch_sub(&guarded, 1);
  }
  /* Memory without guards is better than none. */
  return take(pages, 0, align, PROT_READ | PROT_WRITE);
}

bool softgpu_pages_map(softgpu_pages_t *pages, uint64_t size)
{
  return softgpu_pages_map_aligned(pages, size, 0);
}

bool softgpu_pages_reserve(softgpu_pages_t *pages, uint64_t size)
{
  *pages = (softgpu_pages_t){.size = size};
  return size > 0 && take(pages, guard_bytes(), alignment_of(size, 0), PROT_NONE);
}

bool softgpu_pages_map_at(softgpu_pages_t *pages, uint64_t address, uint64_t size)
{
  *pages = (softgpu_pages_t){address, size, address, size, false};
  void *memory = mmap((void *)address, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  if (memory == (void *)address) {
    taken(address, size);
    return true;
  }
  munmap(memory, size); /* kernels before 4.17 take the address for a hint */
  return false;
}

static void guard_forget(const softgpu_pages_t *pages)
{
  if (pages->guarded)
    atomic_fetch_sub(&guarded, 1);
}

void softgpu_pages_unmap(const softgpu_pages_t *pages)
{
  guard_forget(pages);
  munmap((void *)pages->reserved, pages->reserved_size);
}

void softgpu_pages_retire(const softgpu_pages_t *pages)
{
  guard_forget(pages);
  softgpu_retire_unmap((void *)pages->reserved, pages->reserved_size);
}
