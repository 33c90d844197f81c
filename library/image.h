/* Bytes in pages that say themselves whether they are whole: made in memory, kept there or in a
 * file. Internal.
 *
 * A page is 4096 bytes: the XXH3 of the rest, seeded with the page's number and the image's seed,
 * then 4088 bytes of content. What is read is only what is asked for, by pread(): a file that is
 * cut or damaged meanwhile is an answer, not a signal. */
#ifndef RAWHAL_LIBRARY_IMAGE_H
#define RAWHAL_LIBRARY_IMAGE_H

#include "base/allocate.h"

enum { IMAGE_PAGE = 4096, IMAGE_CONTENT = IMAGE_PAGE - 8 };

typedef struct image {
  allocator_t allocator;
  unsigned char *pages; /* in memory */
  size_t capacity;      /* in pages */
  bool in_file;
  int file;
  uint64_t seed, size;  /* of the content, in bytes */
  uint64_t *bytes_read; /* counts what is read from the file, atomically; NULL: not counted */
} image_t;

void image_begin(image_t *image, uint64_t seed, const allocator_t *allocator);
/* Adds bytes at the end. False: no memory. */
bool image_append(image_t *image, const void *bytes, size_t size);
/* Writes over bytes that are there; in memory only. */
void image_put(image_t *image, uint64_t offset, const void *bytes, size_t size);
/* Says of each page what is in it: after the last change, before it is written or read. */
void image_seal(image_t *image);
/* The pages of an image in memory. */
static inline rawhal_bytes_t image_bytes(const image_t *image)
{
  size_t pages = (size_t)((image->size + IMAGE_CONTENT - 1) / IMAGE_CONTENT);
  return (rawhal_bytes_t){image->pages, pages * IMAGE_PAGE};
}

/* An image in a file that has `pages` of them; closed with it, or with image_free(). */
void image_of_file(image_t *image, int file, uint64_t pages, uint64_t seed, uint64_t *bytes_read);
/* Into memory, and the file is closed. False: no memory, or it is damaged. */
bool image_load(image_t *image, const allocator_t *allocator);

/* False: beyond the end, unreadable, or not what was written there. Thread-safe. */
RAWHAL_CHECKED bool image_read(const image_t *image, uint64_t offset, void *bytes, size_t size);
/* The page that a reader had last, for one who asks for what stands beside it. One thread's, of one
 * image; image_window_begin() makes it that of another. */
typedef struct image_window {
  uint64_t page;
  bool has_page;
  unsigned char bytes[IMAGE_PAGE];
} image_window_t;
static inline void image_window_begin(image_window_t *window)
{
  window->has_page = false;
}
RAWHAL_CHECKED bool image_read_by(const image_t *image, image_window_t *window, uint64_t offset,
                                  void *bytes, size_t size);
/* Whether those bytes are there; reads no more than it has to. */
typedef enum image_answer { IMAGE_DIFFERENT, IMAGE_EQUAL, IMAGE_DAMAGED } image_answer_t;
image_answer_t image_compare(const image_t *image, uint64_t offset, const void *bytes, size_t size);
image_answer_t image_compare_by(const image_t *image, image_window_t *window, uint64_t offset,
                                const void *bytes, size_t size);

/* All zero is fine: no image. */
void image_free(image_t *image);

#endif
