/* JSON, written as it comes: nothing of a document is kept but how deep it is. */
#ifndef TOOLS_SHARED_JSON_H
#define TOOLS_SHARED_JSON_H

#include <stdio.h>

#include <rawhal/hsaco.h>

enum { JSON_MOST_NESTING = 16 };

/* Zero-initialised but for `out`. One value at the top; each container ends with json_end(). Every
 * value takes its key, which is NULL in arrays and at the top. */
typedef struct json_writer {
  FILE *out;
  unsigned depth;
  bool object[JSON_MOST_NESTING]; /* this container is one; else an array */
  bool filled;                    /* the innermost container has something in it */
  bool line;                      /* all of it is one line */
} json_writer_t;

void json_begin_object(json_writer_t *writer, const char *key);
void json_begin_array(json_writer_t *writer, const char *key);
void json_end(json_writer_t *writer); /* after the outermost there is the line's end */

void json_put_unsigned(json_writer_t *writer, const char *key, uint64_t value);
void json_put_signed(json_writer_t *writer, const char *key, int64_t value);
/* An array of a value for each of three dimensions. */
void json_put_three(json_writer_t *writer, const char *key, int64_t x, int64_t y, int64_t z);
void json_put_bool(json_writer_t *writer, const char *key, bool value);
void json_put_null(json_writer_t *writer, const char *key);
void json_put_known(json_writer_t *writer, const char *key, bool known,
                    uint64_t value);                                           /* or null */
void json_put_text(json_writer_t *writer, const char *key, const char *value); /* NULL: null */
void json_put_string(json_writer_t *writer, const char *key, rawhal_string_t value);
void json_put_string_or_null(json_writer_t *writer, const char *key, rawhal_string_t value);

/* As text, "0x7f00": as numbers they do not pass through every reader. */
void json_put_address(json_writer_t *writer, const char *key, uint64_t value);

/* As text, 32 digits. */
void json_put_hash(json_writer_t *writer, const char *key, rawhal_content_hash_t value);

/* null for RAWHAL_NO_OFFSET. */
void json_put_offset(json_writer_t *writer, const char *key, uint64_t value);

/* The key of a value that is written elsewhere, next. */
void json_open(json_writer_t *writer, const char *key);

#endif
