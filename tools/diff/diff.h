/* rawhal diff: two files, what was compared, and what differs. */
#ifndef TOOLS_DIFF_DIFF_H
#define TOOLS_DIFF_DIFF_H

#include "tools/shared/select.h"

/* ---- The files (file.c) ---- */

typedef struct diff_kernel {
  const rawhal_kernel_t *facts;
  const char *target;              /* its object's, canonical */
  rawhal_kernarg_layout_t *layout; /* NULL: why_not */
  char *why_not;
} diff_kernel_t;

typedef struct diff_object {
  rawhal_hsaco_t *hsaco;
  char target[64];
} diff_object_t;

typedef struct diff_file {
  select_options_t options;
  select_t select;
  diff_object_t **objects;
  size_t object_count, object_room;
  diff_kernel_t *kernels; /* by target, name and signature; each once */
  size_t kernel_count, kernel_room;
  const char *only_target; /* NULL when the objects are for several, or there is none */
} diff_file_t;

bool diff_file_open(diff_file_t *file, const select_options_t *options, rawhal_error_t *error);
void diff_file_close(diff_file_t *file);

/* ---- Differences (compare.c) ---- */

typedef enum diff_category {
  DIFF_ABI,      /* a caller or a launch depends on it */
  DIFF_RESOURCE, /* registers, memory */
  DIFF_NOTE,     /* names and the like */
} diff_category_t;

typedef struct diff_value {
  enum { DIFF_ABSENT, DIFF_NUMBER, DIFF_SIGNATURE, DIFF_TEXT } kind;
  uint64_t number;
  rawhal_string_t text;
} diff_value_t;

#define DIFF_NO_ARGUMENT SIZE_MAX

typedef struct diff_change {
  diff_category_t category;
  const char *property;   /* "offset", "vgpr_count" ... */
  size_t argument[2];     /* its index in either file; DIFF_NO_ARGUMENT: it is not there, and in
                             both places when the change is the kernel's */
  diff_value_t values[2]; /* in A and in B */
} diff_change_t;

/* The property of an argument that has another's place, and that its: in B, that one's name. */
#define DIFF_SWAPPED "swapped_with"

/* A kernel that is in one file only, or differs. */
typedef struct diff_entry {
  const diff_kernel_t *kernels[2]; /* NULL where it is not */
  bool same_abi, same_resources;
  bool same_blobs; /* what callers pass fits both */
  bool blind; /* arguments that look alike have no names: whether they were swapped is not seen */
  diff_change_t *changes;
  size_t change_count, room;
} diff_entry_t;

/* Compares a kernel with itself in the other file: entry->kernels are set. False: out of memory. */
bool diff_compare(diff_entry_t *entry);

/* For it (arguments.c). */
bool diff_arguments(diff_entry_t *entry);
bool diff_record(diff_entry_t *entry, diff_change_t change); /* unless both values are equal */
diff_value_t diff_number(uint64_t value);
diff_value_t diff_text(rawhal_string_t value);

/* The argument of `kernel`; NULL for DIFF_NO_ARGUMENT. */
const rawhal_kernarg_argument_t *diff_argument(const diff_kernel_t *kernel, size_t index);

/* ---- The result ---- */

typedef struct diff_result {
  diff_file_t files[2];
  const char *paths[2];
  int refused; /* 1 or 2: this file was, with `error`; 0 = neither */
  rawhal_error_t error;
  diff_entry_t *entries;
  size_t entry_count, room;
  size_t removed, added, changed, same; /* kernels; changed are those of another ABI */
  size_t blind;                         /* kernels in both */
  bool same_abi, same_resources;
  bool demangle; /* names of kernels, where it is not JSON */
} diff_result_t;

/* The forms of a result. */
typedef struct page page_t;
void diff_print_text(const diff_result_t *result);
void diff_print_json(const diff_result_t *result,
                     page_t *page); /* for a page, or NULL: for standard output */

/* "abi", "resource", "note" */
const char *diff_category_name(diff_category_t category);

#endif
