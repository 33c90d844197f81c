/* JSON, written as it comes: nothing of a document is kept but how deep it is. */
#ifndef TOOLS_SHARED_JSON_H
#define TOOLS_SHARED_JSON_H

#include <stdio.h>

#include <rawhal/status.h>

enum { JSON_MOST_NESTING = 160 }; /* metadata may nest 128 deep, below ours */

/* Zero-initialised but for `out`. One value at the top; each container ends with json_end(). Every
 * value takes its key, which is NULL in arrays and at the top. */
typedef struct json_writer {
  FILE *out;
  unsigned depth;
  bool object[JSON_MOST_NESTING]; /* this container is one; else an array */
  bool filled;                    /* the innermost container has something in it */
  bool after_key;
} json_writer_t;

void json_begin_object(json_writer_t *writer, const char *key);
void json_begin_array(json_writer_t *writer, const char *key);
void json_end(json_writer_t *writer); /* after the outermost there is the line's end */

void json_put_unsigned(json_writer_t *writer, const char *key, uint64_t value);
void json_put_signed(json_writer_t *writer, const char *key, int64_t value);
void json_put_bool(json_writer_t *writer, const char *key, bool value);
void json_put_null(json_writer_t *writer, const char *key);
void json_put_text(json_writer_t *writer, const char *key, const char *value); /* NULL: null */
void json_put_string(json_writer_t *writer, const char *key, rawhal_string_t value);
void json_put_string_or_null(json_writer_t *writer, const char *key, rawhal_string_t value);

/* null for RAWHAL_NO_OFFSET. */
void json_put_offset(json_writer_t *writer, const char *key, uint64_t value);

/* ---- For json_copy.c: keys and values whose text is made elsewhere ---- */

bool json_expects_key(const json_writer_t *writer); /* the next thing is one, or the end */
void json_open_key(json_writer_t *writer);          /* the opening quote has been written */
void json_close_key(json_writer_t *writer);         /* writes the closing quote */
void json_open_value(json_writer_t *writer);

/* ---- A value that is JSON already (json_copy.c) ---- */

/* Which elements of the list under one key of the outermost object go through. */
typedef struct json_filter {
  const char *key;
  bool (*wants)(const void *context, size_t index);
  const void *context;
} json_filter_t;

/* Takes a well-formed value in pieces and writes it in the writer's form; json_copy_text() has the
 * type of rawhal_write_fn. Zero-initialised but for the first two. */
typedef struct json_copy {
  json_writer_t *writer;
  const json_filter_t *filter; /* or NULL */
  enum { JSON_COPY_BETWEEN, JSON_COPY_STRING, JSON_COPY_ESCAPE, JSON_COPY_SCALAR } state;
  unsigned depth, muted; /* containers open in the text; of them around what is left out */
  bool is_key, in_list, was_list;
  size_t index;      /* the next element of the list */
  char key[24];      /* the latest of the outermost object, as far as it has room */
  size_t key_length; /* may be more than that */
  char sequence[4];  /* an UTF-8 sequence that is coming in */
  size_t sequence_length;
} json_copy_t;

bool json_copy_text(void *copy, const char *text, size_t size);

#endif
