/* What a compiled layout holds. Internal. */
#ifndef RAWHAL_KERNARG_LAYOUT_H
#define RAWHAL_KERNARG_LAYOUT_H

#include "base/allocate.h"
#include "kernarg/hidden.h"
#include "kernarg/kernarg.h"

/* What rings and limits count kernarg memory in, so that no two images share a cache line. */
enum { KERNARG_BLOCK_BYTES = 64 };

/* One allocation: the struct, then its arrays. The first members are what a submission reads. */
struct rawhal_kernarg_layout {
  size_t image_size;    /* block_count * KERNARG_BLOCK_BYTES */
  size_t blob_min;      /* the least length that passes, before rounding by blob_rounding */
  size_t blob_max;      /* effective size rounded up to 16 */
  size_t blob_rounding; /* 7 when only the size is known, so that padding counts, else 0 */
  size_t hidden_begin;  /* lowest offset of a hidden argument; SIZE_MAX without any */
  hidden_plan_t hidden;

  rawhal_kernarg_info_t info;
  rawhal_kernarg_argument_t *arguments; /* visible and hidden, in metadata order */
  uint32_t *visible;                    /* indices of the visible ones, in metadata order */
  uint32_t *by_name; /* indices of the visible ones with a name, sorted; see names.c */
  uint32_t named_count;
  allocator_t allocator; /* whose the layout is; it may outlive the kernel's object */
};

static inline uint64_t argument_end(const rawhal_kernarg_argument_t *argument)
{
  return (uint64_t)argument->offset + argument->size;
}

/* How an argument is called in messages: index, then quoted name if there is one, then kind.
 * `"argument " ARGUMENT_FORMAT`, ARGUMENT_ARGS(index, argument). */
#define ARGUMENT_FORMAT "%zu %s%.*s%s(%.*s)"
#define ARGUMENT_ARGS(index, argument)                                                             \
  (size_t)(index), (argument)->name.size ? "'" : "", RAWHAL_STRING_ARGS((argument)->name),         \
      (argument)->name.size ? "' " : "", RAWHAL_STRING_ARGS((argument)->value_kind_text)

/* arguments.c: whether a program may give an argument of this index so many bytes. */
RAWHAL_CHECKED rawhal_status_t argument_check(const rawhal_kernarg_layout_t *layout, size_t index,
                                              size_t size, const rawhal_kernarg_argument_t **found,
                                              rawhal_error_t *error);

/* layout.c: indices of the first `count` arguments, visible and hidden, by offset. */
void layout_order(const rawhal_kernarg_layout_t *layout, uint32_t *order, uint32_t count);

/* names.c: sorts layout->by_name. */
void layout_sort_names(rawhal_kernarg_layout_t *layout);

/* signature.c: fills in both signatures from the rest of the layout. */
void layout_sign(rawhal_kernarg_layout_t *layout);

/* blob.c: rawhal_kernarg_check() with a non-NULL layout. */
RAWHAL_CHECKED rawhal_status_t blob_check(const rawhal_kernarg_layout_t *layout, const void *blob,
                                          size_t length, uint32_t flags, rawhal_error_t *error);

/* image.c: rawhal_kernarg_write_blob() with a blob that has been checked and an image that is large
 * enough. Should `length` have changed since, no byte beyond the image is written all the same. */
RAWHAL_CHECKED rawhal_status_t image_write_checked(const rawhal_kernarg_layout_t *layout,
                                                   const void *blob, size_t length, uint32_t flags,
                                                   const rawhal_launch_t *launch, void *image,
                                                   rawhal_error_t *error);

/* How many bytes at an image's beginning are a blob's of that length, whatever the launch: those
 * before the first hidden argument that image_write_checked() would write. False: visible arguments
 * lie after that. */
bool image_blob_bytes(const rawhal_kernarg_layout_t *layout, size_t length, uint32_t flags,
                      size_t *bytes);

/* Whether image_write_checked(), or rawhal_kernarg_write_pointers() with an image that is large
 * enough, can write what it is given. Nothing is written, and no argument is read. */
RAWHAL_CHECKED rawhal_status_t image_check_blob(const rawhal_kernarg_layout_t *layout,
                                                const rawhal_launch_t *launch,
                                                rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t image_check_pointers(const rawhal_kernarg_layout_t *layout,
                                                    const void *const *arguments, size_t count,
                                                    const rawhal_launch_t *launch,
                                                    rawhal_error_t *error);

#endif
