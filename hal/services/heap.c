#include "hal/services/heap.h"

#include "base/error.h"

/* Runs follow each other without a gap. Free neighbours become one when they are looked at. */
static const uint32_t HEAP_USED = 1u << 31;

rawhal_status_t heap_open(services_heap_t *heap, uint64_t base, uint64_t size,
                          const allocator_t *allocator, rawhal_error_t *error)
{
  heap->allocator = allocator;
  heap->base = base;
  heap->pages = (uint32_t)(size / HEAP_PAGE);
  heap->runs = allocate_zeroed(allocator, heap->pages, sizeof(*heap->runs));
  if (!heap->runs)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a heap of %u pages",
                       heap->pages);
  heap->runs[0] = heap->pages;
  return RAWHAL_OK;
}

void heap_close(services_heap_t *heap)
{
  allocate_free(heap->allocator, heap->runs);
}

/* The length of the free run at `page`, with the free pages after it. */
static uint32_t run_merge(services_heap_t *heap, uint32_t page)
{
  uint32_t length = heap->runs[page];
  while (page + length < heap->pages && !(heap->runs[page + length] & HEAP_USED)) {
    uint32_t next = heap->runs[page + length];
    heap->runs[page + length] = 0;
    length += next;
  }
  return heap->runs[page] = length;
}

/* Uses `count` pages at `from` of the free run of `length` pages at `page`. */
static void run_cut(services_heap_t *heap, uint32_t page, uint32_t length, uint32_t from,
                    uint32_t count)
{
  uint32_t before = from - page, behind = length - before - count;
  if (before)
    heap->runs[page] = before;
  heap->runs[from] = count | HEAP_USED;
  if (behind)
    heap->runs[from + count] = behind;
}

static uint64_t heap_full(services_heap_t *heap)
{
  __atomic_fetch_add(&heap->full, 1, __ATOMIC_RELAXED);
  return 0;
}

uint64_t heap_take(services_heap_t *heap, uint64_t size)
{
  if (size == 0)
    return 0;
  if (size > (uint64_t)heap->pages * HEAP_PAGE)
    return heap_full(heap);
  uint32_t count = (uint32_t)((size + HEAP_PAGE - 1) / HEAP_PAGE);
  uint32_t step = size >= HEAP_SLAB ? (uint32_t)(HEAP_SLAB / HEAP_PAGE) : 1;
  for (uint32_t page = 0, length; page < heap->pages; page += length) {
    length = heap->runs[page] & ~HEAP_USED;
    if (heap->runs[page] & HEAP_USED)
      continue;
    length = run_merge(heap, page);
    uint32_t from = (page + step - 1) / step * step;
    if (from - page > length || count > length - (from - page))
      continue;
    run_cut(heap, page, length, from, count);
    __atomic_fetch_add(&heap->used, count * HEAP_PAGE, __ATOMIC_RELAXED);
    return heap->base + from * HEAP_PAGE;
  }
  return heap_full(heap);
}

bool heap_give(services_heap_t *heap, uint64_t address)
{
  uint64_t offset = address - heap->base;
  if (address < heap->base || offset % HEAP_PAGE || offset / HEAP_PAGE >= heap->pages)
    return false;
  uint32_t *run = &heap->runs[offset / HEAP_PAGE];
  if (!(*run & HEAP_USED))
    return false;
  *run &= ~HEAP_USED;
  __atomic_fetch_sub(&heap->used, *run * HEAP_PAGE, __ATOMIC_RELAXED);
  return true;
}
