/* rawhal header: kernels of files, C identifiers, and one kernel's struct as text. */
#ifndef TOOLS_HEADER_HEADER_H
#define TOOLS_HEADER_HEADER_H

#include <stdio.h>

#include "tools/shared/select.h"

/* ---- Kernels (collect.c) ---- */

/* One kernel, by name; where several objects have it, what they agree on. */
typedef struct kernel_entry {
  char *name; /* name_size bytes: copied, as objects are closed */
  size_t name_size;
  char *identifier;
  bool exact;         /* the identifier is the name */
  char *text;         /* of the struct; NULL when there is no layout */
  uint64_t size;      /* of the struct */
  uint32_t least;     /* bytes that a blob must have */
  char *why_not;      /* there is no layout */
  uint64_t signature; /* where signatures agree */
  uint64_t blob_signature;
  bool signatures_differ;
  size_t file, object; /* where it was first */
  size_t last_file;    /* where it was last */
  size_t variant;      /* several files may have it with other arguments each: 0 is the first's */
  char target[64];
} kernel_entry_t;

typedef struct header {
  char **files;             /* as the command line has them */
  size_t file;              /* the one that is read */
  kernel_entry_t **entries; /* in order of appearance */
  size_t count, room;
  void *by_name;       /* tsearch() trees: a hostile file has no bad case for them */
  void *by_identifier; /* to tell identifiers apart */
  void *by_text;       /* the first entry with each struct */
} header_t;

/* Reads the first `count` of header->files, which is set. The caller releases the header in any
 * case. */
bool header_collect(header_t *header, const select_options_t *options, size_t count,
                    rawhal_error_t *error);
void header_release(header_t *header);

/* ---- Identifiers (name.c) ---- */

/* A kernel's, to go after "kernarg_": its name where that is made of letters, digits and '_'; else
 * with '_' for every other byte and, after it, a hash of the name, so that it depends on no other
 * kernel. The caller frees it; NULL = out of memory. */
char *header_kernel_identifier(rawhal_string_t name, bool *exact);

/* Adds a '_' to an identifier; false: out of memory. */
bool header_name_extend(char **identifier);

/* The members of one kernel's struct. An argument keeps its name as far as it can: a '_' is added
 * to keywords and to macros of standard headers, "arg_" stands before what begins with no letter or
 * as the header's own names do, "arg2" for no name, and where several have one name each gets its
 * offset ("pad_12", "pad_16"). */
typedef struct header_names {
  size_t count;
  char **arguments; /* by index in metadata order; NULL where there is no member: hidden arguments
                       and those without bytes */
  char **alone;     /* sorted: names that one argument only has, and keeps */
  size_t alone_count;
} header_names_t;

bool header_names_make(const rawhal_kernarg_layout_t *layout, header_names_t *names);
void header_names_release(header_names_t *names);

/* "padding_32", made unique; the caller frees it. NULL = out of memory. */
char *header_names_padding(const header_names_t *names, uint64_t offset);

/* ---- Text (struct.c) ---- */

/* Stands in the text for the name of the type. */
enum { HEADER_TYPE = '\1' };

/* The struct's declaration and assertions; equal texts are equal layouts. "" where it would have no
 * bytes. The caller frees it; NULL = out of memory. `*size` is that of the struct: the end of the
 * last visible argument, or the whole segment where only its size is known. */
char *header_struct(const rawhal_kernel_t *kernel, const rawhal_kernarg_layout_t *layout,
                    uint64_t *size);

/* `text` inside of a comment, and as a string literal with its quotes. */
void header_print_comment(FILE *out, rawhal_string_t text);
void header_print_literal(FILE *out, rawhal_string_t text);

#endif
