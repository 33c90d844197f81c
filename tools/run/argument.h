/* The ARG words of `rawhal run`: how they are read. */
#ifndef TOOLS_RUN_ARGUMENT_H
#define TOOLS_RUN_ARGUMENT_H

#include <rawhal/status.h>

typedef enum run_argument_kind {
  RUN_SCALAR, /* value holds `size` bytes */
  RUN_BYTES,  /* a by-value argument given as bytes: data holds `size` of them */
  RUN_BUFFER, /* a device buffer of `size` bytes; starts as data, or as zeros when data is NULL */
  RUN_NULL,   /* a null pointer */
  RUN_LDS,    /* a pointer to `size` bytes of dynamic group memory */
  RUN_BLOB,   /* the whole segment, prepacked: data holds `size` bytes */
} run_argument_kind_t;

typedef struct run_argument {
  run_argument_kind_t kind;
  const char *word;     /* as given, for messages */
  uint64_t value;       /* scalars, little-endian in the low bytes */
  size_t size;          /* bytes */
  unsigned char *data;  /* owned; NULL where there is none */
  const char *out_path; /* where to write the buffer afterwards; NULL = nowhere */
  char *out_copy;       /* owns out_path */
  bool unread;          /* the form is right, but its file cannot be read */
} run_argument_t;

/* Reads one word. `error` gets one line on failure; `argument` can be released either way. */
bool run_argument_parse(const char *word, run_argument_t *argument, rawhal_error_t *error);
void run_argument_release(run_argument_t *argument);

#endif
