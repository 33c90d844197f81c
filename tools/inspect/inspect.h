/* rawhal inspect: what its two output forms share. */
#ifndef TOOLS_INSPECT_INSPECT_H
#define TOOLS_INSPECT_INSPECT_H

#include "tools/shared/json.h"
#include "tools/shared/select.h"

typedef struct page page_t;

typedef struct inspect_options {
  const char *path;
  const char *kernel;            /* only kernels whose name contains this; NULL = all */
  const rawhal_target_t *target; /* only objects that run on it; NULL = all */
  bool brief;                    /* one line a kernel */
  bool demangle; /* names of kernels; of JSON that is for a page: in addition to them */
  page_t *page;  /* what is written goes there; NULL: to standard output */
} inspect_options_t;

/* ---- What was asked for (kernel.c) ---- */

/* Is this kernel among those asked for? */
bool inspect_wants(const inspect_options_t *options, rawhal_string_t kernel);
/* Has the object any? Always when nothing was asked for. */
bool inspect_wants_object(const inspect_options_t *options, const rawhal_hsaco_t *hsaco);

/* The addresses that the kernels asked for have to themselves: their descriptors and their code. */
typedef struct inspect_places {
  bool everything;
  struct inspect_place {
    uint64_t start, size;
  } * places; /* sorted, apart from each other */
  size_t count;
} inspect_places_t;

/* False: out of memory. */
bool inspect_places_make(inspect_places_t *places, const inspect_options_t *options,
                         const rawhal_hsaco_t *hsaco);
bool inspect_places_have(const inspect_places_t *places, uint64_t address);
void inspect_places_release(inspect_places_t *places);

/* ---- Long names ---- */

/* Longer ones than TOOL_SHORT_NAME are written in full while all of them of an object come to no
 * more than this and four times its size. */
enum { INSPECT_LONG_NAMES = 1 << 20 };

typedef struct inspect_names {
  uint64_t left; /* for long names */
} inspect_names_t;

static inline inspect_names_t inspect_names_of(const rawhal_hsaco_info_t *info)
{
  return (inspect_names_t){INSPECT_LONG_NAMES + 4 * (uint64_t)info->bytes.size};
}

/* Is this one to be written in full? */
bool inspect_names_take(inspect_names_t *names, rawhal_string_t name);

/* ---- The forms ---- */

/* Each form: begin, one call for each object (the selection's current one), end (with NULL error
 * when all went well). The return value of an object call is false when its text could not be made
 * (error says why). */
typedef struct inspect_form {
  void (*begin)(const inspect_options_t *options);
  bool (*object)(const inspect_options_t *options, const select_t *object, rawhal_error_t *error);
  void (*end)(const rawhal_error_t *error);
} inspect_form_t;

extern const inspect_form_t inspect_text_form;
extern const inspect_form_t inspect_disassembly_form; /* disassemble.c */
extern const inspect_form_t inspect_json_form;        /* also what options->page is made of */

/* ---- Triton's cache (triton.c) ---- */

/* What NAME.json says beside a file NAME.hsaco: a value under "triton", null for other files, or
 * the end of a line. */
void inspect_triton_json(json_writer_t *out, const char *path);
void inspect_triton_text(const char *path);

/* ---- Many files (list.c) ---- */

/* A line, or an element, for each code object below these paths; returns the exit status. */
int inspect_list(const inspect_options_t *options, bool json, char **paths, int count);

/* ---- Solution libraries of Tensile (tensile.c) ---- */

/* Does the file start as one does? */
bool inspect_is_tensile(const char *path);
/* Returns the exit status. */
int inspect_tensile(const inspect_options_t *options, bool json);
/* Of a list: a line, or, of JSON, an element; *listed: unless it has nothing that was asked for.
 * False: it cannot be read; `error` says why. */
bool inspect_tensile_line(const inspect_options_t *options, const char *path, json_writer_t *out,
                          bool *listed, rawhal_error_t *error);

#endif
