#include "library/image.h"

#include "base/checked.h"
#include "base/list.h"
#include "base/whole.h"
#include "hsaco/content.h"

#include <string.h>
#include <unistd.h>

static uint64_t page_sum(const image_t *image, uint64_t number, const unsigned char *page)
{
  return content_sum(page + 8, IMAGE_CONTENT,
                     image->seed ^ (number * UINT64_C(0x9e3779b97f4a7c15)));
}

static uint64_t page_count(const image_t *image)
{
  return (image->size + IMAGE_CONTENT - 1) / IMAGE_CONTENT;
}

/* ---- Making one ---- */

void image_begin(image_t *image, uint64_t seed, const allocator_t *allocator)
{
  *image = (image_t){.seed = seed};
  if (allocator)
    image->allocator = *allocator;
}

static bool reserve(image_t *image, uint64_t size)
{
  const uint64_t used = page_count(image), wanted = (size + IMAGE_CONTENT - 1) / IMAGE_CONTENT;
  if (wanted <= used)
    return true; /* nothing of nothing, too: there are no pages yet */
  if (!array_reserve(&image->allocator, &image->pages, &image->capacity, wanted, IMAGE_PAGE))
    return false;
  memset(image->pages + used * IMAGE_PAGE, 0, (wanted - used) * IMAGE_PAGE);
  return true;
}

void image_put(image_t *image, uint64_t offset, const void *bytes, size_t size)
{
  for (const unsigned char *from = bytes; size;) {
    size_t in = (size_t)(offset % IMAGE_CONTENT);
    size_t piece = size < IMAGE_CONTENT - in ? size : IMAGE_CONTENT - in;
    memcpy(image->pages + offset / IMAGE_CONTENT * IMAGE_PAGE + 8 + in, from, piece);
    from += piece;
    offset += piece;
    size -= piece;
  }
}

bool image_append(image_t *image, const void *bytes, size_t size)
{
  if (!reserve(image, image->size + size))
    return false;
  uint64_t offset = image->size;
  image->size += size;
  image_put(image, offset, bytes, size);
  return true;
}

void image_seal(image_t *image)
{
  for (uint64_t i = 0; i < page_count(image); ++i) {
    unsigned char *page = image->pages + i * IMAGE_PAGE;
    uint64_t sum = page_sum(image, i, page);
    memcpy(page, &sum, sizeof(sum));
  }
}

/* ---- Files ---- */

void image_of_file(image_t *image, int file, uint64_t pages, uint64_t seed, uint64_t *bytes_read)
{
  *image = (image_t){.in_file = true,
                     .file = file,
                     .seed = seed,
                     .size = pages * IMAGE_CONTENT,
                     .bytes_read = bytes_read};
}

static bool read_page(const image_t *image, uint64_t number, unsigned char *page)
{
  if (pread_whole(image->file, page, IMAGE_PAGE, number * IMAGE_PAGE) != IMAGE_PAGE)
    return false;
  if (image->bytes_read)
    __atomic_fetch_add(image->bytes_read, IMAGE_PAGE, __ATOMIC_RELAXED);
  uint64_t sum;
  memcpy(&sum, page, sizeof(sum));
  return sum == page_sum(image, number, page);
}

bool image_load(image_t *image, const allocator_t *allocator)
{
  size_t pages = (size_t)page_count(image);
  unsigned char *memory = allocate(allocator, pages * IMAGE_PAGE);
  bool whole = memory;
  for (size_t i = 0; whole && i < pages; ++i)
    whole = read_page(image, i, memory + i * IMAGE_PAGE);
  if (!whole) {
    allocate_free(allocator, memory);
    return false;
  }
  (void)close(image->file);
  image->in_file = false;
  image->pages = memory;
  image->capacity = pages;
  if (allocator)
    image->allocator = *allocator;
  return true;
}

/* ---- Reading ---- */

/* The content of a page, in the window if it comes from a file. */
static const unsigned char *page_at(const image_t *image, uint64_t number, image_window_t *window)
{
  if (!image->in_file)
    return image->pages + number * IMAGE_PAGE + 8;
  if (!window->has_page || window->page != number)
    window->has_page = read_page(image, number, window->bytes);
  window->page = number;
  return window->has_page ? window->bytes + 8 : NULL;
}

bool image_read_by(const image_t *image, image_window_t *window, uint64_t offset, void *bytes,
                   size_t size)
{
  unsigned char *to = bytes;
  if (!range_within(offset, size, image->size))
    return false;
  while (size) {
    size_t in = (size_t)(offset % IMAGE_CONTENT);
    size_t piece = size < IMAGE_CONTENT - in ? size : IMAGE_CONTENT - in;
    const unsigned char *page = page_at(image, offset / IMAGE_CONTENT, window);
    if (!page)
      return false;
    memcpy(to, page + in, piece);
    to += piece;
    offset += piece;
    size -= piece;
  }
  return true;
}

image_answer_t image_compare_by(const image_t *image, image_window_t *window, uint64_t offset,
                                const void *bytes, size_t size)
{
  if (!range_within(offset, size, image->size))
    return IMAGE_DAMAGED;
  for (const unsigned char *with = bytes; size;) {
    size_t in = (size_t)(offset % IMAGE_CONTENT);
    size_t piece = size < IMAGE_CONTENT - in ? size : IMAGE_CONTENT - in;
    const unsigned char *page = page_at(image, offset / IMAGE_CONTENT, window);
    if (!page)
      return IMAGE_DAMAGED;
    if (memcmp(with, page + in, piece) != 0)
      return IMAGE_DIFFERENT;
    with += piece;
    offset += piece;
    size -= piece;
  }
  return IMAGE_EQUAL;
}

bool image_read(const image_t *image, uint64_t offset, void *bytes, size_t size)
{
  image_window_t window;
  image_window_begin(&window);
  return image_read_by(image, &window, offset, bytes, size);
}

image_answer_t image_compare(const image_t *image, uint64_t offset, const void *bytes, size_t size)
{
  image_window_t window;
  image_window_begin(&window);
  return image_compare_by(image, &window, offset, bytes, size);
}

void image_free(image_t *image)
{
  allocate_free(&image->allocator, image->pages);
  if (image->in_file)
    (void)close(image->file);
  *image = (image_t){0};
}
