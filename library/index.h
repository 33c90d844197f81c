/* The index of a source: which kernels are in which objects of which files, of all that the device
 * can run. Internal.
 *
 * It is an image (image.h), the same in memory and on disk: a header, the names of the kernels and
 * of their arguments, the objects, the kernels in the order they were met in, their numbers by
 * the lengths of their names, and an entry a name, sorted by the names' hashes. Looking a name up
 * reads a page for each step of a binary search, and those of what is found. */
#ifndef RAWHAL_LIBRARY_INDEX_H
#define RAWHAL_LIBRARY_INDEX_H

#include "library/files.h"
#include "library/image.h"

#define INDEX_MAGIC      "rawhalI\n"
#define INDEX_BYTE_ORDER 0x01020304u
#define INDEX_SEED       UINT64_C(0x6c61687761720a49)

enum {
  INDEX_FORMAT = 3,        /* to be raised whenever anything here, or what is indexed, changes */
  INDEX_OTHER_TARGETS = 6, /* are told apart */
};

typedef struct index_object {
  uint64_t offset, size; /* as rawhal_container_object_t */
  uint32_t file;         /* number in the source's list */
  uint32_t ordinal;
  rawhal_target_t target;
  uint32_t rating; /* see target_rating() */
  uint32_t unpacked;
  uint32_t first_kernel, kernels; /* index_kernel_t, of which those stand together */
} index_object_t;

typedef enum index_flag {
  INDEX_BY_NAME = 1u << 0,
  INDEX_BY_SYMBOL = 1u << 1, /* without ".kd" */
  INDEX_USABLE = 1u << 2,    /* and its object loadable */
} index_flag_t;

typedef struct index_entry {
  uint64_t hash;
  uint64_t text; /* offset of the name in the image */
  uint32_t size; /* of the name */
  uint32_t object;
  uint32_t flags, zero;
} index_entry_t;

/* A kernel that can be asked for: that has a name, or a symbol. */
typedef struct index_kernel {
  uint64_t name, symbol;              /* offsets in the image; the symbol's without ".kd" */
  uint64_t arguments, arguments_size; /* their names, each behind its size, a uint32_t */
  uint64_t signature;                 /* 0 as in rawhal_library_match_t */
  uint32_t name_size, symbol_size;    /* if it has no name, its symbol stands for that */
  uint32_t object;
  uint32_t flags; /* INDEX_USABLE */
} index_kernel_t;

/* A kernel's number, by the length of its name. */
typedef struct index_length {
  uint32_t size, kernel;
} index_length_t;

/* Objects that the device cannot run. */
typedef struct index_other {
  char target[56];
  uint64_t objects;
} index_other_t;

typedef struct index_header {
  char magic[8];
  uint32_t format, byte_order;
  rawhal_content_hash_t source; /* see index_source_t */
  uint64_t pages;
  uint64_t objects_at, object_count;
  uint64_t entries_at, entry_count;
  uint64_t kernels_at, kernel_count;
  uint64_t lengths_at; /* as many */
  uint64_t kernels;    /* with those that have neither name nor symbol */
  uint64_t bytes;      /* of the files, and what was unpacked from them */
  index_other_t others[INDEX_OTHER_TARGETS];
  uint64_t more_others;        /* objects for yet other targets */
  uint64_t unreadable;         /* objects, and files that look like carriers */
  char unreadable_reason[400]; /* of the first */
} index_header_t;

typedef struct library_index {
  image_t image;
  index_header_t header; /* as it is in the image */
} library_index_t;

/* What an index is made of, and for which device. */
typedef struct index_source {
  const rawhal_target_t *device;
  const rawhal_container_options_t *container_options;
  const rawhal_hsaco_options_t *hsaco_options;
  const allocator_t *allocator;
  list_t *files;                 /* of listed_file_t */
  rawhal_container_t *container; /* of bytes, which are then the only file; else NULL */
  const char *name;              /* of the bytes */
} index_source_t;

/* Stands for all that the index depends on. */
rawhal_content_hash_t index_source_hash(const index_source_t *source);

/* Reads every file, and corrects its stamp where it has changed since it was listed. A file or an
 * object that cannot be read is counted, no failure. OUT_OF_MEMORY, CAP_EXCEEDED (2^32 objects). */
RAWHAL_CHECKED rawhal_status_t index_build(const index_source_t *source, library_index_t *index,
                                           rawhal_error_t *error);
/* How names are looked up. */
uint64_t index_hash(rawhal_string_t name);
/* Takes an image that another process has made, of `pages` pages. False, and the image is
 * unchanged: it is not an image, or not of that source. */
bool index_take(library_index_t *index, const image_t *image, uint64_t pages,
                const rawhal_content_hash_t *source);
void index_free(library_index_t *index);

/* Calls `found` for each object that has the kernel, in their order, until it returns false.
 * Whether the image was good to the end; whatever was found before is void if not. */
typedef bool index_found_fn(void *context, uint32_t object, uint32_t flags);
RAWHAL_CHECKED bool index_find(const library_index_t *index, rawhal_string_t name,
                               index_found_fn *found, void *context);
RAWHAL_CHECKED bool index_object_at(const library_index_t *index, uint32_t number,
                                    index_object_t *object);

/* Both through windows (image.h) of the caller's, as those who look at many ask for neighbours. */
RAWHAL_CHECKED bool index_kernel_at(const library_index_t *index, image_window_t *window,
                                    uint32_t number, index_kernel_t *kernel);
RAWHAL_CHECKED bool index_length_at(const library_index_t *index, image_window_t *window,
                                    uint32_t number, index_length_t *length);
/* The first number whose name is not shorter. */
RAWHAL_CHECKED bool index_first_length(const library_index_t *index, image_window_t *window,
                                       size_t size, uint32_t *number);
/* Whether a kernel has an argument of that name. */
image_answer_t index_has_argument(const library_index_t *index, image_window_t *window,
                                  const index_kernel_t *kernel, rawhal_string_t name);

#endif
