#include "tools/shared/near.h"

#include <stdio.h>
#include <string.h>

enum { PARTS = 3 }; /* of so many characters one may be wrong, and one more */

static unsigned least(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

static char lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool contains(const char *name, const char *part)
{
  for (; *name; ++name) {
    size_t i = 0;
    while (part[i] && lower(name[i]) == lower(part[i]))
      ++i;
    if (!part[i])
      return true;
  }
  return false;
}

/* Levenshtein's, of two names shorter than NEAR_BYTES. */
static unsigned distance(const char *a, const char *b)
{
  unsigned row[NEAR_BYTES], columns = (unsigned)strlen(b);
  for (unsigned k = 0; k <= columns; ++k)
    row[k] = k;
  for (unsigned i = 0; a[i]; ++i) {
    unsigned diagonal = row[0];
    row[0] = i + 1;
    for (unsigned k = 0; k < columns; ++k) {
      unsigned replaced = diagonal + (lower(a[i]) != lower(b[k]));
      diagonal = row[k + 1];
      row[k + 1] = least(replaced, least(row[k], diagonal) + 1);
    }
  }
  return row[columns];
}

static void keep(near_names_t *names, const char *name, unsigned far)
{
  size_t at = names->count;
  while (at > 0 && names->best[at - 1].distance > far)
    --at;
  for (size_t i = 0; i < names->count; ++i)
    if (strcmp(names->best[i].name, name) == 0)
      return; /* of another object */
  if (at == NEAR_NAMES)
    return;
  if (names->count < NEAR_NAMES)
    ++names->count;
  memmove(&names->best[at + 1], &names->best[at], (names->count - 1 - at) * sizeof(*names->best));
  names->best[at].distance = far;
  strcpy(names->best[at].name, name);
}

void near_look(near_names_t *names, rawhal_string_t name)
{
  const size_t wanted = strlen(names->wanted);
  char text[NEAR_BYTES];
  if (name.size == 0 || name.size >= NEAR_BYTES || wanted == 0 || wanted >= NEAR_BYTES ||
      memchr(name.data, 0, name.size))
    return;
  memcpy(text, name.data, name.size);
  text[name.size] = 0;
  if (contains(text, names->wanted)) {
    keep(names, text, 0);
    return;
  }
  const size_t most = wanted / PARTS + 1; /* no fewer than the lengths differ by */
  if (name.size > wanted + most || wanted > name.size + most)
    return;
  const unsigned far = distance(names->wanted, text);
  if (far <= most && far < wanted)
    keep(names, text, far);
}

void near_look_at(near_names_t *names, const rawhal_hsaco_t *hsaco)
{
  const rawhal_kernel_t *kernel;
  for (size_t i = 0; (kernel = rawhal_hsaco_kernel(hsaco, i)); ++i)
    near_look(names, kernel->name);
}

void near_text(const near_names_t *names, char text[NEAR_TEXT])
{
  int size = 0;
  *text = 0;
  for (size_t i = 0; i < names->count; ++i)
    size += snprintf(text + size, NEAR_TEXT - (size_t)size, "%s'%s'",
                     i ? ", " : "; nearest: ", names->best[i].name);
}
