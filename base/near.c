#include "base/near.h"

#include "base/edits.h"

#include <stdio.h>
#include <string.h>

enum { PARTS = 3 }; /* of so many characters one may be wrong, and one more */

static char lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool contains(rawhal_string_t name, rawhal_string_t part)
{
  for (size_t at = 0; at + part.size <= name.size; ++at) {
    size_t i = 0;
    while (i < part.size && lower(name.data[at + i]) == lower(part.data[i]))
      ++i;
    if (i == part.size)
      return true;
  }
  return false;
}

static void keep(near_names_t *names, rawhal_string_t name, unsigned far)
{
  size_t at = names->count;
  while (at > 0 && names->best[at - 1].distance > far)
    --at;
  for (size_t i = 0; i < names->count; ++i)
    if (strlen(names->best[i].name) == name.size &&
        memcmp(names->best[i].name, name.data, name.size) == 0)
      return; /* of another object */
  if (at == NEAR_NAMES)
    return;
  if (names->count < NEAR_NAMES)
    ++names->count;
  memmove(&names->best[at + 1], &names->best[at], (names->count - 1 - at) * sizeof(*names->best));
  names->best[at].distance = far;
  memcpy(names->best[at].name, name.data, name.size);
  names->best[at].name[name.size] = '\0';
}

rawhal_string_t near_stem(rawhal_string_t name)
{
  const bool is_symbol = name.size > 3 && memcmp(name.data + name.size - 3, ".kd", 3) == 0;
  return (rawhal_string_t){name.data, name.size - (is_symbol ? 3 : 0)};
}

unsigned near_edits(const near_names_t *names)
{
  const size_t edits = names->wanted.size / PARTS + 1;
  return edits < NEAR_EDITS ? (unsigned)edits : NEAR_EDITS;
}

static bool differ_by_more(size_t a, size_t b, unsigned most)
{
  return a > b ? a - b > most : b - a > most;
}

void near_look(near_names_t *names, rawhal_string_t name)
{
  const rawhal_string_t wanted = names->wanted;
  if (name.size == 0 || name.size >= NEAR_BYTES || wanted.size == 0 || wanted.size >= NEAR_BYTES ||
      memchr(name.data, 0, name.size))
    return;
  if (contains(name, wanted)) {
    keep(names, name, 0);
    return;
  }
  const unsigned most = near_edits(names);
  if (differ_by_more(name.size, wanted.size, most))
    return;
  const unsigned far = edits_between(wanted.data, wanted.size, name.data, name.size, most);
  if (far <= most && far < wanted.size)
    keep(names, name, far);
}

void near_look_at_most(near_names_t *names, near_name_fn *name, const void *context, size_t count)
{
  const unsigned most = near_edits(names);
  size_t compared = 0;
  for (int others = 0; others < 2; ++others)
    for (size_t i = 0; i < count && compared < NEAR_COMPARED; ++i) {
      const rawhal_string_t one = name(context, i);
      if (!one.size || differ_by_more(one.size, names->wanted.size, most) != others)
        continue;
      near_look(names, one);
      ++compared;
    }
}

void near_text(const near_names_t *names, char text[NEAR_TEXT])
{
  int size = 0;
  *text = 0;
  for (size_t i = 0; i < names->count; ++i)
    size += snprintf(text + size, NEAR_TEXT - (size_t)size, "%s'%s'",
                     i ? ", " : "; nearest: ", names->best[i].name);
}

near_phrase_t near_phrase(rawhal_string_t wanted, near_name_fn *name, const void *context,
                          size_t count, const void *error)
{
  near_names_t near = {.wanted = wanted};
  near_phrase_t phrase;
  if (error)
    near_look_at_most(&near, name, context, count);
  near_text(&near, phrase.text);
  return phrase;
}
