/* msgpack to JSON, streaming. Internal. */
#ifndef RAWHAL_HSACO_JSON_H
#define RAWHAL_HSACO_JSON_H

#include "hsaco/hsaco.h"

/* Collects small pieces before they go to the caller's function. */
typedef struct json_sink {
  rawhal_write_fn *write;
  void *context;
  bool stopped; /* `write` returned false */
  size_t used;
  char buffer[1024];
} json_sink_t;

void json_text(json_sink_t *sink, const char *text);
void json_quote(json_sink_t *sink, rawhal_string_t text);
void json_flush(json_sink_t *sink);

/* One msgpack value. False when it is malformed or nests deeper than UNPACK_MOST_NESTING, which
 * opening an object rules out. */
bool json_value(json_sink_t *sink, rawhal_bytes_t value);

#endif
