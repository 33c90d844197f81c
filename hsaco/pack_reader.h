/* Walking the msgpack tables of kpack archives, key by key. Internal.
 *
 * Values come from unpack.h's streaming parser; what is not asked for is skipped without being
 * kept. A reader that has failed stays failed: each call then returns false, and `status` says why.
 */
#ifndef RAWHAL_HSACO_PACK_READER_H
#define RAWHAL_HSACO_PACK_READER_H

#include "hsaco/unpack.h"
#include "hsaco/work.h"

enum { PACK_MOST_NESTING = 32 };

typedef struct pack_reader {
  unpacker_t unpacker;
  size_t offset;         /* of the next token in the bytes */
  uint64_t origin;       /* of the bytes in the container */
  uint32_t depth;        /* of maps and lists entered */
  const char *what;      /* the bytes are, for errors */
  rawhal_error_t *error; /* nullable */
  rawhal_status_t status;
  work_t *work; /* each value takes steps of */
  bool no_work; /* why it has failed: then `status` is CAP_EXCEEDED */
} pack_reader_t;

/* `reader->work` is set by the caller, before anything is read. */
void pack_reader_init(pack_reader_t *reader, const void *bytes, size_t size, uint64_t origin,
                      const char *what, rawhal_error_t *error);

/* Where the next token stands in the container. */
uint64_t pack_place(const pack_reader_t *reader);

/* Fails with MALFORMED at `place`, the message after `what`; always false. */
__attribute__((format(printf, 3, 4))) bool pack_fail(pack_reader_t *reader, uint64_t place,
                                                     const char *format, ...);

/* Enters the map or list that must stand here, and says how many items it claims to have. The
 * caller leaves it again after reading them. */
bool pack_enter(pack_reader_t *reader, unpack_header_t kind, const char *name, uint32_t *count);
void pack_leave(pack_reader_t *reader);

/* One value of any kind; of a map or list, only that it was one. */
bool pack_value(pack_reader_t *reader, unpack_value_t *value);

/* One text, or one number that is not negative; `name` is what it is. Text points into the bytes.
 */
bool pack_text(pack_reader_t *reader, const char *name, rawhal_string_t *text);
bool pack_number(pack_reader_t *reader, const char *name, uint64_t *number);

/* Keys that mean something in one kind of map, and what reads their value. */
typedef struct pack_key {
  const char *name;
  bool (*read)(pack_reader_t *reader, const char *name, void *context);
} pack_key_t;

/* Reads a map: known keys at most once each, the others are skipped. *seen has a bit for each of
 * `keys` that was there. */
bool pack_map(pack_reader_t *reader, const char *name, const pack_key_t *keys, size_t key_count,
              void *context, uint32_t *seen);

#endif
