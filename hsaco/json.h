/* msgpack to JSON, streaming. Internal. */
#ifndef RAWHAL_HSACO_JSON_H
#define RAWHAL_HSACO_JSON_H

#include "hsaco/hsaco.h"

/* Collects small pieces before they go to the caller's function. */
struct json_sink {
  rawhal_write_fn *write;
  void *context;
  bool stopped; /* `write` returned false */
  size_t used;
  char buffer[1024];
};

void json_text(struct json_sink *sink, const char *text);
void json_quote(struct json_sink *sink, rawhal_string_t text);
void json_flush(struct json_sink *sink);

/* One msgpack value. False when it is malformed or nests deeper than UNPACK_MOST_NESTING, which
 * opening an object rules out. */
bool json_value(struct json_sink *sink, rawhal_bytes_t value);

#endif
