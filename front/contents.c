#include "front/contents.h"

#include "front/sources.h"
#include "hsaco/content.h"

#include <stdlib.h>
#include <string.h>

static front_object_t *all;

content_t content_of(rawhal_bytes_t loaded)
{
  content_t content = {.loaded = loaded, .given = source_original(loaded)};
  content.key.loaded = content.key.given = rawhal_content_hash(loaded.data, loaded.size);
  if (content.given.data != loaded.data)
    content.key.given = rawhal_content_hash(content.given.data, content.given.size);
  return content;
}

static void release(front_object_t *object)
{
  if (object->given != object->bytes)
    free(object->given);
  free(object->bytes);
  free(object);
}

void contents_drop(front_object_t *object)
{
  if (atomic_fetch_sub(&object->users, 1) != 1)
    return;
  HASH_DELETE(hh, all, object);
  for (size_t i = 0; i < object->kernel_count; ++i) {
    rawhal_kernarg_layout_destroy(object->kernels[i].layout);
    free(object->kernels[i].policy);
  }
  free(object->kernels);
  rawhal_hsaco_close(object->hsaco);
  free(object->uri);
  free(object->unreadable);
  release(object);
}

static bool is_equal(const front_object_t *object, const content_t *content)
{
  return object->size == content->loaded.size &&
         memcmp(object->bytes, content->loaded.data, object->size) == 0 &&
         memcmp(object->given, content->given.data, object->size) == 0;
}

static void *copy_of(rawhal_bytes_t bytes)
{
  void *copy = malloc(bytes.size);
  return copy ? memcpy(copy, bytes.data, bytes.size) : NULL;
}

static front_object_t *add(const content_t *content)
{
  front_object_t *object = calloc(1, sizeof(*object));
  if (!object)
    return NULL;
  object->key = content->key;
  object->size = content->loaded.size;
  object->given = object->bytes = copy_of(content->loaded);
  if (content->given.data != content->loaded.data)
    object->given = copy_of(content->given);
  if (object->bytes && object->given)
    HASH_ADD(hh, all, key, sizeof(object->key), object);
  if (object->hh.tbl)
    return object;
  release(object);
  return NULL;
}

front_object_t *contents_get(const content_t *content)
{
  front_object_t *object;
  HASH_FIND(hh, all, &content->key, sizeof(content->key), object);
  if (object)
    return is_equal(object, content) ? object : NULL;
  return add(content);
}

void contents_abandon(void)
{
  all = NULL;
}

/* ---- Facts ---- */

rawhal_content_hash_t object_hash(const front_object_t *object)
{
  return object->key.given;
}

rawhal_bytes_t object_bytes(const front_object_t *object)
{
  return (rawhal_bytes_t){object->bytes, object->size};
}

rawhal_bytes_t object_given(const front_object_t *object)
{
  return (rawhal_bytes_t){object->given, object->size};
}

const char *object_uri(const front_object_t *object)
{
  return object->uri ? object->uri : "";
}

void object_hash_text(const front_object_t *object, char text[OBJECT_HASH_TEXT])
{
  content_text(object->key.given, text);
}
