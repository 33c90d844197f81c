#include "hsaco/long_names.h"

void long_names_init(long_names_t *names, arena_t *arena, uint64_t file_size)
{
  *names = (long_names_t){0};
  name_table_init(&names->places, arena, 8);
  work_start(&names->work, file_size);
}

/* Keeps the size of the name at `text`, NAME_NONE when it has no end, as by_symbol. */
static name_slots_t *measure(long_names_t *names, const char *text, size_t room)
{
  if (names->exhausted)
    return NULL;
  const char *end = memchr(text, 0, room);
  names->exhausted = !work_take(&names->work, end ? (uint64_t)(end - text) : room);
  const char **place = names->exhausted ? NULL : arena_alloc(names->places.arena, sizeof(*place));
  if (!place)
    return NULL;
  *place = text;
  name_slots_t *slots =
      name_table_at(&names->places, (rawhal_string_t){(const char *)place, sizeof(*place)});
  if (slots && end)
    slots->by_symbol = (uint32_t)(end - text);
  return slots;
}

bool long_names_read_on(long_names_t *names, const char *text, uint64_t room, rawhal_string_t *name,
                        name_slots_t **known)
{
  *name = (rawhal_string_t){0};
  if (room <= LONG_NAMES_SHORT)
    return false;
  rawhal_string_t place = {(const char *)&text, sizeof(text)};
  *known = name_table_find(&names->places, place);
  if (!*known)
    *known = measure(names, text, room < LONG_NAMES_MOST ? (size_t)room : LONG_NAMES_MOST);
  if (!*known || (*known)->by_symbol == NAME_NONE)
    return false;
  *name = (rawhal_string_t){text, (*known)->by_symbol};
  return true;
}
