/* The code objects of a file that a command is about, one after the other. */
#ifndef TOOLS_SHARED_SELECT_H
#define TOOLS_SHARED_SELECT_H

#include <rawhal/container.h>
#include <rawhal/kernarg.h>

#include "tools/shared/option.h"

typedef struct select_options {
  const char *path;
  const rawhal_target_t *target; /* only objects that run on it; NULL = all */
  uint64_t object;               /* only this one, its index + 1; 0 = all */
  const char *progress;          /* the command that shows how far it is; NULL = none does */
  const char *kernel;            /* for select_kernel(): its name or symbol, exactly */
  uint32_t hsaco_flags;          /* RAWHAL_HSACO_* */
  bool keep; /* what select_take() keeps, or others are opened beside, needs bytes of its own: of
                bundles, only one is held unpacked */
  bool skip_unreadable; /* pass over what is not an AMDGPU code object that rawhal
                                    reads: else an error */
} select_options_t;

/* Zero-initialised it is closed. What was selected lives until select_close(). */
typedef struct select {
  const select_options_t *options;
  rawhal_container_t *container;
  unsigned char *data;                     /* what the container is of, when it came by a stream */
  size_t next;                             /* object to look at next */
  size_t index;                            /* of the current object in the container */
  const rawhal_container_object_t *object; /* the current one; NULL after the last */
  rawhal_hsaco_t *hsaco;                   /* opened from it */
  bool keep; /* as of the options; select_kernel() keeps what it finds */
} select_t;

/* A user's target: where it leaves a feature open, objects with either setting fit. */
bool select_runs_on(const rawhal_target_t *object, const rawhal_target_t *wanted);

/* The rows of --target and --object: they fill what select_options_t has under these names. */
#define SELECT_TARGET_OPTION(TYPE, MEMBER)                                                         \
  TOOL_OPTION("target", READ, TYPE, MEMBER), .read = select_read_target
#define SELECT_OBJECT_OPTION(TYPE, MEMBER)                                                         \
  TOOL_OPTION("object", READ, TYPE, MEMBER), .read = select_read_object,                           \
                                             .wrong = "--object: '%s' is not a number"
option_read_fn select_read_target, select_read_object;

/* The carrier at `path`: a file, of which a copy is read, or a stream ("-": standard input; see
 * tool_stream_of()), once. The caller closes the container, then frees `*data`; both are NULL when
 * it failed. */
bool select_open_container(const char *path, rawhal_container_t **container, unsigned char **data,
                           rawhal_error_t *error);

/* `options` must outlive the selection. */
bool select_open(select_t *select, const select_options_t *options, rawhal_error_t *error);

/* Opens the next object, closing the one before. False when it was refused; after the last object
 * true with `hsaco` NULL. */
bool select_next(select_t *select, rawhal_error_t *error);

/* Keeps the current object open when the selection goes on or closes: the caller closes the hsaco.
 * Its bytes are the container's, and live until select_close(); with options->keep also those of
 * objects that are unpacked. */
rawhal_hsaco_t *select_take(select_t *select);

void select_close(select_t *select);

/* Selects the first object that has options->kernel, and goes through the others: where they have a
 * kernel of that name, it must have the same kernarg layout. INVALID_ARGUMENT says which objects
 * differ; NOT_FOUND: no object has it. The caller destroys the layout first, then closes. */
bool select_kernel(select_t *select, const select_options_t *options, uint32_t stated_size,
                   const rawhal_kernel_t **kernel, rawhal_kernarg_layout_t **layout,
                   rawhal_error_t *error);

#endif
