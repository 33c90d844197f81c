#include "tools/shared/uri.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/file.h"

/* Bytes that are not plain there are escaped. False when the path has no absolute form. */
static bool make(const char *given, const rawhal_container_object_t *object, char *uri, size_t size)
{
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-_.~";
  char path[PATH_MAX];
  if (tool_stream_of(given) >= 0 || !realpath(given, path))
    return false;
  size_t used = (size_t)snprintf(uri, size, "file://");
  for (const char *at = path; *at; ++at)
    used += (size_t)snprintf(uri + used, size - used, strchr(plain, *at) ? "%c" : "%%%02X",
                             (unsigned char)*at);
  snprintf(uri + used, size - used, "#offset=%" PRIu64 "&size=%zu", object->offset,
           object->bytes.size);
  return true;
}

void uri_put(json_writer_t *out, const char *path, const rawhal_container_object_t *object)
{
  char uri[3 * PATH_MAX + 64];
  json_put_text(out, "uri", !object->unpacked && make(path, object, uri, sizeof(uri)) ? uri : NULL);
}
